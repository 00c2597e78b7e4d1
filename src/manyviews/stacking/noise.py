"""How far predictions are off: a variance per column, and what it grows with."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize_scalar

PSEUDO_VALUES = 5.0  # by which a column's variance leans on that of all columns
LEAST_STD = 1e-3  # of a column's standard deviation
STEEPEST = 3.0  # slope of the log variance, per standard deviation of what it depends on


@dataclass(frozen=True)
class Noise:
    """log σ²_nd = a_d + b t_nd, with t a standardised covariate, and b = 0 where that is as good.

    a_d is set by the residuals of column d, leaning by five values on those of all columns (which
    are in standard deviations); b is one number.

    Attributes
    ----------
    level : ndarray of shape (n_columns,)
        a_d.
    slope : float
    centre, spread : float
        t = (covariate - centre) / spread.
    source : str
        What the covariate is; "" if there is none.
    """

    level: Float[np.ndarray, " D"]
    slope: float = 0.0
    centre: float = 0.0
    spread: float = 1.0
    source: str = ""

    @classmethod
    def fit(
        cls,
        residuals: Float[np.ndarray, "N D"],
        covariates: dict[str, Float[np.ndarray, "N _"]],
        fold: np.ndarray,
    ) -> Self:
        """The constant variance or, if better on folds held out, one that follows a covariate.

        Better means: the gain in log density per value is more than its standard error over rows.
        """
        best, gain = cls(_level(residuals, np.zeros((1, 1)), 0.0)), 0.0
        plain = _held_out(residuals, None, fold)
        for source, values in covariates.items():
            centre, spread = float(np.nanmean(values)), float(np.nanstd(values))
            if not spread > 1e-9 or not np.isfinite(values).all():
                continue
            t = np.clip((values - centre) / spread, -3.0, 3.0)
            rows = np.nanmean(_held_out(residuals, t, fold) - plain, axis=1)
            rows = rows[np.isfinite(rows)]
            if rows.mean() > max(gain, rows.std() / np.sqrt(len(rows))):
                slope = _slope(residuals, t)
                best = cls(_level(residuals, t, slope), slope, centre, spread, source)
                gain = float(rows.mean())
        return best

    def std(
        self, means: Float[np.ndarray, "n D"], covariate: Float[np.ndarray, "n _"] | None
    ) -> Float[np.ndarray, "n D"]:
        """Standard deviations beside the means."""
        t = np.zeros((1, 1))
        if covariate is not None:
            t = np.clip((covariate - self.centre) / self.spread, -3.0, 3.0)
        wide = np.exp(0.5 * (self.level + self.slope * t))
        return np.broadcast_to(np.maximum(wide, LEAST_STD), means.shape).copy()


def _level(residuals: np.ndarray, t: np.ndarray, slope: float) -> Float[np.ndarray, " D"]:
    """Log of the mean of r² exp(-b t), by column, leaning on all."""
    scaled = residuals**2 * np.exp(-slope * t)
    there = ~np.isnan(scaled)
    sums, counts = np.where(there, scaled, 0.0).sum(axis=0), there.sum(axis=0)
    overall = sums.sum() / max(counts.sum(), 1)
    mean = (sums + PSEUDO_VALUES * overall) / (counts + PSEUDO_VALUES)
    return np.log(np.maximum(mean, LEAST_STD**2))


def _slope(residuals: np.ndarray, t: np.ndarray) -> float:
    def cost(slope: float) -> float:
        return float(-np.nanmean(_log_density(residuals, _level(residuals, t, slope) + slope * t)))

    return float(minimize_scalar(cost, bounds=(-STEEPEST, STEEPEST), method="bounded").x)


def _held_out(
    residuals: np.ndarray, t: np.ndarray | None, fold: np.ndarray
) -> Float[np.ndarray, "N D"]:
    """Log densities of residuals by variances of the other folds' residuals."""
    found = np.full(residuals.shape, np.nan)
    for number in np.unique(fold):
        out = fold == number
        if t is None:
            log_variance = _level(residuals[~out], np.zeros((1, 1)), 0.0)[None]
        else:
            slope = _slope(residuals[~out], t[~out])
            log_variance = _level(residuals[~out], t[~out], slope) + slope * t[out]
        found[out] = _log_density(residuals[out], log_variance)
    return found


def _log_density(residuals: np.ndarray, log_variance: np.ndarray) -> np.ndarray:
    return -0.5 * (residuals**2 * np.exp(-log_variance) + log_variance)

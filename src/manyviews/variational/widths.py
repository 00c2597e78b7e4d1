"""How wide intervals have to be, from errors of predictions of values that were forgotten."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Float

SHAPES = (0.0, 0.5, 1.0)
PSEUDO_VALUES = 5.0  # by which the width of a column leans on that of all columns
OPTIMISM = 4.0  # few errors of chosen regressions are too small, their squares by 1 + 4/N
MEMORY = 10.0  # and those of a latent model that has known the rows by another 1 + 10 s/N
EXACT = 1e-12  # least mean square of errors, in variances of the columns


@dataclass(frozen=True)
class Widths:
    """var[y_d] = c_d (v_d / v̄_d)^p, where v is what a model takes for the variance.

    c_d is the mean square of the errors relative to this profile, leaning on that of all columns
    as by five values, and the power p ∈ {0, ½, 1} is the one under which the errors are likeliest.

    Attributes
    ----------
    shape : float
        p.
    squares : ndarray of shape (n_columns,)
        c_d.
    typical : ndarray of shape (n_columns,)
        v̄_d, the geometric mean of v_d over the rows with errors.
    """

    shape: float
    squares: Float[np.ndarray, " D"]
    typical: Float[np.ndarray, " D"]

    @classmethod
    def fit(
        cls, errors: Float[np.ndarray, "N D"], variance: Float[np.ndarray, "N D"], factor: float
    ) -> Self:
        """Learn from errors (NaN: none), whose squares are too small by a factor."""
        typical = np.exp(np.mean(np.log(variance), axis=0))
        relative = variance / typical
        squares = {shape: _mean_squares(errors, relative**shape) for shape in SHAPES}
        density = {
            shape: _log_density(errors, wide * relative**shape) for shape, wide in squares.items()
        }
        shape = max(SHAPES, key=lambda p: density[p])
        return cls(shape, squares[shape] * factor, typical)

    def __call__(self, variance: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:
        """The variances, calibrated."""
        return self.squares * (variance / self.typical) ** self.shape


def memory(share: float, n_rows: int) -> float:
    """What squared errors are to be multiplied by, for the latent model has known the rows."""
    return 1.0 + MEMORY * share / n_rows


def optimism(n_rows: int) -> float:
    """What they are to be multiplied by, for something was chosen by them."""
    return 1.0 + OPTIMISM / n_rows


def _mean_squares(
    errors: Float[np.ndarray, "N D"], relative: Float[np.ndarray, "N D"]
) -> Float[np.ndarray, " D"]:
    """Mean squares of errors by column, relative to a profile, leaning on all columns."""
    seen = ~np.isnan(errors)
    squares = np.where(seen, np.nan_to_num(errors) ** 2 / relative, 0.0).sum(axis=0)
    counts = seen.sum(axis=0)
    overall = max(squares.sum() / counts.sum(), EXACT)
    return (squares + PSEUDO_VALUES * overall) / (counts + PSEUDO_VALUES)


def _log_density(errors: Float[np.ndarray, "N D"], wide: Float[np.ndarray, "N D"]) -> float:
    return float(-0.5 * np.nanmean(errors**2 / wide + np.log(wide)))

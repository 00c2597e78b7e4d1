"""A Gaussian fitted to inputs of which some are missing, and what it says of those."""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from jaxtyping import Float

from ..io import register_record

EM_ITERATIONS = 50
TOLERANCE = 1e-4


class Completed(NamedTuple):
    """Rows with missing values at their conditional means, and the variances of those."""

    filled: Float[np.ndarray, "N Q"]
    variance: Float[np.ndarray, "N Q"]
    """Conditional marginal variances; zero where observed."""
    spread: Float[np.ndarray, "Q Q"]
    """Sum over the rows of their conditional covariances."""


@register_record
@dataclass(frozen=True)
class InputGaussian:
    """N(mean, covariance) of one row of inputs."""

    mean: Float[np.ndarray, " Q"]
    covariance: Float[np.ndarray, "Q Q"]

    @classmethod
    def independent(cls, Z: Float[np.ndarray, "N Q"]) -> Self:
        """Each column's own mean and variance: missing values know nothing of the others."""
        spread = np.nanvar(Z, axis=0)
        return cls(np.nanmean(Z, axis=0), np.diag(np.where(spread > 0, spread, 1.0)))

    @classmethod
    def fit(cls, Z: Float[np.ndarray, "N Q"]) -> Self:
        """Maximum likelihood by EM, shrunk as Ledoit & Wolf (2004) have it in every round."""
        from sklearn.covariance import ledoit_wolf_shrinkage  # slow to import

        current = cls.independent(Z)
        n_rows, Q = Z.shape
        for _ in range(EM_ITERATIONS):
            done = current.complete(Z)
            mean = done.filled.mean(axis=0)
            centred = done.filled - mean
            covariance = (centred.T @ centred + done.spread) / n_rows
            amount = max(float(ledoit_wolf_shrinkage(centred, assume_centered=True)), 1e-6)
            target = np.eye(Q) * np.trace(covariance) / Q
            covariance = (1.0 - amount) * covariance + amount * target
            change = float(np.abs(covariance - current.covariance).max())
            current = cls(mean, covariance)
            if change < TOLERANCE or not np.isnan(Z).any():
                break
        return current

    @property
    def precision(self) -> Float[np.ndarray, "Q Q"]:
        """The inverse of the covariance."""
        return np.linalg.inv(self.covariance)

    def complete(self, Z: Float[np.ndarray, "N Q"]) -> Completed:
        """Conditional moments of the missing values (NaN), row by row."""
        holes = np.isnan(Z)
        filled, variance = np.where(holes, self.mean, Z), np.zeros(Z.shape)
        spread = np.zeros_like(self.covariance)
        precision = self.precision
        for n in np.flatnonzero(holes.any(axis=1)):
            m, o = np.flatnonzero(holes[n]), np.flatnonzero(~holes[n])
            conditional = np.linalg.inv(precision[np.ix_(m, m)])
            pull = precision[np.ix_(m, o)] @ (Z[n, o] - self.mean[o])
            filled[n, m] = self.mean[m] - conditional @ pull
            variance[n, m] = np.diag(conditional)
            spread[np.ix_(m, m)] += conditional
        return Completed(filled, variance, spread)

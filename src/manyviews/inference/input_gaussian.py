"""A Gaussian fitted to inputs of which some are missing, and what it says of those."""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from jaxtyping import Float

from ..io import register_record
from .conditional_gaussian import given_observed

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
        """Conditional moments of the missing values (NaN)."""
        filled, variance = Z.copy(), np.zeros(Z.shape)
        spread = np.zeros_like(self.covariance)
        for part in given_observed(self.covariance, ~np.isnan(Z)):
            apart = Z[part.there] - self.mean[part.seen]
            filled[part.gone] = self.mean[part.lost] + apart @ part.gain.T
            variance[part.gone] = np.diagonal(part.covariance)
            spread[np.ix_(part.lost, part.lost)] += len(part.rows) * part.covariance
        return Completed(filled, variance, spread)

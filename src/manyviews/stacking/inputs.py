"""Known views side by side as the inputs of a regression: filled, marked, standardised."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Float, Int

OFTEN = 0.05  # share of rows in which a value must be missing (and present) to be marked


@dataclass(frozen=True)
class Inputs:
    """Columns x ↦ (x - mean) / std, missing values at the mean, and marks of what is missing.

    A mark is a column of its own, one where a value is missing. Columns that are missing in
    the same rows, as those of a view that some samples lack, share one mark.

    Attributes
    ----------
    centre, scale : ndarray of shape (n_columns,)
    marked : ndarray of int
        A column for every pattern of missing values.
    share, spread : ndarray
        Means and standard deviations of the marks.
    """

    centre: Float[np.ndarray, " P"]
    scale: Float[np.ndarray, " P"]
    marked: Int[np.ndarray, " K"]
    share: Float[np.ndarray, " K"]
    spread: Float[np.ndarray, " K"]

    @classmethod
    def fit(cls, X: Float[np.ndarray, "N P"], marks: bool = True) -> Self:
        """Means and standard deviations of training rows, and what is to be marked."""
        missing = np.isnan(X)
        counts = np.maximum((~missing).sum(axis=0), 1)
        centre = np.where(missing, 0.0, X).sum(axis=0) / counts
        deviation = np.where(missing, 0.0, X - centre)
        scale = np.sqrt(np.mean(deviation**2, axis=0))
        scale = np.where(scale > 1e-12 * np.maximum(np.abs(centre), 1e-300), scale, 1.0)
        marked = _patterns(missing) if marks else np.zeros(0, dtype=int)
        share = missing[:, marked].mean(axis=0)
        return cls(centre, scale, marked, share, np.sqrt(share * (1.0 - share)))

    def __call__(self, X: Float[np.ndarray, "n P"]) -> Float[np.ndarray, "n Q"]:
        """The inputs of rows."""
        missing = np.isnan(X)
        values = np.where(missing, 0.0, (X - self.centre) / self.scale)
        return np.hstack([values, (missing[:, self.marked] - self.share) / self.spread])


def _patterns(missing: np.ndarray) -> Int[np.ndarray, " K"]:
    """The first column of every pattern that is neither rare nor the rule."""
    share = missing.mean(axis=0)
    some = np.flatnonzero((share >= OFTEN) & (share <= 1.0 - OFTEN))
    if not some.size:
        return some
    _, first = np.unique(missing[:, some], axis=1, return_index=True)
    return np.sort(some[first])

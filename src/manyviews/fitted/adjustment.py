"""Answers corrected row by row and column by column, whatever form they were asked in."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class Adjustment:
    """y ↦ centre + stretch ∘ (y - raw): moves the mean of every value and stretches its spread.

    Attributes
    ----------
    raw : ndarray of shape (n_rows, n_columns)
        Means before the correction.
    centre : ndarray of shape (n_rows, n_columns)
        Means after it.
    stretch : ndarray of shape (n_rows, n_columns)
        By which standard deviations are multiplied.
    """

    raw: Float[np.ndarray, "N D"]
    centre: Float[np.ndarray, "N D"]
    stretch: Float[np.ndarray, "N D"]

    def values(self, y: Float[np.ndarray, "*S N D"]) -> Float[np.ndarray, "*S N D"]:
        """Means, draws or quantiles of the rows, corrected."""
        return self.centre + self.stretch * (y - self.raw)

    def parts(self, y: Float[np.ndarray, "N S D"]) -> Float[np.ndarray, "N S D"]:
        """The means of every row's modes, corrected."""
        return self.centre[:, None] + self.stretch[:, None] * (y - self.raw[:, None])

    def spread(self, spread: np.ndarray | None) -> np.ndarray | None:
        """Variances or covariances of the rows, corrected."""
        if spread is None:
            return None
        if spread.ndim == 2:
            return spread * self.stretch**2
        return spread * self.stretch[:, :, None] * self.stretch[:, None, :]

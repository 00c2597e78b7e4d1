"""Answers corrected row by row and column by column, whatever form they were asked in."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

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
    learn : callable
        Gives ``stretch``, by which standard deviations are multiplied, when it is first needed.
    """

    raw: Float[np.ndarray, "N D"]
    centre: Float[np.ndarray, "N D"]
    learn: Callable[[], Float[np.ndarray, "N D"]]

    @cached_property
    def stretch(self) -> Float[np.ndarray, "N D"]:
        """By which standard deviations are multiplied."""
        return self.learn()

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

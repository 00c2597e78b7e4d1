"""Centring and scaling of one view, undone at the edge and nowhere else."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from jaxtyping import Float

ScalingChoice = Literal["view", "column", "none", "as is"]


@dataclass(frozen=True)
class Scaling:
    """y ↦ (y - centre) / scale, with one centre and one scale per column."""

    centre: Float[np.ndarray, " D"]
    scale: Float[np.ndarray, " D"]

    @classmethod
    def fit(
        cls, Y: Float[np.ndarray, "N D"], choice: ScalingChoice | Sequence[ScalingChoice]
    ) -> Self:
        """Centre every column; scale by one number per view, by column, or not at all.

        ``"as is"`` neither centres nor scales: counts, levels and the like keep their values.
        Columns may differ in it.
        """
        if not isinstance(choice, str):
            return cls._by_column(Y, np.asarray(choice))
        if choice == "as is":
            return cls(np.zeros(Y.shape[1]), np.ones(Y.shape[1]))
        centre = np.nanmean(Y, axis=0)
        scale = np.ones(Y.shape[1])
        if choice == "view":
            spread = float(np.sqrt(np.nanmean((Y - centre) ** 2)))
            scale = np.full(Y.shape[1], spread if spread > 0 else 1.0)
        elif choice == "column":
            spreads = np.sqrt(np.nanmean((Y - centre) ** 2, axis=0))
            scale = np.where(spreads > 1e-12 * max(float(spreads.max()), 1e-300), spreads, 1.0)
        return cls(centre, scale)

    @classmethod
    def _by_column(cls, Y: Float[np.ndarray, "N D"], choices: np.ndarray) -> Self:
        centre, scale = np.empty((2, Y.shape[1]))
        for choice in np.unique(choices):
            own = choices == choice
            found = cls.fit(Y[:, own], choice)
            centre[own], scale[own] = found.centre, found.scale
        return cls(centre, scale)

    def apply(self, Y: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:
        """Bring data to the model's scale."""
        return (Y - self.centre) / self.scale

    def undo(self, Y: Float[np.ndarray, "... D"]) -> Float[np.ndarray, "... D"]:
        """Bring values back to the data's scale."""
        return Y * self.scale + self.centre

    def undo_std(self, std: Float[np.ndarray, "... D"]) -> Float[np.ndarray, "... D"]:
        """Bring standard deviations back to the data's scale."""
        return std * self.scale

    def undo_covariance(self, cov: Float[np.ndarray, "N D D"]) -> Float[np.ndarray, "N D D"]:
        """Bring covariances across columns back to the data's scale."""
        return cov * self.scale[:, None] * self.scale[None, :]

    def log_jacobian(self, Y: Float[np.ndarray, "N D"]) -> Float[np.ndarray, " N"]:
        """Per row, what a log density of scaled data exceeds that of the data by."""
        return (~np.isnan(Y)) @ np.log(self.scale)

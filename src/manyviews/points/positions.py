"""Latent points as the protocols of direct models want them."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class Positions:
    """Points: their variance is zero and all draws are the same."""

    mean: Float[np.ndarray, "N Q"]

    @property
    def variance(self) -> Float[np.ndarray, "N Q"]:
        """Zero everywhere."""
        return np.zeros_like(self.mean)

    def draw(self, n_samples: int, rng: np.random.RandomState) -> Float[np.ndarray, "S N Q"]:
        """The points, so many times."""
        return np.tile(self.mean, (n_samples, 1, 1))

"""Latent points as the protocols of direct models want them."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class Positions:
    """Points, and of new rows how far p(x* | y*) spreads about them (Laplace's approximation)."""

    mean: Float[np.ndarray, "N Q"]
    covariance: Float[np.ndarray, "N Q Q"] | None = None

    @property
    def variance(self) -> Float[np.ndarray, "N Q"]:
        """By dimension; zero for training rows, which are at their points."""
        if self.covariance is None:
            return np.zeros_like(self.mean)
        return np.diagonal(self.covariance, axis1=1, axis2=2).copy()

    @property
    def root(self) -> Float[np.ndarray, "N Q Q"] | None:
        """A factor R of the covariance, RRᵀ."""
        if self.covariance is None:
            return None
        values, vectors = np.linalg.eigh(self.covariance)
        return vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]

    def draw(self, n_samples: int, rng: np.random.RandomState) -> Float[np.ndarray, "S N Q"]:
        """Points drawn from the Gaussian; without a spread the same, so many times."""
        root = self.root
        if root is None:
            return np.tile(self.mean, (n_samples, 1, 1))
        noise = rng.standard_normal((n_samples, *self.mean.shape))
        return self.mean + np.einsum("nij,snj->sni", root, noise)

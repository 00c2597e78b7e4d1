"""Functions of the known values in which a residual link is linear."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Float
from scipy.linalg import cholesky, solve_triangular
from scipy.spatial.distance import cdist

LENGTHS = (0.5, 1.0, 2.0)  # lengthscales of curves, in typical distances between rows
MOST_ANCHORS = 300
JITTER = 1e-6


@dataclass(frozen=True)
class LinkFeatures:
    """φ(a) = [z / √P, L⁻¹ k(Z, z)] of z = (a - centre) / scale, with LLᵀ = k(Z, Z).

    Products of features are values of a covariance function, a straight part and a curved one,

        φ(a)·φ(a') = z·z'/P + k(z, Z) k(Z, Z)⁻¹ k(Z, z'),   k(z, z') = exp(-|z - z'|² / 2ℓ²),

    so that ridge regression on them is Gaussian process regression, by way of the anchors Z.
    Without anchors it is ridge regression on the values themselves.

    Attributes
    ----------
    centre, scale : ndarray of shape (n_inputs,)
    anchors : ndarray of shape (n_anchors, n_inputs)
        Z, standardised.
    length : float
        ℓ.
    root : ndarray of shape (n_anchors, n_anchors)
        L.
    """

    centre: Float[np.ndarray, " P"]
    scale: Float[np.ndarray, " P"]
    anchors: Float[np.ndarray, "M P"]
    length: float
    root: Float[np.ndarray, "M M"]

    @classmethod
    def candidates(cls, inputs: Float[np.ndarray, "N P"]) -> list[Self]:
        """Straight features, and curved ones of several lengthscales."""
        centre, scale = inputs.mean(axis=0), inputs.std(axis=0)
        scale = np.where(scale > 1e-9, scale, 1.0)
        z = (inputs - centre) / scale
        found = [cls(centre, scale, z[:0], 1.0, np.empty((0, 0)))]
        anchors = z[np.random.default_rng(0).permutation(len(z))[:MOST_ANCHORS]]
        squares = cdist(anchors, anchors, "sqeuclidean")
        typical = np.sqrt(np.median(squares[np.triu_indices(len(anchors), 1)]))
        if typical < 1e-9:
            return found
        for length in typical * np.array(LENGTHS):
            K = np.exp(-0.5 * squares / length**2) + JITTER * np.eye(len(anchors))
            found.append(cls(centre, scale, anchors, float(length), cholesky(K, lower=True)))
        return found

    def __call__(self, inputs: Float[np.ndarray, "N P"]) -> Float[np.ndarray, "N F"]:
        z = (inputs - self.centre) / self.scale
        straight = z / np.sqrt(max(z.shape[1], 1))
        if not len(self.anchors):
            return straight
        k = np.exp(-0.5 * cdist(self.anchors, z, "sqeuclidean") / self.length**2)
        return np.hstack([straight, solve_triangular(self.root, k, lower=True).T])

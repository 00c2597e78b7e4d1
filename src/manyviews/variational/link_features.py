"""Functions of the known values in which a link is linear."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from jaxtyping import Float
from scipy.spatial.distance import pdist

LENGTHS = (0.5, 1.0, 2.0)  # lengthscales of curves, in typical distances between rows
MOST_ANCHORS = 300


@dataclass(frozen=True)
class LinkFeatures:
    """φ(a) = [z / √P, K^{-½} k(Z, z)] of the standardised values z, with K = k(Z, Z).

    Products of features are values of a covariance function, a straight part and a curved one,

        φ(a)·φ(a') = z·z'/P + k(z, Z) K⁻¹ k(Z, z'),   k(z, z') = exp(-|z - z'|² / 2ℓ²),

    so that ridge regression on them is Gaussian process regression, by way of the anchors Z.
    Without curves it is ridge regression on the values themselves.

    Attributes
    ----------
    scaler : StandardScaler
        a ↦ z.
    curves : Nystroem, optional
        z ↦ K^{-½} k(Z, z).
    """

    scaler: Any
    curves: Any = None

    @classmethod
    def candidates(cls, inputs: Float[np.ndarray, "N P"]) -> list[Self]:
        """Straight features, and curved ones of several lengthscales."""
        from sklearn.kernel_approximation import Nystroem  # slow to import
        from sklearn.preprocessing import StandardScaler

        scaler = StandardScaler()
        if not inputs.shape[1]:
            return [cls(scaler)]
        z = scaler.fit_transform(inputs)
        anchors = z[np.random.default_rng(0).permutation(len(z))[:MOST_ANCHORS]]
        typical = np.median(pdist(anchors))
        if typical < 1e-9:
            return [cls(scaler)]
        kernels = [
            Nystroem(gamma=0.5 / (length * typical) ** 2, n_components=len(anchors), random_state=0)
            for length in LENGTHS
        ]
        return [cls(scaler), *(cls(scaler, kernel.fit(anchors)) for kernel in kernels)]

    def __call__(self, inputs: Float[np.ndarray, "N P"]) -> Float[np.ndarray, "N F"]:
        if not inputs.shape[1]:
            return inputs
        z = self.scaler.transform(inputs)
        straight = z / np.sqrt(z.shape[1])
        return straight if self.curves is None else np.hstack([straight, self.curves.transform(z)])

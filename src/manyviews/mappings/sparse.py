"""The sparse GP mapping from latent points (Titsias 2009)."""

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from ..expectations import Gaussian
from ..kernels import Kernel
from ..linalg import DEFAULT_JITTER, safe_cholesky
from .collapsed import CollapsedGP, Statistics
from .outputs import GaussianOutputs
from .point_posterior import PointPosterior


class SparseGP(CollapsedGP):
    """The collapsed bound at points: its statistics are plain covariances.

    ψ0 = Σ k(x, x), Ψ1 = k(X, Z), Ψ2 = k(Z, X) k(X, Z), for any kernel and without quadrature.
    """

    def __init__(
        self,
        kernel: Kernel,
        inducing: ArrayLike,
        noise: ArrayLike = 0.01,
        jitter: float = DEFAULT_JITTER,
        floor: ArrayLike = 0.0,
    ):
        super().__init__(kernel, inducing, noise, jitter, floor)

    def posterior(self, q: Gaussian, outputs: GaussianOutputs) -> PointPosterior:  # type: ignore[override]
        found = super().posterior(q, outputs)
        return PointPosterior(
            kernel=self.kernel,
            Z=found.Z,
            noise=found.noise,
            weights=found.weights,
            reduction=found.reduction(),
            group_of_column=found.group_of_column,
            columns=None,
        )

    def _statistics(self, q: Gaussian, row_weights: Float[Array, "G N"]) -> Statistics:
        Z = self.inducing.value
        L, jitter = safe_cholesky(self.kernel.gram(Z), self.jitter)
        k = self.kernel.cross(q.mean, Z)
        return Statistics(
            L=L,
            jitter=jitter,
            psi0=row_weights @ self.kernel.diagonal(q.mean),
            psi1=k,
            psi2=jnp.einsum("gn,nm,nl->gml", row_weights, k, k),
        )

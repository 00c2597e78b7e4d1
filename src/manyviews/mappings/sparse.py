"""The sparse GP mapping from latent points (Titsias 2009)."""

import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, ArrayLike, Float

from ..expectations import Gaussian
from ..kernels import Kernel
from ..linalg import DEFAULT_JITTER, Quadratic, log_determinant, safe_cholesky
from .collapsed import CollapsedGP, Statistics, inner_cholesky
from .outputs import GaussianOutputs, PatternedOutputs
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

    def quadratic(self, q: Gaussian, outputs: PatternedOutputs) -> Quadratic:
        """Log|C + σ²I| + tr(k(X, X) - C)/σ² and Yᵀ(C + σ²I)⁻¹Y, C = k(X, Z) k(Z, Z)⁻¹ k(Z, X).

        Of a view whose rows are complete, or (then zero) lack all of it: half their sum is what the
        bound takes for a column.
        """
        noise, Y = self.noise_variance(), outputs.filled
        stats, beta = self._statistics(q, outputs.weights), 1.0 / noise
        A = stats.whitened(0)
        inner = inner_cholesky(A, beta)
        projected = solve_triangular(stats.L, stats.psi1.T @ Y, lower=True)
        V = solve_triangular(inner, projected, lower=True)
        size = outputs.weights[0].sum() * jnp.log(noise) + log_determinant(inner)
        size += beta * (stats.psi0[0] - jnp.trace(A))
        return Quadratic(size, beta * (Y.T @ Y - beta * V.T @ V), stats.jitter)

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

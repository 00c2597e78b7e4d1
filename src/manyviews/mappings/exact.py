"""The exact GP mapping from latent points (Lawrence 2005; [Leen08, §2.4.3])."""

import equinox as eqx
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, ArrayLike, Float

from ..expectations import Gaussian
from ..kernels import Kernel
from ..linalg import Quadratic, safe_cholesky, safe_quadratic
from ..parameters import Parameter, positive
from .base import Evidence, Mapping
from .outputs import GaussianOutputs, PatternedOutputs
from .point_posterior import PointPosterior

EXACT_JITTER = 1e-9
"""Relative; the noise is on the diagonal already."""


class ExactGP(Mapping):
    """log p(Y | X) = Σ_d log N(y_d | 0, K),  K = k(X, X) + noise I, at points X.

    For every group of columns with the same missing pattern, over the rows it has seen:
    -(D/2) log|K| - ½ tr(K⁻¹YYᵀ) - (ND/2) log 2π. The noise variance is ``floor`` plus a free
    positive parameter. Costs N³.
    """

    kernel: Kernel
    noise: Parameter
    floor: Float[Array, ""]
    n_dimensions: int = eqx.field(static=True)
    jitter: float = eqx.field(static=True)

    def __init__(
        self,
        kernel: Kernel,
        n_dimensions: int,
        noise: ArrayLike = 0.01,
        jitter: float = EXACT_JITTER,
        floor: ArrayLike = 0.0,
    ):
        self.kernel = kernel
        self.n_dimensions = n_dimensions
        self.noise = positive(noise)
        self.floor = jnp.asarray(floor, self.noise.raw.dtype)
        self.jitter = jitter

    def noise_variance(self) -> Float[Array, ""]:
        return self.noise.value + self.floor

    def relevance(self) -> Float[Array, " Q"]:
        return self.kernel.relevance(self.n_dimensions)

    def size(self, n_rows: int) -> int:
        return n_rows**2

    def covariance(self, X: Float[Array, "N Q"], seen: Float[Array, " N"]) -> Float[Array, "N N"]:
        """K over the rows that are seen; the others are as if independent of variance one."""
        K = self.kernel.gram(X) * jnp.outer(seen, seen)
        return K + jnp.diag(seen * self.noise_variance() + (1.0 - seen))

    def expected_log_likelihood(self, q: Gaussian, outputs: GaussianOutputs) -> Evidence:
        assert isinstance(outputs, PatternedOutputs)
        total, worst = jnp.zeros(()), jnp.zeros(())
        for g, data in enumerate(outputs.factors):
            K = self.covariance(q.mean, outputs.weights[g])
            log_det, scatter, jitter = safe_quadratic(K, data, self.jitter)
            size = outputs.weights[g].sum() * jnp.log(2.0 * jnp.pi) + log_det
            total += -0.5 * (outputs.n_columns[g] * size + jnp.trace(scatter))
            worst = jnp.maximum(worst, jitter)
        return Evidence(total, worst)

    def quadratic(self, q: Gaussian, outputs: PatternedOutputs) -> Quadratic:
        """Log|K| and YᵀK⁻¹Y of a view whose rows are complete, or (then zero) lack all of it."""
        K = self.covariance(q.mean, outputs.weights[0])
        return safe_quadratic(K, outputs.filled, self.jitter)

    def posterior(self, q: Gaussian, outputs: GaussianOutputs) -> PointPosterior:
        assert isinstance(outputs, PatternedOutputs)
        weights, reductions = jnp.zeros_like(outputs.filled), []
        for g, seen in enumerate(outputs.weights):
            L, _ = safe_cholesky(self.covariance(q.mean, seen), self.jitter)
            here = (outputs.group_of_column == g).astype(L.dtype)
            weights += cho_solve((L, True), outputs.filled) * jnp.outer(seen, here)
            inverse = cho_solve((L, True), jnp.eye(L.shape[0], dtype=L.dtype))
            reductions.append(inverse * jnp.outer(seen, seen))
        return PointPosterior(
            kernel=self.kernel,
            Z=q.mean,
            noise=self.noise_variance(),
            weights=weights,
            reduction=jnp.stack(reductions),
            group_of_column=outputs.group_of_column,
            columns=None,
        )

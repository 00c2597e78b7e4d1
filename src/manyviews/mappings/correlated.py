"""The GP mapping of [Leen08, chapter 3]: columns correlated by a full covariance Ψ of their own."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from ..expectations import Gaussian
from ..kernels import Kernel
from ..linalg import Quadratic, log_determinant, safe_quadratic, whiten
from .base import Evidence
from .exact import EXACT_JITTER, ExactGP
from .outputs import Outputs, PatternedOutputs
from .point_posterior import PointPosterior


class CorrelatedGP(ExactGP):
    """vec Y ~ N(0, Ψ ⊗ K): within-view variation is left to Ψ [Leen08, §3.4-3.5].

    Given K the best Ψ is known, Ψ̂ = (YᵀK⁻¹Y + βn₀S₀) / (N + n₀), and stands in the likelihood
    at every evaluation: the interleaved update of the thesis, taken at every step instead of every
    fifth. By the envelope theorem the gradient is that of a Ψ held at Ψ̂. The prior is on the noise
    covariance Σ = Ψ/β, which is what becomes singular,

        log p(Σ) = -(n₀/2) [log|ΣS₀⁻¹| + tr(S₀Σ⁻¹) - D] + const

    (inverse Wishart, worth n₀ samples of covariance S₀). Without it the likelihood has no maximum:
    points that are a linear combination of one view's columns explain it without any noise. Rows
    may lack the view; those that have it are complete.
    """

    scale: Float[Array, "D D"]
    pseudo_samples: Float[Array, ""]
    diagonal: bool = eqx.field(static=True)

    def __init__(
        self,
        kernel: Kernel,
        n_dimensions: int,
        scale: ArrayLike,
        pseudo_samples: ArrayLike,
        noise: ArrayLike = 0.1,
        jitter: float = EXACT_JITTER,
        floor: ArrayLike = 0.0,
        diagonal: bool = False,
    ):
        super().__init__(kernel, n_dimensions, noise, jitter, floor)
        self.scale = jnp.asarray(scale)
        self.pseudo_samples = jnp.asarray(pseudo_samples, self.noise.raw.dtype)
        self.diagonal = diagonal

    def expected_log_likelihood(self, q: Gaussian, outputs: Outputs) -> Evidence:
        assert isinstance(outputs, PatternedOutputs)
        seen = outputs.weights[0]
        N, D = seen.sum(), outputs.filled.shape[1]
        log_det, scatter, jitter = self._quadratic(q, outputs)
        psi = self._best(scatter, N)
        C = jnp.linalg.cholesky(psi)
        fit = jnp.trace(whiten(C, scatter))
        likelihood = D * (N * jnp.log(2.0 * jnp.pi) + log_det)
        likelihood = -0.5 * (likelihood + N * log_determinant(C) + fit)
        noise = self.noise_variance()
        ratio = log_determinant(C) - log_determinant(jnp.linalg.cholesky(self.scale))
        prior = ratio + D * jnp.log(noise) + jnp.trace(whiten(C, self.scale)) / noise - D
        return Evidence(likelihood - 0.5 * self.pseudo_samples * prior, jitter)

    def column_covariance(self, q: Gaussian, outputs: Outputs) -> Float[Array, "D D"]:
        """Ψ̂ at latent points."""
        assert isinstance(outputs, PatternedOutputs)
        return self._best(self._quadratic(q, outputs).scatter, outputs.weights[0].sum())

    def posterior(self, q: Gaussian, outputs: Outputs) -> PointPosterior:
        found = super().posterior(q, outputs)
        psi = self.column_covariance(q, outputs)
        return eqx.tree_at(lambda p: p.columns, found, psi, is_leaf=lambda x: x is None)

    def _quadratic(self, q: Gaussian, outputs: PatternedOutputs) -> Quadratic:
        """With YᵀK⁻¹Y (rows that lack the view are zero)."""
        K = self.covariance(q.mean, outputs.weights[0])
        return safe_quadratic(K, outputs.filled, self.jitter)

    def _best(self, scatter: Float[Array, "D D"], N: Float[Array, ""]) -> Float[Array, "D D"]:
        prior = self.pseudo_samples * self.scale / self.noise_variance()
        psi = (scatter + prior) / (N + self.pseudo_samples)
        return jnp.diag(jnp.diagonal(psi)) if self.diagonal else psi

"""The GP mapping of [Leen08, chapter 3]: columns correlated by a full covariance Ψ of their own."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from ..expectations import Gaussian
from ..linalg import Quadratic, log_determinant, whiten
from .around import AroundGP, PointGP
from .base import Evidence
from .outputs import GaussianOutputs, PatternedOutputs
from .point_posterior import PointPosterior


class NoisePrior(eqx.Module):
    """An inverse Wishart prior on the noise covariance Σ = Ψσ², worth n₀ samples of covariance S₀.

        log p(Σ) = -(n₀/2) [log|ΣS₀⁻¹| + tr(S₀Σ⁻¹) - D] + const

    It is on Σ, as this is what becomes singular: without it the likelihood has no maximum, because
    points that are a linear combination of one view's columns explain it without any noise.
    """

    scale: Float[Array, "D D"]
    pseudo_samples: Float[Array, ""]

    def __init__(self, scale: ArrayLike, pseudo_samples: ArrayLike):
        self.scale = jnp.asarray(scale)
        self.pseudo_samples = jnp.asarray(pseudo_samples, self.scale.dtype)

    def log_density(
        self, psi_root: Float[Array, "D D"], noise: Float[Array, ""]
    ) -> Float[Array, ""]:
        """Log p(σ²Ψ), constants aside, from chol Ψ."""
        ratio = log_determinant(psi_root) - log_determinant(jnp.linalg.cholesky(self.scale))
        fit = jnp.trace(whiten(psi_root, self.scale)) / noise
        D = self.scale.shape[0]
        return -0.5 * self.pseudo_samples * (ratio + D * jnp.log(noise) + fit - D)


class CorrelatedGP(AroundGP):
    """vec Y ~ N(0, Ψ ⊗ K): within-view variation is left to Ψ [Leen08, §3.4-3.5].

    Given K the best Ψ is known, Ψ̂ = (YᵀK⁻¹Y + n₀S₀/σ²) / (N + n₀), and stands in the likelihood
    at every evaluation: the interleaved update of the thesis, taken at every step instead of every
    fifth. By the envelope theorem the gradient is that of a Ψ held at Ψ̂. Rows may lack the view;
    those that have it are complete.

    Columns whitened by Ψ are independent, so around a `SparseGP` each has the bound of Titsias
    (2009): with C = k(X, Z) k(Z, Z)⁻¹ k(Z, X) it is the density with C + σ²I for K, less
    (D/2σ²) tr(k(X, X) - C), which Ψ does not enter.
    """

    inner: PointGP
    prior: NoisePrior
    diagonal: bool = eqx.field(static=True, default=False)

    def expected_log_likelihood(self, q: Gaussian, outputs: GaussianOutputs) -> Evidence:
        assert isinstance(outputs, PatternedOutputs)
        found, N = self.inner.quadratic(q, outputs), outputs.weights[0].sum()
        C = jnp.linalg.cholesky(self._best(found, N))
        sizes = outputs.filled.shape[1] * (N * jnp.log(2.0 * jnp.pi) + found.log_determinant)
        fit = jnp.trace(whiten(C, found.scatter))
        likelihood = -0.5 * (sizes + N * log_determinant(C) + fit)
        prior = self.prior.log_density(C, self.noise_variance())
        return Evidence(likelihood + prior, found.jitter)

    def column_covariance(self, q: Gaussian, outputs: GaussianOutputs) -> Float[Array, "D D"]:
        """Ψ̂ at latent points."""
        assert isinstance(outputs, PatternedOutputs)
        return self._best(self.inner.quadratic(q, outputs), outputs.weights[0].sum())

    def posterior(self, q: Gaussian, outputs: GaussianOutputs) -> PointPosterior:
        found, psi = self.inner.posterior(q, outputs), self.column_covariance(q, outputs)
        return eqx.tree_at(lambda p: p.columns, found, psi, is_leaf=lambda x: x is None)

    def _best(self, found: Quadratic, N: Float[Array, ""]) -> Float[Array, "D D"]:
        weight = self.prior.pseudo_samples
        psi = (found.scatter + weight * self.prior.scale / self.noise_variance()) / (N + weight)
        return jnp.diag(jnp.diagonal(psi)) if self.diagonal else psi

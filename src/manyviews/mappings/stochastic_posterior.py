"""Prediction of data of any kind, in their own terms."""

from typing import ClassVar, Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..expectations import Gaussian
from ..kernels import Kernel
from ..likelihoods import (
    Likelihood,
    predictive_draws,
    predictive_log_density,
    predictive_moments,
    predictive_probabilities,
    predictive_quantiles,
)
from ..likelihoods.quadrature import symmetric_sample
from .correction import Correction

NODES_LOG2 = 4  # half of the nodes of x*; more, if there are more dimensions
ROWS_AT_ONCE = 64


class StochasticPosterior(eqx.Module):
    """f(x*) | x* ~ N(k(x*, Z) B + offset, k(x*, x*) - kᵀR_gk), and y* given f from the likelihood.

    Under q(x*) = N(μ, S) the functions are a mixture over fixed nodes of x*. Means, variances,
    quantiles, draws and probabilities are those of values y*: rates, probabilities, levels, noise
    included. ``given`` is what is known beside values, as in the likelihood; without it an
    exposure is the typical one and there is one trial. With a correction the posterior is that
    of certain rows, and answers about these.
    """

    exact: ClassVar[bool] = False
    noise: ClassVar[float] = 0.0
    """Nothing is left to be added to the variance of values."""

    kernel: Kernel
    Z: Float[Array, "M Q"]
    likelihood: Likelihood
    offset: Float[Array, "D C"]
    weights: Float[Array, "M F"]
    reduction: Float[Array, "G M M"]
    group_of_function: Int[Array, " F"]
    correction: Correction | None = None

    def corrected(self, correction: Correction, likelihood: Likelihood) -> Self:
        """What some rows are like, their function values corrected, under another likelihood."""
        return eqx.tree_at(
            lambda p: (p.correction, p.likelihood), self, (correction, likelihood),
            is_leaf=lambda leaf: leaf is None,
        )  # fmt: skip

    def rows(self, chosen: Int[Array, " n"]) -> Self:
        """The same for some of its rows; for any rows, if nothing is corrected."""
        if self.correction is None:
            return self
        return self.corrected(self.correction.rows(chosen), self.likelihood)

    def functions(
        self, x: Float[Array, "N Q"]
    ) -> tuple[Float[Array, "N D C"], Float[Array, "N D C"]]:
        """Mean and variance of every function at points."""
        k = self.kernel.cross(x, self.Z)
        removed = jax.vmap(lambda R: jnp.sum((k @ R) * k, axis=1), out_axes=1)(self.reduction)
        spread = self.kernel.diagonal(x)[:, None] - removed
        shape = (x.shape[0], *self.offset.shape)
        variance = jnp.maximum(spread, 0.0)[:, self.group_of_function].reshape(shape)
        mean = (k @ self.weights).reshape(shape) + self.offset
        return (mean, variance) if self.correction is None else self.correction(mean, variance)

    def parts(self, q: Gaussian) -> tuple[Float[Array, "K N D C"], Float[Array, "K N D C"]]:
        """Mean and variance of every function at each node of x*."""
        xi = _nodes(q.mean.shape[1])
        x = q.mean + jnp.sqrt(q.variance) * xi[:, None]
        return jax.lax.map(self.functions, x)

    # ------------------------------------------------------------------ values

    def mean(self, q: Gaussian, given: Float[Array, "N D"] | None = None) -> Float[Array, "N D"]:
        """⟨y*⟩: rates, probabilities, expected levels."""
        return self._moments(q, given)[0]

    def variance(
        self, q: Gaussian, given: Float[Array, "N D"] | None = None
    ) -> Float[Array, "N D"]:
        """Variance of y*."""
        return self._moments(q, given)[1]

    def covariance(
        self, q: Gaussian, given: Float[Array, "N D"] | None = None
    ) -> Float[Array, "N D D"]:
        """Covariance of y* across columns, which are independent given x*."""
        given = self._given(q, given)
        m, v = self.parts(q)
        means, variances = jax.lax.map(
            lambda part: self.likelihood.moments(part[0], part[1], given), (m, v)
        )
        centred = means - jnp.mean(means, axis=0)
        between = jnp.einsum("knd,kne->nde", centred, centred) / means.shape[0]
        return between + jax.vmap(jnp.diag)(jnp.mean(variances, axis=0))

    def sample(
        self, q: Gaussian, n_samples: int, key: PRNGKeyArray,
        given: Float[Array, "N D"] | None = None,
    ) -> Float[Array, "S N D"]:  # fmt: skip
        """Draws of y*: x* ~ q(x*), f(x*) | x*, y* | f."""
        given = self._given(q, given)

        def one_draw(key: PRNGKeyArray) -> Float[Array, "N D"]:
            input_key, output_key = jax.random.split(key)
            noise = jax.random.normal(input_key, q.mean.shape, q.mean.dtype)
            m, v = self.functions(q.mean + jnp.sqrt(q.variance) * noise)
            return predictive_draws(self.likelihood, output_key, m, v, given)

        return jax.lax.map(one_draw, jax.random.split(key, n_samples))

    def probabilities(
        self, q: Gaussian, given: Float[Array, "N D"] | None = None
    ) -> Float[Array, "N D L"]:
        """P(y* = level), for kinds with levels."""
        return predictive_probabilities(self.likelihood, *self.parts(q), self._given(q, given))

    def quantiles(
        self,
        q: Gaussian,
        probability: float | Float[Array, ""],
        given: Float[Array, "N D"] | None = None,
    ) -> Float[Array, "N D"]:
        """The smallest value that is not exceeded with this probability."""
        given = self._given(q, given)
        return predictive_quantiles(self.likelihood, probability, *self.parts(q), given)

    def log_density(
        self, q: Gaussian, y: Float[Array, "N D"], given: Float[Array, "N D"] | None = None
    ) -> Float[Array, "N D"]:
        """Log p(y*) of every value on its own."""
        given = self._given(q, given)
        return predictive_log_density(self.likelihood, y, *self.parts(q), given)

    def _moments(
        self, q: Gaussian, given: Float[Array, "N D"] | None
    ) -> tuple[Float[Array, "N D"], Float[Array, "N D"]]:
        return predictive_moments(self.likelihood, *self.parts(q), self._given(q, given))

    def _given(self, q: Gaussian, given: Float[Array, "N D"] | None) -> Array | None:
        """What is given, or what the likelihood takes where nothing is known."""
        if given is not None:
            return given
        typical = self.likelihood.typical_given(self.offset.shape[0])
        return None if typical is None else jnp.broadcast_to(typical, (len(q.mean), typical.size))


def _nodes(n_dimensions: int) -> Float[Array, "K Q"]:
    return jnp.asarray(symmetric_sample(n_dimensions, NODES_LOG2)[0])

"""A GP whose relevance weights have a prior towards zero [Leen08, §4.4.2]."""

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from ..expectations import Gaussian
from ..parameters import named_parameters
from .around import AroundGP, PointGP
from .base import Evidence
from .outputs import GaussianOutputs
from .point_posterior import PointPosterior


class PrunedGP(AroundGP):
    """The weights w = a² of the kernel's dimensions have a ~ N(0, spread²): -½ Σ w / spread².

    Adding to the likelihood what the prior says of weights that it does not need.
    """

    inner: PointGP
    spread: Float[Array, ""]

    def __init__(self, inner: PointGP, spread: ArrayLike):
        self.inner = inner
        self.spread = jnp.asarray(spread, inner.noise.raw.dtype)

    def expected_log_likelihood(self, q: Gaussian, outputs: GaussianOutputs) -> Evidence:
        found = self.inner.expected_log_likelihood(q, outputs)
        weights = [
            p.value for name, p in named_parameters(self.kernel) if name.endswith("variances")
        ]
        prior = sum([jnp.sum(w) for w in weights], jnp.zeros(())) / self.spread**2
        return Evidence(found.value - 0.5 * prior, found.jitter)

    def posterior(self, q: Gaussian, outputs: GaussianOutputs) -> PointPosterior:
        return self.inner.posterior(q, outputs)

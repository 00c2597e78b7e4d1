"""An exact GP whose relevance weights have a prior towards zero [Leen08, §4.4.2]."""

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from ..expectations import Gaussian
from ..kernels import Kernel
from ..parameters import named_parameters
from .base import Evidence
from .exact import EXACT_JITTER, ExactGP
from .outputs import Outputs


class PrunedGP(ExactGP):
    """The weights w = a² of the kernel's dimensions have a ~ N(0, spread²): -½ Σ w / spread².

    Adding to the likelihood what the prior says of weights that it does not need.
    """

    spread: Float[Array, ""]

    def __init__(
        self,
        kernel: Kernel,
        n_dimensions: int,
        spread: ArrayLike,
        noise: ArrayLike = 0.01,
        jitter: float = EXACT_JITTER,
        floor: ArrayLike = 0.0,
    ):
        super().__init__(kernel, n_dimensions, noise, jitter, floor)
        self.spread = jnp.asarray(spread, self.noise.raw.dtype)

    def expected_log_likelihood(self, q: Gaussian, outputs: Outputs) -> Evidence:
        found = super().expected_log_likelihood(q, outputs)
        weights = [
            p.value for name, p in named_parameters(self.kernel) if name.endswith("variances")
        ]
        prior = sum([jnp.sum(w) for w in weights], jnp.zeros(())) / self.spread**2
        return Evidence(found.value - 0.5 * prior, found.jitter)

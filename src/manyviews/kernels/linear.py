"""The linear kernel with automatic relevance determination."""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from ..parameters import Parameter, positive
from .base import Kernel


class Linear(Kernel):
    """k(x, z) = Σ_q w_q x_q z_q  [BGPLVM16, App. B]:
    a Bayesian linear map with slopes N(0, w_q).
    """

    per_dimension: ClassVar[tuple[str, ...]] = ("variances",)
    variances: Parameter

    def __init__(self, variances: ArrayLike = 1.0):
        self.variances = positive(variances)

    def __call__(self, x: Float[Array, " Q"], z: Float[Array, " Q"]) -> Float[Array, ""]:
        return jnp.sum(self.variances.value * x * z)

    def relevance(self, n_dimensions: int) -> Float[Array, " Q"]:
        return jnp.broadcast_to(self.variances.value, (n_dimensions,))

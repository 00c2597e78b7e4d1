"""The exponentiated quadratic kernel with automatic relevance determination."""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from ..parameters import Parameter, positive
from .base import Kernel, squared_distance


class RBF(Kernel):
    """k(x, z) = σ² exp(-½ Σ_q w_q (x_q - z_q)²),  w_q = 1/ℓ_q²  [BGPLVM16, eq. 12]."""

    per_dimension: ClassVar[tuple[str, ...]] = ("lengthscale",)
    variance: Parameter
    lengthscale: Parameter

    def __init__(self, variance: ArrayLike = 1.0, lengthscale: ArrayLike = 1.0):
        self.variance = positive(variance)
        self.lengthscale = positive(lengthscale)

    def __call__(self, x: Float[Array, " Q"], z: Float[Array, " Q"]) -> Float[Array, ""]:
        return self.variance.value * jnp.exp(-0.5 * squared_distance(x, z, self.lengthscale.value))

    def weights(self, n_dimensions: int) -> Float[Array, " Q"]:
        """The ARD weights w_q = 1/ℓ_q²."""
        return jnp.broadcast_to(self.lengthscale.value**-2, (n_dimensions,))

    def relevance(self, n_dimensions: int) -> Float[Array, " Q"]:
        return self.variance.value * self.weights(n_dimensions)

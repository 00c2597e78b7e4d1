"""The periodic kernel (MacKay 1998)."""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from ..parameters import Parameter, positive
from .base import Kernel


class Periodic(Kernel):
    """k(x, z) = σ² exp(-2 Σ_q sin²(π (x_q - z_q)/p) / ℓ_q²)."""

    per_dimension: ClassVar[tuple[str, ...]] = ("lengthscale",)
    variance: Parameter
    lengthscale: Parameter
    period: Parameter

    def __init__(
        self, variance: ArrayLike = 1.0, lengthscale: ArrayLike = 1.0, period: ArrayLike = 1.0
    ):
        self.variance = positive(variance)
        self.lengthscale = positive(lengthscale)
        self.period = positive(period)

    def __call__(self, x: Float[Array, " Q"], z: Float[Array, " Q"]) -> Float[Array, ""]:
        wave = jnp.sin(jnp.pi * (x - z) / self.period.value) / self.lengthscale.value
        return self.variance.value * jnp.exp(-2.0 * jnp.sum(wave**2))

    def relevance(self, n_dimensions: int) -> Float[Array, " Q"]:
        slope = (2.0 * jnp.pi / self.period.value / self.lengthscale.value) ** 2
        return self.variance.value * jnp.broadcast_to(slope, (n_dimensions,))

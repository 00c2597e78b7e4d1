"""Kernels that do not look at the inputs: a shared offset and independent noise."""

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from ..parameters import Parameter, positive
from .base import Kernel


class Bias(Kernel):
    """k(x, z) = σ²: an unknown constant shared by all points."""

    variance: Parameter

    def __init__(self, variance: ArrayLike = 1.0):
        self.variance = positive(variance)

    def __call__(self, x: Float[Array, " Q"], z: Float[Array, " Q"]) -> Float[Array, ""]:
        return self.variance.value + 0.0 * jnp.sum(x * z)

    def relevance(self, n_dimensions: int) -> Float[Array, " Q"]:
        return jnp.zeros(n_dimensions, self.variance.raw.dtype)


class White(Kernel):
    """k(x_i, x_j) = σ² δ_ij: noise of each point's own, never shared with another point."""

    variance: Parameter

    def __init__(self, variance: ArrayLike = 1.0):
        self.variance = positive(variance)

    def __call__(self, x: Float[Array, " Q"], z: Float[Array, " Q"]) -> Float[Array, ""]:
        return 0.0 * jnp.sum(x * z)

    def gram(self, X: Float[Array, "N Q"]) -> Float[Array, "N N"]:
        return self.variance.value * jnp.eye(X.shape[0], dtype=X.dtype)

    def diagonal(self, X: Float[Array, "N Q"]) -> Float[Array, " N"]:
        return jnp.full(X.shape[0], self.variance.value)

    def relevance(self, n_dimensions: int) -> Float[Array, " Q"]:
        return jnp.zeros(n_dimensions, self.variance.raw.dtype)

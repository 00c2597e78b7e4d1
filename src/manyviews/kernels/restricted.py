"""A kernel over some of the latent dimensions."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from .base import Kernel


class Restricted(Kernel):
    """k(x, z) of some dimensions of x and z: what is private to a view is not seen by others."""

    kernel: Kernel
    dimensions: tuple[int, ...] = eqx.field(static=True)

    def __init__(self, kernel: Kernel, dimensions: tuple[int, ...]):
        self.kernel = kernel.with_dimensions(len(dimensions))
        self.dimensions = tuple(int(d) for d in dimensions)

    def __call__(self, x: Float[Array, " Q"], z: Float[Array, " Q"]) -> Float[Array, ""]:
        chosen = list(self.dimensions)
        return self.kernel(x[..., chosen], z[..., chosen])

    def cross(self, X: Float[Array, "N Q"], Z: Float[Array, "M Q"]) -> Float[Array, "N M"]:
        chosen = list(self.dimensions)
        return self.kernel.cross(X[:, chosen], Z[:, chosen])

    def gram(self, X: Float[Array, "N Q"]) -> Float[Array, "N N"]:
        return self.kernel.gram(X[:, list(self.dimensions)])

    def diagonal(self, X: Float[Array, "N Q"]) -> Float[Array, " N"]:
        return self.kernel.diagonal(X[:, list(self.dimensions)])

    def relevance(self, n_dimensions: int) -> Float[Array, " Q"]:
        inner = self.kernel.relevance(len(self.dimensions))
        return jnp.zeros(n_dimensions).at[jnp.asarray(self.dimensions)].set(inner)

    def with_dimensions(self, n_dimensions: int) -> "Restricted":
        return self

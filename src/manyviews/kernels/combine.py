"""Sums and products of kernels."""

from functools import reduce
from operator import add, mul
from typing import Self

import jax.numpy as jnp
from jaxtyping import Array, Float

from .base import Kernel


class _Combination(Kernel):
    """Several kernels joined by one operation, applied to numbers and matrices alike."""

    parts: tuple[Kernel, ...]

    @classmethod
    def of(cls, *kernels: Kernel) -> Self:
        """Join kernels, flattening combinations of the same kind."""
        nested = [k.parts if type(k) is cls else (k,) for k in kernels]
        return cls(tuple(part for group in nested for part in group))

    def with_dimensions(self, n_dimensions: int) -> Self:
        return type(self)(tuple(part.with_dimensions(n_dimensions) for part in self.parts))


class Sum(_Combination):
    """k(x, z) = Σ_i k_i(x, z): f is a sum of independent functions."""

    def __call__(self, x: Float[Array, " Q"], z: Float[Array, " Q"]) -> Float[Array, ""]:
        return reduce(add, [part(x, z) for part in self.parts])

    def cross(self, X: Float[Array, "N Q"], Z: Float[Array, "M Q"]) -> Float[Array, "N M"]:
        return reduce(add, [part.cross(X, Z) for part in self.parts])

    def gram(self, X: Float[Array, "N Q"]) -> Float[Array, "N N"]:
        return reduce(add, [part.gram(X) for part in self.parts])

    def diagonal(self, X: Float[Array, "N Q"]) -> Float[Array, " N"]:
        return reduce(add, [part.diagonal(X) for part in self.parts])

    def relevance(self, n_dimensions: int) -> Float[Array, " Q"]:
        return reduce(add, [part.relevance(n_dimensions) for part in self.parts])


class Product(_Combination):
    """k(x, z) = Π_i k_i(x, z)."""

    def __call__(self, x: Float[Array, " Q"], z: Float[Array, " Q"]) -> Float[Array, ""]:
        return reduce(mul, [part(x, z) for part in self.parts])

    def cross(self, X: Float[Array, "N Q"], Z: Float[Array, "M Q"]) -> Float[Array, "N M"]:
        return reduce(mul, [part.cross(X, Z) for part in self.parts])

    def gram(self, X: Float[Array, "N Q"]) -> Float[Array, "N N"]:
        return reduce(mul, [part.gram(X) for part in self.parts])

    def diagonal(self, X: Float[Array, "N Q"]) -> Float[Array, " N"]:
        return reduce(mul, [part.diagonal(X) for part in self.parts])

    def relevance(self, n_dimensions: int) -> Float[Array, " Q"]:
        """Product rule at the origin (first derivatives of every part vanish there)."""
        origin = jnp.zeros(n_dimensions)
        heights = [part(origin, origin) for part in self.parts]
        terms = [
            reduce(mul, heights[:i] + heights[i + 1 :], part.relevance(n_dimensions))
            for i, part in enumerate(self.parts)
        ]
        return reduce(add, terms)

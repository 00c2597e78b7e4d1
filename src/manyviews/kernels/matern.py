"""Matérn kernels of smoothness 1/2, 3/2 and 5/2 (Rasmussen & Williams 2006, eq. 4.17)."""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from ..parameters import Parameter, positive
from .base import Kernel, safe_sqrt, squared_distance


class _Matern(Kernel):
    """Common part: r² = Σ_q (x_q - z_q)²/ℓ_q² and the slope variance at the origin."""

    per_dimension: ClassVar[tuple[str, ...]] = ("lengthscale",)
    variance: Parameter
    lengthscale: Parameter

    slope: ClassVar[float] = 1.0  # -∂²ρ/∂r² at r = 0, for unit variance

    def __init__(self, variance: ArrayLike = 1.0, lengthscale: ArrayLike = 1.0):
        self.variance = positive(variance)
        self.lengthscale = positive(lengthscale)

    def _distance(self, x: Float[Array, " Q"], z: Float[Array, " Q"]) -> Float[Array, ""]:
        return safe_sqrt(squared_distance(x, z, self.lengthscale.value))

    def relevance(self, n_dimensions: int) -> Float[Array, " Q"]:
        weights = jnp.broadcast_to(self.lengthscale.value**-2, (n_dimensions,))
        return self.slope * self.variance.value * weights


class Matern12(_Matern):
    """k = σ² exp(-r): rough paths (Ornstein-Uhlenbeck).

    Its paths have no slope, so `relevance()` reports σ² w_q, the scale alone.
    """

    def __call__(self, x: Float[Array, " Q"], z: Float[Array, " Q"]) -> Float[Array, ""]:
        return self.variance.value * jnp.exp(-self._distance(x, z))


class Matern32(_Matern):
    """k = σ² (1 + √3 r) exp(-√3 r)."""

    slope: ClassVar[float] = 3.0

    def __call__(self, x: Float[Array, " Q"], z: Float[Array, " Q"]) -> Float[Array, ""]:
        r = jnp.sqrt(3.0) * self._distance(x, z)
        return self.variance.value * (1.0 + r) * jnp.exp(-r)


class Matern52(_Matern):
    """k = σ² (1 + √5 r + 5r²/3) exp(-√5 r)."""

    slope: ClassVar[float] = 5.0 / 3.0

    def __call__(self, x: Float[Array, " Q"], z: Float[Array, " Q"]) -> Float[Array, ""]:
        r = jnp.sqrt(5.0) * self._distance(x, z)
        return self.variance.value * (1.0 + r + r**2 / 3.0) * jnp.exp(-r)

"""The polynomial kernel with automatic relevance determination."""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from ..errors import OptionError
from ..parameters import Parameter, positive
from .base import Kernel


class Polynomial(Kernel):
    """k(x, z) = (Σ_q w_q x_q z_q + c)^degree  [Leen08, §4.2]."""

    per_dimension: ClassVar[tuple[str, ...]] = ("variances",)
    variances: Parameter
    offset: Parameter
    degree: int = eqx.field(static=True)

    def __init__(self, degree: int = 2, variances: ArrayLike = 1.0, offset: ArrayLike = 1.0):
        if not isinstance(degree, int) or degree < 1:
            raise OptionError(f"degree must be a positive whole number, got {degree!r}")
        self.variances = positive(variances)
        self.offset = positive(offset)
        self.degree = degree

    def __call__(self, x: Float[Array, " Q"], z: Float[Array, " Q"]) -> Float[Array, ""]:
        return (jnp.sum(self.variances.value * x * z) + self.offset.value) ** self.degree

    def relevance(self, n_dimensions: int) -> Float[Array, " Q"]:
        slope = self.degree * self.offset.value ** (self.degree - 1) * self.variances.value
        return jnp.broadcast_to(slope, (n_dimensions,))

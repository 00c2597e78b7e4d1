"""The kernels of a path: one for all of its dimensions, or one each."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..errors import OptionError
from ..kernels import Kernel

PathKernel = Kernel | tuple[Kernel, ...]


def kernels_of(kernel: PathKernel) -> tuple[Kernel, ...]:
    """One kernel, or one for every dimension."""
    return (kernel,) if isinstance(kernel, Kernel) else tuple(kernel)


def over_inputs(kernel: PathKernel, n_inputs: int, n_dimensions: int) -> PathKernel:
    """The same kernels over so many inputs; refused unless there is one, or one per dimension."""
    if isinstance(kernel, Kernel):
        return kernel.with_dimensions(n_inputs)
    if len(kernel) != n_dimensions:
        raise OptionError(
            f"one kernel for all {n_dimensions} dimensions of a path, or one for each, is needed; "
            f"got {len(kernel)}"
        )
    return tuple(one.with_dimensions(n_inputs) for one in kernel)


def grams(kernel: PathKernel, x: Float[Array, "T P"]) -> Float[Array, "L T T"]:
    """Covariances at the inputs of a sequence, L = 1 or one for every dimension."""
    return jnp.stack([one.gram(x) for one in kernels_of(kernel)])


def diagonals(kernel: PathKernel, x: Float[Array, "N P"]) -> Float[Array, "N L"]:
    """Variances at inputs."""
    return jnp.stack([one.diagonal(x) for one in kernels_of(kernel)], axis=1)


def map_dimensions(
    function: Callable[..., Any],
    shared: Float[Array, "L T T"],
    own: Float[Array, "L K T T"],
    columns: tuple[Array, ...],
) -> Any:
    """Apply a function of κ_s, all κ_k and columns to every dimension, one after the other."""
    if len(shared) == 1:
        return jax.lax.map(lambda column: function(shared[0], own[0], *column), columns)
    return jax.lax.map(lambda each: function(*each), (shared, own, *columns))

"""Kernels over time as linear state-space models (Hartikainen & Särkkä 2010).

A stationary kernel whose spectral density is rational is the covariance of the first
coordinate of a small vector z that follows z(t+τ) = A(τ) z(t) + noise, the noise having
covariance P∞ - A P∞ Aᵀ. A sum of kernels stacks their states.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ..kernels import Bias, Kernel, Matern12, Matern32, Matern52, Sum, White
from ..linalg import map_factorising


class StateSpace(NamedTuple):
    """Transitions between successive rows, the noise they add, and the row's read-out."""

    transition: Float[Array, "N d d"]
    noise: Float[Array, "N d d"]
    readout: Float[Array, " d"]


def has_state_space(kernel: Kernel) -> bool:
    """Whether a kernel of one input has an exact state-space form here."""
    if isinstance(kernel, Sum):
        return all(has_state_space(part) for part in kernel.parts)
    return isinstance(kernel, Matern12 | Matern32 | Matern52 | Bias | White)


def state_space(kernel: Kernel, step: Float[Array, " N"], first: Bool[Array, " N"]) -> StateSpace:
    """The model of rows in order; where a sequence begins, the state is drawn afresh."""
    parts = kernel.parts if isinstance(kernel, Sum) else (kernel,)
    blocks = [_component(part, step) for part in parts]
    sizes = [P.shape[0] for _, P in blocks]
    ends = np.cumsum(sizes)
    d = int(ends[-1])
    A, P = jnp.zeros((len(step), d, d)), jnp.zeros((d, d))
    for (a, p), size, end in zip(blocks, sizes, ends, strict=True):
        here = slice(int(end) - size, int(end))
        A = A.at[:, here, here].set(a)
        P = P.at[here, here].set(p)
    A = jnp.where(first[:, None, None], 0.0, A)
    readout = np.zeros(d)
    readout[ends - sizes] = 1.0
    return StateSpace(A, P - A @ P @ jnp.swapaxes(A, 1, 2), jnp.asarray(readout))


def _component(
    kernel: Kernel, step: Float[Array, " N"]
) -> tuple[Float[Array, "N d d"], Float[Array, "d d"]]:
    """A(τ) for every step and P∞; derivatives are measured in units of the decay rate."""
    variance = kernel.variance.value  # type: ignore[attr-defined]
    if isinstance(kernel, Bias):
        return jnp.ones((len(step), 1, 1)), variance * jnp.eye(1)
    if isinstance(kernel, White):
        return jnp.zeros((len(step), 1, 1)), variance * jnp.eye(1)
    order = {Matern12: 1, Matern32: 2, Matern52: 3}[type(kernel)]  # type: ignore[index]
    lengthscale = jnp.ravel(kernel.lengthscale.value)[0]  # type: ignore[attr-defined]
    r = np.sqrt(2.0 * order - 1.0) * step / lengthscale
    if order == 1:
        rows = [[jnp.ones_like(r)]]
        P = np.eye(1)
    elif order == 2:
        rows = [[1.0 + r, r], [-r, 1.0 - r]]
        P = np.eye(2)
    else:
        h = 0.5 * r**2
        rows = [
            [1.0 + r + h, r + r**2, h],
            [-h, 1.0 + r - r**2, r - h],
            [h - r, r**2 - 3.0 * r, 1.0 - 2.0 * r + h],
        ]
        P = np.array([[1.0, 0.0, -1.0 / 3.0], [0.0, 1.0 / 3.0, 0.0], [-1.0 / 3.0, 0.0, 1.0]])
    A = jnp.stack([jnp.stack(row, axis=-1) for row in rows], axis=-2)
    return jnp.exp(-r)[:, None, None] * A, variance * jnp.asarray(P)


def simulate(model: StateSpace, key: jax.Array, n_paths: int) -> Float[Array, "n_paths N"]:
    """Paths drawn from the prior, one row after the other."""
    d = model.readout.shape[0]
    values, vectors = map_factorising(jnp.linalg.eigh, model.noise, 1024)  # may be singular
    roots = vectors * jnp.sqrt(jnp.maximum(values, 0.0))[:, None, :]
    draws = jax.random.normal(key, (model.transition.shape[0], d, n_paths))

    def advance(z: Array, row: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        A, root, draw = row
        z = A @ z + root @ draw
        return z, model.readout @ z

    start = jnp.zeros((d, n_paths))
    return jax.lax.scan(advance, start, (model.transition, roots, draws))[1].T

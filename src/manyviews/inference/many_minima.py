"""Searching many small functions at once, each in its own few variables and from many starts.

All problems advance in lock step inside one compiled loop; each keeps its own dense BFGS
matrix and its own step length, so that none waits for a line search of another.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

STALLED = 8  # halvings of a step after which a row is at its noise floor


BUCKETS = (1, 8, 64, 256, 1024)  # rows that programs are compiled for

MakeFunction = Callable[
    [Int[Array, " n"] | None], Callable[[Float[Array, "n V"]], Float[Array, " n"]]
]


def in_buckets(
    rows: Int[np.ndarray, " N"], buckets: tuple[int, ...] = BUCKETS
) -> Iterator[tuple[Int[np.ndarray, " n"], Int[np.ndarray, " b"]]]:
    """Rows in pieces, and each piece filled up to a size that a program is compiled for."""
    for begin in range(0, len(rows), buckets[-1]):
        here = rows[begin : begin + buckets[-1]]
        yield here, np.resize(here, next(size for size in buckets if size >= len(here)))


def search_rows(
    make: MakeFunction,
    starts: Float[Array, "N S V"],
    scale: Callable[[Float[Array, "n V"], Int[Array, " n"]], Float[Array, "n V"]],
    keep: int,
    *,
    iterations: int = 200,
    tolerance: float = 1e-6,
) -> tuple[Float[Array, "N K V"], Float[Array, "N K"]]:
    """Minimise every row's function from the best few of its starts.

    Parameters
    ----------
    make
        Gives the function of some rows, with repetitions; None is every row once.
    scale
        Roughly each variable's variance, at starts of some rows.
    keep
        How many of the starts, those of the smallest values, are gone on from.

    Returns
    -------
    x, value
        The ends of every row, the best first, and their values.
    """
    N, _, V = starts.shape
    screened = jax.lax.map(make(None), jnp.swapaxes(starts, 0, 1))
    screened = jnp.where(jnp.isfinite(screened), screened, jnp.inf)
    chosen = jnp.argsort(screened, axis=0, stable=True)[:keep].T  # rows x keep
    row = jnp.repeat(jnp.arange(N), keep)
    start = starts[row, chosen.ravel()]
    x, value = minimise_rows(
        make(row), start, scale(start, row), iterations=iterations, tolerance=tolerance
    )
    value = jnp.where(jnp.isfinite(value), value, jnp.inf).reshape(N, keep)
    order = jnp.argsort(value, axis=1, stable=True)
    x = jnp.take_along_axis(x.reshape(N, keep, V), order[:, :, None], axis=1)
    return x, jnp.take_along_axis(value, order, axis=1)


class _State(NamedTuple):
    x: Float[Array, "N V"]
    value: Float[Array, " N"]
    gradient: Float[Array, "N V"]
    inverse: Float[Array, "N V V"]
    step: Float[Array, " N"]
    rejected: Float[Array, " N"]
    done: Bool[Array, " N"]


def minimise_rows(
    function: Callable[[Float[Array, "N V"]], Float[Array, " N"]],
    start: Float[Array, "N V"],
    scale: Float[Array, "N V"],
    *,
    iterations: int = 200,
    tolerance: float = 1e-6,
) -> tuple[Float[Array, "N V"], Float[Array, " N"]]:
    """Minimise each row's function from its start.

    Parameters
    ----------
    function
        Maps all rows' variables to all rows' values; row n must depend on row n alone.
    scale
        Diagonal of the first inverse Hessian: roughly each variable's variance.
    tolerance
        A row is done when its Newton decrement √(gᵀHg) falls below this.

    Returns
    -------
    x, value
        The minimisers and the minima.
    """

    def evaluate(x: Array) -> tuple[Array, Array]:
        value, pull = jax.vjp(function, x)
        return value, pull(jnp.ones_like(value))[0]

    def direction(state: _State) -> Array:
        return -jnp.einsum("nij,nj->ni", state.inverse, state.gradient)

    def advance(carry: tuple[_State, Array]) -> tuple[_State, Array]:
        state, count = carry
        d = direction(state)
        d = d * jnp.minimum(1.0, 3.0 / jnp.maximum(jnp.abs(d).max(axis=1, keepdims=True), 1e-300))
        slope = jnp.sum(state.gradient * d, axis=1)
        x = state.x + state.step[:, None] * d
        value, gradient = evaluate(x)
        enough = value <= state.value + 1e-4 * state.step * slope + 1e-12 * jnp.abs(state.value)
        accept = enough & jnp.isfinite(value) & ~state.done
        s, y = x - state.x, gradient - state.gradient
        inverse = jnp.where(accept[:, None, None], _bfgs_update(state.inverse, s, y), state.inverse)
        state = _State(
            x=jnp.where(accept[:, None], x, state.x),
            value=jnp.where(accept, value, state.value),
            gradient=jnp.where(accept[:, None], gradient, state.gradient),
            inverse=inverse,
            step=jnp.where(accept, 1.0, 0.5 * state.step),
            rejected=jnp.where(accept, 0.0, state.rejected + 1.0),
            done=state.done,
        )
        decrement = -jnp.sum(state.gradient * direction(state), axis=1)
        done = state.done | (decrement < tolerance**2) | (state.rejected >= STALLED)
        return state._replace(done=done), count + 1

    def unfinished(carry: tuple[_State, Array]) -> Array:
        state, count = carry
        return (count < iterations) & ~state.done.all()

    value, gradient = evaluate(start)
    inverse = jax.vmap(jnp.diag)(scale)
    n = start.shape[0]
    zeros = jnp.zeros(n, start.dtype)
    state = _State(start, value, gradient, inverse, zeros + 1.0, zeros, jnp.zeros(n, bool))
    state, _ = jax.lax.while_loop(unfinished, advance, (state, jnp.asarray(0)))
    return state.x, state.value


def _bfgs_update(
    H: Float[Array, "N V V"], s: Float[Array, "N V"], y: Float[Array, "N V"]
) -> Float[Array, "N V V"]:
    """H + (1 + yᵀHy/sᵀy) ssᵀ/sᵀy - (Hysᵀ + syᵀH)/sᵀy, skipped where sᵀy is not positive."""
    sy = jnp.sum(s * y, axis=1)
    safe = sy > 1e-12 * jnp.sqrt(jnp.sum(s**2, axis=1) * jnp.sum(y**2, axis=1))
    rho = jnp.where(safe, 1.0 / jnp.where(safe, sy, 1.0), 0.0)
    Hy = jnp.einsum("nij,nj->ni", H, y)
    gain = (1.0 + rho * jnp.sum(y * Hy, axis=1)) * rho
    ss = s[:, :, None] * s[:, None, :]
    cross = Hy[:, :, None] * s[:, None, :]
    return H + gain[:, None, None] * ss - rho[:, None, None] * (cross + jnp.swapaxes(cross, 1, 2))

"""Principal components of tables with many rows, from their covariance.

A singular value decomposition of a million rows takes seconds on a host; their covariance is one
product of matrices, and everything after it is as small as the number of columns. Singular values
below 1e-8 of the largest are lost to rounding, which a start does not mind. JAX computes where
there is much to do; otherwise NumPy is done before a program would be compiled.
"""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from .. import _runtime  # noqa: F401  (float64)

MANY_ROWS = 20_000
MANY_COLUMNS = 2_000
MUCH = 2_000_000_000  # multiplications
BLOCK = 10_000  # rows that NumPy takes at a time
FILL_TOLERANCE = 1e-5  # change of a missing entry, in standard deviations of the table


def is_tall(Y: Float[np.ndarray, "N D"]) -> bool:
    """Whether the functions here pay; below, those of NumPy are as fast and more exact."""
    return Y.shape[0] >= MANY_ROWS and Y.shape[1] <= MANY_COLUMNS


def tall_scores(Y: Float[np.ndarray, "N D"], n_components: int) -> Float[np.ndarray, "N Q"]:
    """Scores on the leading principal components, each with its largest loading positive."""
    if Y.size * Y.shape[1] > MUCH:
        return np.array(_scores(jnp.asarray(Y), n_components))
    mean, _, vectors = _directions_by_blocks(Y)
    turned = _turned(vectors[:, :n_components], np)
    return np.concatenate([block @ turned for block in _centred_blocks(Y, mean)])


def tall_fill(
    Y: Float[np.ndarray, "N D"], filled: Float[np.ndarray, "N D"], n_components: int, rounds: int
) -> Float[np.ndarray, "N D"]:
    """Missing entries from the shrunken leading directions, again and again, from ``filled`` on.

    The rounds are those of `ppca_fill()`.
    """
    missing = jnp.asarray(np.isnan(Y))
    return np.array(_filled(missing, jnp.asarray(filled), n_components, rounds))


def tall_spectrum(Y: Float[np.ndarray, "N D"]) -> Float[np.ndarray, " D"]:
    """Squared singular values of the centred table, the largest first."""
    if Y.size * Y.shape[1] > MUCH:
        return np.array(_spectrum(jnp.asarray(Y)))
    return _directions_by_blocks(Y)[1]


def _directions_by_blocks(Y: Float[np.ndarray, "N D"]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The mean, the squared singular values of what remains, and its directions, by NumPy."""
    mean = Y.mean(axis=0)
    scatter = sum(block.T @ block for block in _centred_blocks(Y, mean))
    values, vectors = np.linalg.eigh(scatter)
    return mean, np.maximum(values[::-1], 0.0), vectors[:, ::-1]


def _centred_blocks(
    Y: Float[np.ndarray, "N D"], mean: Float[np.ndarray, " D"]
) -> Iterator[Float[np.ndarray, "_ D"]]:
    for begin in range(0, len(Y), BLOCK):
        yield Y[begin : begin + BLOCK] - mean


def _directions(Y: Float[Array, "N D"]) -> tuple[Array, Array, Array]:
    """The mean, the squared singular values of what remains, and its directions in columns."""
    mean = jnp.mean(Y, axis=0)
    values, vectors = jnp.linalg.eigh((Y - mean).T @ (Y - mean))
    return mean, jnp.maximum(values[::-1], 0.0), vectors[:, ::-1]


@jax.jit
def _spectrum(Y: Float[Array, "N D"]) -> Float[Array, " D"]:
    return _directions(Y)[1]


def _scores_of(Y: Float[Array, "N D"], n_components: int) -> Float[Array, "N Q"]:
    mean, _, vectors = _directions(Y)
    return (Y - mean) @ _turned(vectors[:, :n_components], jnp)


def _turned(directions: Any, xp: Any) -> Any:
    """Directions with their largest loadings positive."""
    places = xp.argmax(xp.abs(directions), axis=0)[None]
    return directions * xp.sign(xp.take_along_axis(directions, places, axis=0))


_scores = jax.jit(_scores_of, static_argnums=1)


def _fill(
    missing: Bool[Array, "N D"], start: Float[Array, "N D"], n_components: int, rounds: int
) -> Float[Array, "N D"]:
    def unsettled(carry: tuple[Array, Array, Array]) -> Array:
        filled, change, done = carry
        return (done < rounds) & (change >= FILL_TOLERANCE * jnp.std(filled))

    def improve(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        filled, _, done = carry
        mean, squares, vectors = _directions(filled)
        kept, rest = squares[:n_components], squares[n_components:]
        noise = jnp.mean(rest) if rest.size else 0.0
        shrunk = jnp.maximum(kept - noise, 0.0) / jnp.maximum(kept, 1e-300)
        leading = vectors[:, :n_components]
        expected = mean + ((filled - mean) @ leading * shrunk) @ leading.T
        change = jnp.max(jnp.where(missing, jnp.abs(filled - expected), 0.0))
        return jnp.where(missing, expected, filled), change, done + 1

    begin = (start, jnp.asarray(jnp.inf), jnp.asarray(0))
    return jax.lax.while_loop(unsettled, improve, begin)[0]


_filled = jax.jit(_fill, static_argnums=(2, 3))

"""Cholesky factorisation that never fails silently."""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Bool, Float

T = TypeVar("T")

DEFAULT_JITTER = 1e-6
"""Relative jitter at the foot of the ladder: small beside any noise we can resolve."""

MAX_JITTER = 1e-1
"""Relative jitter at the top of the ladder; beyond it the factor is NaN and reported."""


def safe_cholesky(
    K: Float[Array, "M M"], jitter: float = DEFAULT_JITTER
) -> tuple[Float[Array, "M M"], Float[Array, ""]]:
    """Factor K + j·mean(diag K)·I = LLᵀ with the first j of the ladder that works.

    The ladder is ``jitter``, 10 ``jitter``, 100 ``jitter``, … up to ``MAX_JITTER``.

    Returns
    -------
    L, j
        The factor (NaN where even the last rung failed) and the relative jitter used.
    """
    scale = jnp.mean(jnp.diagonal(K))
    rung = _first_working_rung(*jax.lax.stop_gradient((K, scale)), jitter)
    padded = K + rung * scale * jnp.eye(K.shape[-1], dtype=K.dtype)
    return jnp.linalg.cholesky(padded), rung


def _first_working_rung(
    K: Float[Array, "M M"], scale: Float[Array, ""], jitter: float
) -> Float[Array, ""]:
    identity = jnp.eye(K.shape[-1], dtype=K.dtype)

    def fails(rung: Float[Array, ""]) -> Bool[Array, ""]:
        return ~jnp.isfinite(jnp.linalg.cholesky(K + rung * scale * identity)).all()

    def climb(rung: Float[Array, ""]) -> Float[Array, ""]:
        return jnp.minimum(10.0 * rung, MAX_JITTER)

    start = jnp.asarray(max(jitter, jnp.finfo(K.dtype).eps), K.dtype)
    return jax.lax.while_loop(lambda r: fails(r) & (r < MAX_JITTER), climb, start)


def whiten(L: Float[Array, "M M"], S: Float[Array, "M M"]) -> Float[Array, "M M"]:
    """L⁻¹ S L⁻ᵀ for a symmetric S."""
    half = solve_triangular(L, S, lower=True)
    return solve_triangular(L, half.T, lower=True)


def log_determinant(L: Float[Array, "M M"]) -> Float[Array, ""]:
    """log|LLᵀ| from the triangular factor."""
    return 2.0 * jnp.sum(jnp.log(jnp.diagonal(L)))


def map_factorising(function: Callable[[Any], T], rows: Any, batch_size: int) -> T:
    """Map a function that factorises or solves over leading axes, in batches on a GPU.

    On a CPU one by one: jaxlib runs batched LAPACK calls on the pool that they wait for, and
    two at once can wait for ever (jaxlib 0.10.2, as many threads as calls).
    """
    if jax.default_backend() == "cpu":
        return jax.lax.map(function, rows)
    return jax.lax.map(function, rows, batch_size=batch_size)

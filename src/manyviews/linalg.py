"""Cholesky factorisation that never fails silently."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve, solve_triangular
from jaxtyping import Array, Bool, Float

from . import _runtime  # noqa: F401

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
    padded, rung = _padded(K, jitter)
    return jnp.linalg.cholesky(padded), rung


def _padded(K: Float[Array, "M M"], jitter: float) -> tuple[Float[Array, "M M"], Float[Array, ""]]:
    scale = jnp.mean(jnp.diagonal(K))
    rung = _first_working_rung(*jax.lax.stop_gradient((K, scale)), jitter)
    return K + rung * scale * jnp.eye(K.shape[-1], dtype=K.dtype), rung


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


class Quadratic(NamedTuple):
    """log|K|, YᵀK⁻¹Y, and the relative jitter that it took."""

    log_determinant: Float[Array, ""]
    scatter: Float[Array, "D D"]
    jitter: Float[Array, ""]


def safe_quadratic(K: Float[Array, "N N"], Y: Float[Array, "N D"], jitter: float) -> Quadratic:
    """What a Gaussian density needs of K; its gradient takes one inverse, not a pulled-back factor.

    d log|K| = tr(K⁻¹dK),   d(YᵀK⁻¹Y) = AᵀdY + dYᵀA - AᵀdK A,   A = K⁻¹Y.
    """
    padded, rung = _padded(K, jitter)
    return Quadratic(*_quadratic(padded, Y), rung)


@jax.custom_vjp
def _quadratic(K: Array, Y: Array) -> tuple[Array, Array]:
    return _quadratic_forward(K, Y)[0]


def _quadratic_forward(K: Array, Y: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    L = jnp.linalg.cholesky(K)
    V = solve_triangular(L, Y, lower=True)
    return (log_determinant(L), V.T @ V), (L, V)


def _quadratic_backward(
    saved: tuple[Array, Array], slopes: tuple[Array, Array]
) -> tuple[Array, Array]:
    (L, V), (slope_det, slope_scatter) = saved, slopes
    symmetric = 0.5 * (slope_scatter + slope_scatter.T)
    inverse = cho_solve((L, True), jnp.eye(len(L), dtype=L.dtype))
    A = solve_triangular(L, V, lower=True, trans="T")
    turned = A @ symmetric
    return slope_det * inverse - turned @ A.T, 2.0 * turned


_quadratic.defvjp(_quadratic_forward, _quadratic_backward)


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

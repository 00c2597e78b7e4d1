"""Collaborative paths in the factorised family of [McGPDS23]: q(X^s) Π_k q(X^k)."""

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve, solve_triangular
from jaxtyping import Array, Float

from ..linalg import log_determinant, safe_cholesky
from .dense import condition

JITTER = 1e-10


def factorised_path(
    gram: Float[Array, "T T"],
    A: Float[Array, "K T T"],
    b: Float[Array, " K"],
    target: Float[Array, " C"],
    precision: Float[Array, " C"],
) -> tuple[Float[Array, " C"], Float[Array, " C"], Float[Array, " C"]]:
    """Mean, variances and shares of the KL of all views' paths, q(x^s) at its optimum.

    S_k = (A_k⁻¹ + Λ_k)⁻¹ [McGPDS23, §4.2]. The best means are those of the joint posterior, because
    a Gaussian's factorised approximation has its mean; and with [McGPDS23, eq. 12-13] put into
    eq. 9

        KL = ½ [Σ_k (log|B_k| - Σ λv) + log|I + κ_s Σ_k b_k²A_k⁻¹| + Σ λ(m - μ)μ].
    """
    K, T = A.shape[0], gram.shape[0]
    C = jnp.einsum("k,l,tu->ktlu", b, b, gram)
    places = jnp.arange(K)
    C = C.at[places, :, places, :].add(A).reshape(K * T, K * T)
    mean, _, _ = condition(C, target, precision)
    nothing = jnp.zeros_like(target).reshape(K, T)
    _, variance, log_dets = jax.lax.map(
        lambda view: condition(*view), (A, nothing, precision.reshape(K, T))
    )
    variance = variance.ravel()
    coupling = log_determinant(_coupled(gram, A, b)[1])
    kl = 0.5 * precision * ((target - mean) * mean - variance)
    return mean, variance, kl.at[0].add(0.5 * (jnp.sum(log_dets) + coupling))


def factorised_shared(
    gram: Float[Array, "T T"],
    A: Float[Array, "K T T"],
    b: Float[Array, " K"],
    target: Float[Array, " C"],
    precision: Float[Array, " C"],
) -> tuple[Float[Array, " C"], Float[Array, " C"], Float[Array, " C"]]:
    """The same with x^s after the views: S_s = (κ_s⁻¹ + Σ b²A⁻¹)⁻¹, μ_s = S_s Σ bA⁻¹μ_k."""
    T = gram.shape[0]
    mean, variance, kl = factorised_path(gram, A, b, target[:-T], precision[:-T])
    root, inner = _coupled(gram, A, b)
    pulls = jax.lax.map(
        lambda view: view[1] * cho_solve((safe_cholesky(view[0], JITTER)[0], True), view[2]),
        (A, b, mean.reshape(-1, T)),
    )
    half = solve_triangular(inner, root.T, lower=True)  # S_s = halfᵀ half
    shared = half.T @ (half @ jnp.sum(pulls, axis=0))
    return (
        jnp.concatenate([mean, shared]),
        jnp.concatenate([variance, jnp.sum(half**2, axis=0)]),
        jnp.pad(kl, (0, T)),
    )


def _coupled(
    gram: Float[Array, "T T"], A: Float[Array, "K T T"], b: Float[Array, " K"]
) -> tuple[Float[Array, "T T"], Float[Array, "T T"]]:
    """R = chol κ_s and chol(I + Rᵀ Σ_k b_k²A_k⁻¹ R)."""
    root = safe_cholesky(gram, JITTER)[0]

    def one_view(view: tuple[Array, Array]) -> Array:
        covariance, weight = view
        half = weight * solve_triangular(safe_cholesky(covariance, JITTER)[0], root, lower=True)
        return half.T @ half

    inside = jnp.sum(jax.lax.map(one_view, (A, b)), axis=0)
    return root, jnp.linalg.cholesky(jnp.eye(len(root), dtype=root.dtype) + inside)

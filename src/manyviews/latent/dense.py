"""Gaussian sites on a GP prior, by Cholesky: any kernel, cubic in a sequence's length."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from ..kernels import Kernel
from ..linalg import log_determinant, map_factorising
from .sequences import Sequences

BATCH_ENTRIES = 4_000_000  # numbers alive at once in a batch of sequences on a GPU


class Smoothed(NamedTuple):
    """Mean and variance of every row and dimension, and shares of the KL.

    The shares are such that those of a sequence add up to its KL.
    """

    mean: Float[Array, "N Q"]
    variance: Float[Array, "N Q"]
    kl: Float[Array, "N Q"]


def smooth_dense(
    kernels: tuple[Kernel, ...],
    sequences: Sequences,
    target: Float[Array, "N Q"],
    precision: Float[Array, "N Q"],
) -> Smoothed:
    """Marginals and KL of q(x_q) ∝ p(x_q) Π_n N(m_n | x_nq, 1/λ_nq), sequence by sequence.

    Padded rows have λ = 0 and so change nothing.
    """
    padded = [jnp.pad(a, ((0, 1), (0, 0))) for a in (sequences.inputs, target, precision)]
    parts = []
    for batch in sequences.batches:
        entries = len(kernels) * batch.shape[1] ** 2

        def one_sequence(rows: Array) -> tuple[Array, Array, Array]:
            inputs, m, lam = (a[rows] for a in padded)
            K = jnp.stack([kernel.gram(inputs) for kernel in kernels])
            if len(kernels) == 1:
                return jax.lax.map(lambda column: smooth_path(K[0], *column), (m.T, lam.T))
            return jax.lax.map(lambda column: smooth_path(*column), (K, m.T, lam.T))

        found = map_factorising(one_sequence, batch, max(1, BATCH_ENTRIES // entries))
        parts.append([jnp.swapaxes(a, 1, 2).reshape(-1, target.shape[1]) for a in found])
    whole = [jnp.concatenate(part)[sequences.place] for part in zip(*parts, strict=True)]
    return Smoothed(*whole)


def smooth_path(
    K: Float[Array, "T T"], target: Float[Array, " T"], precision: Float[Array, " T"]
) -> tuple[Float[Array, " T"], Float[Array, " T"], Float[Array, " T"]]:
    """Mean, variances and shares of the KL of one path: ½ [log|B| + Σ λ(m-μ)μ - Σ λv].

    The first row, which is never a padded one, takes the share of the determinant.
    """
    mean, variance, log_det = condition(K, target, precision)
    kl = 0.5 * precision * ((target - mean) * mean - variance)
    return mean, variance, kl.at[0].add(0.5 * log_det)


@jax.custom_vjp
def condition(
    K: Float[Array, "T T"], target: Float[Array, " T"], precision: Float[Array, " T"]
) -> tuple[Float[Array, " T"], Float[Array, " T"], Float[Array, ""]]:
    """μ, v and log|B| of a path given its sites, without an inverse of K.

    With B = I + Λ^½KΛ^½ = LLᵀ and W = L⁻¹Λ^½K ([BGPLVM16, §3.3.2], in terms of sites),

        V = K - WᵀW,   μ = VΛm,   v = diag V.
    """
    return _condition(K, target, precision)[0]


def _condition(
    K: Array, target: Array, precision: Array
) -> tuple[tuple[Array, Array, Array], tuple[Array, ...]]:
    root = jnp.sqrt(precision)
    scaled = root[:, None] * K
    L = jnp.linalg.cholesky(jnp.eye(len(K), dtype=K.dtype) + scaled * root)
    W = solve_triangular(L, scaled, lower=True)
    V = K - W.T @ W
    mean = solve_triangular(L, root * target, lower=True) @ W
    variance = jnp.maximum(jnp.diagonal(V), 1e-14 * jnp.diagonal(K))  # rounding can go below zero
    return (mean, variance, log_determinant(L)), (V, mean, target, precision)


def _pull_back(
    saved: tuple[Array, ...], slopes: tuple[Array, Array, Array]
) -> tuple[Array, Array, Array]:
    """Gradients from V alone: with G = I - ΛV and μ̄ = Λ(m-μ),

    dV = Gᵀ dK G - V dΛ V,   dμ = Gᵀ dK μ̄ + V (dλ (m-μ) + λ dm),   d log|B| = tr(GΛ dK) + Σ v dλ.
    """
    V, mean, target, precision = saved
    slope_mean, slope_variance, slope_det = slopes
    G = jnp.eye(len(V), dtype=V.dtype) - precision[:, None] * V
    moved = V @ slope_mean
    rank_one = jnp.outer(G @ slope_mean, precision * (target - mean))
    slope_K = slope_det * G * precision + (G * slope_variance) @ G.T + 0.5 * (rank_one + rank_one.T)
    slope_precision = (
        slope_det * jnp.diagonal(V) - (V**2) @ slope_variance + moved * (target - mean)
    )
    return slope_K, precision * moved, slope_precision


condition.defvjp(_condition, _pull_back)

r"""The sum that costs, and its gradients, by one GPU kernel in each direction.

With E = exp(AB), the forward pass computes besides S_gp = Σ_n W_gn E_np the moments

    T_gpf = Σ_n W_gn E_np A_nf,    so that    ∂/∂B_fp = Σ_g Ḡ_gp T_gpf

for the gradient Ḡ of S needs no second pass over the rows: S is one more column of T. The backward
pass recomputes E for ∂/∂A = (E ∘ WᵀḠ) Bᵀ only. Each entry of E is so computed twice and never
stored.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .fused_choice import Tile
from .gpu_kernel import exp_products


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def fused_exp_sum(
    tile: Tile, A: Float[Array, "N F"], B: Float[Array, "F P"], W: Float[Array, "G N"]
) -> Float[Array, "G P"]:
    """Σ_n W_gn exp(Σ_f A_nf B_fp) for all g and p; no gradient flows to the weights."""
    return exp_products(B.T, A, W.T, tile).T


def _forward(
    tile: Tile, A: Float[Array, "N F"], B: Float[Array, "F P"], W: Float[Array, "G N"]
) -> tuple[Array, tuple[Array, Array, Array, Array]]:
    features = jnp.concatenate([A, jnp.ones_like(A[:, :1])], axis=1)
    weighted = W.T[:, :, None] * features[:, None, :]
    moments = exp_products(B.T, A, weighted.reshape(A.shape[0], -1), tile)
    moments = moments.reshape(B.shape[1], W.shape[0], -1)
    return moments[:, :, -1].T, (A, B, W, moments[:, :, :-1])


def _backward(
    tile: Tile, kept: tuple[Array, Array, Array, Array], g: Float[Array, "G P"]
) -> tuple[Array, Array, Array]:
    A, B, W, moments = kept
    dB = jnp.einsum("gp,pgf->fp", g, moments)
    if W.shape[0] == 1:  # the weights of a row and of a pair are factors outside
        dA = W.T * exp_products(A, B.T, (g * B).T, tile)
    else:
        dA = exp_products(A, B.T, B.T, tile, W.T, g)
    return dA, dB, jnp.zeros_like(W)


fused_exp_sum.defvjp(_forward, _backward)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def fused_row_sums(
    tile: Tile, A: Float[Array, "N F"], B: Float[Array, "F P"], v: Float[Array, " P"]
) -> Float[Array, " N"]:
    """Σ_p v_p exp(Σ_f A_nf B_fp) for every n."""
    return exp_products(A, B.T, v[:, None], tile)[:, 0]


def _rows_forward(
    tile: Tile, A: Float[Array, "N F"], B: Float[Array, "F P"], v: Float[Array, " P"]
) -> tuple[Array, tuple[Array, Array, Array]]:
    return fused_row_sums(tile, A, B, v), (A, B, v)


def _rows_backward(
    tile: Tile, kept: tuple[Array, Array, Array], g: Float[Array, " N"]
) -> tuple[Array, Array, Array]:
    A, B, v = kept
    dA = g[:, None] * exp_products(A, B.T, (v * B).T, tile)
    # where these two are not asked for, the compiler leaves them out
    dB = v * exp_products(B.T, A, g[:, None] * A, tile).T
    dv = exp_products(B.T, A, g[:, None], tile)[:, 0]
    return dA, dB, dv


fused_row_sums.defvjp(_rows_forward, _rows_backward)

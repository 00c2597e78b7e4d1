r"""One GPU kernel: products with the exponential of a matrix that is never written down.

    O = (exp(X Yᵀ) ∘ L R) V,      X: I x F,  Y: J x F,  V: J x C,  L: I x G,  R: G x J

A program of the grid owns some rows of X and walks over rows of Y: the exponents of one tile come
from a matrix product, are exponentiated in registers and go into a second product at once, as in
the kernels of attention. Device memory sees X, Y, V and O only. The two matrix products use tensor
cores for float64; for float32, plain arithmetic or three products of tensor cores, never one.

Written in Pallas, which hands it to Triton.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jaxtyping import Array, Float

from .fused_choice import Tile

SMALLEST_SIDE = 16  # of a matrix for the tensor cores
PROGRAMS = 1056  # that keep a large GPU busy: eight for each of 132 multiprocessors


def exp_products(
    X: Float[Array, "I F"],
    Y: Float[Array, "J F"],
    V: Float[Array, "J C"],
    tile: Tile,
    left: Float[Array, "I G"] | None = None,
    right: Float[Array, "G J"] | None = None,
) -> Float[Array, "I C"]:
    """Σ_j exp(x_i·y_j) (Σ_g L_ig R_gj) v_j for every i; without L and R, plain exponentials.

    Rows of Y are shared out among programs where X alone has too few rows to keep a GPU busy;
    their sums are added in a fixed order, so that results repeat to the last digit.
    """
    n_rows, n_columns = X.shape[0], V.shape[1]
    width, depth = _padded_side(X.shape[1]), _padded_side(n_columns)
    n_owned, n_walked = pl.cdiv(n_rows, tile.owned), pl.cdiv(Y.shape[0], tile.walked)
    n_steps = pl.cdiv(n_walked, min(n_walked, max(1, PROGRAMS // n_owned)))
    n_shares = pl.cdiv(n_walked, n_steps)
    share = n_steps * tile.walked

    x = _padded(X, n_owned * tile.owned, width)
    operands = [x, _padded(Y, n_shares * share, width), _padded(V, n_shares * share, depth)]
    specs = [
        pl.BlockSpec((tile.owned, width), lambda i, s: (i, 0)),
        pl.BlockSpec((share, width), lambda i, s: (s, 0)),
        pl.BlockSpec((share, depth), lambda i, s: (s, 0)),
    ]
    n_factors = 0
    if left is not None and right is not None:
        n_factors = left.shape[1]
        # rows of their own, so that a program reads consecutive numbers
        operands += [
            _padded(left.T, n_factors, x.shape[0]),
            _padded(right, n_factors, n_shares * share),
        ]
        specs += [
            pl.BlockSpec((n_factors, tile.owned), lambda i, s: (0, i)),
            pl.BlockSpec((n_factors, share), lambda i, s: (0, s)),
        ]
    parts = pl.pallas_call(
        partial(_kernel, tile=tile, n_steps=n_steps, n_factors=n_factors),
        grid=(n_owned, n_shares),
        in_specs=specs,
        out_specs=pl.BlockSpec((None, tile.owned, depth), lambda i, s: (s, i, 0)),
        out_shape=jax.ShapeDtypeStruct((n_shares, x.shape[0], depth), X.dtype),
        compiler_params=None if tile.interpret else _compiler_params(tile),
        interpret=tile.interpret,
        name="exp_products",
    )(*operands)
    return jnp.sum(parts, axis=0)[:n_rows, :n_columns]


def _kernel(
    x_ref: Any, y_ref: Any, v_ref: Any, *rest: Any, tile: Tile, n_steps: int, n_factors: int
) -> None:
    *factors, o_ref = rest
    precision = _precision(tile)
    x = x_ref[...]

    def step(j: Array, total: Array) -> Array:
        here = pl.ds(j * tile.walked, tile.walked)
        exponents = lax.dot_general(
            x, y_ref[here, :], (((1,), (1,)), ((), ())), precision=precision
        )
        values = jnp.exp(exponents)
        if n_factors:
            left_ref, right_ref = factors
            weights = left_ref[0, :][:, None] * right_ref[0, here][None, :]
            for g in range(1, n_factors):
                weights += left_ref[g, :][:, None] * right_ref[g, here][None, :]
            values *= weights
        return total + lax.dot_general(
            values, v_ref[here, :], (((1,), (0,)), ((), ())), precision=precision
        )

    start = jnp.zeros((tile.owned, o_ref.shape[-1]), x.dtype)
    # the loop's counter stays a 32-bit number, which is what a GPU computes addresses with
    o_ref[...] = lax.fori_loop(jnp.int32(0), jnp.int32(n_steps), step, start)


def _precision(tile: Tile) -> Any:
    if tile.precision == "tf32x3":
        return lax.DotAlgorithmPreset.TF32_TF32_F32_X3
    return lax.Precision.HIGHEST


def _padded_side(size: int) -> int:
    return max(SMALLEST_SIDE, pl.next_power_of_2(size))


def _padded(a: Float[Array, "n m"], rows: int, columns: int) -> Float[Array, "N M"]:
    return jnp.pad(a, ((0, rows - a.shape[0]), (0, columns - a.shape[1])))


def _compiler_params(tile: Tile) -> Any:
    from jax.experimental.pallas import triton  # not there on every machine without a GPU

    return triton.CompilerParams(num_warps=tile.n_warps, num_stages=tile.n_stages)

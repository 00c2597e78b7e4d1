r"""The sum that costs: Σ_n W_gn exp(A_n·B_p), in blocks over n.

Written naively, the Ψ2 statistic of N points and M inducing inputs builds an
N×M×M×Q array. Here every exponent comes from one matrix product, each block of rows
is exponentiated and summed while it is in cache, and the backward pass recomputes the
block instead of keeping it, so memory does not grow with N.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..devices import mesh_in_use, sum_over_devices
from .exponential import exponential
from .fused_choice import chosen_tile

BLOCK_ENTRIES = 650_000  # exponents alive at once on a CPU: about 5 MB of float64
GPU_BLOCK_ENTRIES = 100_000_000


def weighted_exp_sum(
    A: Float[Array, "N F"], B: Float[Array, "F P"], W: Float[Array, "G N"]
) -> Float[Array, "G P"]:
    """Return Σ_n W_gn exp(Σ_f A_nf B_fp) for all g and p.

    The weights say which rows count; they are data, and no gradient flows to them.
    """
    W = jax.lax.stop_gradient(W)
    mesh = mesh_in_use()
    if mesh is None:
        return _sum(A, B, W)
    # neither a loop over blocks nor a kernel of ours can be divided by the compiler
    added = -A.shape[0] % mesh.size
    A, W = jnp.pad(A, ((0, added), (0, 0))), jnp.pad(W, ((0, 0), (0, added)))
    return sum_over_devices(mesh, _sum, (0, None, 1))(A, B, W)


def _sum(
    A: Float[Array, "N F"], B: Float[Array, "F P"], W: Float[Array, "G N"]
) -> Float[Array, "G P"]:
    n_rows, n_columns = A.shape[0], B.shape[1]
    tile = chosen_tile(n_rows, A.shape[1], n_columns, W.shape[0], A.dtype.name)
    if tile is not None:
        from .fused import fused_exp_sum  # imports Pallas, which takes a while

        return fused_exp_sum(tile, A, B, W)
    budget = BLOCK_ENTRIES if jax.default_backend() == "cpu" else GPU_BLOCK_ENTRIES
    return _blocked_sum(max(16, budget // max(n_columns, 1)), A, B, W)


def row_exp_sums(
    A: Float[Array, "N F"], B: Float[Array, "F P"], v: Float[Array, " P"]
) -> Float[Array, " N"]:
    """Return Σ_p v_p exp(Σ_f A_nf B_fp) for every row n."""
    tile = chosen_tile(A.shape[0], A.shape[1], B.shape[1], 1, A.dtype.name)
    if tile is None:
        return jnp.exp(A @ B) @ v
    from .fused import fused_row_sums

    return fused_row_sums(tile, A, B, v)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _blocked_sum(
    block: int, A: Float[Array, "N F"], B: Float[Array, "F P"], W: Float[Array, "G N"]
) -> Float[Array, "G P"]:
    def add_block(total: Array, rows: tuple[Array, Array]) -> tuple[Array, None]:
        a, w = rows
        return total + w.T @ exponential(a @ B), None

    start = jnp.zeros((W.shape[0], B.shape[1]), A.dtype)
    total, _ = jax.lax.scan(add_block, start, (_in_blocks(A, block), _in_blocks(W.T, block)))
    return total


def _forward(block: int, A: Array, B: Array, W: Array) -> tuple[Array, tuple[Array, Array, Array]]:
    return _blocked_sum(block, A, B, W), (A, B, W)


def _backward(
    block: int, kept: tuple[Array, Array, Array], g: Float[Array, "G P"]
) -> tuple[Array, Array, Array]:
    A, B, W = kept

    def add_block(dB: Array, rows: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        a, a_transposed, w = rows
        # an outer product fuses with the exponential, a matrix product does not
        dE = exponential(a @ B) * (w * g if w.shape[1] == 1 else w @ g)
        return dB + a_transposed @ dE, dE @ B.T

    blocks = _in_blocks(A, block)
    # laid out once for all: a product with a transposed block takes twice as long
    transposed = jax.lax.optimization_barrier(jnp.swapaxes(blocks, 1, 2))
    dB, dA = jax.lax.scan(
        add_block, jnp.zeros_like(B), (blocks, transposed, _in_blocks(W.T, block))
    )
    return dA.reshape(-1, A.shape[1])[: A.shape[0]], dB, jnp.zeros_like(W)


_blocked_sum.defvjp(_forward, _backward)


def _in_blocks(rows: Float[Array, "N K"], block: int) -> Float[Array, "B n K"]:
    """Split rows evenly into blocks of at most ``block``, padding the last with zeros."""
    n_blocks = max(1, -(-rows.shape[0] // block))
    size = -(-rows.shape[0] // n_blocks)
    padded = jnp.pad(rows, ((0, n_blocks * size - rows.shape[0]), (0, 0)))
    return padded.reshape(n_blocks, size, rows.shape[1])

"""Which way of computing Σ_n W_gn exp(A_n·B_p) and its gradients is fastest on this device."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from manyviews import _runtime  # noqa: F401  (float64)
from manyviews.expectations import exp_sum
from manyviews.expectations.fused import fused_exp_sum
from manyviews.expectations.fused_choice import TILES, Tile, fused_report, self_test

from .gpu import Row

Sum = Callable[[jax.Array, jax.Array, jax.Array], jax.Array]
TILES_TRIED = {
    "float64": [
        Tile(64, 64, 4, 2),
        Tile(64, 32, 4, 2),
        Tile(64, 32, 4, 3),
        Tile(128, 32, 4, 2),
        Tile(128, 32, 8, 2),
        Tile(128, 64, 8, 2),
        Tile(64, 64, 8, 2),
    ],
    "float32": [
        Tile(64, 64, 4, 2, "tf32x3"),
        Tile(128, 64, 4, 2, "tf32x3"),
        Tile(128, 64, 8, 3, "tf32x3"),
        Tile(64, 32, 4, 2),
        Tile(64, 64, 8, 2),
        Tile(128, 32, 8, 2),
    ],
}


def seconds_of(function: Callable[..., Any], *arguments: Any, budget: float = 0.5) -> float:
    """Median seconds of a call that has been made before."""
    taken: list[float] = []
    while len(taken) < 3 or (sum(taken) < budget and len(taken) < 20):
        began = time.perf_counter()
        jax.block_until_ready(function(*arguments))
        taken.append(time.perf_counter() - began)
    return float(np.median(taken))


def sum_problem(N: int, M: int, Q: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A, B and W as an RBF kernel has them, and a gradient of the sum."""
    rng = np.random.default_rng(0)
    X, S = rng.standard_normal((N, Q)), rng.uniform(0.05, 0.5, (N, Q))
    Z = rng.standard_normal((M, Q))
    first, second = np.triu_indices(M)
    centres, w = 0.5 * (Z[first] + Z[second]), 2.0 / rng.uniform(1.0, 2.5, Q) ** 2
    spread = 1.0 + w * S
    t = w / spread
    constant = -0.5 * np.sum(t * X**2 + np.log(spread), axis=1, keepdims=True)
    A = np.concatenate([t * X, -0.5 * t, constant], axis=1)
    B = np.concatenate([centres, centres**2, np.ones_like(centres[:, :1])], axis=1).T
    return A, B, np.ones((1, N)), rng.standard_normal((1, first.size))


def plain(entries: int) -> Sum:
    """The plain code with blocks of so many exponents."""
    return lambda A, B, W: exp_sum._blocked_sum(max(16, entries // B.shape[1]), A, B, W)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def by_moments(block: int, A: jax.Array, B: jax.Array, W: jax.Array) -> jax.Array:
    """The plain code, the gradient of B from moments of the forward pass."""
    return _moments(block, A, B, W)[0]


def _moments(block: int, A: jax.Array, B: jax.Array, W: jax.Array) -> tuple[jax.Array, Any]:
    weighted = W.T * jnp.concatenate([A, jnp.ones_like(A[:, :1])], axis=1)

    def add(total: jax.Array, rows: Any) -> tuple[jax.Array, None]:
        a, v = rows
        return total + v.T @ jnp.exp(a @ B), None

    blocks = (exp_sum._in_blocks(A, block), exp_sum._in_blocks(weighted, block))
    total, _ = lax.scan(add, jnp.zeros((A.shape[1] + 1, B.shape[1]), A.dtype), blocks)
    return total[-1:], (A, B, W, total[:-1])


def _moments_back(block: int, kept: Any, g: jax.Array) -> tuple[jax.Array, ...]:
    A, B, W, moments = kept
    Bg = (g * B).T
    _, dA = lax.scan(lambda _, a: (None, jnp.exp(a @ B) @ Bg), None, exp_sum._in_blocks(A, block))
    return W.T * dA.reshape(-1, A.shape[1])[: A.shape[0]], g * moments, jnp.zeros_like(W)


by_moments.defvjp(_moments, _moments_back)


def variants(dtype: str, quick: bool) -> dict[str, Sum]:
    """What is compared."""
    found: dict[str, Sum] = {}
    for entries in (100_000_000, 25_000_000, 3_000_000):
        found[f"plain, blocks of {entries:.0e}"] = plain(entries)
    for entries in (100_000_000, 3_000_000):
        found[f"moments, blocks of {entries:.0e}"] = lambda A, B, W, entries=entries: by_moments(
            entries // B.shape[1], A, B, W
        )
    tiles = TILES_TRIED[dtype]
    if quick:
        tiles = [Tile(32, 32, 4, 2)]
    if jax.default_backend() != "gpu":
        tiles = [tile._replace(precision="highest", interpret=True) for tile in tiles]
    for tile in tiles:
        found[f"fused {'x'.join(map(str, tile[:4]))} {tile.precision}"] = partial(
            fused_exp_sum, tile
        )
    return found


def check(quick: bool) -> Iterator[Row]:
    """The device, its ceilings, and whether the kernel runs."""
    device = jax.devices()[0]
    yield {"device": device.device_kind, "jax": jax.__version__, "backend": device.platform}
    for dtype, choice in fused_report().items():
        yield {"dtype": dtype, "fused": choice.fused, "reason": choice.reason}
    on_gpu = jax.default_backend() == "gpu"
    for dtype, tiles in TILES_TRIED.items():
        for tile in tiles[:1] if on_gpu else [TILES[dtype]]:
            tile = tile if on_gpu else tile._replace(precision="highest", interpret=True)
            yield {"dtype": dtype, "tile": str(tuple(tile)), "error": self_test(tile, dtype)}
    side = 256 if quick else 8192
    for dtype in ("float64", "float32"):
        a = jnp.asarray(np.random.default_rng(0).standard_normal((side, side)), dtype)
        product = jax.jit(partial(jnp.matmul, precision="highest"))
        product(a, a)
        exponential = jax.jit(lambda a: jnp.sum(jnp.exp(a) * jnp.exp(0.5 * a) * jnp.exp(2.0 * a)))
        exponential(a)
        copy = jax.jit(lambda a: a + 1.0)
        copy(a)
        yield {
            "dtype": dtype,
            "product_tflops": 2e-12 * side**3 / seconds_of(product, a, a),
            "exp_per_ns": 3e-9 * side**2 / seconds_of(exponential, a),
            "copy_tb_per_s": 2e-12 * a.nbytes / seconds_of(copy, a),
        }


def sums(quick: bool) -> Iterator[Row]:
    """Milliseconds of the sum, and of the sum with its gradients, by variant."""
    N, M, Q = (700, 12, 3) if quick else (1_000_000, 100, 10)
    A, B, W, g = sum_problem(N, M, Q)
    wanted: Any = None
    for dtype in ("float64", "float32"):
        inputs = [jax.device_put(np.asarray(a, dtype)) for a in (A, B, W, g)]
        for name, function in variants(dtype, quick).items():
            row: Row = {"dtype": dtype, "N": N, "M": M, "Q": Q, "variant": name}
            try:
                value, gradient = _compiled(function)
                began = time.perf_counter()
                found = jax.block_until_ready(gradient(*inputs))
                row["compile_s"] = time.perf_counter() - began
                if wanted is None:  # the plain code in float64
                    wanted = found
                row["ms"] = 1e3 * seconds_of(gradient, *inputs)
                jax.block_until_ready(value(*inputs[:3]))
                row["ms_forward"] = 1e3 * seconds_of(value, *inputs[:3], budget=0.2)
                errors = jax.tree.map(_error, found, wanted)
                row |= dict(zip(("error", "error_dA", "error_dB"), errors, strict=True))
            except Exception as failure:
                row["failure"] = f"{type(failure).__name__}: {failure}"[:500]
            yield row


def _compiled(function: Sum) -> tuple[Any, Any]:
    def gradient(A: jax.Array, B: jax.Array, W: jax.Array, g: jax.Array) -> Any:
        value, pull = jax.vjp(lambda A, B: function(A, B, W), A, B)
        return value, *pull(g)

    return jax.jit(function), jax.jit(gradient)


def _error(found: jax.Array, wanted: jax.Array) -> float:
    wide = found.astype(jnp.float64)
    return float(jnp.linalg.norm(wide - wanted) / jnp.linalg.norm(wanted))

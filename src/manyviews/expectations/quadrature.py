"""Expectations of kernels that have no closed form, by a fixed rule with a known error.

Up to three dimensions a tensor Gauss-Hermite rule is used; above, a scrambled Sobol
sample made symmetric and whitened, so that polynomials up to degree three are exact for
any number of dimensions. All statistics share one set of nodes x_nk = μ_n + √S_n ξ_k:
they are the exact statistics of a discrete distribution, and Ψ2 - Ψ1ᵀΨ1 stays
non-negative definite.
"""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import ndtri

from ..kernels import Kernel
from .gaussian import Gaussian

HERMITE_ORDER = {1: 40, 2: 16, 3: 10}
SOBOL_LOG2 = 8  # half of the nodes; the other half is their mirror image
BLOCK_ENTRIES = 2_000_000

Rule = tuple[Float[np.ndarray, "K Q"], Float[np.ndarray, " K"]]


@lru_cache(maxsize=32)
def nodes(n_dimensions: int, check: bool = False) -> Rule:
    """Nodes and weights for N(0, I); with ``check`` an independent, finer rule."""
    if n_dimensions in HERMITE_ORDER:
        return _hermite(n_dimensions, HERMITE_ORDER[n_dimensions] + (7 if check else 0))
    return _sobol(n_dimensions, SOBOL_LOG2 + (2 if check else 0), seed=1 if check else 0)


def psi0(kernel: Kernel, q: Gaussian, check: bool = False) -> Float[Array, " N"]:
    """Σ_k ω_k k(x_nk, x_nk)."""
    xi, omega = nodes(q.mean.shape[1], check)
    return _by_rows(lambda x: omega @ kernel.diagonal(x), q, xi)


def psi1(
    kernel: Kernel, Z: Float[Array, "M Q"], q: Gaussian, check: bool = False
) -> Float[Array, "N M"]:
    """Σ_k ω_k k(x_nk, z_m)."""
    xi, omega = nodes(q.mean.shape[1], check)
    return _by_rows(lambda x: omega @ kernel.cross(x, Z), q, xi)


def cross_psi2(
    a: Kernel,
    Za: Float[Array, "M Q"],
    b: Kernel,
    Zb: Float[Array, "L Q"],
    q: Gaussian,
    W: Float[Array, "G N"],
    check: bool = False,
) -> Float[Array, "G M L"]:
    """Σ_n W_gn Σ_k ω_k k_a(z, x_nk) k_b(x_nk, z'), row by row with recomputed gradients."""
    xi, omega = nodes(q.mean.shape[1], check)

    @jax.checkpoint
    def add_row(total: Array, row: tuple[Array, Array, Array]) -> tuple[Array, None]:
        mean, variance, w = row
        x = mean + jnp.sqrt(variance) * xi
        product = (a.cross(x, Za) * omega[:, None]).T @ b.cross(x, Zb)
        return total + w[:, None, None] * product, None

    start = jnp.zeros((W.shape[0], Za.shape[0], Zb.shape[0]), q.mean.dtype)
    total, _ = jax.lax.scan(add_row, start, (q.mean, q.variance, W.T))
    return total


def relative_error(kernel: Kernel, Z: Float[Array, "M Q"], q: Gaussian) -> float:
    """Largest relative difference of Ψ1 and Ψ2 from an independent, finer rule."""
    q = q[:: max(1, q.mean.shape[0] // 50)]  # fifty rows are enough to judge a rule
    W = jnp.ones((1, q.mean.shape[0]), q.mean.dtype)
    pairs = [
        (psi1(kernel, Z, q), psi1(kernel, Z, q, check=True)),
        (
            cross_psi2(kernel, Z, kernel, Z, q, W),
            cross_psi2(kernel, Z, kernel, Z, q, W, check=True),
        ),
    ]
    return max(
        float(jnp.linalg.norm(rough - fine) / jnp.maximum(jnp.linalg.norm(fine), 1e-300))
        for rough, fine in pairs
    )


def _by_rows(function: object, q: Gaussian, xi: Float[np.ndarray, "K Q"]) -> Array:
    block = max(1, BLOCK_ENTRIES // xi.size)

    @jax.checkpoint
    def one(row: tuple[Array, Array]) -> Array:
        mean, variance = row
        return function(mean + jnp.sqrt(variance) * xi)  # type: ignore[operator]

    return jax.lax.map(one, (q.mean, q.variance), batch_size=min(block, q.mean.shape[0]))


def _hermite(n_dimensions: int, order: int) -> Rule:
    points, weights = np.polynomial.hermite_e.hermegauss(order)
    weights = weights / weights.sum()
    grids = np.meshgrid(*[points] * n_dimensions, indexing="ij")
    heights = np.meshgrid(*[weights] * n_dimensions, indexing="ij")
    xi = np.stack([grid.ravel() for grid in grids], axis=1)
    return xi, np.prod([height.ravel() for height in heights], axis=0)


def _sobol(n_dimensions: int, log2_size: int, seed: int) -> Rule:
    from scipy.stats import qmc  # half a second to import, and rarely needed

    uniform = qmc.Sobol(n_dimensions, scramble=True, rng=seed).random_base2(log2_size)
    half = ndtri(np.clip(uniform, 1e-12, 1.0 - 1e-12))
    xi = np.concatenate([half, -half])
    factor = np.linalg.cholesky(xi.T @ xi / len(xi))
    xi = np.linalg.solve(factor, xi.T).T
    return xi, np.full(len(xi), 1.0 / len(xi))

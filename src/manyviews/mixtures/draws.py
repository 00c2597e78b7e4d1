"""Random draws that a Gibbs sweep needs in bulk, without LAPACK calls in batches."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from .numbers import fast_log, normals, split, uniforms


def gaussian(
    normal: Float[Array, " m"], precision: Float[Array, "m m"], linear: Float[Array, " m"]
) -> Float[Array, " m"]:
    """A draw of N(P⁻¹ b, P⁻¹) from standard normal numbers."""
    L = jnp.linalg.cholesky(precision)
    half = solve_triangular(L, linear, lower=True)
    return solve_triangular(L, half + normal, lower=True, trans="T")


def bartlett(
    normal: Float[Array, "*n m m"], log_chi_square: Float[Array, "*n m"]
) -> Float[Array, "*n m m"]:
    """Lower-triangular T with TTᵀ ~ Wishart(df, I) (Bartlett's decomposition).

    Normal numbers below the diagonal (the others are not used: numbers are cheaper than moving
    them), and on it roots of χ² with df, df - 1, …
    """
    m = log_chi_square.shape[-1]
    diagonal = np.eye(m) * jnp.exp(0.5 * log_chi_square)[..., None, :]
    return jnp.where(np.tril(np.ones((m, m), dtype=bool), -1), normal, diagonal)


def wishart_factor(
    T: Float[Array, "m m"], inverse_scale: Float[Array, "m m"]
) -> tuple[Float[Array, "m m"], Float[Array, ""]]:
    """F with FFᵀ ~ Wishart of density ∝ |A|^{(df-m-1)/2} exp(-½ tr BA), and log|FFᵀ|.

    With B = GGᵀ and T from `bartlett()`, F = G⁻ᵀT.
    """
    G = jnp.linalg.cholesky(inverse_scale)
    F = solve_triangular(G, T, lower=True, trans="T")
    log_det = jnp.sum(jnp.log(jnp.diagonal(T))) - jnp.sum(jnp.log(jnp.diagonal(G)))
    return F, 2.0 * log_det


def chi_square_shapes(df: Float[Array, "*n"], m: int) -> Float[Array, "*n m"]:
    """Shapes of the Gamma variables 2 Gamma(shape) = χ² with df, df - 1, … df - m + 1."""
    return 0.5 * (df[..., None] - jnp.arange(m))


def log_chi_square(log_gamma: Float[Array, "..."]) -> Float[Array, "..."]:
    """Log χ² from log Gamma(df / 2, 1)."""
    return log_gamma + float(np.log(2.0))


def log_chi_squares(
    seed: Array, df: list[Float[Array, " n"]], widths: list[int]
) -> list[Float[Array, "n m"]]:
    """Log χ² with df, df - 1, … df - m + 1 for every view of width m, all drawn at once."""
    shapes = [chi_square_shapes(own, m) for own, m in zip(df, widths, strict=True)]
    drawn = log_chi_square(log_gamma(seed, jnp.concatenate(shapes, axis=1)))
    return jnp.split(drawn, np.cumsum(widths)[:-1].tolist(), axis=1)


def log_gamma(seed: Array, shape: Float[Array, "..."]) -> Float[Array, "..."]:
    """Log Gamma(shape, 1), a draw for every shape (Marsaglia and Tsang 2000).

    All proposals are made at once, and again for all while one or two in a hundred are refused:
    numbers are cheaper than finding out which. Shapes below one are reached from shape + 1.
    """
    wanted = shape.reshape(-1)
    raised = jnp.where(wanted < 1.0, wanted + 1.0, wanted)
    seed, first, lift = split(seed, 3)
    value, accepted = _propose(first, raised)
    done = accepted | ~(wanted > 0)  # a shape that is no shape gives NaN, not an endless loop

    def again(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        seed, value, done = carry
        seed, own = split(seed)
        fresh, accepted = _propose(own, raised)
        return seed, jnp.where(done, value, fresh), done | accepted

    value = jax.lax.while_loop(lambda carry: ~carry[2].all(), again, (seed, value, done))[1]
    lowered = value + fast_log(uniforms(lift, len(wanted))) / wanted
    value = jnp.where(wanted < 1.0, lowered, value)
    return jnp.where(wanted > 0, value, jnp.nan).reshape(shape.shape)


def _propose(seed: Array, shape: Float[Array, " n"]) -> tuple[Array, Array]:
    first, second = split(seed)
    z = normals(first, len(shape))
    d = shape - 1.0 / 3.0
    cube = (1.0 + z / jnp.sqrt(9.0 * d)) ** 3
    safe = jnp.maximum(cube, 1e-300)
    log_cube = fast_log(safe)
    level = 0.5 * z**2 + d - d * safe + d * log_cube
    accepted = (cube > 0) & (fast_log(uniforms(second, len(shape))) < level)
    return fast_log(d) + log_cube, accepted


def slice_sample(
    seed: Array,
    start: Float[Array, ""],
    log_density: Callable[[Float[Array, ""]], Float[Array, ""]],
    width: float = 1.0,
) -> Float[Array, ""]:
    """One step of slice sampling with stepping out and shrinkage (Neal 2003)."""
    uniform = uniforms(seed, 3)
    level = log_density(start) + jnp.log(uniform[0])
    low = start - width * uniform[1]

    def step_out(edges: Float[Array, " 2"]) -> Float[Array, " 2"]:
        return edges + width * jnp.array([-1.0, 1.0]) * (jax.lax.map(log_density, edges) > level)

    low, high = jax.lax.while_loop(
        lambda edges: (jax.lax.map(log_density, edges) > level).any(),
        step_out,
        jnp.stack([low, low + width]),
    )

    def shrink(carry: tuple) -> tuple:
        seed, low, high, value, _ = carry
        low, high = jnp.where(value < start, value, low), jnp.where(value < start, high, value)
        seed, own = split(seed)
        value = low + (high - low) * uniforms(own, 1)[0]
        return seed, low, high, value, inside(value)

    def inside(value: Float[Array, ""]) -> Array:
        return (log_density(value) > level) | ~jnp.isfinite(level)  # NaN: give up, visibly

    value = low + (high - low) * uniform[2]
    begin = (seed, low, high, value, inside(value))
    return jax.lax.while_loop(lambda carry: ~carry[4], shrink, begin)[3]

r"""Scattered missing outputs: a mean per column, one covariance for all.

With q(u_d) = N(K b_d, Σ) and Ψ2ⁿ = ψ_nψ_nᵀ + C_n (C_n is a covariance, so non-negative),
the terms of the bound that hold b_d are at least

    β Σ_n w_nd y_nd ψ_nᵀb_d - (β/2) Σ_n w_nd (ψ_nᵀb_d)² - ½ b_dᵀ(K + βC) b_d,

C = Σ_n C_n over all rows. Every choice of b gives a bound, at a cost of O(NMD); the best b
solves one linear system per column, all at once by conjugate gradients with the complete-data
system as preconditioner. At the optimum ∂F/∂b = 0, so no gradient flows through the solver.
The best Σ is (K⁻¹ + βK⁻¹Ψ̄2K⁻¹)⁻¹ with Ψ̄2 = Σ_n (share of row n observed) Ψ2ⁿ.
"""

from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve, solve_triangular
from jaxtyping import Array, Float

from ..linalg import whiten
from .outputs import ScatteredOutputs

if TYPE_CHECKING:
    from .collapsed import Statistics

TOLERANCE = 1e-3  # relative residual of the solver; the bound feels its square
EXACT = 1e-7  # one that a column in single precision has no better
MAX_ITERATIONS = 200


def mean_term(
    stats: "Statistics", beta: Float[Array, ""], outputs: ScatteredOutputs
) -> Float[Array, ""]:
    """The terms of the bound above, at the best means."""
    PT, C = _whitened_system(stats, outputs)
    a = jax.lax.stop_gradient(column_means(stats, beta, outputs))
    fitted = PT.T @ a
    data = jnp.sum(outputs.filled * fitted) - 0.5 * jnp.sum(outputs.mask * fitted**2)
    return beta * data - 0.5 * (jnp.sum(a**2) + beta * jnp.sum(a * (C @ a)))


def column_means(
    stats: "Statistics", beta: Float[Array, ""], outputs: ScatteredOutputs
) -> Float[Array, "M D"]:
    """Whitened means a_d = Lᵀb_d: (I + β[PᵀW_dP + C]) a_d = βPᵀW_dy_d with P = Ψ1L⁻ᵀ.

    An error ε in a costs O(ε²) of the bound, so the iterations run in float32.
    """
    stats, beta = jax.lax.stop_gradient((stats, beta))
    PT, C = _whitened_system(stats, outputs)
    identity = jnp.eye(C.shape[0], dtype=C.dtype)
    fixed = identity + beta * C
    # preconditioner: every column misses rows at random
    share = outputs.weights[0].sum() / outputs.weights[1].sum()
    factor = jnp.linalg.cholesky(fixed + beta * share * (PT @ PT.T))
    inverse = cho_solve((factor, True), identity)
    system = _System(PT, fixed, inverse, outputs.mask, beta)
    system = jax.tree_util.tree_map(lambda x: x.astype(jnp.float32), system)
    right = system.beta * (system.PT @ outputs.rough)
    return _conjugate_gradients(system, right).astype(PT.dtype)


class _System(NamedTuple):
    """The linear systems of all columns, and the preconditioner they share."""

    PT: Float[Array, "M N"]
    fixed: Float[Array, "M M"]
    inverse: Float[Array, "M M"]
    mask: Float[Array, "N D"]
    beta: Float[Array, ""]

    def multiply(self, a: Float[Array, "M D"]) -> Float[Array, "M D"]:
        return self.fixed @ a + self.beta * (self.PT @ (self.mask * (self.PT.T @ a)))


def _whitened_system(
    stats: "Statistics", outputs: ScatteredOutputs
) -> tuple[Float[Array, "M N"], Float[Array, "M M"]]:
    """Pᵀ = L⁻¹Ψ1ᵀ and L⁻¹CL⁻ᵀ, over the rows that have any observation."""
    PT = solve_triangular(stats.L, stats.psi1.T * outputs.weights[1], lower=True)
    return PT, whiten(stats.L, stats.psi2[1]) - PT @ PT.T


def _conjugate_gradients(system: _System, right: Float[Array, "M D"]) -> Float[Array, "M D"]:
    """Solve all columns at once; each has its own step lengths.

    A column that is solved to the last digit stands still while others go on: its residual is
    rounding alone, and may turn against the direction.
    """

    def dot(a: Array, b: Array) -> Array:
        return jnp.sum(a * b, axis=0)

    tiny = jnp.finfo(right.dtype).tiny
    power = dot(right, right)
    limit, floor = TOLERANCE**2 * power + tiny, EXACT**2 * power + tiny

    def unfinished(state: tuple) -> Array:
        _, residual, _, _, step = state
        return (step < MAX_ITERATIONS) & jnp.any(dot(residual, residual) > limit)

    def advance(state: tuple) -> tuple:
        solution, residual, direction, rho, step = state
        image = system.multiply(direction)
        curvature = dot(direction, image)
        moves = (dot(residual, residual) > floor) & (curvature > tiny)
        length = jnp.where(moves, rho / (curvature + tiny), 0.0)
        solution = solution + length * direction
        residual = residual - length * image
        z = system.inverse @ residual
        new_rho = dot(residual, z)
        direction = jnp.where(moves, z + new_rho / (rho + tiny) * direction, 0.0)
        return solution, residual, direction, new_rho, step + 1

    z = system.inverse @ right
    state = (jnp.zeros_like(right), right, z, dot(right, z), 0)
    return jax.lax.while_loop(unfinished, advance, state)[0]

"""What L-BFGS remembers of a function's curvature, and the direction that follows from it."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float, Int

Tree = Any
MAX_COORDINATE_STEP = 2.0  # on the log scale of most parameters: a factor of e²


class History(eqx.Module):
    """The last steps s and changes of the gradient y, and their products.

    With R the upper triangle of SᵀY (in the order of time), D its diagonal and γ = sᵀy / yᵀy of
    the last pair, the direction is -Hg with

        H = γI + [S γY] [[R⁻ᵀ(D + γYᵀY)R⁻¹, -R⁻ᵀ], [-R⁻¹, 0]] [S γY]ᵀ

    (Byrd, Nocedal & Schnabel 1994), which reads S and Y twice.
    """

    S: Tree
    Y: Tree
    SY: Float[Array, "m m"]
    YY: Float[Array, "m m"]
    oldest: Int[Array, ""]
    """Where the next pair goes."""
    count: Int[Array, ""]


def steepest(gradient: Tree) -> tuple[Tree, Array, Array]:
    """-g, no longer than one, the slope along it, and the first step to try."""
    norm = jnp.sqrt(tree_dot(gradient, gradient))
    scale = jnp.minimum(1.0, 1.0 / jnp.maximum(norm, 1e-300))
    direction = jax.tree.map(lambda g: -scale * g, gradient)
    return direction, -scale * norm**2, _first_step(direction)


def quasi_newton(history: History, gradient: Tree) -> tuple[Tree, Array, Array]:
    """-Hg, the slope along it, and the first step to try; steepest descent without a history."""
    m = history.SY.shape[0]
    order = (history.oldest + jnp.arange(m)) % m  # in time; those that are not there come first
    last, there = order[-1], jnp.arange(m) >= m - history.count
    both = there[:, None] & there[None, :]
    SY = jnp.where(both, history.SY[order][:, order], 0.0)
    YY = jnp.where(both, history.YY[order][:, order], 0.0)
    R = jnp.triu(SY) + jnp.diag(jnp.where(there, 0.0, 1.0))
    gamma = history.SY[last, last] / jnp.maximum(history.YY[last, last], 1e-300)
    Sg = jnp.where(there, _products(history.S, gradient)[order], 0.0)
    Yg = jnp.where(there, _products(history.Y, gradient)[order], 0.0)
    u = solve_triangular(R, Sg)
    a = solve_triangular(R, jnp.diagonal(SY) * u + gamma * (YY @ u) - gamma * Yg, trans=1)
    back = (jnp.arange(m) - history.oldest) % m
    of_s, of_y = jnp.where(there, a, 0.0)[back], jnp.where(there, -gamma * u, 0.0)[back]

    def combined(g: Array, S: Array, Y: Array) -> Array:
        return -(gamma * g + jnp.tensordot(of_s, S, 1) + jnp.tensordot(of_y, Y, 1))

    direction = jax.tree.map(combined, gradient, history.S, history.Y)
    slope = tree_dot(direction, gradient)
    usable = jnp.any(there) & jnp.isfinite(slope) & (slope < 0.0)
    plain, plain_slope, _ = steepest(gradient)
    direction = tree_where(usable, direction, plain)
    return direction, jnp.where(usable, slope, plain_slope), _first_step(direction)


def remember(history: History, s: Tree, y: Tree, accepted: Array) -> History:
    """The history with an accepted step in the place of its oldest, if its curvature is sound."""
    wanted = accepted & (tree_dot(s, y) > 1e-10 * jnp.sqrt(tree_dot(s, s) * tree_dot(y, y)))
    place, m = history.oldest, history.SY.shape[0]

    def put(pairs: Array, new: Array) -> Array:
        return pairs.at[place].set(jnp.where(wanted, new, pairs[place]))

    S, Y = jax.tree.map(put, history.S, s), jax.tree.map(put, history.Y, y)
    Ys, Sy, Yy = jax.lax.cond(
        wanted,
        lambda: (_products(Y, s), _products(S, y), _products(Y, y)),
        lambda: (history.SY[place], history.SY[:, place], history.YY[place]),
    )

    def crossed(matrix: Array, row: Array, column: Array) -> Array:
        return matrix.at[place].set(row).at[:, place].set(column)

    return History(
        S, Y, crossed(history.SY, Ys, Sy), crossed(history.YY, Yy, Yy),
        jnp.where(wanted, (place + 1) % m, place),
        jnp.where(wanted, jnp.minimum(history.count + 1, m), history.count),
    )  # fmt: skip


def _products(pairs: Tree, vector: Tree) -> Float[Array, " m"]:
    parts = jax.tree.map(
        lambda a, b: jnp.reshape(a, (a.shape[0], -1)) @ jnp.ravel(b), pairs, vector
    )
    return sum(jax.tree.leaves(parts))  # type: ignore[return-value]


def _first_step(direction: Tree) -> Array:
    largest = jnp.max(jnp.stack([jnp.max(jnp.abs(d)) for d in jax.tree.leaves(direction)]))
    return jnp.minimum(1.0, MAX_COORDINATE_STEP / jnp.maximum(largest, 1e-300))


def tree_dot(a: Tree, b: Tree) -> Array:
    """The inner product of two trees."""
    return sum(jnp.vdot(x, y) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))  # type: ignore[return-value]


def tree_where(condition: Array, a: Tree, b: Tree) -> Tree:
    """One tree or another."""
    return jax.tree.map(lambda x, y: jnp.where(condition, x, y), a, b)

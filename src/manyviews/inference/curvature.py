"""What L-BFGS remembers of a function's curvature, and the direction that follows from it."""

from typing import Any, Self

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

    (Byrd, Nocedal & Schnabel 1994). What lies below R is never asked for. Products of the pairs
    with a new y are differences of their products with successive gradients, so S and Y are read
    twice for a step: to multiply them by the gradient, and to add them up to a direction.
    """

    S: Tree
    Y: Tree
    SY: Float[Array, "m m"]
    """Its part below the diagonal, in the order of time, has no meaning."""
    YY: Float[Array, "m m"]
    Sg: Float[Array, " m"]
    """Sᵀg and Yᵀg at the last point."""
    Yg: Float[Array, " m"]
    oldest: Int[Array, ""]
    """Where the next pair goes."""
    count: Int[Array, ""]

    @classmethod
    def empty(cls, x: Tree, m: int) -> Self:
        """A history of nothing, which holds as many as ``m`` pairs of trees like this one."""
        dtype = jnp.result_type(*jax.tree.leaves(x))

        def zeros(*shape: int) -> Array:
            return jnp.zeros(shape, dtype)

        def pairs() -> Tree:
            return jax.tree.map(lambda a: jnp.zeros((m, *a.shape), a.dtype), x)

        return cls(
            pairs(), pairs(), zeros(m, m), zeros(m, m), zeros(m), zeros(m),
            jnp.array(0, int), jnp.array(0, int),
        )  # fmt: skip


def steepest(gradient: Tree, scale: Tree) -> tuple[Tree, Array, Array]:
    """-g, no longer than one, the slope along it, and the first step to try."""
    norm = jnp.sqrt(tree_dot(gradient, gradient))
    length = jnp.minimum(1.0, 1.0 / jnp.maximum(norm, 1e-300))
    direction = jax.tree.map(lambda g: -length * g, gradient)
    return direction, -length * norm**2, _first_step(direction, scale)


def quasi_newton(history: History, gradient: Tree, scale: Tree) -> tuple[Tree, Array, Array]:
    """-Hg, the slope along it, and the first step to try; steepest descent without a history.

    The gradient is that which the history was told last.
    """
    m = history.SY.shape[0]
    order = (history.oldest + jnp.arange(m)) % m  # in time; those that are not there come first
    last, there = order[-1], jnp.arange(m) >= m - history.count
    both = there[:, None] & there[None, :]
    SY = jnp.where(both, history.SY[order][:, order], 0.0)
    YY = jnp.where(both, history.YY[order][:, order], 0.0)
    R = jnp.triu(SY) + jnp.diag(jnp.where(there, 0.0, 1.0))
    gamma = history.SY[last, last] / jnp.maximum(history.YY[last, last], 1e-300)
    Sg, Yg = (jnp.where(there, g[order], 0.0) for g in (history.Sg, history.Yg))
    u = solve_triangular(R, Sg)
    a = solve_triangular(R, jnp.diagonal(SY) * u + gamma * (YY @ u) - gamma * Yg, trans=1)
    back = (jnp.arange(m) - history.oldest) % m
    of_s, of_y = jnp.where(there, a, 0.0)[back], jnp.where(there, -gamma * u, 0.0)[back]

    def combined(g: Array, S: Array, Y: Array) -> Array:
        return -(gamma * g + jnp.tensordot(of_s, S, 1) + jnp.tensordot(of_y, Y, 1))

    direction = jax.tree.map(combined, gradient, history.S, history.Y)
    slope = tree_dot(direction, gradient)
    usable = jnp.any(there) & jnp.isfinite(slope) & (slope < 0.0)
    plain, plain_slope, _ = steepest(gradient, scale)
    direction = tree_where(usable, direction, plain)
    return direction, jnp.where(usable, slope, plain_slope), _first_step(direction, scale)


def remember(history: History, s: Tree, y: Tree, gradient: Tree, accepted: Array) -> History:
    """The history with an accepted step in the place of its oldest, if its curvature is sound.

    ``gradient`` is that at the end of the step.
    """
    sy, yy = tree_dot(s, y), tree_dot(y, y)
    wanted = accepted & (sy > 1e-10 * jnp.sqrt(tree_dot(s, s) * yy))
    place, m = history.oldest, history.SY.shape[0]

    def put(pairs: Array, new: Array) -> Array:
        return pairs.at[place].set(jnp.where(wanted, new, pairs[place]))

    S, Y = jax.tree.map(put, history.S, s), jax.tree.map(put, history.Y, y)
    Sg, Yg = jax.lax.cond(
        accepted,
        lambda: (_products(S, gradient), _products(Y, gradient)),
        lambda: (history.Sg, history.Yg),
    )
    Sy, Yy = (Sg - history.Sg).at[place].set(sy), (Yg - history.Yg).at[place].set(yy)
    return History(
        S, Y,
        jnp.where(wanted, history.SY.at[:, place].set(Sy), history.SY),
        jnp.where(wanted, history.YY.at[place].set(Yy).at[:, place].set(Yy), history.YY),
        Sg, Yg,
        jnp.where(wanted, (place + 1) % m, place),
        jnp.where(wanted, jnp.minimum(history.count + 1, m), history.count),
    )  # fmt: skip


def _products(pairs: Tree, vector: Tree) -> Float[Array, " m"]:
    parts = jax.tree.map(
        lambda a, b: jnp.reshape(a, (a.shape[0], -1)) @ jnp.ravel(b), pairs, vector
    )
    return sum(jax.tree.leaves(parts))  # type: ignore[return-value]


def _first_step(direction: Tree, scale: Tree) -> Array:
    moved = jax.tree.leaves(jax.tree.map(lambda d, s: d * s.astype(d.dtype), direction, scale))
    largest = jnp.max(jnp.stack([jnp.max(jnp.abs(d)) for d in moved]))
    return jnp.minimum(1.0, MAX_COORDINATE_STEP / jnp.maximum(largest, 1e-300))


def tree_dot(a: Tree, b: Tree) -> Array:
    """The inner product of two trees."""
    return sum(jnp.vdot(x, y) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))  # type: ignore[return-value]


def tree_where(condition: Array, a: Tree, b: Tree) -> Tree:
    """One tree or another."""
    return jax.tree.map(lambda x, y: jnp.where(condition, x, y), a, b)

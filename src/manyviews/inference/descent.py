"""Minimising a function of a tree of arrays where the arrays are: L-BFGS and Adam, compiled.

One program serves both methods, their starts and their line searches: every turn of its loop
evaluates the function once and then decides what to do with the value. It runs for a stretch of
turns and comes back, so that a fit can be watched, interrupted and written to disk.

The bound is the small difference of large numbers, so far into a fit its value carries noise of
about 1e-8 of those numbers, and a line search that insists on decrease gives up long before the
optimum. Here the noise is measured first, and a step is accepted unless it increases the function
by more than that (Xie, Byrd & Nocedal 2020).
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from .adam import Moments
from .compiling import LongRunning
from .curvature import History, Tree, quasi_newton, remember, steepest, tree_dot, tree_where

Function = Callable[[Tree, Any], tuple[Float[Array, ""], Any]]
"""A tree and a context to a value and what is worth keeping of its computation."""

WINDOW = 30  # iterations over which the function must fall by some amount
MEMORY, LARGE, SHORT_MEMORY = 30, 10_000_000, 10  # pairs kept; fewer where vectors are large
MAX_BACKTRACKS = 20
PROBES = 3  # evaluations next to the start, for the noise
STRETCH = 128  # turns at most between two looks from outside
LEAST = 1e-12  # that Adam divides by

RUNNING, CONVERGED, STUCK = 0, 1, 2


class Descent(eqx.Module):
    """The state of a descent: the point reached, and what the method remembers."""

    x: Tree
    value: Float[Array, ""]
    gradient: Tree
    direction: Tree
    slope: Float[Array, ""]
    step: Float[Array, ""]
    tries: Int[Array, ""]
    history: History
    moments: Moments
    rate: Float[Array, ""]
    best: Tree
    best_value: Float[Array, ""]
    noise: Float[Array, ""]
    probes: Float[Array, " p"]
    turn: Int[Array, ""]
    recent: Float[Array, " w"]
    before: Float[Array, ""]
    iterations: Int[Array, ""]
    status: Int[Array, ""]
    kept: Any


class Method(NamedTuple):
    """What a stretch is to do.

    Attributes
    ----------
    adam : bool array
        Adam, or else L-BFGS.
    mask : tree
        Zeros where the function may not be varied; elsewhere the units that L-BFGS counts in, which
        are positive. It broadcasts to the tree.
    limit : int array
        The most iterations.
    gain : float array
        Converged when thirty iterations gain less than this.
    """

    adam: Bool[Array, ""]
    mask: Tree
    limit: Int[Array, ""]
    gain: Float[Array, ""]


def method_of(adam: bool, mask: Tree, limit: int, gain: float) -> Method:
    """A method, its numbers as arrays of one kind, so that one program serves them all."""
    masks = jax.tree.map(lambda m: jnp.asarray(m, float), mask)
    numbers = np.asarray(adam), np.asarray(limit, int), np.asarray(gain, float)
    of_adam, most, least = jax.device_put(numbers)
    return Method(of_adam, masks, most, least)


class Watched(NamedTuple):
    """The value after every iteration of a stretch, and what was kept of it."""

    values: Float[Array, " T"]
    kept: Any
    steps: Int[Array, ""]
    evaluations: Int[Array, ""]


def begin(function: Function, x: Tree, context: Any, rate: float = 0.0) -> Descent:
    """A descent that has not evaluated anything yet; ``rate`` is the step of Adam."""
    return _begun(function, x, context, jax.device_put(np.asarray(rate, float)))


@eqx.filter_jit
def _begun(function: Function, x: Tree, context: Any, rate: Float[Array, ""]) -> Descent:
    kept = eqx.filter_eval_shape(_traced(function), x, context)[1]
    # Every leaf is an array of its own: the buffers of a state are handed over to the next.
    x = jax.tree.map(lambda a: jnp.array(a, a.dtype), x)
    dtype = jnp.result_type(*jax.tree.leaves(x))
    size = sum(a.size for a in jax.tree.leaves(x))
    m = MEMORY if size < LARGE else SHORT_MEMORY

    def number(value: float) -> Array:
        return jnp.array(value, dtype)

    def zeros() -> Tree:
        return jax.tree.map(jnp.zeros_like, x)

    return Descent(
        x=x, value=number(np.inf), gradient=zeros(), direction=zeros(), slope=number(0.0),
        step=number(0.0), tries=jnp.array(0, int),
        history=History.empty(x, m),
        moments=Moments.none(x), rate=rate.astype(dtype),
        best=jax.tree.map(lambda a: jnp.array(a, a.dtype), x), best_value=number(np.inf),
        noise=number(0.0), probes=jnp.full(PROBES, np.inf, dtype),
        turn=jnp.array(0, int), recent=jnp.full(WINDOW, np.inf, dtype), before=number(np.inf),
        iterations=jnp.array(0, int), status=jnp.array(RUNNING, int),
        kept=jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), kept),
    )  # fmt: skip


def whole_number(value: int) -> Int[Array, ""]:
    """A number that a program takes as an argument; putting it there takes no program."""
    return jax.device_put(np.asarray(value, int))


@cache
def _traced(function: Function) -> Any:
    """The function in a form whose shapes are found out once."""
    return eqx.filter_jit(function)


def evaluate(function: Function, x: Tree, context: Any, turns: int = 1) -> Descent:
    """A descent after its first evaluation; with four, it knows the noise of the value."""
    method = method_of(False, jax.tree.map(lambda _: 1.0, x), 1, -1.0)
    return run((function, context, method, whole_number(turns)), begin(function, x, context))[0]


def descend(function: Function, x: Tree, context: Any, iterations: int, gain: float) -> Descent:
    """L-BFGS to the end, with nobody watching."""
    method = method_of(False, jax.tree.map(lambda _: 1.0, x), iterations, gain)
    state = begin(function, x, context)
    while int(state.status) == RUNNING and int(state.iterations) < iterations:
        state, _ = run((function, context, method, whole_number(STRETCH)), state)
    return state


def _run(
    fixed: tuple[Function, Any, Method, Int[Array, ""]], state: Descent
) -> tuple[Descent, Watched]:
    """Go on for some turns, or until the method is done.

    ``fixed`` holds the function, its context, the method and the number of turns, at most
    ``STRETCH``. A turn is one evaluation.
    """
    function, context, method, turns = fixed

    def go_on(carry: tuple[Descent, Watched]) -> Array:
        state, seen = carry
        unfinished = (state.status == RUNNING) & (state.iterations < method.limit)
        return unfinished & (seen.evaluations < turns)

    def advance(carry: tuple[Descent, Watched]) -> tuple[Descent, Watched]:
        state, seen = carry
        after = _turn(function, context, method, state)
        new = after.iterations > state.iterations

        def noted(buffer: Array, value: Array) -> Array:
            return buffer.at[seen.steps].set(jnp.where(new, value, buffer[seen.steps]))

        return after, Watched(
            noted(seen.values, after.value),
            jax.tree.map(noted, seen.kept, after.kept),
            seen.steps + new.astype(int),
            seen.evaluations + 1,
        )

    empty = jax.tree.map(lambda a: jnp.zeros((STRETCH + 1, *a.shape), a.dtype), state.kept)
    values = jnp.zeros(STRETCH + 1, state.value.dtype)
    return jax.lax.while_loop(
        go_on, advance, (state, Watched(values, empty, jnp.array(0, int), jnp.array(0, int)))
    )


run = LongRunning(_run, donate="all-except-first")

run_untuned = LongRunning(_run, tuned=False, donate="all-except-first")


def _turn(function: Function, context: Any, method: Method, state: Descent) -> Descent:
    """Evaluate once, and make of it what the method and the phase ask for."""
    searching = ~method.adam & (state.turn > PROBES)
    probing = ~method.adam & (state.turn > 0) & (state.turn <= PROBES)
    along = jnp.where(searching, state.step, 0.0)
    mask = jax.tree.map(lambda m, x: m.astype(x.dtype), method.mask, state.x)
    trial = jax.lax.cond(
        probing,
        lambda: _nudged(state.x, mask, state.turn),
        lambda: jax.tree.map(lambda x, m, d: x + along * m * d, state.x, mask, state.direction),
    )
    (value, kept), gradient = jax.value_and_grad(function, has_aux=True)(trial, context)
    value, gradient = value.astype(state.value.dtype), jax.tree.map(jnp.multiply, gradient, mask)
    finite = jnp.isfinite(value) & jnp.all(
        jnp.stack([jnp.all(jnp.isfinite(g)) for g in jax.tree.leaves(gradient)])
    )
    value = jnp.where(finite, value, jnp.inf)
    gradient = tree_where(finite, gradient, jax.tree.map(jnp.zeros_like, gradient))
    found = Found(trial, value, gradient, kept)
    better = value < state.best_value
    state = eqx.tree_at(
        lambda s: (s.best, s.best_value),
        state,
        (tree_where(better, trial, state.best), jnp.minimum(value, state.best_value)),
    )
    # The history is large and stays out of the branches below, which would copy it.
    accepted = searching & (value <= state.value + 1e-4 * along * state.slope + state.noise)
    spent = searching & ~accepted & (state.tries + 1 >= MAX_BACKTRACKS)
    fresh = state.history.count == 0
    s = jax.tree.map(lambda d: state.step * d, state.direction)
    y = jax.tree.map(jnp.subtract, gradient, state.gradient)
    history = remember(state.history, s, y, gradient, accepted)
    history = eqx.tree_at(lambda h: h.count, history, jnp.where(spent, 0, history.count))
    current = tree_where(accepted, gradient, state.gradient)
    ahead = jax.lax.cond(
        accepted | spent,
        lambda: quasi_newton(history, current, mask),
        lambda: (state.direction, state.slope, _shorter(state, value)),
    )
    verdict = Verdict(accepted, spent, fresh, *ahead)
    phase = jnp.where(method.adam, 3, jnp.where(searching, 2, jnp.where(probing, 1, 0)))
    light = eqx.tree_at(lambda s: s.history, state, None)
    branches = (_started, _probed, _searched, _stepped)
    after = jax.lax.switch(phase, branches, light, found, verdict, method)
    return eqx.tree_at(
        lambda s: (s.turn, s.history), after, (state.turn + 1, history), is_leaf=lambda x: x is None
    )


class Found(NamedTuple):
    """An evaluation."""

    trial: Tree
    value: Array
    gradient: Tree
    kept: Any


class Verdict(NamedTuple):
    """What a line search makes of an evaluation, and the way ahead."""

    accepted: Array
    spent: Array
    fresh: Array
    direction: Tree
    slope: Array
    step: Array


def _nudged(x: Tree, mask: Tree, turn: Array) -> Tree:
    """A point too near to matter, in a direction that is as good as any."""

    def moved(a: Array, m: Array) -> Array:
        places = jnp.arange(1.0, a.size + 1.0, dtype=a.dtype).reshape(a.shape)
        return a + 1e-10 * m * jnp.cos(12.9898 * turn.astype(a.dtype) * places)

    return jax.tree.map(moved, x, mask)


def _started(state: Descent, found: Found, verdict: Verdict, method: Method) -> Descent:
    """The first evaluation: what the others are compared to."""
    status = jnp.where(jnp.isfinite(found.value), state.status, STUCK)
    return eqx.tree_at(
        lambda s: (s.value, s.gradient, s.kept, s.status),
        state,
        (found.value, found.gradient, found.kept, status),
    )


def _probed(state: Descent, found: Found, verdict: Verdict, method: Method) -> Descent:
    """An evaluation next to the start; after the last, the noise and the first direction.

    The noise is twice the spread of the function over perturbations too small to matter.
    """
    probes = state.probes.at[state.turn - 1].set(found.value)
    together = jnp.append(probes, state.value)
    spread = jnp.where(jnp.all(jnp.isfinite(together)), jnp.std(together), 0.0)
    noise = 2.0 * spread + 1e-13 * jnp.abs(state.value)
    flat = (state.turn >= PROBES) & _is_flat(state.value, state.gradient)
    return eqx.tree_at(
        lambda s: (s.probes, s.noise, s.direction, s.slope, s.step, s.status),
        state,
        (
            probes,
            noise,
            *steepest(state.gradient, method.mask),
            jnp.where(flat, CONVERGED, state.status),
        ),
    )


def _searched(state: Descent, found: Found, verdict: Verdict, method: Method) -> Descent:
    """A point of a line search: taken, or the step is shortened."""
    accepted, spent = verdict.accepted, verdict.spent
    value = jnp.where(accepted, found.value, state.value)
    gradient = tree_where(accepted, found.gradient, state.gradient)
    recent, before, settled = _watch(state, found.value, accepted, method.gain)
    done = accepted & (settled | _is_flat(value, gradient))
    status = jnp.where(done, CONVERGED, jnp.where(spent & verdict.fresh, STUCK, state.status))
    return eqx.tree_at(
        lambda d: (
            d.x, d.value, d.gradient, d.direction, d.slope, d.step, d.tries, d.recent, d.before,
            d.iterations, d.status, d.kept,
        ),
        state,
        (
            tree_where(accepted, found.trial, state.x), value, gradient, verdict.direction,
            verdict.slope, verdict.step, jnp.where(accepted | spent, 0, state.tries + 1), recent,
            before, state.iterations + accepted, status,
            tree_where(accepted, found.kept, state.kept),
        ),
    )  # fmt: skip


def _stepped(state: Descent, found: Found, verdict: Verdict, method: Method) -> Descent:
    """A step of Adam; off a cliff, back to the best point with a smaller step."""
    finite = jnp.isfinite(found.value)
    step, moments = state.moments.after(found.gradient, LEAST)
    fallen = state.moments._replace(mu=jax.tree.map(jnp.zeros_like, state.moments.mu))
    onward = jax.tree.map(lambda x, d: x - state.rate * d, state.x, step)
    recent, before, settled = _watch(state, found.value, finite, method.gain)
    return eqx.tree_at(
        lambda d: (
            d.x, d.value, d.gradient, d.moments, d.rate, d.recent, d.before, d.iterations,
            d.status, d.kept,
        ),
        state,
        (
            tree_where(finite, onward, state.best), jnp.where(finite, found.value, state.value),
            found.gradient, tree_where(finite, moments, fallen),
            jnp.where(finite, state.rate, 0.5 * state.rate), recent, before,
            state.iterations + 1, jnp.where(finite & settled, CONVERGED, state.status),
            tree_where(finite, found.kept, state.kept),
        ),
    )  # fmt: skip


def _watch(state: Descent, value: Array, counted: Array, gain: Array) -> tuple[Array, Array, Array]:
    """The last values, the best of those before them, and whether they gained too little."""
    place = state.iterations % WINDOW
    before = jnp.where(counted, jnp.minimum(state.before, state.recent[place]), state.before)
    recent = jnp.where(counted, state.recent.at[place].set(value), state.recent)
    gained = before - jnp.minimum(before, recent.min())
    return recent, before, (state.iterations >= WINDOW) & (gained < gain)


def _shorter(state: Descent, value: Array) -> Array:
    """The minimum of the parabola through what is known, within limits."""
    curvature = 2.0 * (value - state.value - state.slope * state.step)
    ratio = -state.slope * state.step / jnp.maximum(curvature, 1e-300)
    return state.step * jnp.where(jnp.isfinite(value), jnp.clip(ratio, 0.1, 0.5), 0.25)


def _is_flat(value: Array, gradient: Tree) -> Array:
    return jnp.sqrt(tree_dot(gradient, gradient)) <= 1e-9 * jnp.maximum(1.0, jnp.abs(value))

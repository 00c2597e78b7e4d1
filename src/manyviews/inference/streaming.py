"""Fits of rows that pass by in blocks: q(x) by an encoder, q(U) by natural gradients, the rest by
Adam. Memory holds a few blocks, whatever the number of rows.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..expectations import Gaussian
from ..mappings import Observations, StochasticGP
from ..mappings.natural import Inducing, stepped
from ..mappings.observations import split_table
from ..parameters import split_free
from .compiling import LongRunning
from .encoder import Encoder, Seen

KEPT = 0.5  # chance of a view to be seen by an encoder that learns to do without


@dataclass(frozen=True)
class Streaming:
    """How to go through rows that pass by.

    Attributes
    ----------
    passes : float
        Times that all rows are read.
    rows : int
        Rows of a step.
    block : int
        Consecutive rows that are read at once.
    step_size, encoder_step : float
        Adam's first steps for the model and for the encoder; they fall to zero along a cosine.
    rho : float
        Length of the natural-gradient steps.
    n_draws : int
        Draws of x for every row of a step.
    """

    passes: float = 3.0
    rows: int = 512
    block: int = 8192
    step_size: float = 0.01
    encoder_step: float = 2e-3
    rho: float = 0.05
    n_draws: int = 2


class Part(NamedTuple):
    """One view of a block of rows."""

    values: Float[Array, "n D"]
    mask: Float[Array, "n D"]
    given: Float[Array, "n D"] | None


class State(NamedTuple):
    """Where a fit stands."""

    views: tuple[StochasticGP, ...]
    encoder: Encoder
    optimisers: Any
    key: PRNGKeyArray
    step: Int[Array, ""]


Simpler = Callable[[tuple[StochasticGP, ...], Encoder], tuple[StochasticGP, ...]]


class Stretch(NamedTuple):
    """A fit after some more steps, with the bounds that these estimate."""

    views: tuple[StochasticGP, ...]
    encoder: Encoder
    bounds: Float[np.ndarray, " T"]


def fit_stream(
    views: tuple[StochasticGP, ...],
    encoder: Encoder,
    blocks: Iterator[Sequence[Float[np.ndarray, "n _"]]],
    n_rows: int,
    how: Streaming,
    seed: int = 0,
    simpler: Simpler = lambda views, encoder: views,
) -> Iterator[Stretch]:
    """Fit mappings and encoder; give them after every block.

    ``simpler`` may leave out what the mappings do not need when half of the steps are done, so that
    encoder and mappings follow in the other half.
    """
    n_steps = max(1, int(np.ceil(how.passes * n_rows / how.rows)))
    size = min(how.rows, n_rows)
    rules = _rules(how, n_steps)
    free = (split_views(views)[0], eqx.partition(encoder, _weights(encoder))[0])
    optimisers = tuple(rule.init(part) for rule, part in zip(rules, free, strict=True))
    state = State(views, encoder, optimisers, jax.random.key(seed), jnp.zeros((), jnp.int32))
    rng = np.random.default_rng(seed)
    for tables in blocks:
        order = rng.permutation(len(tables[0]))
        count = len(order) // size
        if not count:
            continue
        chosen = order[: count * size].reshape(count, size)
        parts = tuple(_part(Y, v.likelihood) for Y, v in zip(tables, views, strict=True))
        rows = jnp.asarray(chosen)
        before = int(state.step)
        state, values = _steps(state, parts, encoder.look(tables), rows, n_rows, n_steps, how)
        now = int(state.step)
        if before < n_steps // 2 <= now:
            state = state._replace(views=simpler(state.views, state.encoder))
        yield Stretch(state.views, state.encoder, np.asarray(values))


def _part(table: Float[np.ndarray, "n E"], kind: Any) -> Part:
    Y, given = split_table(table, kind)
    seen = ~np.isnan(Y)
    filled = jnp.asarray(np.where(seen, Y, kind.some_value()))
    known = None if given is None else jnp.asarray(given)
    return Part(filled, jnp.asarray(seen, jnp.float64), known)


@LongRunning
def _steps(
    state: State,
    parts: tuple[Part, ...],
    seen: tuple[Seen, ...],
    rows: Int[Array, "T B"],
    n_rows: int,
    n_steps: int,
    how: Streaming,
) -> tuple[State, Float[Array, " T"]]:
    arrays, static = eqx.partition(state, eqx.is_array)

    def one(arrays: Any, chosen: Int[Array, " B"]) -> tuple[Any, Array]:
        now = eqx.combine(arrays, static)
        mine, looked = jax.tree_util.tree_map(lambda a: a[chosen], (parts, seen))
        new, value = _step(now, mine, looked, n_rows, n_steps, how)
        return eqx.filter(new, eqx.is_array), value

    arrays, values = jax.lax.scan(one, arrays, rows)
    return eqx.combine(arrays, static), values


def _step(
    now: State,
    parts: tuple[Part, ...],
    seen: tuple[Seen, ...],
    n_rows: int,
    n_steps: int,
    how: Streaming,
) -> tuple[State, Array]:
    key, *keys = jax.random.split(now.key, 4)
    free_views, fixed_views = split_views(now.views)
    learnt, fixed_encoder = eqx.partition(now.encoder, _weights(now.encoder))
    explicit = [Inducing(view.mean.value, view.covariances()) for view in now.views]
    size = parts[0].values.shape[0]
    kept = jax.random.bernoulli(keys[2], KEPT, (size, len(parts)))
    kept = (kept | ~kept.any(axis=1, keepdims=True)).astype(jnp.float64)

    def negative(free: tuple[Any, Any], given: list[Inducing]) -> tuple[Array, Array]:
        views = eqx.combine(free[0], fixed_views)
        encoder = eqx.combine(free[1], fixed_encoder)
        whole = _rows_bound(views, given, encoder(seen), parts, None, keys[0], how)
        held = jax.lax.stop_gradient((eqx.filter(views, eqx.is_array), given))
        still = eqx.combine(held[0], eqx.filter(views, eqx.is_array, inverse=True))
        some = tuple(
            Seen(view.values * kept[:, [k]], view.mask * kept[:, [k]])
            for k, view in enumerate(seen)
        )
        partly = _rows_bound(still, held[1], encoder(some), parts, kept, keys[1], how)
        bound = n_rows / size * whole - sum(view.kl() for view in views)
        return -(bound + n_rows / size * partly) / n_rows, bound

    (_, bound), (slope, towards) = jax.value_and_grad(negative, argnums=(0, 1), has_aux=True)(
        (free_views, learnt), explicit
    )
    slope = jax.tree_util.tree_map(lambda g: jnp.where(jnp.isfinite(g), g, 0.0), slope)
    moved, optimisers = [], []
    for rule, g, opt, part in zip(
        _rules(how, n_steps), slope, now.optimisers, (free_views, learnt), strict=True
    ):
        change, opt = rule.update(g, opt, part)
        moved.append(jax.tree.map(jnp.add, part, change))
        optimisers.append(opt)
    views = list(eqx.combine(moved[0], fixed_views))
    rho = how.rho * jnp.clip((now.step + 1) / max(1, n_steps // 10), 0.1, 1.0)
    for place, (old, at) in enumerate(zip(now.views, explicit, strict=True)):
        upwards = jax.tree_util.tree_map(lambda g: -n_rows * g, towards[place])
        found = stepped(old, at, upwards, rho)
        views[place] = eqx.tree_at(
            lambda v: (v.mean.raw, v.root.raw), views[place], (found.mean.raw, found.root.raw)
        )
    encoder = eqx.combine(moved[1], fixed_encoder)
    return State(tuple(views), encoder, tuple(optimisers), key, now.step + 1), bound


def _rows_bound(
    views: Sequence[StochasticGP],
    given: Sequence[Inducing],
    q: Gaussian,
    parts: Sequence[Part],
    kept: Float[Array, "B K"] | None,
    key: PRNGKeyArray,
    how: Streaming,
) -> Float[Array, ""]:
    """What some rows add to the bound; of the views that are kept alone, if not of all."""
    B, Q = q.mean.shape
    total = -jnp.sum(q.kl(Gaussian(jnp.zeros((B, Q)), jnp.ones((B, Q)))))
    for place, (view, at, part) in enumerate(zip(views, given, parts, strict=True)):
        half = jax.random.normal(
            jax.random.fold_in(key, place), (B, max(1, how.n_draws // 2), Q), q.mean.dtype
        )
        mask = part.mask if kept is None else part.mask * kept[:, [place]]
        outputs = drawn_observations(part, mask, jnp.concatenate([half, -half], axis=1))
        total += view.data_term(q, outputs, at.mean, at.covariance)[0]
    return total


def drawn_observations(
    part: Part, mask: Float[Array, "B D"], nodes: Float[Array, "B K Q"]
) -> Observations:
    """Rows with x drawn, for any likelihood."""
    B, D = part.values.shape
    return Observations(
        values=part.values,
        mask=mask,
        given=part.given,
        nodes=nodes,
        patterns=jnp.ones((1, B)),
        pattern_of_column=jnp.zeros(D, jnp.int32),
        scale=jnp.ones(()),
        spread=jnp.asarray(jnp.nan),
    )


def split_views(views: tuple[StochasticGP, ...]) -> tuple[Any, Any]:
    """What Adam moves of the mappings, and all else: q(U) has steps of its own."""
    free, fixed = split_free(views)

    def explicit(tree: Any) -> list[Any]:
        return [leaf for view in tree for leaf in (view.mean.raw, view.root.raw)]

    nothing = [None] * (2 * len(views))
    fixed = eqx.tree_at(explicit, fixed, explicit(views), is_leaf=lambda x: x is None)
    return eqx.tree_at(explicit, free, nothing, is_leaf=lambda x: x is None), fixed


def _weights(encoder: Encoder) -> Any:
    """A tree of flags: true for the weights of the network."""
    nothing = jax.tree_util.tree_map(lambda _: False, encoder)
    flags = jax.tree_util.tree_map(lambda _: True, (encoder.weights, encoder.biases))
    return eqx.tree_at(lambda e: (e.weights, e.biases), nothing, flags)


def _rules(how: Streaming, n_steps: int) -> tuple[Any, ...]:
    import optax  # slow to import

    return tuple(
        optax.chain(
            optax.clip_by_global_norm(10.0), optax.adam(optax.cosine_decay_schedule(size, n_steps))
        )
        for size in (how.step_size, how.encoder_step)
    )


@eqx.filter_jit
def encoded(encoder: Encoder, seen: tuple[Seen, ...]) -> Gaussian:
    """q(x) of rows, in one pass."""
    return encoder(seen)


def taught(
    encoder: Encoder,
    tables: Sequence[Float[np.ndarray, "N _"]],
    q: Gaussian,
    steps: int = 500,
    step_size: float = 3e-3,
) -> Encoder:
    """An encoder that gives some rows about the q(x) that they have."""
    return _taught(encoder, encoder.look(tables), q, steps, step_size)


@eqx.filter_jit
def _taught(
    encoder: Encoder, seen: tuple[Seen, ...], q: Gaussian, steps: int, step_size: float
) -> Encoder:
    import optax  # slow to import

    learnt, fixed = eqx.partition(encoder, _weights(encoder))
    rule = optax.adam(optax.cosine_decay_schedule(step_size, steps))

    def loss(learnt: Any) -> Array:
        return jnp.mean(eqx.combine(learnt, fixed)(seen).kl(q))

    def step(carry: tuple[Any, Any], _: None) -> tuple[tuple[Any, Any], None]:
        learnt, state = carry
        change, state = rule.update(jax.grad(loss)(learnt), state, learnt)
        return (jax.tree.map(jnp.add, learnt, change), state), None

    (learnt, _), _ = jax.lax.scan(step, (learnt, rule.init(learnt)), None, steps)
    return eqx.combine(learnt, fixed)

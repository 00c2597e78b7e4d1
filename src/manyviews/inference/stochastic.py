"""Fits from batches of rows: natural-gradient steps for q(U), Adam for all else.

A batch of B of N rows gives an unbiased estimate of the bound, each row standing for N/B and x
drawn anew. Views whose inducing variables are integrated out take part with all their rows. One
gradient serves both kinds of step: the KL of a whitened q(U) depends on q(U) alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..expectations import Gaussian
from ..mappings import Observations, Outputs, StochasticGP
from ..mappings.natural import Inducing, stepped
from ..parameters import log_prior, split_free
from .adam import Moments
from .bound import Model
from .compiling import LongRunning

STEPS_AT_ONCE = 50


@dataclass(frozen=True)
class Batches:
    """How to go through the rows.

    Attributes
    ----------
    steps : int
        Steps in all.
    rows : int
        Rows of a batch.
    step_size : float
        Adam's first step; it falls to zero along a cosine.
    rho : float
        Length of the natural-gradient steps, at most one; it is reached from a tenth of it over the
        first tenth of the steps.
    n_draws : int
        Draws of x for every row of a batch.
    """

    steps: int = 2000
    rows: int = 256
    step_size: float = 0.02
    rho: float = 0.1
    n_draws: int = 4


class Pace(NamedTuple):
    """The numbers of `Batches` that one program serves whatever they are."""

    steps: Float[Array, ""]
    step_size: Float[Array, ""]
    rho: Float[Array, ""]

    def rate(self, step: Int[Array, ""]) -> Float[Array, ""]:
        """Adam's step: along a cosine to zero."""
        return 0.5 * self.step_size * (1.0 + jnp.cos(jnp.pi * jnp.minimum(step / self.steps, 1.0)))

    def natural(self, step: Int[Array, ""]) -> Float[Array, ""]:
        """The natural-gradient step."""
        return self.rho * jnp.clip((step + 1) / jnp.maximum(1.0, self.steps // 10), 0.1, 1.0)


class Progress(NamedTuple):
    """Where a fit stands: all that is needed to go on."""

    model: Model
    state: Any
    key: PRNGKeyArray
    step: Int[Array, ""]


def fit_batches(
    model: Model, outputs: tuple[Outputs, ...], batches: Batches, seed: int = 0
) -> tuple[Model, Float[np.ndarray, " T"]]:
    """Fit a model from batches of rows; return it with the estimated bound of every step."""
    trace = [np.empty(0)]
    for found, values in stretches(model, outputs, batches, seed):
        model = found
        trace.append(values)
    return model, np.concatenate(trace)


def stretches(
    model: Model, outputs: tuple[Outputs, ...], batches: Batches, seed: int = 0
) -> Iterator[tuple[Model, Float[np.ndarray, " T"]]]:
    """The same, with a look at the model after every few steps."""
    free, _ = _split(model)
    progress = Progress(model, Moments.none(free), jax.random.key(seed), jnp.zeros((), jnp.int32))
    pace = Pace(*map(jnp.asarray, (float(batches.steps), batches.step_size, batches.rho)))
    for begin in range(0, batches.steps, STEPS_AT_ONCE):
        count = min(STEPS_AT_ONCE, batches.steps - begin)
        progress, values = advance(progress, outputs, pace, batches.rows, batches.n_draws, count)
        yield progress.model, np.asarray(values)


@LongRunning
def advance(
    progress: Progress,
    outputs: tuple[Outputs, ...],
    pace: Pace,
    n_rows: int,
    n_draws: int,
    count: int,
) -> tuple[Progress, Float[Array, " T"]]:
    """Go some steps further."""
    arrays, static = eqx.partition(progress, eqx.is_array)

    def one(arrays: Any, _: None) -> tuple[Any, Array]:
        now = eqx.combine(arrays, static)
        key, rows_key, nodes_key = jax.random.split(now.key, 3)
        batch = draw_batch(rows_key, nodes_key, outputs, n_rows, n_draws)
        model, state, value = _step(now, batch, pace)
        return eqx.filter(Progress(model, state, key, now.step + 1), eqx.is_array), value

    arrays, values = jax.lax.scan(one, arrays, None, count)
    return eqx.combine(arrays, static), values


class Batch(NamedTuple):
    """Some rows of the views that can be divided, all rows of the others."""

    rows: Int[Array, " B"]
    outputs: tuple[Outputs, ...]


def draw_batch(
    rows_key: PRNGKeyArray,
    nodes_key: PRNGKeyArray,
    outputs: tuple[Outputs, ...],
    most_rows: int,
    n_draws: int,
) -> Batch:
    """Rows without repetition, and x drawn anew for each."""
    n_rows = next(o.values.shape[0] for o in outputs if isinstance(o, Observations))
    size = min(most_rows, n_rows)
    rows = jnp.arange(n_rows)
    if size < n_rows:
        rows = jax.random.choice(rows_key, n_rows, (size,), replace=False)
    drawn: list[Outputs] = []
    for place, o in enumerate(outputs):
        if isinstance(o, Observations):
            o = o.rows(rows)
            if o.nodes is not None:
                key = jax.random.fold_in(nodes_key, place)
                shape = (size, max(1, n_draws // 2), o.nodes.shape[2])
                half = jax.random.normal(key, shape, o.values.dtype)
                o = o.with_nodes(jnp.concatenate([half, -half], axis=1))
        drawn.append(o)
    return Batch(rows, tuple(drawn))


def inducing(model: Model) -> dict[int, Inducing]:
    """The moments of every explicit q(U), by the place of its view."""
    return {
        place: Inducing(view.mean.value, view.covariances())
        for place, view in enumerate(model.views)
        if isinstance(view, StochasticGP)
    }


def _estimate(model: Model, given: dict[int, Inducing], batch: Batch) -> Float[Array, ""]:
    """The bound with other moments of q(U), but for what these add to its KL."""
    model = model.whole()
    q, kl = model.latent.infer()
    total = log_prior(model) - kl
    for place, (view, o) in enumerate(zip(model.views, batch.outputs, strict=True)):
        own = _seen(model, place, q, o, batch.rows)
        if isinstance(view, StochasticGP) and isinstance(o, Observations):
            at = given[place]
            total += o.scale * view.data_term(own, o, at.mean, at.covariance)[0] - view.kl()
        else:
            total += view.expected_log_likelihood(own, o).value
    return total


def _step(now: Progress, batch: Batch, pace: Pace) -> tuple[Model, Any, Array]:
    free, fixed = _split(now.model)
    explicit = inducing(now.model)

    def negative_bound(free: Model, given: dict[int, Inducing]) -> Array:
        return -_estimate(eqx.combine(free, fixed), given, batch)

    value, (slope, towards) = jax.value_and_grad(negative_bound, argnums=(0, 1))(free, explicit)
    fine = jnp.isfinite(value)
    slope = jax.tree_util.tree_map(
        lambda g: jnp.where(fine & jnp.isfinite(g), g, jnp.zeros_like(g)), slope
    )
    change, state = now.state.after(slope)
    rate = pace.rate(now.step)
    change = jax.tree_util.tree_map(lambda c: -rate * c, change)
    moved = eqx.combine(jax.tree.map(jnp.add, free, change), fixed)
    rho = pace.natural(now.step)
    views = list(moved.views)
    for place, at in explicit.items():
        old, new = now.model.views[place], moved.views[place]
        assert isinstance(old, StochasticGP)
        assert isinstance(new, StochasticGP)
        upwards = jax.tree_util.tree_map(jnp.negative, towards[place])
        found = stepped(old, at, upwards, rho)
        views[place] = eqx.tree_at(
            lambda v: (v.mean.raw, v.root.raw), new, (found.mean.raw, found.root.raw)
        )
    return eqx.tree_at(lambda m: m.views, moved, tuple(views)), state, -value


def _seen(model: Model, place: int, q: Gaussian, o: Outputs, rows: Int[Array, " B"]) -> Gaussian:
    """q(x) of the rows and dimensions that a view has."""
    own = q[rows] if isinstance(o, Observations) else q
    part = model.latent.dimensions(place)
    return own if part == slice(None) else own[..., part]


def _split(model: Model) -> tuple[Model, Model]:
    """What Adam moves, and all else: q(U) has steps of its own."""
    free, fixed = split_free(model)
    for place, view in enumerate(model.views):
        if isinstance(view, StochasticGP):

            def explicit(part: Model, place: int = place) -> list[Any]:
                own = part.views[place]
                assert isinstance(own, StochasticGP)
                return [own.mean.raw, own.root.raw]

            fixed = eqx.tree_at(explicit, fixed, explicit(model), is_leaf=lambda x: x is None)
            free = eqx.tree_at(explicit, free, [None, None], is_leaf=lambda x: x is None)
    return free, fixed

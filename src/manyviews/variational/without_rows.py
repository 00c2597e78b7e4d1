"""A fitted model that has not seen some of its rows: leave-out predictions without a new fit."""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from ..expectations import Gaussian
from ..fitted.engine import Tables
from ..inference.bound import Model
from ..inference.row_programs import filled_up
from ..latent import StandardNormal
from ..mappings import CollaborativeGP, Mapping, StochasticGP, make_observations, make_outputs
from ..mappings.base import condition
from ..mappings.natural import settle
from .engine import VariationalEngine

FEW_NODES = 4  # of x for every row, and their mirror images, where q(U) is found anew
MOST_ROWS = 1000  # that it is found from


def keeping_rows(engine: VariationalEngine, rows: Int[np.ndarray, " n"]) -> VariationalEngine:
    """The engine given some training rows only, kernels, noise and these rows' q(x) held.

    The inducing variables of a collapsed view are integrated out, so what its other rows taught
    them is taken away exactly. Those of other views find their optimum anew.
    """
    everyone = engine.marginals
    parts = [engine.model.latent.dimensions(view) for view in range(len(engine.data))]
    posteriors = tuple(
        conditioned(view, engine.posteriors[place], everyone[..., part], table, rows)
        for place, (view, part, table) in enumerate(
            zip(engine.model.views, parts, engine.data, strict=True)
        )
    )
    q = everyone.rows(rows)
    latent = StandardNormal(q.mean, q.variance)
    data = tuple(table[rows] for table in engine.data)
    return replace(
        engine, model=Model(latent, engine.model.views), posteriors=posteriors, data=data
    )


def _holding(
    table: Float[np.ndarray, "N D"], rows: Int[np.ndarray, " n"]
) -> Float[np.ndarray, "N D"]:
    """The table with all rows but some missing: of one shape, and so one program, for all folds."""
    held = np.full_like(table, np.nan)
    held[rows] = table[rows]
    return held


def conditioned(
    view: Mapping,
    fitted: Any,
    q: Gaussian,
    table: Float[np.ndarray, "N _"],
    rows: Int[np.ndarray, " n"],
) -> Any:
    """What prediction needs of some rows of a table, their q(x) given."""
    if isinstance(view, StochasticGP):
        return _settled(view, q, table, rows)
    exact = isinstance(view, CollaborativeGP) or fitted.exact
    outputs = make_outputs(_holding(table, rows), "exact" if exact else "shared")
    return condition(view, *filled_up(q, outputs))


def _settled(
    view: StochasticGP, q: Gaussian, table: Float[np.ndarray, "N _"], rows: Int[np.ndarray, " n"]
) -> Any:
    """A view with q(U) at its optimum for some rows."""
    kept = jnp.zeros(len(table)).at[rows].set(1.0)
    outputs = make_observations(table, view.likelihood, q.mean.shape[1])
    outputs = eqx.tree_at(
        lambda o: (o.mask, o.patterns), outputs,
        (outputs.mask * kept[:, None], outputs.patterns * kept),
    )  # fmt: skip
    outputs = outputs.with_few_nodes(FEW_NODES)
    if len(rows) > MOST_ROWS:
        some = np.sort(np.random.default_rng(0).choice(rows, MOST_ROWS, replace=False))
        outputs, q = outputs.rows(jnp.asarray(some)), q[jnp.asarray(some)]
        outputs = eqx.tree_at(lambda o: o.scale, outputs, jnp.asarray(len(rows) / MOST_ROWS))
    return condition(settle(view, q, outputs), q, outputs)


def some_views(rows: Tables, known: tuple[int, ...]) -> list[Float[np.ndarray, "n _"]]:
    """The rows with all views but some taken away."""
    return [
        table if place in known else np.full_like(table, np.nan) for place, table in enumerate(rows)
    ]

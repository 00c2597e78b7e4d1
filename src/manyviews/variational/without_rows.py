"""A fitted model that has not seen some of its rows: leave-out predictions without a new fit."""

from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ..fitted.engine import Tables
from ..inference.bound import Model
from ..inference.row_programs import filled_up
from ..latent import StandardNormal
from ..mappings import CollaborativeGP, Mapping, make_outputs
from ..mappings.base import condition
from ..mappings.stochastic_posterior import StochasticPosterior
from .engine import VariationalEngine


def keeping_rows(engine: VariationalEngine, rows: Int[np.ndarray, " n"]) -> VariationalEngine:
    """The engine given some training rows only, kernels, noise and these rows' q(x) held.

    The inducing variables of a collapsed view are integrated out, so what its other rows taught
    them is taken away exactly. Views that are not Gaussian keep their q(u).
    """
    everyone = engine.marginals
    parts = [engine.model.latent.dimensions(view) for view in range(len(engine.data))]
    posteriors = tuple(
        _conditioned(view, engine.posteriors[place], everyone[..., part], _holding(table, rows))
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


def _conditioned(view: Mapping, fitted: Any, q: Any, table: Float[np.ndarray, "N D"]) -> Any:
    if isinstance(fitted, StochasticPosterior):
        return fitted
    exact = isinstance(view, CollaborativeGP) or fitted.exact
    outputs = make_outputs(table, "exact" if exact else "shared")
    return condition(view, *filled_up(q, outputs))


def some_views(rows: Tables, known: tuple[int, ...]) -> list[Float[np.ndarray, "n _"]]:
    """The rows with all views but some taken away."""
    return [
        table if place in known else np.full_like(table, np.nan) for place, table in enumerate(rows)
    ]

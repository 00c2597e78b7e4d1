"""Calibrated intervals of imputed values, from training values that the model is made to forget.

Kernel and noise are point estimates, and what follows from them does not know how uncertain they
are. So intervals are too narrow, most of all where rows are few: with the true kernel and noise
held, they are not. How much so shows in values of training rows that are predicted from the others
of their row by a model without the row.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ..mappings.stochastic_posterior import StochasticPosterior
from .engine import VariationalEngine
from .widths import Widths, memory
from .without_rows import keeping_rows

FOLDS = 5
PARTS = 5  # of the known values of a row, each hidden once
LEAST_ROWS, MOST_ROWS = 10, 500
LEAST_VALUES = 2  # of a row: one to hide and one to know


def imputation_widths(engine: VariationalEngine, how: Mapping[str, Any]) -> dict[int, Widths]:
    """By view, how variances of missing values are to be corrected; nothing for few rows.

    Rows are left out in five folds (`keeping_rows`: exact for what they taught the maps; kernels
    and noise are held). Each is then inferred five times, every time without another fifth of its
    known values. Widths come from the errors of those (`Widths`), whose squares are multiplied by
    1 + 10/N, as kernels and noise have known the rows.
    """
    known = np.concatenate([~np.isnan(table) for table in engine.data], axis=1)
    usable = np.flatnonzero(known.sum(axis=1) >= LEAST_VALUES)
    if len(usable) < LEAST_ROWS:
        return {}
    rng = np.random.default_rng(0)
    order = rng.permutation(usable)[:MOST_ROWS]
    part = _parts(known, rng)
    size = -(-len(order) // FOLDS)
    folds = [
        _forgotten(engine, order[first : first + size], part, how)
        for first in range(0, len(order), size)
    ]
    factor = memory(1.0, len(order))
    found = {}
    for view, posterior in enumerate(engine.posteriors):
        if isinstance(posterior, StochasticPosterior):
            continue
        errors, variance = (
            np.concatenate([fold[view][what] for fold in folds]) for what in range(2)
        )
        if np.isfinite(errors).any():
            found[view] = Widths.fit(errors, variance, factor)
    return found


def _parts(known: np.ndarray, rng: np.random.Generator) -> Int[np.ndarray, "N D"]:
    """The part that each known value of a row belongs to, all parts of a row about equal; or -1."""
    draws = np.where(known, rng.random(known.shape), np.inf)
    rank = draws.argsort(axis=1).argsort(axis=1)
    start = rng.integers(PARTS, size=(len(known), 1))
    return np.where(known, (rank + start) % PARTS, -1)


def _forgotten(
    engine: VariationalEngine,
    rows: Int[np.ndarray, " n"],
    part: Int[np.ndarray, "N D"],
    how: Mapping[str, Any],
) -> list[tuple[Float[np.ndarray, "m _"], Float[np.ndarray, "m _"]]]:
    """By view: errors of predictions (NaN where there is none), and their variances."""
    fold = keeping_rows(engine, np.setdiff1d(np.arange(len(part)), rows))
    again = np.tile(rows, PARTS)
    hidden = part[again] == np.repeat(np.arange(PARTS), len(rows))[:, None]
    ends = np.cumsum([table.shape[1] for table in engine.data])[:-1]
    masks = np.split(hidden, ends, axis=1)
    shown = [
        np.where(mask, np.nan, table[again]) for mask, table in zip(masks, engine.data, strict=True)
    ]
    q = fold.infer(shown, **how)
    found = []
    for view, (mask, table) in enumerate(zip(masks, engine.data, strict=True)):
        mean, variance = q.mix(*fold.moments(view, q, "variance"))
        assert variance is not None
        columns = mean.shape[1]  # not what came beside the values
        errors = np.where(mask[:, :columns], table[again][:, :columns] - mean, np.nan)
        found.append((errors, variance))
    return found

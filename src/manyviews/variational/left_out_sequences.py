"""Training sequences that a fitted model is made to forget in turn, and finds again as new ones."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from ..data import When
from ..fitted import Tables
from ..inference.bound import Model
from ..inference.new_points import NewPoints
from ..latent import Paths, Sequences, make_sequences, marginals
from .engine import VariationalEngine
from .without_rows import conditioned, some_views

MOST_FOLDS, MOST_ROWS = 4, 2000
DEFAULTS = {"n_modes": 1, "coupled": True, "flow_weight": 0.0, "augmented": False}
FOLDS, FOUND = "sequences forgotten", "sequences found"  # where an engine keeps them


class Forgotten(NamedTuple):
    """A model without some of its sequences, its parameters as they are."""

    engine: VariationalEngine
    out: Int[np.ndarray, " n"]
    """The rows that were left out."""
    rows: Tables
    when: When


class Found(NamedTuple):
    """Where such a model finds its forgotten rows from some of their views."""

    fold: Forgotten
    given: Tables
    points: NewPoints


def found_again(
    engine: VariationalEngine, known: tuple[int, ...], **search: Any
) -> Iterator[Found]:
    """Leave the training sequences out in turn and search for them as for new ones.

    ``search`` are options of `VariationalEngine.search()`; what was found for them is kept.
    """
    if FOLDS not in engine.links:
        engine.links[FOLDS] = [without(engine, out) for out in folds_of(paths_of(engine).sequences)]
    search = DEFAULTS | search
    for place, fold in enumerate(engine.links[FOLDS]):
        if not any_value(fold.rows, known).any():
            continue
        asked = (FOUND, place, known, repr(sorted(search.items())))
        if asked not in engine.links:
            given = tuple(some_views(fold.rows, known))
            points = fold.engine.search(given, fold.when, **search)
            engine.links[asked] = Found(fold, given, points)
        yield engine.links[asked]


def folds_of(sequences: Sequences, most: int = MOST_ROWS) -> list[Bool[np.ndarray, " N"]]:
    """The rows of at most four parts: whole sequences, or stretches of the only one.

    Of parts of more than a quarter of ``most`` rows, as many sequences as that allows, and at least
    a stretch of one.
    """
    order = np.asarray(sequences.order)  # by sequence and time
    whole = np.split(order, np.flatnonzero(np.asarray(sequences.first))[1:])
    count, limit = min(MOST_FOLDS, len(whole)), max(1, most // MOST_FOLDS)
    parts = [whole[fold::count] for fold in range(count)]
    if count == 1:
        parts = [[stretch] for stretch in np.array_split(order, MOST_FOLDS) if len(stretch)]
    folds = []
    for part in parts:
        fitting = np.cumsum([len(rows) for rows in part]) <= limit
        chosen = [rows for rows, fits in zip(part, fitting, strict=True) if fits]
        out = np.zeros(len(order), bool)
        out[np.concatenate(chosen or [part[0][:limit]])] = True
        folds.append(out)
    return folds


def without(engine: VariationalEngine, out: Bool[np.ndarray, " N"]) -> Forgotten:
    """The model conditioned on the other rows alone: their paths and the inducing variables."""
    latent, kept = paths_of(engine), np.flatnonzero(~out)
    inputs, code = np.asarray(latent.sequences.inputs), np.asarray(latent.sequences.code)
    rest = latent.with_rows(
        make_sequences(inputs[kept], code[kept]),
        np.asarray(latent.target.value)[kept],
        np.asarray(latent.precision.value)[kept],
    )
    q, data = marginals(rest), tuple(Y[kept] for Y in engine.data)
    posteriors = tuple(
        conditioned(view, fitted, q[..., rest.dimensions(place)], table, np.arange(len(kept)))
        for place, (view, fitted, table) in enumerate(
            zip(engine.model.views, engine.posteriors, data, strict=True)
        )
    )
    model = Model(rest, engine.model.views)
    forgetful = replace(engine, model=model, posteriors=posteriors, data=data)
    when = When(inputs[out], code[out] + int(code.max()) + 1, ())
    return Forgotten(forgetful, np.flatnonzero(out), tuple(Y[out] for Y in engine.data), when)


def any_value(rows: Tables, views: tuple[int, ...]) -> Bool[np.ndarray, " n"]:
    """Which rows have any value of some views."""
    return np.any([~np.isnan(rows[view]).all(axis=1) for view in views], axis=0)


def paths_of(engine: VariationalEngine) -> Paths:
    """The latent space of a model over time."""
    assert isinstance(engine.model.latent, Paths)
    return engine.model.latent

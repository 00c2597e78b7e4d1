"""Which likelihood every view has: as told, or as its table looks."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from ..data import Aligned
from ..errors import DataError, KindWarning, OptionError
from ..likelihoods import (
    Binomial,
    Censored,
    Likelihood,
    Mixed,
    NegativeBinomial,
    Poisson,
    gaussian_doubts,
    kind_of,
    likelihood_from,
)
from ..likelihoods.checks import refuse
from .column_kinds import GAUSSIAN, guessed_kind, kind_of_columns


class Kinds(NamedTuple):
    """The likelihoods of all views, and what is to be said about them.

    None is Gaussian noise, whose inducing variables can be integrated out.
    """

    likelihoods: tuple[Likelihood | None, ...]
    words: dict[str, str]


def choose_kinds(found: Aligned, asked: Sequence[Any]) -> Kinds:
    """Decide on a likelihood for every view, and refuse data that are not of its kind.

    ``"auto"`` looks at the table; a dict says what its columns are. A view that does not look
    Gaussian raises a warning if it is told to be; if nothing is said about it (None) the doubts are
    among the words.
    """
    likelihoods, words = [], {}
    for name, table, columns, kind in zip(
        found.names, found.tables, found.columns, asked, strict=True
    ):
        if isinstance(kind, dict):
            kind, words[name] = kind_of_columns(kind, table, name, columns)
        elif isinstance(kind, str) and kind == "auto":
            kind, words[name] = guessed_kind(table, columns)
        elif kind is None or (isinstance(kind, str) and kind == GAUSSIAN):
            told, kind = kind is not None, GAUSSIAN
            doubts = gaussian_doubts(table)
            words[name] = f"{kind}; but {doubts}" if doubts else kind
            if doubts and told:
                warnings.warn(
                    f"view {name!r} is fitted as Gaussian, but has {doubts}; "
                    "likelihood='auto' decides by the data",
                    KindWarning,
                    stacklevel=4,
                )
        made = None if kind == GAUSSIAN else likelihood_from(kind)
        if made is not None:
            made.check_data(table, name, columns, found.samples)
            words.setdefault(name, kind_of(made))
        likelihoods.append(made)
    return Kinds(tuple(likelihoods), words)


def beside_names(asked: Sequence[Any]) -> set[str]:
    """Tables that come with views and are none themselves."""
    named = [kind.beside for kind in asked if isinstance(kind, Likelihood)]
    return {name for name in named if name is not None}


def paired(
    found: Aligned, likelihoods: dict[str, Likelihood | None], required: bool = True
) -> Aligned:
    """The views with the tables that belong to them at their right, and without these as views."""
    extra = beside_names(list(likelihoods.values()))
    kept = [name for name in found.names if name not in extra]
    views = picked(found, kept)
    tables = []
    for name, table, columns in zip(views.names, views.tables, views.columns, strict=True):
        kind = likelihoods.get(name)
        if kind is not None and kind.beside is not None:
            beside = _beside(found, name, kind.beside, table, required)
            _check_beside(kind, table, beside, name, columns, found.samples, required)
            table = np.concatenate([table, beside], axis=1)
        tables.append(table)
    return replace(views, tables=tuple(tables))


def picked(found: Aligned, names: Sequence[str]) -> Aligned:
    """Some of the views."""
    places = [found.names.index(name) for name in names]
    tables = tuple(found.tables[p] for p in places)
    columns = tuple(found.columns[p] for p in places)
    return replace(found, names=tuple(names), tables=tables, columns=columns)


def relative(kind: Likelihood | None, table: Float[np.ndarray, "N E"]) -> Likelihood | None:
    """A likelihood of counts with the typical exposure of these data."""
    if isinstance(kind, Mixed):
        return kind.relative_to(table)
    if not isinstance(kind, Poisson | NegativeBinomial):
        return kind
    if kind.beside is None:
        return kind.relative_to(table)
    half = table.shape[1] // 2
    return kind.relative_to(table[:, :half], table[:, half:])


def _beside(
    found: Aligned, name: str, other: str, table: Float[np.ndarray, "N D"], required: bool
) -> Float[np.ndarray, "N D"]:
    if other not in found.names:
        raise OptionError(
            f"the likelihood of view {name!r} needs a table {other!r}: the data have "
            f"{list(found.names)}"
        )
    beside = found.tables[found.names.index(other)]
    if beside.shape[1] not in {1, table.shape[1]}:
        raise DataError(
            f"table {other!r} must have one column, or the {table.shape[1]} columns of view "
            f"{name!r} that it belongs to; it has {beside.shape[1]}"
        )
    return np.broadcast_to(beside, table.shape)


def _check_beside(
    kind: Likelihood,
    table: Float[np.ndarray, "N D"],
    beside: Float[np.ndarray, "N D"],
    name: str,
    columns: list[Any],
    rows: list[Any],
    required: bool,
) -> None:
    own = f"has its table {kind.beside!r}"
    refuse(np.isinf(beside), beside, name, columns, rows, own, "give finite numbers, or NaN")
    if not required and np.isnan(table).all():
        return
    if isinstance(kind, Binomial):
        kind.check_trials(table, beside, name, columns, rows)
    elif isinstance(kind, Censored):
        kind.check_events(table, beside, name, columns, rows, new=not required)
    else:
        unknown = ~np.isnan(table) & np.isnan(beside)
        refuse(
            unknown | (beside <= 0), beside, name, columns, rows,
            f"has exposures {kind.beside!r}", "they must be above zero, and known wherever there "
            "is a count; set the count to NaN where there is none",
        )  # fmt: skip

"""The likelihood of a view whose columns are of several kinds: as told, or as they look."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from ..errors import OptionError
from ..likelihoods import Likelihood, Mixed, guess_columns, guess_kind, kind_of, likelihood_from

GAUSSIAN, AUTO, MIXED = "gaussian", "auto", "mixed"
NAMED = 6  # columns

Kind = str | Likelihood
Group = tuple[Kind, list[int]]


def guessed_kind(table: Float[np.ndarray, "N D"], columns: Sequence[Any]) -> tuple[Kind, str]:
    """What a table looks like, and why."""
    found = guess_columns(table)
    if len(found) == 1:
        return found[0][0].kind, str(found[0][0])
    words = [f"{_listed(columns, own)} as {guess}" for guess, own in found]
    return _mixed([(guess.kind, own) for guess, own in found]), f"{MIXED}: {'; '.join(words)}"


def kind_of_columns(
    asked: Mapping[Any, Any], table: Float[np.ndarray, "N D"], view: str, columns: Sequence[Any]
) -> tuple[Kind, str]:
    """One likelihood for columns of several kinds, and what is to be said about it.

    Asked as {column: kind} or {kind: [columns]}. Columns that are not named are Gaussian; those of
    the kind ``"auto"`` are what they look like.
    """
    kinds: dict[Any, Kind] = {}
    for column, kind in _pairs(asked):
        if column not in columns:
            raise OptionError(
                f"the likelihood of view {view!r} names the column {column!r}, which it does not "
                f"have: its columns are {_listed(columns, range(len(columns)))}"
            )
        if column in kinds:
            raise OptionError(f"column {column!r} of view {view!r} is given two likelihoods")
        if not isinstance(kind, Kind):
            raise OptionError(
                f"the likelihood of column {column!r} of view {view!r} must be a name or a "
                f"Likelihood, got {kind!r}"
            )
        kinds[column] = kind
    groups: dict[Hashable, Group] = {}
    for d, column in enumerate(columns):
        kind = kinds.get(column, GAUSSIAN)
        if isinstance(kind, str) and kind == AUTO:
            kind = guess_kind(table[:, [d]]).kind
        same = kind if isinstance(kind, str) else id(kind)
        groups.setdefault(same, (kind, []))[1].append(d)
    found = list(groups.values())
    if len(found) == 1:
        return found[0][0], _named(found[0][0])
    words = [f"{_listed(columns, own)} as {_named(kind)}" for kind, own in found]
    return _mixed(found), f"{MIXED}: {'; '.join(words)}"


def _pairs(asked: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    for key, value in asked.items():
        if isinstance(value, list | tuple):
            yield from ((column, key) for column in value)
        else:
            yield key, value


def _mixed(groups: Sequence[Group]) -> Mixed:
    return Mixed([likelihood_from(kind) for kind, _ in groups], [own for _, own in groups])


def _named(kind: Kind) -> str:
    return kind if isinstance(kind, str) else kind_of(kind)


def _listed(columns: Sequence[Any], own: Sequence[int]) -> str:
    """A few names of columns."""
    names = [str(columns[d]) for d in own]
    if len(names) <= NAMED + 1:
        return ", ".join(names)
    return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} more"

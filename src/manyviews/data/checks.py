"""Checks of one table that name the row and the column at fault."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from ..errors import ConstantColumnWarning, DataError, IdentifierWarning
from .identifiers import is_identifier, named_like_identifier

LARGEST = 1e100
"""Values beyond this, and spreads below its inverse, are refused: their squares' squares must be
numbers, too."""

FARTHEST = 1e50
"""The same for values as scaled."""

Names = Sequence[Any] | np.ndarray | pd.Index | None


@contextmanager
def numbers_only(given: Any, name: str) -> Iterator[None]:
    """Around what turns a table into floats: no dates, which would pass for nanoseconds, and no
    integers that are no floats.
    """
    kinds = given.dtypes if isinstance(given, pd.DataFrame) else [getattr(given, "dtype", None)]
    if any(getattr(kind, "kind", "") in {"m", "M"} for kind in kinds):
        raise DataError(f"{name} holds dates: give them as times, or as numbers")
    try:
        yield
    except OverflowError as wrong:
        raise DataError(f"{name} holds a number that is too large: {wrong}") from wrong


def check_values(
    Y: Float[np.ndarray, "N D"],
    view: str,
    columns: Names = None,
    rows: Names = None,
    *,
    empty_rows: bool = False,
) -> None:
    """Refuse infinities, values beyond ``LARGEST`` and, unless allowed, rows without any value."""
    infinite = np.argwhere(np.isinf(Y))
    if infinite.size:
        row, column = infinite[0]
        raise DataError(
            f"view {view!r} contains infinity at row {_name(rows, row)}, column "
            f"{_name(columns, column)} ({len(infinite)} infinite values in all)"
        )
    _refuse_beyond(LARGEST, Y, view, columns, rows, "give it in larger units")
    empty = np.flatnonzero(np.isnan(Y).all(axis=1))
    if empty.size and not empty_rows:
        raise DataError(
            f"row {_name(rows, empty[0])} of view {view!r} has no value at all "
            f"({empty.size} such rows): leave it out"
        )


def check_training_columns(Y: Float[np.ndarray, "N D"], view: str, columns: Names = None) -> None:
    """Refuse columns without any value, and views that vary too little; warn of constant ones."""
    empty = np.flatnonzero(np.isnan(Y).all(axis=0))
    if empty.size:
        raise DataError(
            f"column {_name(columns, empty[0])} of view {view!r} has no value at all "
            f"({empty.size} such columns): leave it out"
        )
    if columns is not None:
        warn_of_identifiers(Y, view, list(columns))
    ranges = check_spread(Y, view)
    constant = np.flatnonzero(ranges == 0.0)
    if constant.size == Y.shape[1]:
        raise DataError(f"every column of view {view!r} is constant: there is nothing to learn")
    if constant.size:
        warnings.warn(
            f"{constant.size} columns of view {view!r} are constant and tell the model nothing, "
            f"the first of them {_name(columns, constant[0])}; leave them out to silence this",
            ConstantColumnWarning,
            stacklevel=3,
        )


def warn_of_identifiers(Y: Float[np.ndarray, "N D"], view: str, columns: Sequence[Any]) -> None:
    """Warn of columns that are called like the names of samples, and differ in each row."""
    for place, column in enumerate(columns):
        if named_like_identifier(column) and is_identifier(column, pd.Series(Y[:, place])):
            warnings.warn(
                f"column {column!r} of view {view!r} holds a different whole number in each row "
                "and is fitted as data: if it names the samples, make it the index",
                IdentifierWarning,
                stacklevel=4,
            )


def check_spread(Y: Float[np.ndarray, "N D"], view: str) -> Float[np.ndarray, " D"]:
    """Refuse a view that varies, but by next to nothing; return the ranges of its columns."""
    ranges = np.nanmax(Y, axis=0) - np.nanmin(Y, axis=0)
    _refuse_within(1.0 / LARGEST, float(ranges.max()), view, "give it in smaller units")
    return ranges


def check_scaled(
    Y: Float[np.ndarray, "N D"],
    view: str,
    columns: Names = None,
    rows: Names = None,
    *,
    training: bool = False,
) -> None:
    """Refuse values so far from the training data, or so near each other, that nothing is left."""
    advice = "look at its units, or at scaling"
    _refuse_beyond(FARTHEST, Y, view, columns, rows, advice, " standard deviations")
    if training and Y.size:
        widest = float((np.nanmax(Y, axis=0) - np.nanmin(Y, axis=0)).max())
        _refuse_within(1.0 / FARTHEST, widest, view, advice)


def _refuse_beyond(
    most: float,
    Y: Float[np.ndarray, "N D"],
    view: str,
    columns: Names,
    rows: Names,
    advice: str,
    unit: str = "",
) -> None:
    beyond = np.argwhere(np.abs(Y) > most)
    if beyond.size:
        row, column = beyond[0]
        raise DataError(
            f"the value at row {_name(rows, row)}, column {_name(columns, column)} of view "
            f"{view!r} is {Y[row, column]:.3g}{unit}, beyond {most:g} ({len(beyond)} such "
            f"values): {advice}"
        )


def _refuse_within(least: float, widest: float, view: str, advice: str) -> None:
    if 0.0 < widest < least:
        raise DataError(
            f"no column of view {view!r} varies by more than {widest:.3g}, which is less than "
            f"{least:g}: {advice}"
        )


def _name(names: Names, index: int | np.integer) -> str:
    return repr(names[int(index)]) if names is not None else str(int(index))

"""When rows were seen, and in which sequence: time stamps checked at the edge."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from ..errors import DataError
from .alignment import unmasked
from .values import dated


@dataclass(frozen=True)
class When:
    """The inputs of the prior over latent points, and the sequence of every row.

    Attributes
    ----------
    inputs : ndarray of shape (n_rows, n_inputs)
        Time stamps, in seconds where dates were given (also as ISO texts), or any observed inputs.
    code : ndarray of int
        The sequence of every row, as a place in ``labels``.
    labels : tuple
        The names of the sequences; ``(None,)`` if there is one and it has no name.
    """

    inputs: Float[np.ndarray, "N P"]
    code: Int[np.ndarray, " N"]
    labels: tuple[Any, ...]


def as_when(
    times: Any, sequences: Any, samples: Sequence[Any], known: tuple[Any, ...] = ()
) -> When:
    """Read time stamps and sequence names, one per row (aligned by index if they are Series).

    Parameters
    ----------
    times
        Numbers, dates, or a table of several inputs; missing where only sequences are given:
        then rows follow each other at distance one.
    sequences
        One name per row, or one for all rows; by default all rows are one sequence.
    known
        Sequences that have a code already.
    """
    code, labels = _codes(aligned_to(samples, sequences, "sequences"), len(samples), known)
    if times is None:
        inputs = np.zeros((len(samples), 1))
        for place in np.unique(code):
            own = code == place
            inputs[own, 0] = np.arange(own.sum())
        return When(inputs, code, labels)
    return When(as_inputs(aligned_to(samples, times, "times"), len(samples)), code, labels)


def as_inputs(times: Any, n_rows: int | None = None) -> Float[np.ndarray, "N P"]:
    """Time stamps as a table of numbers; dates and durations become seconds."""
    array = np.asarray(unmasked(times))
    if array.dtype.kind in "OU" and array.ndim == 1:
        array = _dates(array)
    elif array.dtype.kind == "O" and array.ndim == 2 and array.size:
        array = np.stack([as_inputs(column)[:, 0] for column in array.T], axis=1)
    if array.dtype.kind in "mM":
        missing = np.isnat(array)
        array = _seconds(array)
    elif array.dtype.kind == "c":
        raise DataError("times must be numbers or dates, got complex numbers")
    else:
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as wrong:
            raise DataError(f"times must be numbers or dates: {wrong}") from wrong
        missing = ~np.isfinite(array)
    inputs = np.atleast_1d(array)
    inputs = inputs[:, None] if inputs.ndim == 1 else inputs
    if inputs.ndim != 2:
        raise DataError(f"times must have one or two dimensions, got {inputs.ndim}")
    if n_rows is not None and len(inputs) != n_rows:
        raise DataError(f"there are {n_rows} rows but {len(inputs)} time stamps")
    if missing.any():
        row = int(np.flatnonzero(np.reshape(missing, (len(inputs), -1)).any(axis=1))[0])
        raise DataError(f"the time stamp of row {row} is missing or infinite")
    return inputs


def _seconds(array: np.ndarray) -> Float[np.ndarray, "..."]:
    """Dates since 1970, or durations, in seconds; those that microseconds cannot count refused."""
    kind = "datetime64[us]" if array.dtype.kind == "M" else "timedelta64[us]"
    far = "times lie more than 290,000 years from 1970: give them as numbers of days or years"
    try:
        fine = array.astype(kind)
    except OverflowError as wrong:  # NumPy 2.5 and later; those before wrap around
        raise DataError(far) from wrong
    if np.datetime_data(array.dtype)[0] not in {"us", "ns", "ps", "fs", "as"}:
        back = fine.astype(array.dtype)
        if not ((back == array) | np.isnat(array)).all():
            raise DataError(far)
    return fine.astype(np.int64) / 1e6


def _dates(array: np.ndarray) -> np.ndarray:
    """Objects as numbers or, where they are dates of any kind, as time stamps in UTC."""
    found = dated(pd.Series(array).infer_objects())
    if isinstance(found.dtype, pd.DatetimeTZDtype):
        return found.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
    if found.dtype != object or not all(isinstance(v, date | type(None)) for v in found):
        return found.to_numpy()
    return np.array([_utc(v) for v in found], dtype="datetime64[us]")


def _utc(value: date | None) -> Any:
    """A date of any kind, NaT for none; time zones are taken off after a turn to UTC."""
    if value is None or pd.isna(value):
        return np.datetime64("NaT")
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    return np.datetime64(value, "us")


def aligned_to(samples: Sequence[Any], given: Any, name: str) -> Any:
    """What is given for every sample, in their order: Series and DataFrames by label."""
    if not isinstance(given, pd.Series | pd.DataFrame):
        return given
    if list(given.index) == list(samples):
        return _values(given)
    absent = [sample for sample in samples if sample not in given.index]
    if absent:
        advice = ""
        if list(samples) == list(range(len(samples))):
            advice = ": the tables have no row names; give an array, or tables with an index"
        raise DataError(f"{name} lacks the sample {absent[0]!r}{advice}")
    if given.index.has_duplicates:
        twice = given.index[given.index.duplicated()][0]
        raise DataError(f"{name} has the sample {twice!r} more than once")
    return _values(given.loc[list(samples)])


def _values(given: pd.Series | pd.DataFrame) -> np.ndarray:
    """Without the index; dates of a time zone as objects, which know it."""
    return np.asarray(given.astype(object) if _has_zone(given) else given)


def _has_zone(given: pd.Series | pd.DataFrame) -> bool:
    return isinstance(getattr(given, "dtype", None), pd.DatetimeTZDtype)


def _codes(
    sequences: Any, n_rows: int, known: tuple[Any, ...]
) -> tuple[Int[np.ndarray, " N"], tuple[Any, ...]]:
    if sequences is None or np.ndim(sequences) == 0:
        names = [sequences] * n_rows
    else:
        names = list(unmasked(sequences))
        if any(np.ndim(name) for name in names):
            raise DataError("sequences must be one name per row: a list, a Series or a column")
        names = [name.item() if isinstance(name, np.generic) else name for name in names]
        if len(names) != n_rows:
            raise DataError(f"there are {n_rows} rows but {len(names)} sequence names")
        if pd.isna(np.asarray(names, dtype=object)).any():
            raise DataError("a row has no sequence name")
        if {isinstance(name, str) for name in names} == {True, False}:
            raise DataError("sequence names must be all texts or all numbers, not both")
    labels = list(known)
    places = {label: place for place, label in enumerate(labels)}
    for name in names:
        if name not in places:
            places[name] = len(labels)
            labels.append(name)
    return np.array([places[name] for name in names]), tuple(labels)

"""When rows were seen, and in which sequence: time stamps checked at the edge."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from ..errors import DataError


@dataclass(frozen=True)
class When:
    """The inputs of the prior over latent points, and the sequence of every row.

    Attributes
    ----------
    inputs : ndarray of shape (n_rows, n_inputs)
        Time stamps, in seconds where dates were given, or any observed inputs.
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
    array = np.asarray(times)
    if array.dtype.kind == "O" and array.ndim == 1:
        array = pd.Series(times).infer_objects().to_numpy()
    if array.dtype.kind == "M":
        missing = np.isnat(array)
        array = array.astype("datetime64[ns]").astype(np.int64) / 1e9
    elif array.dtype.kind == "m":
        missing = np.isnat(array)
        array = array.astype("timedelta64[ns]").astype(np.int64) / 1e9
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


def aligned_to(samples: Sequence[Any], given: Any, name: str) -> Any:
    """What is given for every sample, in their order: Series and DataFrames by label."""
    if not isinstance(given, pd.Series | pd.DataFrame):
        return given
    if list(given.index) == list(samples) or list(samples) == list(range(len(samples))):
        return given.to_numpy()
    absent = [sample for sample in samples if sample not in given.index]
    if absent:
        raise DataError(f"{name} lacks the sample {absent[0]!r}")
    return given.loc[list(samples)].to_numpy()


def _codes(
    sequences: Any, n_rows: int, known: tuple[Any, ...]
) -> tuple[Int[np.ndarray, " N"], tuple[Any, ...]]:
    if sequences is None or np.ndim(sequences) == 0:
        names = [sequences] * n_rows
    else:
        names = np.asarray(sequences).tolist()
        if len(names) != n_rows:
            raise DataError(f"there are {n_rows} rows but {len(names)} sequence names")
        if pd.isna(np.asarray(names, dtype=object)).any():
            raise DataError("a row has no sequence name")
    labels = list(known)
    places = {label: place for place, label in enumerate(labels)}
    for name in names:
        if name not in places:
            places[name] = len(labels)
            labels.append(name)
    return np.array([places[name] for name in names]), tuple(labels)

"""How files are to be read: what the user says, and what is found out where nothing is said."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from ..errors import DataError
from .concern import Concern
from .identifiers import is_identifier, named_like_identifier

NUMBERED = "-"  # in place of a column's name: the rows have no names
NEARLY_ALL = 0.9  # share of different words in a first column that names samples, some twice


@dataclass(frozen=True)
class Reading:
    """What is said about the files of a run; what is None is found out from each file.

    Attributes
    ----------
    index : str, optional
        The column that names the samples in all files; ``"-"`` if the rows have no names.
    indexes : dict of str by view
        The same for single files.
    sep, decimal, encoding : str, optional
        Of text files.
    na_values : tuple of str
        Marks of missing values besides the usual ones (an empty cell, NA, NaN, null, ...).
    """

    index: str | None = None
    indexes: Mapping[str, str] = field(default_factory=dict)
    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    na_values: tuple[str, ...] = ()

    def index_of(self, name: str) -> str | None:
        """The column that names the samples of a file."""
        return self.indexes.get(name, self.index)


def named_samples(
    frame: pd.DataFrame, place: str, view: str, index: str | None
) -> tuple[pd.DataFrame, list[Concern]]:
    """A table with its samples' names as the index, which keeps the name of its column.

    Without ``index`` that is the first column if its header is empty, or if it holds words that are
    (nearly) all different; else the first column that is called like an identifier and holds a
    different value in each row.
    """
    if not frame.shape[1]:
        raise DataError(f"{place} has no columns")
    if index == NUMBERED and index not in frame:
        return frame, []
    if index is not None:
        if index not in frame:
            raise DataError(
                f"{place} has no column {index!r} to name its samples by; it has "
                f"{list(frame.columns)[:10]} (--index NAME=COLUMN is for one file)"
            )
        return _set(frame, index, place, view)
    if not isinstance(frame.index, pd.RangeIndex):
        return frame, []
    column = _guessed(frame)
    if column is None:
        return frame, []
    found, concerns = _set(frame, column, place, view)
    if pd.api.types.is_numeric_dtype(frame[column].dtype) or column != frame.columns[0]:
        concerns.append(
            Concern(
                "note", view, f"Column {column!r} of {place} is taken for the samples' names.",
                None, "It is no part of the data.",
                f"--index {view}=COLUMN names another one, --index {view}={NUMBERED} none.",
            )
        )  # fmt: skip
    return found, concerns


def _guessed(frame: pd.DataFrame) -> str | None:
    """The column that names the samples, if one seems to."""
    if frame.shape[1] < 2:
        return None
    first = frame.columns[0]
    values = frame[first]
    if str(first).startswith("Unnamed:") and values.notna().all():
        return first
    if _words(values) and values.notna().all():
        different = values.nunique() / max(len(values), 1)
        if different == 1.0 or named_like_identifier(first):
            return first
        if different > NEARLY_ALL and not any(_words(frame[c]) for c in frame.columns[1:]):
            return first
    return next((c for c in frame.columns if is_identifier(c, frame[c])), None)


def _set(
    frame: pd.DataFrame, column: str, place: str, view: str
) -> tuple[pd.DataFrame, list[Concern]]:
    """The column as the index, without spaces around words."""
    values = frame[column]
    if values.isna().any():
        row = int(values.isna().to_numpy().argmax())
        raise DataError(
            f"row {row + 1} of {place} has no name in column {column!r}: complete it, or name "
            "another column by --index"
        )
    concerns = []
    if _words(values):
        plain = values.astype(str).str.strip()
        changed = plain[plain != values.astype(str)]
        if len(changed):
            concerns.append(
                Concern(
                    "note", view,
                    f"{len(changed)} names of samples in {place} begin or end with a space.",
                    len(changed), "These spaces are removed.",
                )
            )  # fmt: skip
        values = plain
    return frame.drop(columns=column).set_axis(pd.Index(values, name=column), axis=0), concerns


def _words(values: pd.Series) -> bool:
    return bool(
        pd.api.types.is_object_dtype(values.dtype) or pd.api.types.is_string_dtype(values.dtype)
    )

"""Columns of files as data: numbers, categories; and what is neither, named or left out."""

import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..errors import DataError
from .concern import Concern
from .encoding import indicator

MOST_LEVELS = 20  # different words in a column of categories
NUMBER = re.compile(r"^[<>≤≥~]?\s*[+-]?[.,]?\d[\d.,' ]*([eE][+-]?\d+)?\s*%?$")
NUMBERS = 0.5  # share of numbers from which a column is one of numbers, with errors
UNKNOWN = {"?", ".", "-", "--", "missing", "unknown", "unk", "nd", "n.d.", "none", "nil", "*", "x"}


def as_data(
    frame: pd.DataFrame,
    place: str,
    view: str,
    columns: Sequence[Any] | None = None,
    categorical: Collection[str] = (),
) -> tuple[pd.DataFrame, list[Concern]]:
    """A table that a model can be fitted to.

    Words become categories where there are few different ones. Dates and other words are left out,
    which is said. A column of numbers with something else in it is refused.

    Parameters
    ----------
    columns : list, optional
        Those of a fitted model: what it does not know and is no number is left out.
    categorical : collection of str
        Columns that are known to hold categories.
    """
    parts: dict[Any, pd.Series] = {}
    left_out: dict[Any, str] = {}
    for column in frame:
        values = dated(frame[column])
        if pd.api.types.is_bool_dtype(values.dtype):
            parts[column] = values.astype(np.float64)
        elif pd.api.types.is_datetime64_any_dtype(values.dtype):
            left_out[column] = "dates"
        elif _is_text(values):
            words = values.astype(object).map(_stripped, na_action="ignore")
            numbers = pd.to_numeric(words, errors="coerce")
            known = None if columns is None else _wanted(columns, column)
            known = "levels" if column in categorical else known
            if known == "number" or (known is None and _mostly_numbers(words)):
                parts[column] = _numbers(words, numbers, place, column)
            elif known == "levels" or (known is None and _few(words)):
                parts[column] = words.astype("category")
            else:
                left_out[column] = f"{words.nunique()} different words"
        else:
            parts[column] = values
    if not parts:
        raise DataError(f"{place} has no column of numbers or categories: it has {left_out}")
    concerns = [_said(view, place, column, what) for column, what in left_out.items()]
    return pd.DataFrame(parts, index=frame.index), concerns


def dated(values: pd.Series) -> pd.Series:
    """Words that are all ISO dates as dates; everything else as it is."""
    if not _is_text(values) or isinstance(values.dtype, pd.CategoricalDtype):
        return values
    values = values.infer_objects()
    if not _is_text(values):
        return values
    words = values.dropna()
    if not len(words) or not all(isinstance(w, str) and w.strip()[:4].isdigit() and "-" in w
                                 for w in words.iloc[:20]):  # fmt: skip
        return values
    stamps = pd.to_datetime(
        words.astype(str).str.strip(), format="ISO8601", errors="coerce", utc=True
    )
    if stamps.isna().any():
        return values
    return stamps.dt.tz_localize(None).reindex(values.index)


def _numbers(words: pd.Series, numbers: pd.Series, place: str, column: Any) -> pd.Series:
    """The numbers, unless something is none: an error that says where it stands."""
    wrong = (words.notna() & numbers.isna()).to_numpy()
    if not wrong.any():
        return numbers
    row = int(np.flatnonzero(wrong)[0])
    word = str(words.iloc[row])
    name = "" if isinstance(words.index, pd.RangeIndex) else f" ({words.index[row]!r})"
    n = int(wrong.sum())
    raise DataError(
        f"{place}, row {row + 1}{name}, column {column!r}: {word!r} is not a number "
        f"({n} such value{'s' * (n > 1)} in the column). {_remedy(word, n == 1 and row == 0)}"
    )


def _remedy(word: str, above: bool = False) -> str:
    """What to do about a word among numbers; ``above`` all others it may be a unit."""
    if above and word.casefold() not in UNKNOWN and not any(c.isdigit() for c in word):
        return "If the row holds units or a second header, remove it"
    if word.casefold() in UNKNOWN or not any(c.isdigit() for c in word):
        return f"If it marks missing values: --na-values {word!r}"
    if word.count(",") == 1 and word.replace(",", "").lstrip("+-").isdigit():
        return "If the comma is a decimal sign: --decimal ,"
    if word[:1] in "<>":
        return (
            "Limits of detection can be given as --na-values, or fitted by likelihood='censored' "
            "in Python"
        )
    return "Correct it, or name marks of missing values by --na-values"


def _mostly_numbers(words: pd.Series) -> bool:
    """Whether half of the words are numbers, or written like numbers of another country."""
    known = words.dropna().astype(str)
    return bool(known.str.match(NUMBER).mean() >= NUMBERS) if len(known) else False


def _few(words: pd.Series) -> bool:
    n = int(words.notna().sum())
    return 0 < words.nunique() <= min(MOST_LEVELS, max(n // 2, 2))


def _wanted(columns: Sequence[Any], column: Any) -> str:
    """What a model took a column for: a number, levels, or nothing."""
    if column in columns:
        return "number"
    known = any(str(name).startswith(indicator(column, "")) for name in columns)
    return "levels" if known else "nothing"


def _said(view: str, place: str, column: Any, what: str) -> Concern:
    use = "times" if what == "dates" else "labels"
    return Concern(
        "warning", view, f"Column {column!r} of {place} holds {what}.", 1, "It is left out.",
        f"To use it: --{use} FILE:{column}.",
    )  # fmt: skip


def _stripped(word: Any) -> Any:
    return word.strip() if isinstance(word, str) else word


def _is_text(values: pd.Series) -> bool:
    if isinstance(values.dtype, pd.CategoricalDtype):
        return not pd.api.types.is_numeric_dtype(values.cat.categories.dtype)
    return bool(
        pd.api.types.is_object_dtype(values.dtype) or pd.api.types.is_string_dtype(values.dtype)
    )

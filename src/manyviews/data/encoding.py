"""Columns of categories as indicators of their levels, and errors that name what is no number."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..errors import DataError
from .interchange import plain_number


def numeric(view: str, table: pd.DataFrame, wanted: Sequence[Any] | None = None) -> pd.DataFrame:
    """All columns as numbers.

    A column of pandas' type ``category`` becomes a column ``NAME=LEVEL`` for every level: one where
    a row is of that level, zero where it is of another, NaN where it is missing. Everything else
    must hold numbers already.

    Parameters
    ----------
    wanted : list, optional
        The columns of a fitted model: its levels are then those that count.
    """
    parts: dict[Any, Any] = {}
    for column, values in table.items():
        levels = None if wanted is None or column in wanted else _levels_in(wanted, column)
        if isinstance(values.dtype, pd.CategoricalDtype) or levels:
            new: dict[Any, Any] = dict(_indicators(view, column, values, levels))
        else:
            new = {column: _numbers(view, column, values)}
        twice = [name for name in new if name in parts]
        if twice:
            raise DataError(f"view {view!r} has two columns for {twice[0]!r}: rename one of them")
        parts |= new
    return pd.DataFrame(parts, index=table.index, dtype=np.float64)


def level_numbers(
    view: str, table: pd.DataFrame, known: Mapping[str, Sequence[str]]
) -> tuple[pd.DataFrame, dict[str, list[str]]]:
    """Columns of categories as numbers of their levels, from 0, and the levels by column.

    Levels are in the order of the alphabet, unless they are known.
    """
    parts: dict[Any, Any] = {}
    levels: dict[str, list[str]] = {}
    for column, values in table.items():
        if not isinstance(values.dtype, pd.CategoricalDtype):
            parts[column] = values
            continue
        found = _indicators(view, column, values, known.get(str(column)))
        names = [name[len(indicator(column, "")) :] for name in found]
        rows = np.stack(list(found.values()), axis=1)
        parts[column] = np.where(np.isnan(rows).any(axis=1), np.nan, rows @ np.arange(len(names)))
        levels[str(column)] = names
    return pd.DataFrame(parts, index=table.index), levels


def indicator(column: Any, level: Any) -> str:
    """The name of the column for a level."""
    return f"{column}={level}"


def _levels_in(wanted: Sequence[Any], column: Any) -> list[str]:
    start = f"{column}="
    return [name[len(start) :] for name in map(str, wanted) if name.startswith(start)]


def _indicators(
    view: str, column: Any, values: pd.Series, levels: Sequence[str] | None
) -> dict[str, np.ndarray]:
    missing = values.isna().to_numpy()
    texts = values.astype(object).map(str, na_action="ignore")
    if not levels:
        levels = list(map(str, values.cat.remove_unused_categories().cat.categories))
    unknown = ~missing & ~texts.isin(list(levels)).to_numpy()
    if unknown.any():
        row = int(np.flatnonzero(unknown)[0])
        raise DataError(
            f"row {values.index[row]!r} of view {view!r} holds {texts.iloc[row]!r} in column "
            f"{column!r}; the levels of the training data are {', '.join(levels)}"
        )
    return {
        indicator(column, level): np.where(missing, np.nan, (texts == level).to_numpy(float))
        for level in levels
    }


def _numbers(view: str, column: Any, values: pd.Series) -> np.ndarray:
    kind = values.dtype
    if pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_complex_dtype(kind):
        return values.to_numpy(dtype=np.float64, na_value=np.nan)
    if pd.api.types.is_object_dtype(kind):
        odd = next((row for row, v in enumerate(values) if not plain_number(v)), None)
        if odd is None:
            try:
                return np.array([np.nan if pd.isna(v) else float(v) for v in values])
            except OverflowError as wrong:
                raise DataError(
                    f"column {column!r} of view {view!r} holds an integer beyond 1e308"
                ) from wrong
    else:
        odd = next((row for row, known in enumerate(values.notna()) if known), 0)
    raise DataError(
        f"column {column!r} of view {view!r} is not numeric but {kind}: row "
        f"{values.index[odd]!r} holds {values.iloc[odd]!r}. {_remedy(values)}"
    )


def _remedy(values: pd.Series) -> str:
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        return "Give dates as times=, or as numbers"
    return (
        "Convert it to numbers, leave it out, make it the index if it names the samples, or "
        "give it the type 'category' to have an indicator for each of its levels"
    )

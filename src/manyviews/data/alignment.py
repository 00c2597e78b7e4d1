"""Several tables about the same samples: named, aligned, NaN where a value is missing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy import sparse

from ..errors import DataError, OptionError
from .encoding import numeric
from .interchange import from_foreign, is_foreign


@dataclass(frozen=True)
class Aligned:
    """Aligned tables, one row per sample in each; a sample without a view has NaN there.

    Attributes
    ----------
    names : tuple of str
    tables : tuple of ndarray
        One (n_samples, n_columns) array per view.
    columns : tuple of list
        The names of each view's columns (their numbers where they had none).
    samples : list
        The names of the rows (their numbers where they had none).
    labelled : bool
        Whether rows came with names, so that answers should carry them, too.
    """

    names: tuple[str, ...]
    tables: tuple[Float[np.ndarray, "N _"], ...]
    columns: tuple[list[Any], ...]
    samples: list[Any]
    labelled: bool

    def select(self, names: Sequence[str]) -> "Aligned":
        """Some of the views, in the given order."""
        places = [self.names.index(name) for name in names]
        return replace(
            self,
            names=tuple(names),
            tables=tuple(self.tables[p] for p in places),
            columns=tuple(self.columns[p] for p in places),
        )

    def one_per_column(self) -> "Aligned":
        """Every column as a view of its own, named after it (and its view, if several)."""
        names, tables, columns = [], [], []
        for view, table, labels in zip(self.names, self.tables, self.columns, strict=True):
            for place, label in enumerate(labels):
                names.append(f"{view}.{label}" if len(self.names) > 1 else str(label))
                tables.append(table[:, place : place + 1])
                columns.append([label])
        return replace(self, names=tuple(names), tables=tuple(tables), columns=tuple(columns))


def as_views(
    data: Any,
    align: str = "union",
    absent: bool = False,
    columns: Mapping[str, Sequence[Any]] | None = None,
) -> Aligned:
    """Read views from a dict, a list, a MuData or AnnData object, or a single table.

    DataFrames (of pandas, Polars or PyArrow) are aligned on their index: ``"union"`` keeps every
    sample, with NaN where a view lacks it, ``"intersection"`` those that all views have. Arrays
    must have equal lengths. Views that are None are left out, if ``absent`` allows it. Columns of
    categories become indicators of their levels; where ``columns`` of a view are known, of these.
    """
    given = named_tables(data)
    none = [name for name, table in given.items() if table is None]
    if none and not absent:
        raise DataError(f"view {none[0]!r} is None: give a table, or leave it out")
    named = {name: table for name, table in given.items() if table is not None}
    if not named:
        raise DataError("there is no view in the data")
    known = columns or {}
    tables = {name: _table(name, table, known.get(name)) for name, table in named.items()}
    labelled = {name: _has_index(table) for name, table in named.items()}
    if not any(labelled.values()):
        lengths = {name: len(table) for name, table in tables.items()}
        if len(set(lengths.values())) > 1:
            raise DataError(f"views of arrays must have equally many rows, got {lengths}")
        samples: pd.Index = pd.RangeIndex(next(iter(lengths.values())))
    else:
        indexed = [tables[name].index for name in tables if labelled[name]]
        samples = _common_index(indexed, align)
        for name in [name for name in tables if not labelled[name]]:
            same = all(index.equals(indexed[0]) for index in indexed)
            if not same or len(tables[name]) != len(indexed[0]):
                raise DataError(
                    f"view {name!r} has no row names, and the other views do not all have its "
                    "rows in one order: give it as a DataFrame with an index"
                )
            tables[name] = tables[name].set_axis(indexed[0], axis=0)
        tables = {name: table.reindex(samples) for name, table in tables.items()}
    return Aligned(
        names=tuple(tables),
        tables=tuple(_plain(t) for t in tables.values()),
        columns=tuple(table.columns.tolist() for table in tables.values()),
        samples=samples.tolist(),
        labelled=any(labelled.values()),
    )


def match_views(
    data: Any, names: Sequence[str], columns: Sequence[list[Any]], align: str = "union"
) -> Aligned:
    """Read new data for known views; views that are absent (or None) become all-NaN tables.

    Columns of DataFrames are matched by name, those of arrays by number.
    """
    if not isinstance(data, Mapping) and not is_mudata(data):
        given = list(data) if isinstance(data, list | tuple) else [data]
        if len(given) != len(names):
            raise DataError(
                f"the model has the views {list(names)}; give new data for some of them as a "
                "dict by name, or a list with None for those to be predicted"
            )
        data = dict(zip(names, given, strict=True))
    source = named_tables(data)
    unknown = [name for name in source if name not in names]
    if unknown:
        raise DataError(f"unknown view {unknown[0]!r}: the model has {list(names)}")
    found = as_views(source, align, True, dict(zip(names, columns, strict=True)))
    tables = []
    for name, labels in zip(names, columns, strict=True):
        if name not in found.names:
            tables.append(np.full((len(found.samples), len(labels)), np.nan))
            continue
        place = found.names.index(name)
        table = found.tables[place]
        if _has_index(source[name]) and found.columns[place] != labels:
            tables.append(_by_name(name, table, found.columns[place], labels))
        elif table.shape[1] != len(labels):
            raise DataError(
                f"view {name!r} has {table.shape[1]} columns, the model was fitted to {len(labels)}"
            )
        else:
            tables.append(table)
    return Aligned(tuple(names), tuple(tables), tuple(columns), found.samples, found.labelled)


def is_mudata(data: Any) -> bool:
    """Tell a MuData by its interface (a DataFrame has a ``mod`` of another kind)."""
    return isinstance(getattr(data, "mod", None), Mapping)


def named_tables(data: Any) -> dict[str, Any]:
    """The views by name as they came; tables of other libraries as pandas DataFrames."""
    named = _named(data)
    return {name: from_foreign(t) if is_foreign(t) else t for name, t in named.items()}


def _named(data: Any) -> dict[str, Any]:
    if is_mudata(data):
        return {str(name): _from_anndata(part) for name, part in data.mod.items()}
    if isinstance(data, Mapping) and not sparse.issparse(data):
        named = {str(name): table for name, table in data.items()}
        if len(named) < len(dict(data)):
            twice = next(name for name in dict(data) if not isinstance(name, str))
            raise DataError(f"two views have the name '{twice}', one as a text: rename one of them")
        return named
    if isinstance(data, list | tuple):
        return {f"view{i}": table for i, table in enumerate(data, start=1)}
    if hasattr(data, "obs_names"):
        return {"X": _from_anndata(data)}
    return {"X": data}


def _from_anndata(part: Any) -> pd.DataFrame:
    X = part.X.toarray() if sparse.issparse(part.X) else np.asarray(part.X)
    return pd.DataFrame(X, index=part.obs_names, columns=part.var_names)


def _has_index(table: Any) -> bool:
    return isinstance(table, pd.DataFrame)


def _table(name: str, given: Any, columns: Sequence[Any] | None) -> pd.DataFrame:
    """One view as a DataFrame of floats, or an error that names the view and the column."""
    if sparse.issparse(given):
        given = given.toarray()
    table = given if isinstance(given, pd.DataFrame) else _array_frame(name, given)
    if table.shape[0] == 0 or table.shape[1] == 0:
        raise DataError(f"view {name!r} is empty: its shape is {table.shape}")
    if table.index.has_duplicates:
        repeated = table.index[table.index.duplicated()].unique()
        raise DataError(
            f"row {repeated[0]!r} of view {name!r} appears more than once in its index "
            f"({len(repeated)} such names): samples are matched by name, so names must differ"
        )
    if table.columns.has_duplicates:
        twice = table.columns[table.columns.duplicated()][0]
        raise DataError(f"column {twice!r} of view {name!r} appears more than once")
    kinds = table.dtypes
    if all(isinstance(kind, np.dtype) and kind.kind in "fiub" for kind in kinds.unique()):
        return table.astype(np.float64)
    return numeric(name, table, columns)


def _array_frame(name: str, given: Any) -> pd.DataFrame:
    array = np.asarray(unmasked(given))
    if array.ndim != 2:
        advice = "; reshape a single column with [:, None]" if array.ndim == 1 else ""
        raise DataError(
            f"view {name!r} must be a table (samples x columns), got {array.ndim} dimension(s)"
            + advice
        )
    if array.dtype.kind == "c":
        raise DataError(f"view {name!r} holds complex numbers: give real and imaginary parts")
    if array.dtype.kind in "mM":
        raise DataError(f"view {name!r} holds dates: give them as times, or as numbers")
    if array.dtype.kind not in "fiub":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError, OverflowError) as wrong:
            raise DataError(f"view {name!r} is not numeric: {wrong}") from wrong
    return pd.DataFrame(array)


def unmasked(given: Any) -> Any:
    """A masked array with NaN where it is masked; everything else as it is."""
    if not isinstance(given, np.ma.MaskedArray):
        return given
    if given.dtype.kind in "fiub":
        return np.ma.filled(given.astype(np.float64), np.nan)
    if np.ma.getmaskarray(given).any():
        raise DataError(f"values of type {given.dtype} are masked, which only numbers can be")
    return given.data


def _plain(table: pd.DataFrame) -> Float[np.ndarray, "N D"]:
    """An array with ordinary NaN: R's NA is a signalling one, which np.nanmin takes for a value."""
    array = np.array(table, dtype=np.float64, order="C")
    array[np.isnan(array)] = np.nan
    return array


def _common_index(indexes: Sequence[pd.Index], align: str) -> pd.Index:
    if align not in {"union", "intersection"}:
        raise OptionError(f"align must be 'union' or 'intersection', got {align!r}")
    common = indexes[0]
    for index in indexes[1:]:
        if align == "union":
            common = common.append(index[~index.isin(common)])
        else:
            common = common[common.isin(index)]
    if not len(common):
        raise DataError("no sample is in all views: their indexes do not overlap")
    return common


def _by_name(
    view: str, table: Float[np.ndarray, "N D"], have: list[Any], want: list[Any]
) -> Float[np.ndarray, "N E"]:
    places = {label: place for place, label in enumerate(have)}
    missing = [label for label in want if label not in places]
    extra = [label for label in have if label not in set(want)]
    if missing or extra:
        what = f"lacks column {missing[0]!r}" if missing else f"has an unknown column {extra[0]!r}"
        raise DataError(f"view {view!r} {what}; the model was fitted to {len(want)} columns")
    return table[:, [places[label] for label in want]]

"""Tables from files: text, Excel, Parquet, NumPy, h5mu and h5ad."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .._optional import needed
from ..errors import DataError, OptionError
from .concern import Concern
from .encoding import level_numbers
from .reading import Reading, named_samples
from .text import USUAL, read_text
from .values import as_data, dated

EXCEL = {".xlsx", ".xlsm"}
CONTAINERS = {".npz", ".h5mu"}
KNOWN = "CSV, TSV, TXT, Excel (xlsx), Parquet, NPY, NPZ, h5mu or h5ad"


@dataclass
class Sources:
    """Views read from files.

    Attributes
    ----------
    views : dict
        DataFrames with the names of their samples, or arrays, by the names of the views.
    places : dict
        The file of every view.
    concerns : list of Concern
        What was noticed, and done about it, while files were read.
    levels : dict of dict of list
        The words that the numbers of categorical columns stand for, by view and column.
    """

    views: dict[str, Any] = field(default_factory=dict)
    places: dict[str, Path] = field(default_factory=dict)
    concerns: list[Concern] = field(default_factory=list)
    levels: dict[str, dict[str, list[str]]] = field(default_factory=dict)


def read_views(
    sources: Iterable[str],
    how: Reading | None = None,
    *,
    leave_out: Sequence[tuple[Path | str, str]] = (),
    columns: Mapping[str, Sequence[Any]] | None = None,
    categorical: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
) -> Sources:
    """Views by name from ``name=path`` or ``path``, whose stem is then the name.

    A container (NPZ, h5mu, an Excel file with several sheets) gives all its views; the others give
    one each.

    Parameters
    ----------
    leave_out : pairs of path, or view, and column
        Columns that are no data, since they are times or labels.
    columns : dict by view, optional
        The columns of a fitted model that the views are for.
    categorical : dict of dict of list, optional
        Views whose words become numbers of levels, as a categorical likelihood wants them, with
        the levels by column as far as these are known.
    """
    how, found, coded = how or Reading(), Sources(), categorical or {}
    for source in sources:
        name, path = split_source(source)
        label = view_name(source)
        parts = _parts(path, how, label, name, found.concerns)
        for part, table in parts.items():
            view = part if len(parts) > 1 or path.suffix in CONTAINERS else label
            if view in found.views:
                raise OptionError(
                    f"two views are called {view!r}: name one of them, as in name={path}"
                )
            if isinstance(table, pd.DataFrame) and path.suffix not in CONTAINERS:
                place = f"{path}, sheet {part!r}" if len(parts) > 1 else str(path)
                table, said = _as_view(
                    table, place, view, how,
                    {c for p, c in leave_out if p in (path.resolve(), view)},
                    None if columns is None else columns.get(view), coded.get(view, {}),
                )  # fmt: skip
                found.concerns += said
                if view in coded:
                    table, found.levels[view] = level_numbers(view, table, coded[view])
                    found.concerns += _numbered(view, found.levels[view])
            found.views[view], found.places[view] = table, path
    _refuse_numbered(found)
    return found


def split_source(source: str) -> tuple[str, Path]:
    """The name (perhaps empty) and the path of ``name=path``."""
    if os.path.exists(source):
        return "", Path(source)
    name, sign, rest = source.partition("=")
    path = Path(rest if sign else source)
    if not path.exists():
        raise DataError(f"there is no file {path}")
    return (name if sign else ""), path


def holds_several(path: Path) -> bool:
    """Whether a file may hold several views with names of their own."""
    if path.suffix.lower() in EXCEL:
        return len(_sheets(path, Reading())) > 1
    return path.suffix in CONTAINERS


def view_name(source: str) -> str:
    """The name of the view that a file gives: as said, or the file's up to the first dot."""
    name, path = split_source(source)
    return name or path.name.split(".")[0]


def split_column(source: str) -> tuple[Path, str]:
    """The path and the column (perhaps empty) of ``path:column``."""
    if os.path.exists(source):
        return Path(source), ""
    path, _, column = source.rpartition(":")
    if not path or not os.path.exists(path):
        path, _, column = source.partition(":")
    return Path(path), column


def read_column(
    source: str, how: Reading | None = None, name: str = ""
) -> pd.Series | pd.DataFrame:
    """Time stamps, sequences or labels: ``path`` or ``path:column`` (all columns without it).

    Words that are ISO dates become dates.
    """
    how = how or Reading()
    path, column = split_column(source)
    tables = _parts(path, how, name, "", [])
    table = next(iter(tables.values()))
    if not isinstance(table, pd.DataFrame):
        table = pd.DataFrame(table)
    if column in table and how.index_of(name) is None:
        return dated(table[column]).set_axis(_names_beside(table, column, str(path)), axis=0)
    table = named_samples(table, str(path), name, how.index_of(name))[0]
    if not column:
        table = table.apply(dated)
        return table.iloc[:, 0] if table.shape[1] == 1 else table
    if column not in table:
        raise DataError(f"{path} has no column {column!r}; it has {list(table.columns)[:20]}")
    return dated(table[column])


def _numbered(view: str, levels: Mapping[str, Sequence[str]]) -> list[Concern]:
    """What the numbers of levels stand for."""
    found = []
    for column, words in levels.items():
        numbers = ", ".join(f"{place} {word}" for place, word in enumerate(words))
        done = f"They become numbers of levels: {numbers}."
        what = f"Column {column!r} holds words."
        found.append(Concern("note", view, what, len(words), done))
    return found


def _names_beside(table: pd.DataFrame, column: str, place: str) -> pd.Index:
    """The names of the samples, in another column if there is one."""
    rest = table.drop(columns=column)
    for part in (rest, table) if rest.shape[1] else ():
        index = named_samples(part, place, "", None)[0].index
        if not isinstance(index, pd.RangeIndex):
            return index
    return table.index


def _as_view(
    table: pd.DataFrame,
    place: str,
    view: str,
    how: Reading,
    leave_out: set[str],
    columns: Sequence[Any] | None,
    levels: Mapping[str, Sequence[str]],
) -> tuple[pd.DataFrame, list[Concern]]:
    """A table as a view: named samples, numbers and categories."""
    table, concerns = named_samples(table, place, view, how.index_of(view))
    table.index.name = None
    gone = [column for column in table.columns if column in leave_out]
    for column in gone:
        what = f"Column {column!r} of {place} is used beside the data."
        concerns.append(Concern("note", view, what, 1, "It is no part of the view."))
    table, said = as_data(table.drop(columns=gone), place, view, columns, set(levels))
    return table, [*concerns, *said]


def _parts(
    path: Path, how: Reading, view: str, name: str, concerns: list[Concern]
) -> dict[str, Any]:
    """The tables of a file by name; one table has the name ""."""
    if not path.exists():
        raise DataError(f"there is no file {path}")
    suffix = (path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix).lower()
    try:
        if suffix in USUAL:
            table, said = read_text(path, how, view)
            concerns += said
            return {"": table}
        if suffix in EXCEL:
            found = _sheets(path, how)
        elif suffix in CONTAINERS:
            found = _container(path)
        else:
            return {"": _binary(path, suffix)}
    except (ValueError, OSError, KeyError) as broken:
        if isinstance(broken, OptionError | DataError):
            raise
        raise DataError(f"{path} cannot be read: {broken}") from broken
    if name and (len(found) > 1 or suffix in CONTAINERS):
        raise OptionError(f"{path} holds several views with names of their own: drop {name!r}=")
    return found


def _binary(path: Path, suffix: str) -> Any:
    if suffix == ".parquet":
        needed("pyarrow", "files")
        return pd.read_parquet(path)
    if suffix == ".npy":
        array = np.load(path, allow_pickle=False)
        return array[:, None] if array.ndim == 1 else array
    if suffix == ".h5ad":
        return needed("anndata", "mudata").read_h5ad(path).to_df()
    raise OptionError(f"{path} is of an unknown kind; known are {KNOWN}")


def _sheets(path: Path, how: Reading) -> dict[str, pd.DataFrame]:
    """The sheets of an Excel file that hold anything; a single one has the name ""."""
    needed("openpyxl", "excel")
    sheets = pd.read_excel(path, sheet_name=None, na_values=list(how.na_values), engine="openpyxl")
    full = {}
    for name, frame in sheets.items():
        frame = frame.dropna(how="all").reset_index(drop=True)
        frame.columns = pd.Index([str(c).strip() for c in frame.columns])
        hollow = [c for c in frame if str(c).startswith("Unnamed:") and frame[c].isna().all()]
        frame = frame.drop(columns=hollow)
        if frame.size:
            full[str(name)] = frame
    if not full:
        raise DataError(f"{path} has no sheet with data")
    return full if len(full) > 1 else {"": next(iter(full.values()))}


def _container(path: Path) -> dict[str, Any]:
    if path.suffix == ".h5mu":
        data = needed("mudata", "mudata").read_h5mu(path)
        return {str(name): part.to_df() for name, part in data.mod.items()}
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def _refuse_numbered(found: Sources) -> None:
    """Refuse files of which only some name their samples, or of different numbers of rows."""
    frames = {view: t for view, t in found.views.items() if isinstance(t, pd.DataFrame)}
    numbered = {v: t for v, t in frames.items() if isinstance(t.index, pd.RangeIndex)}
    if not numbered or len(frames) < 2:
        return
    view = next(iter(numbered))
    if len(numbered) < len(frames):
        other = next(v for v in frames if v not in numbered)
        raise DataError(
            f"the rows of {found.places[view]} have no names, those of {found.places[other]} do: "
            f"say which column names them, --index {view}=COLUMN, or match all rows by their order "
            f"with --index {other}=- (a column of names is then to be removed)"
        )
    lengths = {v: len(t) for v, t in numbered.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(
            f"files without names of samples must have equally many rows, got {lengths}: name the "
            "column that holds the names by --index"
        )

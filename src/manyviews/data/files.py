"""Tables from files: CSV, TSV, Parquet, NPY, NPZ, h5mu and h5ad."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .._optional import needed
from ..errors import DataError, OptionError

TEXT = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
CONTAINERS = {".npz", ".h5mu"}
KNOWN = "CSV, TSV, TXT (tabs), Parquet, NPY, NPZ, h5mu or h5ad"


def read_views(sources: Iterable[str], index: str | None = None) -> dict[str, Any]:
    """Views by name from ``name=path`` or ``path``, whose stem is then the name.

    A container (NPZ, h5mu) gives all its views; the others give one each.

    Parameters
    ----------
    index : str, optional
        The column that names the samples. See `read_table()`.
    """
    views: dict[str, Any] = {}
    for source in sources:
        name, path = split_source(source)
        found = _container(path) if path.suffix in CONTAINERS else {"": read_table(path, index)}
        if path.suffix in CONTAINERS and name:
            raise OptionError(f"{path} holds several views with names of their own: drop {name!r}=")
        for part, table in found.items():
            label = part or name or path.name.split(".")[0]
            if label in views:
                raise OptionError(
                    f"two views are called {label!r}: name one of them, as in name={path}"
                )
            views[label] = table
    return views


def split_source(source: str) -> tuple[str, Path]:
    """The name (perhaps empty) and the path of ``name=path``."""
    if os.path.exists(source):
        return "", Path(source)
    name, sign, rest = source.partition("=")
    path = Path(rest if sign else source)
    if not path.exists():
        raise DataError(f"there is no file {path}")
    return (name if sign else ""), path


def read_table(path: str | os.PathLike[str], index: str | None = None) -> Any:
    """One table: a DataFrame with sample names, or an array.

    In text files and Parquet the column called ``index`` names the samples. Without it the
    first column does if its header is empty, or if it holds words, all different.
    """
    path = Path(path)
    if not path.exists():
        raise DataError(f"there is no file {path}")
    suffix = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    try:
        if suffix in TEXT:
            return _with_index(pd.read_csv(path, sep=TEXT[suffix]), path, index)
        if suffix == ".parquet":
            needed("pyarrow", "files")
            frame = pd.read_parquet(path)
            stored = not isinstance(frame.index, pd.RangeIndex)
            return frame if stored and index is None else _with_index(frame, path, index)
        if suffix == ".npy":
            array = np.load(path, allow_pickle=False)
            return array[:, None] if array.ndim == 1 else array
        if suffix == ".h5ad":
            return needed("anndata", "mudata").read_h5ad(path).to_df()
    except (ValueError, OSError, UnicodeDecodeError) as broken:
        if isinstance(broken, OptionError | DataError):
            raise
        raise DataError(f"{path} cannot be read: {broken}") from broken
    raise OptionError(f"{path} is of an unknown kind; known are {KNOWN}")


def read_column(source: str, index: str | None = None) -> pd.Series | pd.DataFrame:
    """Time stamps, sequences or labels: ``path`` or ``path:column`` (all columns without it)."""
    path, _, column = source.partition(":") if not os.path.exists(source) else (source, "", "")
    table = read_table(path, index)
    if not isinstance(table, pd.DataFrame):
        table = pd.DataFrame(table)
    if not column:
        return table.iloc[:, 0] if table.shape[1] == 1 else table
    if column not in table:
        raise DataError(f"{path} has no column {column!r}; it has {list(table.columns)[:20]}")
    return table[column]


def _with_index(frame: pd.DataFrame, path: Path, index: str | None) -> pd.DataFrame:
    if index is not None:
        if index not in frame:
            raise DataError(f"{path} has no column {index!r} to name its samples by")
        return frame.set_index(index)
    if not frame.shape[1]:
        raise DataError(f"{path} has no columns")
    first = frame.iloc[:, 0]
    unnamed = str(frame.columns[0]).startswith("Unnamed:")
    words = not pd.api.types.is_numeric_dtype(first) and first.is_unique and first.notna().all()
    if frame.shape[1] > 1 and (unnamed or words):
        frame = frame.set_index(frame.columns[0])
        frame.index.name = None
    return frame


def _container(path: Path) -> dict[str, Any]:
    if path.suffix == ".h5mu":
        data = needed("mudata", "mudata").read_h5mu(path)
        return {str(name): part.to_df() for name, part in data.mod.items()}
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (ValueError, OSError) as broken:
        raise DataError(f"{path} cannot be read: {broken}") from broken

"""Tables that stay where they are, read a block of rows at a time."""

import os
from collections.abc import Iterable, Iterator, Sequence
from mmap import ALLOCATIONGRANULARITY
from pathlib import Path
from queue import Queue
from threading import Event, Thread
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Float
from scipy import sparse

from .._optional import needed
from ..errors import DataError, OptionError

Item = TypeVar("Item")
KNOWN = ".npy, .zarr, .parquet, .h5ad"


@runtime_checkable
class Blocks(Protocol):
    """A table of which some rows can be read."""

    shape: tuple[int, int]
    columns: list[Any]

    def read(self, first: int, last: int) -> Float[np.ndarray, "n D"]:
        """Rows from ``first`` to before ``last``, NaN where a value is missing."""


class SlicedBlocks:
    """Anything with a shape that can be sliced.

    NumPy arrays and memory maps, Zarr, HDF5 and dask arrays, SciPy's sparse matrices, and the
    ``X`` of an AnnData that is opened backed.
    """

    def __init__(
        self, name: str, source: Any, columns: Sequence[Any] | None = None, path: Any = None
    ):
        shape = tuple(getattr(source, "shape", ()))
        if len(shape) != 2:
            raise DataError(f"view {name!r} must be a table (samples x columns), got shape {shape}")
        if sparse.issparse(source) and not hasattr(source, "indptr"):
            source = source.tocsr()
        if sparse.issparse(source) and source.format != "csr":
            source = source.tocsr()
        self.name, self.source = name, source
        self.shape = (int(shape[0]), int(shape[1]))
        self.columns = list(range(self.shape[1])) if columns is None else list(columns)
        self.path = None if path is None else Path(path)
        self.length = content(self.path)

    def read(self, first: int, last: int) -> Float[np.ndarray, "n D"]:
        refuse_shrunk(self.source, self.name)
        refuse_cut(self.path, self.length, self.name)
        try:
            part = self.source[first:last]
            part = part.toarray() if hasattr(part, "toarray") else part
            found = np.asarray(part, dtype=np.float64)
        except (OSError, ValueError, IndexError, KeyError, RuntimeError) as broken:
            raise DataError(
                f"rows {first} to {last} of view {self.name!r} cannot be read: {broken}"
            ) from broken
        return whole(found, self.name, first, last, self.shape[1])


class ParquetBlocks:
    """A Parquet file, of which the row groups that are asked for are read."""

    def __init__(self, name: str, path: Path):
        self.name, self.path = name, path
        self.file = needed("pyarrow.parquet", "files").ParquetFile(path)
        counts = [self.file.metadata.row_group(g).num_rows for g in range(self.file.num_row_groups)]
        self.ends = np.cumsum([0, *counts])
        self.columns = [n for n in self.file.schema_arrow.names if not n.startswith("__index")]
        self.shape = (int(self.ends[-1]), len(self.columns))

    def read(self, first: int, last: int) -> Float[np.ndarray, "n D"]:
        low = int(np.searchsorted(self.ends, first, side="right")) - 1
        high = int(np.searchsorted(self.ends, last, side="left"))
        try:
            table = self.file.read_row_groups(list(range(low, high)), columns=self.columns)
            part = table.slice(first - int(self.ends[low]), last - first)
            columns = [part.column(n).to_numpy(zero_copy_only=False) for n in self.columns]
            found = np.column_stack(columns).astype(np.float64)
        except (OSError, ValueError, TypeError) as broken:
            raise DataError(
                f"rows {first} to {last} of view {self.name!r} cannot be read: {broken}"
            ) from broken
        return whole(found, self.name, first, last, self.shape[1])


def as_blocks(name: str, source: Any) -> Blocks:
    """A table by its path, or as it is."""
    if not isinstance(source, str | os.PathLike):
        if hasattr(source, "obs_names"):
            path = getattr(source, "filename", None)  # of one opened backed
            return SlicedBlocks(name, source.X, list(source.var_names), path)
        if hasattr(source, "iloc"):
            return SlicedBlocks(name, source.to_numpy(), list(source.columns))
        return SlicedBlocks(name, source)
    path = Path(source)
    if not path.exists():
        raise DataError(f"there is no file {path} for view {name!r}")
    if path.suffix == ".npy":
        return SlicedBlocks(name, np.load(path, mmap_mode="r", allow_pickle=False))
    if path.suffix == ".zarr":
        return SlicedBlocks(name, needed("zarr", "stored").open(path, mode="r"), path=path)
    if path.suffix == ".parquet":
        return ParquetBlocks(name, path)
    if path.suffix == ".h5ad":
        return as_blocks(name, needed("anndata", "mudata").read_h5ad(path, backed="r"))
    raise OptionError(f"{path} is of an unknown kind; views that stay on disk are {KNOWN}")


def refuse_shrunk(source: Any, name: str) -> None:
    """Refuse a memory map whose file has become too short, which would end the process."""
    mapped = getattr(source, "_mmap", None)
    if not isinstance(source, np.memmap) or mapped is None:
        return
    end = source.offset - source.offset % ALLOCATIONGRANULARITY + len(mapped)
    if mapped.size() < end:
        raise DataError(
            f"the file of view {name!r} has {mapped.size()} bytes, and had {end} when it was "
            "opened: it was cut or is being written; open it again when it is whole"
        )


def content(path: Path | None) -> int:
    """Bytes of a file, or of all files of a folder; zero without one."""
    if path is None:
        return 0
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def refuse_cut(path: Path | None, length: int, name: str) -> None:
    """Refuse what has become shorter on disk, of which some readers make zeros."""
    try:
        now = content(path)
    except OSError:  # removed while we looked
        now = -1
    if now < length:
        raise DataError(
            f"{path} of view {name!r} is shorter than it was when it was opened: it was cut or is "
            "being written; open it again when it is whole"
        )


def whole(
    found: Float[np.ndarray, "n D"], name: str, first: int, last: int, n_columns: int
) -> Float[np.ndarray, "n D"]:
    """A block, if it has the rows and columns that were asked for and no infinite value."""
    if found.shape != (last - first, n_columns):
        raise DataError(
            f"rows {first} to {last} of view {name!r} were asked for, and a table of shape "
            f"{found.shape} came in the place of {(last - first, n_columns)}: its file has changed "
            "since it was opened"
        )
    if np.isinf(found).any():
        row, column = np.argwhere(np.isinf(found))[0]
        raise DataError(f"view {name!r} contains infinity at row {first + row}, column {column}")
    return found


def ahead(items: Iterable[Item], depth: int = 2) -> Iterator[Item]:
    """Items of a slow source, the next ones fetched by a thread while one is worked on."""
    ready: Queue[Any] = Queue(maxsize=depth)
    stop, end = Event(), object()

    def fetch() -> None:
        last: Any = end
        try:
            for item in items:
                ready.put(item)
                if stop.is_set():
                    return
        except BaseException as broken:
            last = broken
        ready.put(last)

    thread = Thread(target=fetch, daemon=True)
    thread.start()
    try:
        while (item := ready.get()) is not end:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stop.set()
        while thread.is_alive():
            if not ready.empty():
                ready.get()
            thread.join(0.01)

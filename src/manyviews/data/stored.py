"""Views that are too long to hold, as files or arrays that are read block by block."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Float

from ..errors import DataError
from .alignment import is_mudata
from .blocks import as_blocks

Tables = tuple[Float[np.ndarray, "n _"], ...]
STRETCHES = 50  # of consecutive rows in a sample


class StoredViews:
    """Several tables about the same rows, left where they are.

    The rows of all tables are the same samples in the same order; NaN is missing. For
    `MRD.fit <manyviews.MRD.fit>()`, which then reads them in blocks, ahead of the computation,
    and never holds more than a few.

    Parameters
    ----------
    tables : dict
        Views by name: paths (``.npy``, ``.zarr``, ``.parquet``, ``.h5ad``), NumPy memory maps,
        Zarr, HDF5 or dask arrays, SciPy's sparse matrices, or AnnData objects opened backed. A
        MuData object opened backed gives all its views.

    Examples
    --------
    >>> import numpy as np
    >>> from manyviews import StoredViews
    >>> views = StoredViews({"rna": np.ones((1000, 3)), "protein": np.zeros((1000, 2))})
    >>> views
    StoredViews of 1000 rows: rna (3 columns), protein (2 columns)
    """

    def __init__(self, tables: Any):
        if is_mudata(tables):
            tables = {str(name): part for name, part in tables.mod.items()}
        if not tables:
            raise DataError("there is no view in the data")
        self.blocks = {str(name): as_blocks(str(name), table) for name, table in tables.items()}
        lengths = {name: blocks.shape[0] for name, blocks in self.blocks.items()}
        if len(set(lengths.values())) > 1:
            raise DataError(f"stored views must have equally many rows, got {lengths}")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the views."""
        return tuple(self.blocks)

    @property
    def columns(self) -> tuple[list[Any], ...]:
        """The names of the columns, or their numbers, view by view."""
        return tuple(blocks.columns for blocks in self.blocks.values())

    def __len__(self) -> int:
        """The number of rows."""
        return next(iter(self.blocks.values())).shape[0]

    def read(self, first: int, last: int) -> Tables:
        """Some consecutive rows of all views."""
        return tuple(blocks.read(first, last) for blocks in self.blocks.values())

    def sample(
        self, n_rows: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Some rows from all over the tables, and their numbers; stretches of them are together."""
        size = min(n_rows, len(self))
        edges = np.linspace(0, len(self), min(STRETCHES, size) + 1).astype(int)
        take = int(np.ceil(size / (len(edges) - 1)))
        numbers, parts = [], []
        for low, high in itertools.pairwise(edges):
            width = min(take, high - low)
            first = int(rng.integers(low, high - width + 1))
            numbers.append(np.arange(first, first + width))
            parts.append(self.read(first, first + width))
        tables = [np.concatenate(views) for views in zip(*parts, strict=True)]
        return np.concatenate(numbers), dict(zip(self.names, tables, strict=True))

    def shuffled(self, rows: int, rng: np.random.Generator) -> Iterator[tuple[int, Tables]]:
        """All rows in blocks of consecutive ones, the blocks in random order."""
        firsts = np.arange(0, len(self), rows)
        for first in rng.permutation(firsts).tolist():
            yield first, self.read(first, min(first + rows, len(self)))

    def __repr__(self) -> str:
        sizes = ", ".join(f"{n} ({b.shape[1]} columns)" for n, b in self.blocks.items())
        return f"StoredViews of {len(self)} rows: {sizes}"

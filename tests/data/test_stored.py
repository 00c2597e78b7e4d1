"""Tables that are read block by block."""

import os
import threading

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from manyviews import StoredViews
from manyviews.data.blocks import ahead, as_blocks
from manyviews.errors import DataError, OptionError


@pytest.fixture
def table(rng):
    found = rng.poisson(2.0, size=(57, 4)).astype(float)
    found[3, 1] = np.nan
    return found


def stored(kind, table, folder):
    if kind == "memmap":
        np.save(folder / "t.npy", table)
        return np.load(folder / "t.npy", mmap_mode="r")
    if kind == "npy":
        np.save(folder / "t.npy", table)
        return folder / "t.npy"
    if kind == "zarr":
        zarr = pytest.importorskip("zarr")
        array = zarr.open(str(folder / "t.zarr"), mode="w", shape=table.shape, dtype="f8")
        array[:] = table
        return folder / "t.zarr"
    if kind == "parquet":
        pytest.importorskip("pyarrow")
        frame = pd.DataFrame(table, columns=list("abcd"))
        frame.to_parquet(folder / "t.parquet", row_group_size=10)
        return folder / "t.parquet"
    if kind == "h5ad":
        anndata = pytest.importorskip("anndata")
        full = sparse.csr_matrix(np.nan_to_num(table))
        anndata.AnnData(full).write_h5ad(folder / "t.h5ad")
        return folder / "t.h5ad"
    return {"csc": sparse.csc_array, "coo": sparse.coo_array}[kind](np.nan_to_num(table))


@pytest.mark.parametrize("kind", ["memmap", "npy", "zarr", "parquet", "h5ad", "csc", "coo"])
def test_blocks_are_the_rows_of_the_table(kind, table, tmp_path):
    blocks = as_blocks("counts", stored(kind, table, tmp_path))
    expected = np.nan_to_num(table) if kind in {"h5ad", "csc", "coo"} else table
    assert blocks.shape == (57, 4)
    assert len(blocks.columns) == 4
    for first, last in ((0, 57), (0, 10), (10, 20), (7, 33), (50, 57), (56, 57)):
        np.testing.assert_array_equal(blocks.read(first, last), expected[first:last])


def test_all_rows_pass_by_once_and_samples_are_from_all_over(table):
    views = StoredViews({"a": table, "b": table[:, :1]})
    seen = dict(views.shuffled(10, np.random.default_rng(0)))
    assert sorted(seen) == [0, 10, 20, 30, 40, 50]
    assert list(seen) != sorted(seen)
    whole = np.concatenate([seen[first][0] for first in sorted(seen)])
    np.testing.assert_array_equal(whole, table)
    numbers, some = views.sample(20, np.random.default_rng(0))
    assert len(set(numbers.tolist())) == len(numbers) == 20
    assert numbers.min() < 10
    assert numbers.max() > 47
    np.testing.assert_array_equal(some["b"], table[numbers, :1])
    assert repr(views) == "StoredViews of 57 rows: a (4 columns), b (1 columns)"


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({}, "no view"),
        ({"a": np.ones((3, 2)), "b": np.ones((4, 2))}, "equally many rows"),
        ({"a": np.ones(3)}, "must be a table"),
        ({"a": "nowhere.npy"}, "no file"),
    ],
)
def test_what_cannot_be_stored_views(tables, message):
    with pytest.raises(DataError, match=message):
        StoredViews(tables)


def test_unknown_files_and_infinities_are_named(tmp_path, table):
    (tmp_path / "t.xls").touch()
    with pytest.raises(OptionError, match="unknown kind"):
        as_blocks("a", tmp_path / "t.xls")
    table[41, 2] = np.inf
    with pytest.raises(DataError, match=r"'a'.*row 41, column 2"):
        as_blocks("a", table).read(40, 50)


class Shrinking:
    shape = (10, 2)

    def __getitem__(self, rows):
        return np.zeros((max(0, min(rows.stop, 6) - rows.start), 2))


def test_a_file_that_shrinks_while_it_is_read_is_named():
    blocks = as_blocks("a", Shrinking())
    assert blocks.read(0, 5).shape == (5, 2)
    with pytest.raises(DataError, match="has changed since"):
        blocks.read(5, 10)


@pytest.mark.parametrize("raw", [False, True])
def test_a_memory_map_whose_file_is_cut_is_named_and_does_not_end_the_process(tmp_path, raw):
    path = tmp_path / "t.npy"
    if raw:
        rng = np.random.default_rng(0)
        np.memmap(path, float, "w+", offset=4160, shape=(5000, 20))[:] = rng.normal(size=(5000, 20))
        source = np.memmap(path, float, "r", offset=4160, shape=(5000, 20))[100:]
    else:
        np.save(path, np.zeros((5000, 20)))
        source = path
    blocks = as_blocks("rna", source)
    assert blocks.read(4000, 4100).shape == (100, 20)
    os.truncate(path, 9000)
    with pytest.raises(DataError, match=r"'rna' has 9000 bytes, and had \d+ when it was opened"):
        blocks.read(4000, 4100)


@pytest.mark.parametrize("kind", ["zarr", "parquet", "h5ad"])
def test_files_that_are_cut_are_named(kind, tmp_path, rng):
    table = rng.normal(size=(6000, 4))
    path = stored(kind, table, tmp_path)
    blocks = as_blocks("rna", path)
    assert blocks.read(5000, 5100).shape == (100, 4)
    if path.is_dir():
        pytest.importorskip("zarr").open(str(path), mode="r+").resize((10, 4))
    else:
        os.truncate(path, 9000)
    with pytest.raises(DataError, match=r"(?s)'rna'"):
        blocks.read(5000, 5100)


def test_chunks_that_are_cut_while_they_are_read_are_named():
    class Broken:
        shape = (10, 2)

        def __getitem__(self, rows):
            raise RuntimeError("decompression error")

    with pytest.raises(DataError, match=r"'rna' cannot be read: decompression error"):
        as_blocks("rna", Broken()).read(0, 5)


def test_values_that_are_missing_in_a_sparse_matrix_stay_so(table):
    table[3, 1] = np.nan
    stored = sparse.csr_matrix(
        np.where(table > 0, table, 0.0) + np.where(np.isnan(table), table, 0)
    )
    found = as_blocks("rna", stored).read(0, 10)
    assert np.isnan(found[3, 1])
    assert np.isnan(found).sum() == np.isnan(table[:10]).sum()
    stored.data[5] = np.inf
    with pytest.raises(DataError, match="'rna' contains infinity"):
        as_blocks("rna", stored).read(0, len(table))


def test_blocks_come_ahead_in_order_and_errors_come_through():
    assert list(ahead(iter(range(20)))) == list(range(20))

    def broken():
        yield 1
        raise DataError("no more")

    items = ahead(broken())
    assert next(items) == 1
    with pytest.raises(DataError, match="no more"):
        next(items)
    before = threading.active_count()
    cut = ahead(iter(range(1000)))
    next(cut)
    cut.close()
    assert threading.active_count() == before

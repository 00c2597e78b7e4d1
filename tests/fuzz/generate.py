"""Tables of 24 rows and 4 columns in every form that people have them in, and spoiled ones."""

import datetime
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

ROWS, COLUMNS = 24, 4


def plain(rng: np.random.Generator, columns: int = COLUMNS) -> np.ndarray:
    """Numbers with structure, of any scale, in some cases with holes."""
    latent = rng.standard_normal((ROWS, 2))
    table = np.tanh(latent) @ rng.standard_normal((2, columns))
    table += rng.choice([0.0, 1e-3, 0.1, 1.0]) * rng.standard_normal(table.shape)
    table = table * 10.0 ** rng.choice([0, 0, 0, 3, -3, 8, -8, 60, -60])
    table = table + np.abs(table).max() * rng.choice([0.0, 0.0, 1.0, 1e3])
    if rng.random() < 0.4:
        holes = rng.random(table.shape) < rng.choice([0.02, 0.2, 0.5])
        holes[np.arange(ROWS), rng.integers(columns, size=ROWS)] = False  # no empty rows
        holes[rng.integers(ROWS, size=2 * columns), np.repeat(np.arange(columns), 2)] = False
        table[holes] = np.nan
    return table


def form(rng: np.random.Generator, table: np.ndarray) -> tuple[str, Any, np.ndarray]:
    """A table in another form, its name, and the numbers that it has to be read as."""
    kind = str(rng.choice(sorted(FORMS)))
    made = FORMS[kind](table.copy(), rng)
    given, numbers = made if isinstance(made, tuple) else (made, table)
    return kind, given, numbers


def _frame(t, rng):
    return pd.DataFrame(t, [f"s{i}" for i in range(len(t))], [f"c{j}" for j in range(t.shape[1])])


def _integers(t, rng):
    whole = rng.integers(-50, 50, t.shape)
    kind = rng.choice(["int8", "int16", "int32", "int64", "uint8", ">i4"])
    whole = np.abs(whole) if kind == "uint8" else whole
    return whole.astype(kind), whole.astype(float)


def _nullable(t, rng):
    whole = np.where(np.isnan(t), np.nan, rng.integers(-50, 50, t.shape))
    kind = str(rng.choice(["Int64", "Float64", "Int32"]))
    return _frame(whole, rng).astype(kind), whole


def _booleans(t, rng):
    found = rng.random(t.shape) < 0.5
    return (found if rng.random() < 0.5 else _frame(found, rng)), found.astype(float)


def _single(t, rng):
    with np.errstate(all="ignore"):
        short = t.astype(np.float32)
    if not np.isfinite(short[~np.isnan(t)]).all() or (short[~np.isnan(t)] == 0).any():
        return t
    return short, short.astype(float)


def _masked(t, rng):
    hidden = np.isnan(t)
    return np.ma.MaskedArray(np.where(hidden, 1e6, t), hidden)


def _sparse(t, rng):
    filled = np.where(rng.random(t.shape) < 0.3, 0.0, np.nan_to_num(t))
    kind = [sparse.csr_matrix, sparse.csc_matrix, sparse.coo_array][rng.integers(3)]
    return kind(filled), filled


def _sparse_frame(t, rng):
    filled = np.where(rng.random(t.shape) < 0.3, 0.0, np.nan_to_num(t))
    return pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(filled)), filled


def _arrow(t, rng):
    import pyarrow

    return pyarrow.table({f"c{j}": pyarrow.array(c, from_pandas=True) for j, c in enumerate(t.T)})


def _arrow_types(t, rng):
    return _frame(t, rng).astype("double[pyarrow]")


def _polars(t, rng):
    import polars

    return polars.DataFrame({f"c{j}": c for j, c in enumerate(t.T)})


def _dask(t, rng):
    import dask.array

    return dask.array.from_array(t, chunks=(7, 2))


def _xarray(t, rng):
    import xarray

    return xarray.DataArray(t, dims=["row", "column"])


def _strided(t, rng):
    wide = np.zeros((2 * t.shape[0], 3 * t.shape[1]))
    wide[::2, ::3] = t
    return wide[::2, ::3]


FORMS = {
    "array": lambda t, rng: t,
    "fortran": lambda t, rng: np.asfortranarray(t),
    "strided": _strided,
    "reversed": lambda t, rng: t[::-1].copy()[::-1],
    "big endian": lambda t, rng: t.astype(">f8"),
    "long double": lambda t, rng: t.astype(np.longdouble),
    "read-only": lambda t, rng: (t.setflags(write=False), t)[1],
    "lists": lambda t, rng: t.tolist(),
    "frame": _frame,
    "objects": lambda t, rng: t.astype(object),
    "object frame": lambda t, rng: _frame(t, rng).astype(object),
    "texts of numbers": lambda t, rng: np.where(np.isnan(t), "nan", t.astype("U40")).astype("U40"),
    "integers": _integers,
    "booleans": _booleans,
    "single precision": _single,
    "nullable": _nullable,
    "masked": _masked,
    "sparse": _sparse,
    "sparse frame": _sparse_frame,
    "arrow": _arrow,
    "arrow types": _arrow_types,
    "polars": _polars,
    "dask": _dask,
    "xarray": _xarray,
}
SPECIAL = (
    np.inf, -np.inf, 1e160, -1e308, 5e-324, 1e-170, "x", "", "1,5", "NaN", None, pd.NA, pd.NaT, 1j,
    10**400, b"x", [1.0], {}, np.datetime64("2020-01-01"), datetime.date(2020, 1, 1), True, "😀",
    np.nan, np.float32(1), object,
)  # fmt: skip


def spoil(rng: np.random.Generator, table: np.ndarray) -> tuple[str, Any]:
    """A table with something wrong, and what that is (it may be harmless)."""
    kind = str(rng.choice(sorted(SPOILERS)))
    return kind, SPOILERS[kind](table.copy(), rng)


def _special(t, rng):
    odd = t.astype(object)
    value = SPECIAL[rng.integers(len(SPECIAL))]
    for _ in range(rng.integers(1, 4)):
        odd[rng.integers(t.shape[0]), rng.integers(t.shape[1])] = value
    return _frame(odd, rng) if rng.random() < 0.5 else odd


def _names(t, rng):
    odd = ["a", "a", 1, "1", None, np.nan, "", "\x00", "😀", "\udcff", (1, 2), 1.5, "id", "sample"]
    frame = pd.DataFrame(t)
    if rng.random() < 0.6:
        frame.columns = [odd[i] for i in rng.integers(len(odd), size=t.shape[1])]
    if rng.random() < 0.6:
        frame.index = [odd[i] for i in rng.integers(len(odd), size=len(t))]
    return frame


def _levels(t, rng):
    frame = pd.DataFrame(t)
    words = [["a", "b"], ["x"], ["", "b"], [1, 2], [True, False], ["\x00", "[/bold]"]]
    choice = words[rng.integers(len(words))]
    frame[0] = pd.Categorical([choice[i % len(choice)] for i in range(len(t))])
    return frame


def _dates(t, rng):
    frame = pd.DataFrame(t)
    frame[1] = pd.date_range("2020", periods=len(t), tz=rng.choice([None, "UTC"]))
    return frame if rng.random() < 0.5 else frame[[1]]


def _several_levels(t, rng):
    frame = pd.DataFrame(t)
    frame.columns = pd.MultiIndex.from_product([["a"], range(t.shape[1])])
    return frame


SPOILERS = {
    "special values": _special,
    "names": _names,
    "levels": _levels,
    "dates": _dates,
    "several levels": _several_levels,
    "dates in an array": lambda t, rng: np.full(t.shape, np.datetime64("2020-01-01", "D")),
    "durations": lambda t, rng: np.full(t.shape, np.timedelta64(3, "s")),
    "complex": lambda t, rng: t + 1j,
    "words": lambda t, rng: np.full(t.shape, "x"),
    "one dimension": lambda t, rng: t[:, 0],
    "three dimensions": lambda t, rng: t[None],
    "no dimension": lambda t, rng: np.array(1.0),
    "few rows": lambda t, rng: t[: rng.integers(4)],
    "fewer rows": lambda t, rng: t[:-1],
    "no columns": lambda t, rng: t[:, :0],
    "nothing known": lambda t, rng: np.full(t.shape, np.nan),
    "an empty row": lambda t, rng: np.where(np.arange(len(t))[:, None] == 2, np.nan, t),
    "an empty column": lambda t, rng: np.where(np.arange(t.shape[1]) == 1, np.nan, t),
    "constant": lambda t, rng: np.full(t.shape, rng.choice([0.0, 1.0, -1e99, 1e-300])),
    "a constant column": lambda t, rng: np.where(np.arange(t.shape[1]) == 0, 3.0, t),
    "equal rows": lambda t, rng: np.repeat(np.nan_to_num(t[:1]), len(t), axis=0),
    "equal columns": lambda t, rng: np.repeat(np.nan_to_num(t[:, :1]), t.shape[1], axis=1),
    "huge": lambda t, rng: t * 10.0 ** rng.integers(50, 250),
    "tiny": lambda t, rng: t * 10.0 ** -rng.integers(50, 250),
    "far": lambda t, rng: t + np.nanmax(np.abs(t)) * 10.0 ** rng.integers(5, 30),
    "ragged": lambda t, rng: [[1.0, 2.0], [3.0]],
    "none": lambda t, rng: None,
    "a number": lambda t, rng: 3.0,
    "a text": lambda t, rng: "table.csv",
    "bytes": lambda t, rng: b"1,2",
    "a set": lambda t, rng: {1.0, 2.0},
    "an object": lambda t, rng: object(),
    "a dict of nothing": lambda t, rng: {},
    "records": lambda t, rng: np.zeros(len(t), dtype=[("a", float), ("b", int)]),
    "a generator": lambda t, rng: iter(t.tolist()),
    "a series": lambda t, rng: pd.Series(t[:, 0]),
    "masked whole": lambda t, rng: np.ma.MaskedArray(t, True),
}

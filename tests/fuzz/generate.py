"""Tables of 24 rows and 4 columns in every form that people have them in."""

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


def as_frame(t, rng):
    return pd.DataFrame(t, [f"s{i}" for i in range(len(t))], [f"c{j}" for j in range(t.shape[1])])


def _integers(t, rng):
    whole = rng.integers(-50, 50, t.shape)
    kind = rng.choice(["int8", "int16", "int32", "int64", "uint8", ">i4"])
    whole = np.abs(whole) if kind == "uint8" else whole
    return whole.astype(kind), whole.astype(float)


def _nullable(t, rng):
    whole = np.where(np.isnan(t), np.nan, rng.integers(-50, 50, t.shape))
    kind = str(rng.choice(["Int64", "Float64", "Int32"]))
    return as_frame(whole, rng).astype(kind), whole


def _booleans(t, rng):
    found = rng.random(t.shape) < 0.5
    return (found if rng.random() < 0.5 else as_frame(found, rng)), found.astype(float)


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
    return pd.DataFrame(filled).astype(pd.SparseDtype(float, 0.0)), filled


def _arrow(t, rng):
    import pyarrow

    return pyarrow.table({f"c{j}": pyarrow.array(c, from_pandas=True) for j, c in enumerate(t.T)})


def _arrow_types(t, rng):
    return as_frame(t, rng).astype("double[pyarrow]")


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
    "frame": as_frame,
    "objects": lambda t, rng: t.astype(object),
    "object frame": lambda t, rng: as_frame(t, rng).astype(object),
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
UNLABELLED = (
    "array", "fortran", "strided", "big endian", "long double", "lists", "masked", "arrow",
    "polars", "dask",
)  # fmt: skip


def as_form(kind: str, table: np.ndarray, rng: np.random.Generator) -> Any:
    """A table in the form of that name."""
    made = FORMS[kind](table.copy(), rng)
    return made[0] if isinstance(made, tuple) else made

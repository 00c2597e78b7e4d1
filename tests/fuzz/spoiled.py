"""Tables with something wrong: of other types, shapes, names and sizes."""

import datetime
from typing import Any

import numpy as np
import pandas as pd

from .generate import as_frame

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
    try:
        return as_frame(odd, rng) if rng.random() < 0.5 else odd
    except OverflowError:  # pandas 3 refuses some integers
        return odd


def _names(t, rng):
    odd = ["a", "a", 1, "1", None, np.nan, "", "\x00", "😀", "\udcff", (1, 2), 1.5, "id", "sample"]
    frame = pd.DataFrame(t)
    if rng.random() < 0.6:
        frame.columns = pd.Index(
            [odd[i] for i in rng.integers(len(odd), size=t.shape[1])], dtype=object
        )
    if rng.random() < 0.6:
        frame.index = pd.Index([odd[i] for i in rng.integers(len(odd), size=len(t))], dtype=object)
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

"""Figures of every column of a table, computed for all columns at once."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

SENTINELS = (-9, -99, -999, -9999, -99999, -999999, 99, 999, 9999, 99999, 999999, 1e20, 1e30)
FAR = 10.0  # robust standard deviations from the median beyond which a value is far out
MAD_TO_STD = 1.4826  # of a normal distribution
CLOSE = 5.0  # ranges of all other values within which a sentinel may be an ordinary value


def column_figures(Y: Float[np.ndarray, "N D"], names: list[Any]) -> pd.DataFrame:
    """A row per column: what is missing, how many values differ, range, spread, what is odd."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # columns without any value
        finite = np.where(np.isfinite(Y), Y, np.nan)
        median = np.nanmedian(finite, axis=0)
        lowest, highest = np.nanmin(finite, axis=0), np.nanmax(finite, axis=0)
        std = np.nanstd(finite, axis=0)
        distance = np.abs(finite - median)
        far = distance > FAR * MAD_TO_STD * np.nanmedian(distance, axis=0)
        spread = np.nanmedian(distance, axis=0)
        whole = np.all(np.isnan(finite) | (finite == np.round(finite)), axis=0)
    sentinels = [sentinel_in(finite[:, d]) for d in range(Y.shape[1])]
    return pd.DataFrame(
        {
            "missing": np.isnan(Y).mean(axis=0),
            "infinite": np.isinf(Y).sum(axis=0),
            "distinct": _distinct(finite),
            "lowest": lowest,
            "median": median,
            "highest": highest,
            "std": std,
            "whole numbers": whole,
            "far out": np.where(spread > 0, far.sum(axis=0), 0),
            "sentinel": sentinels,
        },
        index=pd.Index(names, dtype=object),
    )


def sentinel_in(y: Float[np.ndarray, " N"]) -> float:
    """A number that seems to stand for a missing value, as -999 does; NaN if there is none.

    It is the smallest or largest value of its column, and either the only negative one or further
    from all others than these are from each other.
    """
    known = y[~np.isnan(y)]
    if not known.size:
        return np.nan
    lowest, highest = known.min(), known.max()
    for value in SENTINELS:
        if value not in (lowest, highest):
            continue
        rest = known[known != value]
        if not rest.size:
            continue
        width = float(rest.max() - rest.min())
        gap = float(rest.min() - value if value == lowest else value - rest.max())
        alone = value < 0 <= rest.min() and gap > max(width, 1.0) * 0.05
        if gap > CLOSE * max(width, 1.0) or (alone and value in {-9, -99, -999, -9999}):
            return float(value)
    return np.nan


def repeated_columns(Y: Float[np.ndarray, "N D"]) -> Int[np.ndarray, " R"]:
    """Places of columns that say the same as an earlier one."""
    seen: set[bytes] = set()
    places = []
    for place, column in enumerate(np.ascontiguousarray(Y.T)):
        key = column.tobytes()
        if key in seen:
            places.append(place)
        seen.add(key)
    return np.array(places, dtype=int)


def repeated_rows(Y: Float[np.ndarray, "N D"]) -> Int[np.ndarray, " R"]:
    """Places of rows that say the same as an earlier one; rows without values are not counted."""
    places = repeated_columns(Y.T)
    return places[~np.isnan(Y[places]).all(axis=1)]


def _distinct(Y: Float[np.ndarray, "N D"]) -> Int[np.ndarray, " D"]:
    """Different values of every column (NaN, sorted to the end, is none)."""
    if not len(Y):
        return np.zeros(Y.shape[1], dtype=int)
    ascending = np.sort(Y, axis=0)
    new: Bool[np.ndarray, "n D"] = ascending[1:] > ascending[:-1]
    return new.sum(axis=0) + ~np.isnan(ascending[0])

"""Which values are missing: rows that lack the same ones share what costs, a factorisation."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int


class Patterns(NamedTuple):
    """Which values are observed: the distinct patterns of every view, and whose row has which."""

    masks: list[Bool[np.ndarray, "P _"]]
    rows: Int[np.ndarray, " N"]


def find_patterns(tables: Sequence[Float[np.ndarray, "N _"]]) -> Patterns:
    """Group rows by the values they lack (NaN), over all views."""
    observed = [~np.isnan(Y) for Y in tables]
    masks, rows = distinct_patterns(np.hstack(observed))
    edges = np.cumsum([seen.shape[1] for seen in observed])[:-1]
    return Patterns(np.split(masks, edges, axis=1), rows)


def distinct_patterns(
    observed: Bool[np.ndarray, "N D"],
) -> tuple[Bool[np.ndarray, "P D"], Int[np.ndarray, " N"]]:
    """The distinct rows of a mask, in order, and which of them each row is."""
    if observed.all():
        return np.ones((1, observed.shape[1]), bool), np.zeros(len(observed), int)
    packed = np.packbits(observed, axis=1)
    _, first, place = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    return observed[first], place.ravel()


def by_pattern(
    observed: Bool[np.ndarray, "N D"],
) -> Iterator[tuple[Bool[np.ndarray, " D"], Int[np.ndarray, " n"]]]:
    """Every distinct row of a mask, with the places of the rows that are like it."""
    masks, place = distinct_patterns(observed)
    yield from zip(masks, members(place, len(masks)), strict=True)


def members(labels: Int[np.ndarray, " N"], n_groups: int) -> list[Int[np.ndarray, " n"]]:
    """The places of every label from 0 on, in order."""
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.cumsum(np.bincount(labels, minlength=n_groups))[:-1])


def mean_filled(Y: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:
    """The table with missing values at their column's mean."""
    return np.where(np.isnan(Y), np.nanmean(Y, axis=0), Y)

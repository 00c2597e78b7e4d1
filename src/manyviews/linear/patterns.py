"""Rows that lack the same values: one factorisation serves them all."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

Tables = Sequence[Float[np.ndarray, "N _"]]


class Patterns(NamedTuple):
    """Which values are observed: the distinct patterns of every view, and whose row has which."""

    masks: list[Bool[np.ndarray, "P _"]]
    rows: Int[np.ndarray, " N"]


def find_patterns(rows: Tables) -> Patterns:
    """Group rows by the values they lack, over all views."""
    observed = [~np.isnan(Y) for Y in rows]
    first, index = distinct(np.hstack(observed))
    return Patterns([seen[first] for seen in observed], index)


def distinct(
    masks: Bool[np.ndarray, "N D"],
) -> tuple[Int[np.ndarray, " P"], Int[np.ndarray, " N"]]:
    """Where every distinct row stands first, and which of them each row is."""
    if masks.all():
        return np.zeros(1, int), np.zeros(len(masks), int)
    packed = np.packbits(masks, axis=1)
    _, first, index = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    return first, index.reshape(-1)


def members(labels: Int[np.ndarray, " N"], n_groups: int) -> list[Int[np.ndarray, " n"]]:
    """The places of every label from 0 on, in order."""
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.cumsum(np.bincount(labels, minlength=n_groups))[:-1])

"""Regression on nearest neighbours."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial.distance import cdist

from .base import Path, Recipe, Regression

LARGEST_BLOCK = 5_000_000  # distances in memory at once
COUNTS = (1, 2, 3, 5, 8, 12, 20, 35, 60)


@dataclass(frozen=True)
class NeighbourMap(Regression):
    """The mean of the k nearest rows, Euclidean distances, k by column."""

    rows: Float[np.ndarray, "N P"]
    outputs: Float[np.ndarray, "N D"]
    counts: Int[np.ndarray, " D"]

    def predict(self, X: Float[np.ndarray, "n P"]) -> Float[np.ndarray, "n D"]:
        order, _ = nearest(self.rows, X, int(self.counts.max()))
        means = np.empty((len(X), self.outputs.shape[1]))
        for count in np.unique(self.counts):
            own = self.counts == count
            means[:, own] = self.outputs[:, own][order[:, :count]].mean(axis=1)
        return means


@dataclass(frozen=True)
class Neighbours(Recipe):
    """k nearest neighbours of equal weight, k chosen by column."""

    counts: tuple[int, ...] = COUNTS

    def path(self, X: np.ndarray, Y: np.ndarray, new: np.ndarray) -> Path:
        order, _ = nearest(X, new, max(self.counts))
        return Path(np.stack([Y[order[:, :count]].mean(axis=1) for count in self.counts]))

    def fit(self, X: np.ndarray, Y: np.ndarray, chosen: Int[np.ndarray, " D"]) -> NeighbourMap:
        return NeighbourMap(X, Y, np.minimum(np.asarray(self.counts)[chosen], len(X)))


def nearest(
    rows: Float[np.ndarray, "N P"], new: Float[np.ndarray, "n P"], most: int
) -> tuple[Int[np.ndarray, "n K"], Float[np.ndarray, "n K"]]:
    """The nearest rows in order, and their distances; some new rows at a time."""
    kept = min(most, len(rows))
    index = np.empty((len(new), kept), dtype=int)
    distance = np.empty((len(new), kept))
    at_once = max(1, LARGEST_BLOCK // len(rows))
    for first in range(0, len(new), at_once):
        part = slice(first, first + at_once)
        apart = cdist(new[part], rows)
        order = np.argpartition(apart, kept - 1, axis=1)[:, :kept]
        near = np.take_along_axis(apart, order, axis=1)
        sort = np.argsort(near, axis=1, kind="stable")
        index[part] = np.take_along_axis(order, sort, axis=1)
        distance[part] = np.take_along_axis(near, sort, axis=1)
    return index, distance

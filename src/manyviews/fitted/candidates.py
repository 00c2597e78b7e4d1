"""Several answers to one question, each from the training samples it comes from [MRD21, §4.5].

What known views say of a row is where it is in the dimensions that they share with the wanted view.
What is private to the wanted view comes from training samples that are near in these dimensions,
one answer for each of them [MRD21, Algorithm 1, κ = 1 … K].
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.special import softmax

from .engine import Engine
from .positions import Positions
from .segmentation import Segmentation


@dataclass(frozen=True)
class Candidates:
    """Alternative predictions of one view, the most probable first.

    Attributes
    ----------
    view : str
        The view that was asked for.
    weights : ndarray of shape (n_rows, n_candidates)
        Of the candidates; they add up to one.
    means, stds : ndarray of shape (n_rows, n_candidates, n_columns)
        Of each column in each candidate, noise included.
    neighbours : ndarray of shape (n_rows, n_neighbours)
        Names of the training samples nearest in the shared dimensions, the nearest first; of
        several modes, those of the likeliest before others.
    distances : ndarray of shape (n_rows, n_neighbours)
        Their distances in the shared dimensions.
    candidate : ndarray of int of shape (n_rows, n_neighbours)
        The candidate that each neighbour speaks for; -1 for those of modes that a row lacks.
    source : ndarray of shape (n_rows, n_candidates)
        Name of the neighbour whose private dimensions a candidate has.
    """

    view: str
    weights: Float[np.ndarray, "N K"]
    means: Float[np.ndarray, "N K D"]
    stds: Float[np.ndarray, "N K D"]
    neighbours: np.ndarray
    distances: Float[np.ndarray, "N J"]
    candidate: Int[np.ndarray, "N J"]
    source: np.ndarray

    def neighbours_of(self, row: int, candidate: int) -> list[Any]:
        """The training samples that a candidate of a row comes from, in the order of the record."""
        return self.neighbours[row][self.candidate[row] == candidate].tolist()


def find_candidates(
    engine: Engine,
    view: int,
    known: Positions,
    parts: Segmentation,
    n_candidates: int,
    n_neighbours: int,
    strength: Float[np.ndarray, " Q"] | None = None,
) -> Candidates:
    """Alternative answers about a view at the positions of rows, on the engine's own scale.

    Neighbours are called by their places among the training rows.

    Parameters
    ----------
    known
        q(x*) given the known views; of mixtures, every part has neighbours of its own.
    parts
        Dimensions divided between the known views and the wanted one, some of them shared.
    n_neighbours
        Training samples to take private dimensions from, for every part. Where there are more of
        them than candidates, those whose answers are alike (Ward's clusters) make one candidate:
        that of the most probable.
    strength
        For a blend: how much of each dimension stays as the known views have it. By default all
        of those, and nothing of what is private to the wanted view.
    """
    seen = np.flatnonzero(~np.isnan(engine.data[view]).all(axis=1))
    train = engine.positions.likeliest().rows(seen)
    count = min(n_neighbours, len(seen))
    from sklearn.neighbors import NearestNeighbors  # slow to import

    search = NearestNeighbors(n_neighbors=count).fit(train.mean[:, parts.shared])
    distances, near = search.kneighbors(known.mean[:, parts.shared])
    nearness = [
        log_nearness(mean, variance, train, parts.shared)[own]
        for mean, variance, own in zip(known.mean, known.variance, near, strict=True)
    ]
    keep = np.ones(known.mean.shape[1]) if strength is None else strength
    if strength is None:
        keep[parts.private_b] = 0.0
    modes = np.ones((len(known), 1)) if known.weights is None else known.weights
    alone = replace(known, weights=None)  # every mode as a row
    there = completed(
        alone.rows(np.repeat(np.arange(len(alone)), count)), train.rows(near.ravel()), keep
    )
    mean, variance = engine.moments(view, there, "variance")
    assert variance is not None
    pool = (len(known), modes.shape[1] * count)
    means, variances = mean.reshape(*pool, -1), variance.reshape(*pool, -1)
    weights = (modes.reshape(-1, 1) * softmax(nearness, axis=1)).reshape(pool)
    near, distances = near.reshape(pool), distances.reshape(pool)
    spread = np.nanstd(engine.data[view][:, : means.shape[2]], axis=0)
    scaled = means / np.where(spread > 0.0, spread, 1.0)
    real = np.repeat(modes > 0.0, count, axis=1)  # rows may have fewer modes than others
    groups = np.full(pool, -1)
    for n, own in enumerate(real):
        groups[n, own] = _grouped(
            scaled[n, own], weights[n, own], min(n_candidates, int(own.sum()))
        )
    places = range(int(groups.max()) + 1)
    first = np.stack([np.where(groups == k, weights, -1.0).argmax(axis=1) for k in places], axis=1)
    total = np.stack([np.where(groups == k, weights, 0.0).sum(axis=1) for k in places], axis=1)
    row = np.arange(len(known))[:, None]
    return Candidates(
        view=f"view {view + 1}",
        weights=total,
        means=means[row, first],
        stds=np.sqrt(variances[row, first]),
        neighbours=seen[near],
        distances=distances,
        candidate=groups,
        source=seen[near[row, first]],
    )


def completed(known: Positions, near: Positions, keep: Float[np.ndarray, " Q"]) -> Positions:
    """Every dimension between where rows are known to be (1) and other rows (0)."""
    mean = keep * known.mean + (1.0 - keep) * near.mean
    if known.spread.ndim == near.spread.ndim == 2:
        spread = keep**2 * known.variance + (1.0 - keep) ** 2 * near.variance
    else:
        ours, theirs = known.covariance[known.kind], near.covariance[near.kind]
        spread = np.outer(keep, keep) * ours + np.outer(1.0 - keep, 1.0 - keep) * theirs
    return replace(known, mean=mean, spread=spread, kind=np.arange(len(mean)))


def log_nearness(
    mean: Float[np.ndarray, " Q"],
    variance: Float[np.ndarray, " Q"],
    train: Positions,
    dimensions: list[int],
) -> Float[np.ndarray, " T"]:
    """The logarithm of N(x_s; μ_ns, S_ns + h²) for every training row n, averaged over q(x).

    In the given dimensions s, less a constant; h is Scott's bandwidth (Scott 1992).
    """
    s = dimensions
    there, spread = train.mean[:, s], train.variance[:, s]
    h = there.std(axis=0) * len(there) ** (-1.0 / (len(s) + 4))
    wide = np.maximum(variance[s] + spread + h**2, 1e-300)
    return -0.5 * np.sum((mean[s] - there) ** 2 / wide + np.log(wide), axis=1)


def _grouped(
    outputs: Float[np.ndarray, "J D"], weights: Float[np.ndarray, " J"], n_groups: int
) -> Int[np.ndarray, " J"]:
    """Which candidate each answer belongs to, the heaviest being the first."""
    if n_groups == len(outputs):
        labels = np.arange(n_groups)
    else:
        from scipy.cluster.hierarchy import cut_tree, linkage

        labels = cut_tree(linkage(outputs, "ward"), n_clusters=n_groups)[:, 0]
    totals = np.bincount(labels, weights, minlength=n_groups)
    rank = np.empty(n_groups, int)
    rank[np.argsort(-totals, kind="stable")] = np.arange(n_groups)
    return rank[labels]

"""One set of views from another: private dimensions, modes [MRD21, Algorithm 1]."""

import warnings
from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int
from sklearn.neighbors import NearestNeighbors

from ..errors import SegmentationWarning
from ..fitted import Positions
from ..fitted.candidates import completed, log_nearness
from ..fitted.segmentation import Segmentation
from ..inference.new_points import NewPoints

TREATMENTS = ("posterior", "nearest", "blend", "conditional")
NEIGHBOURS = 50  # components of a conditional mixture
SAME_MODE = 0.1  # mean squared distance, in standard deviations, below which two ends are one


def as_positions(found: NewPoints, n_modes: int) -> Positions:
    """The distinct ends of the search, weighted by exp(bound), the approximate evidence."""
    mean, variance = np.asarray(found.ends.mean), np.asarray(found.ends.variance)
    bounds = found.end_bounds.copy()
    n_ends = bounds.shape[1]
    for late in range(1, n_ends):
        for early in range(late):
            spread = 0.5 * (variance[:, late] + variance[:, early])
            apart = np.mean((mean[:, late] - mean[:, early]) ** 2 / spread, axis=1)
            again = (apart < SAME_MODE) & np.isfinite(bounds[:, early])
            bounds[:, late] = np.where(again, -np.inf, bounds[:, late])
    order = np.argsort(-bounds, axis=1, kind="stable")[:, :n_modes]
    bounds = np.take_along_axis(bounds, order, axis=1)
    weights = np.exp(bounds - bounds[:, :1])
    rows = np.arange(len(bounds))[:, None]
    Q = mean.shape[-1]
    parts = Positions.independent(
        mean[rows, order].reshape(-1, Q), variance[rows, order].reshape(-1, Q)
    )
    return replace(parts, weights=weights / weights.sum(axis=1, keepdims=True))


def unfilled(found: NewPoints, n_modes: int) -> Positions:
    """Where rows are by what is known of them alone: one place each, or several if asked for."""
    if n_modes > 1:
        return as_positions(found, n_modes)
    return Positions.independent(found.q.mean, found.q.variance)


def fill_private(
    known: Positions,
    train: Positions,
    parts: Segmentation,
    strength: Float[np.ndarray, " Q"],
    treatment: str,
) -> Positions:
    """Give the dimensions that the known views do not inform a distribution.

    Parameters
    ----------
    known
        q(x*) given the known views.
    parts
        Segmentation with the known views as A and the wanted ones as B.
    strength
        Relevance of each dimension for the known views, at most one.
    treatment : {"posterior", "nearest", "blend", "conditional"}
        Leave them at their posterior, which is the prior where the known views say nothing;
        take those private to B from the training point nearest in the shared dimensions
        [MRD21, Algorithm 1]; let every dimension slide from that point to the posterior by
        ``strength``; or take those private to B from all training points near in the shared
        dimensions, as a mixture (see `conditional_mixture()`).
    """
    if treatment == "posterior" or (treatment != "blend" and not parts.private_b):
        return known
    if not parts.shared:
        warnings.warn(
            "the known and the wanted views share no dimension, so there is no nearest training "
            f"point in the shared space; private={treatment!r} falls back to 'posterior'. "
            "Fit with init='canonical' or more restarts, or lower the threshold of segment() to "
            "see how nearly they share one",
            SegmentationWarning,
            stacklevel=4,
        )
        return known
    if treatment == "conditional":
        return conditional_mixture(known, train, parts)
    near = train.rows(neighbours(known, train, parts.shared)).likeliest()
    keep = strength.copy()
    if treatment == "nearest":
        keep[:] = 1.0
        keep[parts.private_b] = 0.0
    return completed(known, near, keep)


def conditional_mixture(known: Positions, train: Positions, parts: Segmentation) -> Positions:
    """Private given shared dimensions, under the training points' own distribution.

    The latent points of the samples have a density Q(x) = (1/N) Σ_n N(μ_n, S_n), smoothed by
    Scott's bandwidth h in the shared dimensions s. Then Q(x_p | x_s) = Σ_n w_n N(μ_np, S_np)
    with w_n ∝ N(x_s; μ_ns, S_ns + h²), of which the ``NEIGHBOURS`` largest are kept; see
    `log_nearness()`.
    """
    p = parts.private_b
    assert known.weights is not None
    train_mean, train_variance = train.mean, train.variance
    count = min(NEIGHBOURS, len(train_mean))
    weights, means, variances = [], [], []
    for row_mean, row_variance in zip(known.mean, known.variance, strict=True):
        logs = log_nearness(row_mean, row_variance, train, parts.shared)
        chosen = np.argsort(-logs, kind="stable")[:count]
        weight = np.exp(logs[chosen] - logs[chosen[0]])
        weights.append(weight / weight.sum())
        part_mean, part_variance = np.tile(row_mean, (count, 1)), np.tile(row_variance, (count, 1))
        part_mean[:, p] = train_mean[chosen][:, p]
        part_variance[:, p] = train_variance[chosen][:, p]
        means.append(part_mean)
        variances.append(part_variance)
    n_rows, n_modes = known.weights.shape
    inner = np.reshape(weights, (n_rows, n_modes, count))
    mixture = Positions.independent(np.concatenate(means), np.concatenate(variances))
    return replace(
        mixture, weights=(known.weights[:, :, None] * inner).reshape(n_rows, n_modes * count)
    )


def neighbours(q: Positions, train: Positions, dimensions: list[int]) -> Int[np.ndarray, " R"]:
    """The training row nearest in some dimensions, for every part."""
    search = NearestNeighbors(n_neighbors=1).fit(train.mean[:, dimensions])
    return search.kneighbors(q.mean[:, dimensions], return_distance=False)[:, 0]

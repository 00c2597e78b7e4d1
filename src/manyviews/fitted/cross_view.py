"""One set of views from another: private dimensions, modes [MRD21, Algorithm 1]."""

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int

from ..errors import OptionError, SegmentationWarning
from ..inference.new_points import NewPoints
from .candidates import completed, log_nearness
from .engine import Engine, Tables
from .positions import Positions
from .segmentation import ACTIVE_THRESHOLD, Segmentation, segment

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


def check_treatment(private: str) -> None:
    """Refuse what is no source of private dimensions."""
    if private not in TREATMENTS:
        raise OptionError(f"private must be one of {TREATMENTS}, got {private!r}")


def known_places(rows: Tables) -> list[int]:
    """The views that have any value."""
    return [place for place, table in enumerate(rows) if not np.isnan(table).all()]


def cross_view(
    engine: Engine, rows: Tables, wanted: Sequence[int], found: Positions, treatment: str
) -> Positions:
    """Where rows found from the views they have are, for the views that are wanted of them."""
    known = known_places(rows)
    parts = segment(engine.relevance, known, list(wanted), ACTIVE_THRESHOLD)
    strength = engine.relevance[known].max(axis=0)
    return fill_private(found, engine.positions, parts, strength, treatment)


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
            stacklevel=5,
        )
        return known
    if treatment == "conditional":
        return conditional_mixture(known, train, parts)
    near = train.rows(neighbours(known, train, parts.shared)).likeliest()
    keep = strength
    if treatment == "nearest":
        keep = np.where(np.isin(np.arange(len(strength)), parts.private_b), 0.0, 1.0)
    return completed(known, near, keep)


def conditional_mixture(known: Positions, train: Positions, parts: Segmentation) -> Positions:
    """Private given shared dimensions, under the training points' own distribution.

    The latent points of the samples have a density Q(x) = (1/N) Σ_n N(μ_n, S_n), smoothed by
    Scott's bandwidth h in the shared dimensions s. Then Q(x_p | x_s) = Σ_n w_n N(μ_np, S_np)
    with w_n ∝ N(x_s; μ_ns, S_ns + h²), of which the ``NEIGHBOURS`` largest are kept; see
    `log_nearness()`.
    """
    s = parts.shared
    count = min(NEIGHBOURS, len(train.mean))
    weights, chosen = [], []
    for row_mean, row_variance in zip(known.mean, known.variance, strict=True):
        logs = log_nearness(row_mean, row_variance, train, s)
        near = np.argsort(-logs, kind="stable")[:count]
        weight = np.exp(logs[near] - logs[near[0]])
        weights.append(weight / weight.sum())
        chosen.append(near)
    copies = replace(known, weights=None).rows(np.repeat(np.arange(len(known.mean)), count))
    keep = np.where(np.isin(np.arange(known.mean.shape[1]), parts.private_b), 0.0, 1.0)
    mixture = completed(copies, train.rows(np.concatenate(chosen)), keep)
    outer = np.ones((len(known), 1)) if known.weights is None else known.weights
    inner = np.reshape(weights, (*outer.shape, count))
    return replace(mixture, weights=(outer[:, :, None] * inner).reshape(len(outer), -1))


def neighbours(q: Positions, train: Positions, dimensions: list[int]) -> Int[np.ndarray, " R"]:
    """The training row nearest in some dimensions, for every part."""
    from sklearn.neighbors import NearestNeighbors  # slow to import

    search = NearestNeighbors(n_neighbors=1).fit(train.mean[:, dimensions])
    return search.kneighbors(q.mean[:, dimensions], return_distance=False)[:, 0]

"""One set of views from another: private dimensions, modes, correspondences (000 Alg. 1)."""

import warnings
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int
from sklearn.neighbors import NearestNeighbors

from ..errors import SegmentationWarning
from ..expectations import Gaussian
from ..inference.new_points import NewPoints
from .segmentation import Segmentation

TREATMENTS = ("posterior", "nearest", "blend", "conditional")
NEIGHBOURS = 50  # components of a conditional mixture
SAME_MODE = 0.1  # mean squared distance, in standard deviations, below which two ends are one


class Mixture(NamedTuple):
    """q(x*) of every row as a mixture of Gaussians, the likeliest first."""

    weights: Float[np.ndarray, "N S"]
    parts: Gaussian

    def flat(self) -> Gaussian:
        """All parts of all rows, one after the other."""
        Q = self.parts.mean.shape[-1]
        return Gaussian(self.parts.mean.reshape(-1, Q), self.parts.variance.reshape(-1, Q))

    def with_parts(self, flat: Gaussian) -> "Mixture":
        """The same weights with other parts, given one after the other."""
        shape = self.parts.mean.shape
        parts = Gaussian(flat.mean.reshape(shape), flat.variance.reshape(shape))
        return Mixture(self.weights, parts)

    def draw(self, n_samples: int, rng: np.random.RandomState) -> Float[np.ndarray, "S N Q"]:
        """Positions drawn from the mixture of every row."""
        mean, std = np.asarray(self.parts.mean), np.sqrt(np.asarray(self.parts.variance))
        rows = np.arange(mean.shape[0])
        ladder = np.cumsum(self.weights, axis=1)
        pick = (rng.uniform(size=(n_samples, len(rows), 1)) > ladder[None]).sum(axis=2)
        pick = np.minimum(pick, mean.shape[1] - 1)
        noise = rng.standard_normal((n_samples, len(rows), mean.shape[2]))
        return mean[rows, pick] + std[rows, pick] * noise

    def moments(
        self, means: Float[np.ndarray, "NS D"], stds: Float[np.ndarray, "NS D"] | None
    ) -> tuple[Float[np.ndarray, "N D"], Float[np.ndarray, "N D"] | None]:
        """Mean and std of a mixture of outputs, given those of the parts."""
        means = means.reshape(*self.weights.shape, -1)
        mean = np.einsum("ns,nsd->nd", self.weights, means)
        if stds is None:
            return mean, None
        squares = stds.reshape(means.shape) ** 2 + (means - mean[:, None]) ** 2
        return mean, np.sqrt(np.einsum("ns,nsd->nd", self.weights, squares))

    def covariance(
        self, means: Float[np.ndarray, "NS D"], covariances: Float[np.ndarray, "NS D D"]
    ) -> Float[np.ndarray, "N D D"]:
        """Covariance of a mixture of outputs, given those of the parts."""
        means = means.reshape(*self.weights.shape, -1)
        apart = means - np.einsum("ns,nsd->nd", self.weights, means)[:, None]
        within = covariances.reshape(*means.shape, -1)
        between = np.einsum("ns,nsd,nse->nde", self.weights, apart, apart)
        return np.einsum("ns,nsde->nde", self.weights, within) + between


def as_mixture(found: NewPoints, n_modes: int) -> Mixture:
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
    return Mixture(weights / weights.sum(axis=1, keepdims=True), found.ends[rows, order])


def fill_private(
    known: Mixture,
    train: Gaussian,
    parts: Segmentation,
    strength: Float[np.ndarray, " Q"],
    treatment: str,
) -> Mixture:
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
        (000 Algorithm 1); let every dimension slide from that point to the posterior by
        ``strength``; or take those private to B from all training points near in the shared
        dimensions, as a mixture (see :func:`conditional_mixture`).
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
    q = known.flat()
    near = train[jnp.asarray(neighbours(q, train, parts.shared, 1)[0][:, 0])]
    weights = strength.copy()
    if treatment == "nearest":
        weights[:] = 1.0
        weights[parts.private_b] = 0.0
    keep = jnp.asarray(weights)
    filled = Gaussian(
        keep * q.mean + (1.0 - keep) * near.mean,
        keep**2 * q.variance + (1.0 - keep) ** 2 * near.variance,
    )
    return known.with_parts(filled)


def conditional_mixture(known: Mixture, train: Gaussian, parts: Segmentation) -> Mixture:
    """Private given shared dimensions, under the training points' own distribution.

    The latent points of the samples have a density Q(x) = (1/N) Σ_n N(μ_n, S_n), smoothed by
    Scott's bandwidth h in the shared dimensions s. Then Q(x_p | x_s) = Σ_n w_n N(μ_np, S_np)
    with w_n ∝ N(x_s; μ_ns, S_ns + h²), of which the ``NEIGHBOURS`` largest are kept.
    """
    s, p = parts.shared, parts.private_b
    q = known.flat()
    mean, variance = np.array(q.mean), np.array(q.variance)
    train_mean, train_variance = np.asarray(train.mean), np.asarray(train.variance)
    n_train = len(train_mean)
    h = train_mean[:, s].std(axis=0) * n_train ** (-1.0 / (len(s) + 4))  # Scott 1992
    count = min(NEIGHBOURS, n_train)
    weights, means, variances = [], [], []
    for row_mean, row_variance in zip(mean, variance, strict=True):
        spread = row_variance[s] + train_variance[:, s] + h**2
        logs = -0.5 * np.sum(
            (row_mean[s] - train_mean[:, s]) ** 2 / spread + np.log(spread), axis=1
        )
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
    shape = (n_rows, n_modes * count, mean.shape[1])
    return Mixture(
        (known.weights[:, :, None] * inner).reshape(n_rows, -1),
        Gaussian(jnp.asarray(np.reshape(means, shape)), jnp.asarray(np.reshape(variances, shape))),
    )


def neighbours(
    q: Gaussian, train: Gaussian, dimensions: list[int], k: int
) -> tuple[Int[np.ndarray, "N K"], Float[np.ndarray, "N K"]]:
    """The k training points nearest in some dimensions, and their distances."""
    places = np.asarray(train.mean)[:, dimensions]
    search = NearestNeighbors(n_neighbors=min(k, len(places))).fit(places)
    distance, index = search.kneighbors(np.asarray(q.mean)[:, dimensions])
    return index, distance

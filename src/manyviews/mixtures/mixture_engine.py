"""The engine of the mixtures: every cluster is linear, with a latent space of its own."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int
from scipy.special import logsumexp

from ..data import When
from ..fitted import Engine, Positions, Tables
from ..fitted.engine import Spread, normalised
from ..io import register_record
from .joint import JointMixture, cholesky

CLOSE = 4.0  # squared distance in standard deviations below which two components share a mode
NEGLIGIBLE = 1e-6  # share of the heaviest component


@register_record
@dataclass(frozen=True)
class MixtureEngine(Engine):
    """A Gaussian mixture over the columns of all views side by side, and the training tables.

    ``mixture`` is the density that predictions come from; ``clusters`` are the components that
    samples are said to belong to, the same mixture unless many were averaged. Where a part of
    `Positions` lies is told by its ``cluster``: the place of a component in ``mixture``
    or, after these, in ``clusters``.
    """

    data: tuple[np.ndarray, ...]
    mixture: JointMixture
    clusters: JointMixture | None = None

    @property
    def told(self) -> JointMixture:
        """The clusters that samples are said to belong to."""
        return self.mixture if self.clusters is None else self.clusters

    @cached_property
    def positions(self) -> Positions:
        return self._posterior(np.hstack(self.data), self.told)

    @cached_property
    def relevance(self) -> Float[np.ndarray, "K Q"]:
        """Mean square loadings of every view, averaged over the clusters by their weights."""
        weights = np.exp(self.told.log_weights - logsumexp(self.told.log_weights))
        power = np.tensordot(weights, self.told.loadings**2, axes=1)
        views = range(len(self.data))
        return normalised(np.stack([power[self.span(v)].mean(axis=0) for v in views]))

    def span(self, view: int) -> Int[np.ndarray, " m"]:
        """The columns of a view among all."""
        sizes = [table.shape[1] for table in self.data]
        return sum(sizes[:view]) + np.arange(sizes[view])

    # ------------------------------------------------------------------ new rows

    def infer(
        self, rows: Tables, when: When | None = None, wanted: Sequence[int] = ()
    ) -> Positions:
        """p(cluster, x | y) of every row, without the values of the wanted views themselves."""
        if rows is self.data:
            return self.positions
        if not wanted:
            return self._posterior(np.hstack(rows), self.told)
        known = [np.full_like(Y, np.nan) if k in wanted else Y for k, Y in enumerate(rows)]
        return self.averaged(known)

    def averaged(self, rows: Tables) -> Positions:
        """p(component, x | y) of the density that predictions come from."""
        return self._posterior(np.hstack(rows), self.mixture)

    def _posterior(self, Y: Float[np.ndarray, "N D"], mixture: JointMixture) -> Positions:
        mean, covariance, pattern = mixture.posterior(Y)
        n_rows, n_clusters, Q = mean.shape
        cluster = np.tile(np.arange(n_clusters), n_rows)
        first = len(self.mixture.log_weights) if mixture is self.clusters else 0
        return Positions(
            mean.reshape(-1, Q),
            covariance.reshape(-1, Q, Q),
            np.repeat(pattern * n_clusters, n_clusters) + cluster,
            mixture.responsibilities(Y),
            first + cluster,
        )

    def log_density(self, rows: Tables, when: When | None = None) -> Float[np.ndarray, " N"]:
        return self.mixture.log_density(np.hstack(rows))

    def fill(
        self, view: int, rows: Tables, q: Positions
    ) -> tuple[Float[np.ndarray, "N D"], Float[np.ndarray, "N D"]]:
        """The conditional mixture given all that is known, the view's own values included."""
        mean, covariance = self.mixture.conditional_moments(np.hstack(rows), self.span(view))
        variance = np.diagonal(covariance, axis1=1, axis2=2)
        return mean, np.maximum(variance, 0.0)  # of what is known, zero but for rounding

    # ------------------------------------------------------------------ outputs

    def moments(
        self, view: int, q: Positions, spread: Spread = None
    ) -> tuple[Float[np.ndarray, "R D"], np.ndarray | None]:
        """W_k x + μ_k in the cluster of every part, and W_k V W_kᵀ + Ψ_k."""
        span, D = self.span(view), self.data[view].shape[1]
        mean = np.empty((len(q.mean), D))
        shape = (len(q.mean), D) if spread == "variance" else (len(q.mean), D, D)
        total = None if spread is None else np.empty(shape)
        for part, W, centre, noise in self._by_cluster(q, span):
            mean[part] = q.mean[part] @ W.T + centre
            if total is None:
                continue
            kinds, which = np.unique(q.kind[part], return_inverse=True)
            moved = W @ q.covariance[kinds] @ W.T + noise
            if spread == "variance":
                moved = np.diagonal(moved, axis1=1, axis2=2)
            total[part] = moved[which.ravel()]
        return mean, total

    def draw(
        self, views: Sequence[int], q: Positions, n_samples: int, rng: np.random.RandomState
    ) -> list[Float[np.ndarray, "S N D"]]:
        """A cluster for every draw, then a position, then the views."""
        at = q.pick(n_samples, rng)
        x = replace(Positions.known(at.draw(1, rng)[0]), cluster=at.cluster)
        drawn = []
        for view in views:
            values, span = np.empty((len(x.mean), self.data[view].shape[1])), self.span(view)
            for part, W, centre, noise in self._by_cluster(x, span):
                normal = rng.standard_normal((len(part), len(span)))
                values[part] = x.mean[part] @ W.T + centre + normal @ cholesky(noise[None])[0].T
            drawn.append(values.reshape(n_samples, len(q), -1))
        return drawn

    def prior(self, n_rows: int) -> Positions:
        """A cluster by its weight, and a position of its own space."""
        n_clusters, _, Q = self.mixture.loadings.shape
        weights = np.exp(self.mixture.log_weights - logsumexp(self.mixture.log_weights))
        return Positions(
            np.zeros((n_rows * n_clusters, Q)),
            np.ones((1, Q)),
            np.zeros(n_rows * n_clusters, int),
            np.tile(weights, (n_rows, 1)),
            np.tile(np.arange(n_clusters), n_rows),
        )

    def modes(
        self, view: int, q: Positions, n_modes: int
    ) -> tuple[Float[np.ndarray, "N S"], Float[np.ndarray, "N S D"], Float[np.ndarray, "N S D"]]:
        """Components whose means are within two standard deviations count as one."""
        assert q.weights is not None
        mean, variance = self.moments(view, q, "variance")
        assert variance is not None
        shape = (*q.weights.shape, -1)
        return group_modes(q.weights, mean.reshape(shape), variance.reshape(shape), n_modes)

    def _by_cluster(
        self, q: Positions, span: Int[np.ndarray, " m"]
    ) -> list[tuple[Int[np.ndarray, " n"], np.ndarray, np.ndarray, np.ndarray]]:
        """The parts of every cluster, with its loadings, mean and noise in some columns."""
        assert q.cluster is not None
        order = np.argsort(q.cluster, kind="stable")
        numbers, starts = np.unique(q.cluster[order], return_index=True)
        found = []
        for number, part in zip(numbers, np.split(order, starts[1:]), strict=True):
            first = len(self.mixture.log_weights)
            source, k = (self.mixture, number) if number < first else (self.told, number - first)
            noise = source.noise[k][np.ix_(span, span)]
            found.append((part, source.loadings[k][span], source.means[k][span], noise))
        return found


def group_modes(
    shares: Float[np.ndarray, "N K"],
    centres: Float[np.ndarray, "N K E"],
    variances: Float[np.ndarray, "N K E"],
    n_modes: int,
) -> tuple[Float[np.ndarray, "N S"], Float[np.ndarray, "N S E"], Float[np.ndarray, "N S E"]]:
    """Group the components of every row around the heaviest; two normals make one mode below 2σ.

    Returns weights, means and variances, the heaviest mode first; rows with fewer modes have
    weight zero in the rest.
    """
    n_rows, _, E = centres.shape
    weights = np.zeros((n_rows, n_modes))
    means, spreads = np.zeros((n_rows, n_modes, E)), np.zeros((n_rows, n_modes, E))
    for row, (share, centre, variance) in enumerate(zip(shares, centres, variances, strict=True)):
        groups = []
        left = share > NEGLIGIBLE * share.max()
        while left.any():
            top = np.argmax(np.where(left, share, -1.0))
            apart = np.mean((centre - centre[top]) ** 2 / variance[top], axis=1)
            near = left & (apart < CLOSE)
            groups.append(_pooled(share[near], centre[near], variance[near]))
            left &= ~near
        groups.sort(key=lambda group: -group[0])
        for place, group in enumerate(groups[:n_modes]):
            weights[row, place], means[row, place], spreads[row, place] = group
    used = max(1, int((weights > 0).any(axis=0).sum()))
    return weights[:, :used], means[:, :used], spreads[:, :used]


def _pooled(
    share: Float[np.ndarray, " k"],
    centres: Float[np.ndarray, "k E"],
    variances: Float[np.ndarray, "k E"],
) -> tuple[float, Float[np.ndarray, " E"], Float[np.ndarray, " E"]]:
    total = float(share.sum())
    inner = share / total
    centre = inner @ centres
    return total, centre, inner @ (variances + (centres - centre) ** 2)

"""Where rows are in a latent space, and how surely: one record for every model."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from jaxtyping import Bool, Float, Int

from ..io import register_record


@register_record
@dataclass(frozen=True)
class Positions:
    """q(x_n) of every row: a Gaussian or, where its weights are given, a mixture of them.

    A row has one part as a rule. With S parts, those of row n are the entries nS, …, nS + S - 1
    of ``mean``, and ``weights[n]`` are their probabilities.

    Attributes
    ----------
    mean : ndarray of shape (n_parts, n_dimensions)
        Where each part is.
    spread : ndarray of shape (n_kinds, n_dimensions) or (n_kinds, n_dimensions, n_dimensions)
        Variances, or covariances where dimensions are correlated. All zero: known exactly.
    kind : ndarray of int of shape (n_parts,)
        Which spread a part has; rows with the same values missing share one.
    weights : ndarray of shape (n_rows, S), optional
        Of the S parts of each row, where a row is a mixture.
    cluster : ndarray of int of shape (n_parts,), optional
        The cluster that a part lies in, where every cluster has a latent space of its own.
    """

    mean: Float[np.ndarray, "R Q"]
    spread: Float[np.ndarray, "P Q"] | Float[np.ndarray, "P Q Q"]
    kind: Int[np.ndarray, " R"]
    weights: Float[np.ndarray, "N S"] | None = None
    cluster: Int[np.ndarray, " R"] | None = None

    # ------------------------------------------------------------------ ways to make one

    @classmethod
    def known(cls, mean: Float[np.ndarray, "R Q"], std: Any = None) -> Self:
        """Positions that are known, or known up to a standard deviation."""
        if std is None:
            return cls(mean, np.zeros((1, mean.shape[1])), np.zeros(len(mean), int))
        spread = np.broadcast_to(np.asarray(std, dtype=np.float64), mean.shape)
        return cls(mean, spread**2, np.arange(len(mean)))

    @classmethod
    def independent(cls, mean: Any, variance: Any) -> Self:
        """N(mean, diag variance), row by row."""
        means = np.array(mean)
        return cls(means, np.array(variance), np.arange(len(means)))

    # ------------------------------------------------------------------ what it says

    def __len__(self) -> int:
        return len(self.mean) if self.weights is None else len(self.weights)

    @property
    def exact(self) -> bool:
        """Whether there is no uncertainty at all."""
        return not self.spread.any()

    @property
    def variance(self) -> Float[np.ndarray, "R Q"]:
        """Marginal variances of every part."""
        diagonal = self.spread.ndim == 2
        return (self.spread if diagonal else np.diagonal(self.spread, axis1=1, axis2=2))[self.kind]

    @property
    def std(self) -> Float[np.ndarray, "R Q"]:
        """Marginal standard deviations of every part."""
        return np.sqrt(self.variance)

    @property
    def covariance(self) -> Float[np.ndarray, "P Q Q"]:
        """The covariances that the parts share; see ``kind``."""
        if self.spread.ndim == 3:
            return self.spread
        return self.spread[:, :, None] * np.eye(self.mean.shape[1])

    def likeliest(self) -> "Positions":
        """The heaviest part of every row."""
        if self.weights is None:
            return self
        n_rows, n_parts = self.weights.shape
        return self._parts(np.arange(n_rows) * n_parts + self.weights.argmax(axis=1))

    def rows(self, chosen: Any) -> "Positions":
        """Some of the rows, in the given order."""
        picked = np.arange(len(self))[chosen]
        if self.weights is None:
            return self._parts(picked)
        n_parts = self.weights.shape[1]
        parts = (picked[:, None] * n_parts + np.arange(n_parts)).ravel()
        return replace(self._parts(parts), weights=self.weights[picked])

    def without(self, known: Bool[np.ndarray, " Q"]) -> "Positions":
        """The same with all dimensions but some forgotten.

        What is forgotten follows its overall distribution over the rows (of a cluster, where
        clusters have spaces of their own), by its mean and variance.
        """
        mean, variance = self.mean.copy(), self.variance.copy()
        weights = np.ones(len(mean)) if self.weights is None else self.weights.ravel()
        groups = np.zeros(len(mean), int) if self.cluster is None else self.cluster
        for group in np.unique(groups):
            own = groups == group
            share = weights[own] / max(float(weights[own].sum()), 1e-300)
            centre = share @ mean[own]
            overall = share @ ((mean[own] - centre) ** 2 + variance[own])
            mean[own] = np.where(known, mean[own], centre)
            variance[own] = np.where(known, variance[own], overall)
        return replace(self, mean=mean, spread=variance, kind=np.arange(len(mean)))

    def draw(self, n_samples: int, rng: np.random.RandomState) -> Float[np.ndarray, "S N Q"]:
        """Positions drawn for every row; the same, so many times, where they are known exactly."""
        if self.weights is None:
            if self.exact:
                return np.tile(self.mean, (n_samples, 1, 1))
            return self.mean + self._noise(self.kind, (n_samples, *self.mean.shape), rng)
        picked = self.pick(n_samples, rng)
        shape = (n_samples, len(self), self.mean.shape[1])
        noise = self._noise(picked.kind.reshape(shape[:2]), shape, rng)
        return picked.mean.reshape(shape) + noise

    def at(self, x: Float[np.ndarray, "R Q"]) -> "Positions":
        """Known positions of the same rows, as `draw()` gives them."""
        return Positions.known(x)

    def pick(self, n_samples: int, rng: np.random.RandomState) -> "Positions":
        """A part of every row, drawn by its weight, so many times: n_samples x n_rows of them."""
        assert self.weights is not None
        n_rows, n_parts = self.weights.shape
        ladder = np.cumsum(self.weights, axis=1)
        chosen = (rng.uniform(size=(n_samples, n_rows, 1)) > ladder[None]).sum(axis=2)
        part = np.arange(n_rows) * n_parts + np.minimum(chosen, n_parts - 1)
        return self._parts(part.ravel())

    def _noise(
        self, kind: Int[np.ndarray, "..."], shape: tuple[int, ...], rng: np.random.RandomState
    ) -> Float[np.ndarray, "S N Q"]:
        noise = rng.standard_normal(shape)
        if self.spread.ndim == 2:
            return np.sqrt(self.spread)[kind] * noise
        return np.einsum("...qr,...r->...q", self.roots()[kind], noise)

    def roots(self) -> Float[np.ndarray, "P Q Q"]:
        """The symmetric root R of every covariance, RRᵀ: it varies smoothly, so draws do, too."""
        values, vectors = np.linalg.eigh(self.covariance)
        scaled = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        return scaled @ np.swapaxes(vectors, 1, 2)

    def mix(
        self, means: Float[np.ndarray, "R D"], spread: np.ndarray | None = None
    ) -> tuple[Float[np.ndarray, "N D"], np.ndarray | None]:
        """Mean and (co)variance of every row's outputs, given those of its parts.

        Variances R x D, or covariances R x D x D; E[V] + V[E] over the parts.
        """
        if self.weights is None:
            return means, spread
        w = self.weights
        means = means.reshape(*w.shape, -1)
        mean = np.einsum("ns,nsd->nd", w, means)
        if spread is None:
            return mean, None
        apart = means - mean[:, None]
        if spread.ndim == 2:
            return mean, np.einsum("ns,nsd->nd", w, spread.reshape(means.shape) + apart**2)
        between = np.einsum("ns,nsd,nse->nde", w, apart, apart)
        within = spread.reshape(*means.shape, -1)
        return mean, np.einsum("ns,nsde->nde", w, within) + between

    def _parts(self, chosen: Int[np.ndarray, " n"]) -> "Positions":
        cluster = None if self.cluster is None else self.cluster[chosen]
        return Positions(self.mean[chosen], self.spread, self.kind[chosen], None, cluster)

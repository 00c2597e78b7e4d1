"""Predictions as mixtures of Gaussians, value by value: density, moments, quantiles, draws."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from jaxtyping import Float, Int
from scipy.special import logsumexp, ndtr, ndtri

HALVINGS = 60  # of the bracket around a quantile
LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class Mixture:
    """Every value of a table as a mixture of Gaussians,

        p(y_nd) = Σ_s w_snd N(y_nd; m_snd, σ²_snd),   Σ_s w_snd = 1.

    Attributes
    ----------
    weights : ndarray of shape (n_parts, n_rows, n_columns)
        The two last may be one, where rows or columns have the same weights.
    means, stds : ndarray of shape (n_parts, n_rows, n_columns)
        Of every part, for every value.

    Examples
    --------
    >>> import numpy as np
    >>> from manyviews.stacking import Mixture
    >>> sure = Mixture.gaussian(np.zeros((1, 1)), np.ones((1, 1)))
    >>> unsure = Mixture.gaussian(np.full((1, 1), 4.0), np.full((1, 1), 3.0))
    >>> both = Mixture.blend([sure, unsure], np.array([[0.75], [0.25]]))
    >>> both.mean.item(), both.std.item()
    (1.0, 2.449489742783178)
    >>> both.quantile([0.05, 0.95]).round(2).tolist()
    [[[-1.59]], [[6.52]]]
    """

    weights: Float[np.ndarray, "S _ _"]
    means: Float[np.ndarray, "S N D"]
    stds: Float[np.ndarray, "S N D"]

    # ------------------------------------------------------------------ ways to make one

    @classmethod
    def gaussian(cls, mean: Any, std: Any) -> Self:
        """A single part."""
        means, stds = (np.asarray(part, dtype=np.float64)[None] for part in (mean, std))
        return cls(np.ones((1, 1, 1)), means, stds)

    @classmethod
    def blend(cls, parts: Sequence["Mixture"], weights: Float[np.ndarray, "M _"]) -> Self:
        """A mixture of mixtures; ``weights`` are M x D, or M x 1 where columns share them."""
        scaled = [
            np.broadcast_to(part.weights * share, part.means.shape)
            for part, share in zip(parts, weights, strict=True)
        ]
        return cls(
            np.concatenate(scaled),
            np.concatenate([part.means for part in parts]),
            np.concatenate([part.stds for part in parts]),
        )

    @classmethod
    def by_rows(
        cls, pieces: Sequence[tuple[Int[np.ndarray, " _"], "Mixture"]], n_rows: int
    ) -> Self:
        """Put together from pieces: the rows of each, and what it says of them."""
        n_parts = max(len(piece.means) for _, piece in pieces)
        shape = (n_parts, n_rows, pieces[0][1].means.shape[2])
        weights, means, stds = np.zeros(shape), np.zeros(shape), np.ones(shape)
        for rows, piece in pieces:
            own = slice(len(piece.means))
            weights[own, rows] = np.broadcast_to(piece.weights, piece.means.shape)
            means[own, rows], stds[own, rows] = piece.means, piece.stds
        return cls(weights, means, stds)

    def widened(self, factor: Float[np.ndarray, " _"] | Float[np.ndarray, "N D"]) -> "Mixture":
        """With all deviations from the mean multiplied by a number per column, or per value."""
        centre = self.mean
        return Mixture(self.weights, centre + factor * (self.means - centre), factor * self.stds)

    def around(self, centre: Float[np.ndarray, "N D"]) -> "Mixture":
        """The same distribution, moved so that its mean is somewhere else."""
        return Mixture(self.weights, self.means + (centre - self.mean), self.stds)

    # ------------------------------------------------------------------ what it says

    @property
    def mean(self) -> Float[np.ndarray, "N D"]:
        """Σ_s w_s m_s."""
        return np.sum(self.weights * self.means, axis=0)

    @property
    def std(self) -> Float[np.ndarray, "N D"]:
        """By the law of total variance, Σ_s w_s (σ²_s + (m_s - m)²)."""
        apart = self.means - self.mean
        return np.sqrt(np.sum(self.weights * (self.stds**2 + apart**2), axis=0))

    def log_density(self, y: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:
        """Log p(y_nd) of every value; NaN where there is none."""
        z = (y - self.means) / self.stds
        parts = -0.5 * z**2 - np.log(self.stds) - 0.5 * LOG_2PI
        if len(parts) == 1:
            return parts[0]
        with np.errstate(divide="ignore"):
            return logsumexp(parts + np.log(self.weights), axis=0)

    def cdf(self, y: Float[np.ndarray, "... N D"]) -> Float[np.ndarray, "... N D"]:
        """P(Y_nd ≤ y_nd) = Σ_s w_s Φ((y - m_s) / σ_s)."""
        total = np.zeros(np.shape(y))
        for weight, mean, std in zip(self.weights, self.means, self.stds, strict=True):
            total += weight * ndtr((y - mean) / std)
        return total

    def quantile(self, levels: Any) -> Float[np.ndarray, "L N D"]:
        """The values y with cdf(y) = level, by bisection.

        A quantile of a mixture lies between the smallest and the largest of its parts.
        """
        wanted = np.atleast_1d(np.asarray(levels, dtype=np.float64))[:, None, None, None]
        ends = self.means + self.stds * ndtri(wanted)
        low, high = ends.min(axis=1), ends.max(axis=1)
        if len(self.means) == 1:
            return low
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            below = self.cdf(middle) < wanted[:, 0]
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return 0.5 * (low + high)

    # ------------------------------------------------------------------ draws

    def pick(self, n_samples: int, rng: np.random.RandomState) -> Int[np.ndarray, "K N D"]:
        """A part for every value of every draw.

        One random number decides for all columns of a row, so that columns with the same weights
        come from the same part.
        """
        _, n_rows, n_columns = self.means.shape
        u = rng.uniform(size=(n_samples, n_rows, 1))
        chosen = np.zeros((n_samples, n_rows, n_columns), dtype=int)
        for rung in np.cumsum(self.weights, axis=0)[:-1]:
            chosen += u > rung
        return chosen

    def draw(self, n_samples: int, rng: np.random.RandomState) -> Float[np.ndarray, "K N D"]:
        """Values drawn, their noise independent over columns."""
        chosen = self.pick(n_samples, rng)
        means, stds = (np.take_along_axis(part, chosen, axis=0) for part in (self.means, self.stds))
        return means + stds * rng.standard_normal(chosen.shape)

"""The engine of CCA and kernel CCA: variates of every view, and regressions on them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ..data import When
from ..errors import DataError, OptionError
from ..fitted import Engine, Positions, Tables
from ..fitted.engine import Spread, normalised
from ..io import register_record


class Regression(NamedTuple):
    """y = mean + (z - centre) slopes + e, the Gaussian conditional under the sample covariance."""

    centre: Float[np.ndarray, " Z"]
    slopes: Float[np.ndarray, "Z D"]
    mean: Float[np.ndarray, " D"]
    residuals: Float[np.ndarray, "N D"]

    def at(self, Z: Float[np.ndarray, "M Z"]) -> Float[np.ndarray, "M D"]:
        """⟨y⟩ given z."""
        return self.mean + (Z - self.centre) @ self.slopes

    def variance(self) -> Float[np.ndarray, " D"]:
        """Variances of e."""
        return np.mean(self.residuals**2, axis=0)

    def covariance(self) -> Float[np.ndarray, "D D"]:
        """Covariance of e."""
        return self.residuals.T @ self.residuals / len(self.residuals)

    def draw(
        self, Z: Float[np.ndarray, "M Z"], n_samples: int, rng: np.random.RandomState
    ) -> Float[np.ndarray, "S M D"]:
        """Draws of y given z."""
        weights = rng.standard_normal((n_samples, len(Z), len(self.residuals)))
        return self.at(Z) + weights @ self.residuals / np.sqrt(len(self.residuals))


def regress(Z: Float[np.ndarray, "N Z"], Y: Float[np.ndarray, "N D"]) -> Regression:
    """Least squares of a table on variates."""
    centre, mean = Z.mean(axis=0), Y.mean(axis=0)
    slopes = np.linalg.lstsq(Z - centre, Y - mean, rcond=1e-10)[0]
    return Regression(centre, slopes, mean, Y - mean - (Z - centre) @ slopes)


class Projection(ABC):
    """From the rows of a view to its canonical variates; a registered dataclass."""

    @abstractmethod
    def variates(self, view: int, rows: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N Q"]:
        """z_k of some rows of view k."""


@dataclass(frozen=True)
class FromViews(Positions):
    """Positions that remember the variates they were inferred from, and of which views."""

    places: tuple[int, ...] = ()
    variates: Float[np.ndarray, "N Z"] | None = None


@register_record
@dataclass(frozen=True)
class CanonicalEngine(Engine):
    """Canonical variates z_k of every view; the latent position is their mean over the views.

    There is no density behind this, so what is not known is regressed on the variates of what
    is, under the training samples' joint distribution: a position from some of the views, a
    view from the variates of others, a view from a position. For two views and CCA the answer
    is that of probabilistic CCA. Values missing within a view are not possible.
    """

    data: tuple[np.ndarray, ...]
    projection: Projection

    @cached_property
    def variates(self) -> tuple[Float[np.ndarray, "N Q"], ...]:
        """Those of the training data, view by view."""
        return tuple(self.projection.variates(k, Y) for k, Y in enumerate(self.data))

    @cached_property
    def positions(self) -> Positions:
        return Positions.known(np.mean(self.variates, axis=0))

    @cached_property
    def relevance(self) -> Float[np.ndarray, "K Q"]:
        """Mean square slope of a view on a position."""
        return normalised(
            np.stack([np.mean(self.slopes(k) ** 2, axis=0) for k in range(len(self.data))])
        )

    def infer(
        self, rows: Tables, when: When | None = None, wanted: Sequence[int] = ()
    ) -> Positions:
        """The mean of the views' variates; from some of the views, what they say of it."""
        if rows is self.data:
            return self.positions
        places = tuple(k for k, Y in enumerate(rows) if not np.isnan(Y).all())
        for place in places:
            if np.isnan(rows[place]).any():
                raise DataError(
                    f"view {place + 1} has missing values, of which canonical correlations know "
                    "nothing; ProbabilisticCCA and GroupFactorAnalysis do"
                )
        Z = np.hstack([self.projection.variates(place, rows[place]) for place in places])
        rule = regress(self._variates_of(places), self.positions.mean)
        covariance = rule.covariance()
        if len(places) == len(self.data):
            covariance = np.zeros_like(covariance)
        return FromViews(
            rule.at(Z), covariance[None], np.zeros(len(Z), int), places=places, variates=Z
        )

    def log_density(self, rows: Tables, when: When | None = None) -> Float[np.ndarray, " N"]:
        raise OptionError("canonical correlation analysis has no density; ProbabilisticCCA has one")

    def moments(
        self, view: int, q: Positions, spread: Spread = None
    ) -> tuple[Float[np.ndarray, "R D"], np.ndarray | None]:
        """A view regressed on the variates of the known views or, without these, on positions."""
        if isinstance(q, FromViews) and q.variates is not None:
            rule = regress(self._variates_of(q.places), self.data[view])
            mean, n = rule.at(q.variates), len(q.variates)
            if spread == "covariance":
                return mean, np.broadcast_to(rule.covariance(), (n, *rule.covariance().shape))
            return mean, None if spread is None else np.broadcast_to(rule.variance(), mean.shape)
        rule = self._at(view)
        mean = rule.at(q.mean)
        if spread is None:
            return mean, None
        if spread == "covariance":
            moved = rule.slopes.T @ q.covariance @ rule.slopes
            return mean, moved[q.kind] + rule.covariance()
        moved = np.einsum("pqr,rd,qd->pd", q.covariance, rule.slopes, rule.slopes, optimize=True)
        return mean, moved[q.kind] + rule.variance()

    def draw(
        self, views: Sequence[int], q: Positions, n_samples: int, rng: np.random.RandomState
    ) -> list[Float[np.ndarray, "S N D"]]:
        """Views by themselves, given the known views' variates; jointly at positions."""
        if not (isinstance(q, FromViews) and q.variates is not None):
            return super().draw(views, q, n_samples, rng)
        rules = [regress(self._variates_of(q.places), self.data[view]) for view in views]
        return [rule.draw(q.variates, n_samples, rng) for rule in rules]

    def draw_at(
        self, view: int, at: Positions, rng: np.random.RandomState
    ) -> Float[np.ndarray, "R D"]:
        return self._at(view).draw(at.mean, 1, rng)[0]

    def slopes(self, view: int) -> Float[np.ndarray, "D Q"]:
        return np.abs(self._at(view).slopes.T) * self.positions.mean.std(axis=0)

    def prior(self, n_rows: int) -> Positions:
        """A Gaussian with the mean and covariance of the training samples' positions."""
        X = self.positions.mean
        mean = np.tile(X.mean(axis=0), (n_rows, 1))
        return Positions(mean, np.atleast_2d(np.cov(X.T))[None], np.zeros(n_rows, int))

    def _at(self, view: int) -> Regression:
        return regress(self.positions.mean, self.data[view])

    def _variates_of(self, places: Sequence[int]) -> Float[np.ndarray, "N Z"]:
        return np.hstack([self.variates[place] for place in places])

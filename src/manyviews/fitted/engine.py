"""The engine: a fitted model of named views, as everything above it sees it.

Shells, reports, pictures, the explorer and the command know a model by this protocol alone. A
class that keeps it gets `predict`, `impute`, `score`, `save` and all of them; see
``docs/extending.md`` for a complete example.

Engines live on the model's own scale and know views by their places 0, 1, …; names, units,
missing rows and DataFrames are the business of the shells.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from ..data import When
from ..errors import OptionError
from .positions import Positions
from .segmentation import ACTIVE_THRESHOLD, Segmentation, segment

Tables = Sequence[Float[np.ndarray, "N _"]]
"""One table per view; NaN is missing, a view of NaN alone is absent."""

Spread = Literal["variance", "covariance"] | None

QUANTILE_DRAWS = 2000  # of which a 5 % quantile holds 5 % ± 0.5 %
NUDGE = 1e-3  # of a dimension's spread, for slopes by finite differences


class Engine(ABC):
    """A fitted model of views.

    An engine is a frozen dataclass, registered with `manyviews.io.register_record`: its
    fields are what a model file holds. One of them is ``data``, the training tables.

    What must be said: where training rows are (`positions`), how much every view uses every
    dimension (`relevance`), where new rows are (`infer`), what a view is like at a position
    (`moments`), and how likely rows are (`log_density`). All else follows, and may be said better.
    """

    data: tuple[Float[np.ndarray, "N _"], ...]

    # ------------------------------------------------------------------ what must be said

    @property
    @abstractmethod
    def positions(self) -> Positions:
        """q(x) of the training rows."""

    @property
    @abstractmethod
    def relevance(self) -> Float[np.ndarray, "K Q"]:
        """Views x dimensions, the largest of a view being one."""

    @abstractmethod
    def infer(
        self, rows: Tables, when: When | None = None, wanted: Sequence[int] = ()
    ) -> Positions:
        """q(x*) of rows; of the training data themselves, if ``rows`` is `data`.

        ``wanted`` are the places of the views to be predicted there, for engines that treat what
        is private to these in a way of its own. An engine's own keyword-only parameters are
        options that users may give to ``transform``, ``predict`` and ``impute``.
        """

    @abstractmethod
    def moments(
        self, view: int, q: Positions, spread: Spread = None
    ) -> tuple[Float[np.ndarray, "R D"], np.ndarray | None]:
        """Mean of a view at positions, part by part, and its (co)variance, noise included."""

    @abstractmethod
    def log_density(self, rows: Tables, when: When | None = None) -> Float[np.ndarray, " N"]:
        """Log density of every row's observed values."""

    # ------------------------------------------------------------------ what follows

    def prior(self, n_rows: int) -> Positions:
        """Where rows are of which nothing is known."""
        Q = self.positions.mean.shape[1]
        return Positions(np.zeros((n_rows, Q)), np.ones((1, Q)), np.zeros(n_rows, int))

    def draw(
        self, views: Sequence[int], q: Positions, n_samples: int, rng: np.random.RandomState
    ) -> list[Float[np.ndarray, "S N D"]]:
        """Joint draws of some views at positions, noise included."""
        x = q.draw(n_samples, rng)
        at = q.at(x.reshape(-1, x.shape[-1]))
        return [self.draw_at(view, at, rng).reshape(*x.shape[:2], -1) for view in views]

    def draw_at(
        self, view: int, at: Positions, rng: np.random.RandomState
    ) -> Float[np.ndarray, "R D"]:
        """One draw of a view at each of many known positions."""
        mean, variance = self.moments(view, at, "variance")
        assert variance is not None
        return mean + np.sqrt(variance) * rng.standard_normal(mean.shape)

    def fill(
        self, view: int, rows: Tables, q: Positions
    ) -> tuple[Float[np.ndarray, "N D"], Float[np.ndarray, "N D"]]:
        """Mean and variance of the values that a view lacks, given all that is known of the rows.

        Where columns are independent given x, that is what the view is like at ``q``.
        """
        mean, variance = q.mix(*self.moments(view, q, "variance"))
        assert variance is not None
        return mean, variance

    def widened(
        self, view: int, variance: Float[np.ndarray, "N D"], how: Mapping[str, Any]
    ) -> Float[np.ndarray, "N D"]:
        """Variances of `fill()`, calibrated where the model itself is too certain.

        ``how`` are the estimator's options of `infer()`.
        """
        return variance

    def keeping(self, rows: Int[np.ndarray, " n"]) -> "Engine | None":
        """The engine given some training rows only, all but its maps held; None: it cannot forget.

        What `fitted.stability.assess_stability` asks about the other rows.
        """
        return None

    def slopes(self, view: int) -> Float[np.ndarray, "D Q"]:
        """How far each column moves per standard deviation of a dimension (root mean square)."""
        q = self.positions
        spread = q.mean.std(axis=0)
        found = []
        for dimension, size in enumerate(spread):
            step = np.zeros(len(spread))
            step[dimension] = NUDGE * max(size, 1e-12)
            ends = [
                self.moments(view, Positions(q.mean + s, q.spread, q.kind, None, q.cluster))[0]
                for s in (step, -step)
            ]
            slope = (ends[0] - ends[1]) / (2.0 * step[dimension])
            found.append(np.sqrt(np.mean(slope**2, axis=0)) * size)
        return np.stack(found, axis=1)

    def explained(self, view: int, q: Positions) -> float:
        """Share of a view's variance that the positions explain: 1 - ‖Y - f(q)‖²/‖Y‖².

        For kinds of data that are not Gaussian, the share of the deviance: with d(y, f) =
        2 [max log p(y | ·) - log p(y | f)] it is 1 - Σ d(y, f(q)) / Σ d(y, constant), f(q) having
        the predicted rate or probability. For Gaussian noise it is the same.
        """
        Y = self.data[view]
        fitted = q.mix(self.moments(view, q)[0])[0]
        return 1.0 - float(np.nansum((Y - fitted) ** 2) / np.nansum(Y**2))

    def quantiles(
        self, view: int, q: Positions, probabilities: Sequence[float], rng: np.random.RandomState
    ) -> Float[np.ndarray, "P N D"]:
        """Values that are not exceeded with these probabilities, from draws."""
        (drawn,) = self.draw([view], q, QUANTILE_DRAWS, rng)
        return np.quantile(drawn, probabilities, axis=0)

    def probabilities(self, view: int, q: Positions) -> Float[np.ndarray, "N D L"]:
        """Probabilities of the levels of a view that has levels."""
        raise OptionError("this view has no levels: ask for its mean, its quantiles or draws")

    def levels(self, view: int) -> Float[np.ndarray, "D L"] | None:
        """The levels of a view's columns, NaN where a column has fewer; None if it has none."""
        return None

    def modes(
        self, view: int, q: Positions, n_modes: int
    ) -> tuple[Float[np.ndarray, "N S"], Float[np.ndarray, "N S D"], Float[np.ndarray, "N S D"]]:
        """Weights, means and variances of the distinct answers at ``q``, the likeliest first.

        All parts of ``q`` unless an engine knows better; the weights of a row add up to one.
        """
        mean, variance = self.moments(view, q, "variance")
        assert variance is not None
        weights = np.ones((len(q), 1)) if q.weights is None else q.weights
        shape = (*weights.shape, -1)
        return weights, mean.reshape(shape), variance.reshape(shape)

    def common(self, known: Sequence[int], wanted: Sequence[int]) -> list[int]:
        """The dimensions in which rows of some views correspond to rows of others."""
        return self.divided(known, wanted).shared

    def divided(self, known: Sequence[int], wanted: Sequence[int]) -> Segmentation:
        """The dimensions divided between some views (A) and others (B)."""
        return segment(self.relevance, list(known), list(wanted), ACTIVE_THRESHOLD)

    # ------------------------------------------------------------------ over time

    def ahead(self, when: When) -> Positions:
        """q(x) at other times of training sequences."""
        raise OptionError("this model has no dynamics, so it cannot forecast")

    def paths(
        self, when: When, n_paths: int, rng: np.random.RandomState
    ) -> Float[np.ndarray, "S N Q"]:
        """Positions at other times of training sequences, drawn jointly."""
        raise OptionError("this model has no dynamics, so it cannot forecast")

    def forecast(
        self, view: int, when: When, spread: Spread, rng: np.random.RandomState
    ) -> tuple[Float[np.ndarray, "N D"], np.ndarray | None]:
        """Moments of a view at other times of training sequences."""
        return self.moments(view, self.ahead(when), spread)


def normalised(relevance: Float[np.ndarray, "K Q"]) -> Float[np.ndarray, "K Q"]:
    """Divided by the largest of every view."""
    return relevance / np.maximum(relevance.max(axis=1, keepdims=True), 1e-300)

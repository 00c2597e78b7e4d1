"""What CCA and kernel CCA share: variates of every view, and regressions on them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from ..data import Views
from ..errors import DataError, OptionError
from ..io import register_record
from ..models.explain import Fitted
from ..models.fitted import ACTIVE_THRESHOLD
from ..models.generation import Generation
from ..models.named_tables import Names, check_views
from .emission import Latent, known_positions
from .estimator import refuse_large_covariance


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


def regress(Z: Float[np.ndarray, "N Z"], Y: Float[np.ndarray, "N D"]) -> Regression:
    """Least squares of a table on variates."""
    centre, mean = Z.mean(axis=0), Y.mean(axis=0)
    slopes = np.linalg.lstsq(Z - centre, Y - mean, rcond=1e-10)[0]
    return Regression(centre, slopes, mean, Y - mean - (Z - centre) @ slopes)


@register_record
@dataclass(frozen=True)
class CanonicalCore:
    """Training data (scaled) and their variates, view by view."""

    data: tuple[np.ndarray, ...]
    variates: tuple[np.ndarray, ...]


class CanonicalEstimator(Generation):
    """Canonical variates z_k of every view; the latent position is their mean over the views.

    There is no density behind this, so what is not known is regressed on the variates of what
    is, under the training samples' joint distribution: a position from some of the views, a
    view from the variates of others, a view from a position. For two views and CCA the answer
    is that of probabilistic CCA. Values missing within a view are not possible.
    """

    core_: CanonicalCore

    def _variates(self, view: int, rows: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N Q"]:
        raise NotImplementedError

    def variates(self, views: Any) -> dict[str, Float[np.ndarray, "N Q"]]:
        """The canonical variates of every view that is given."""
        found, scaled = self._new(views)
        known = self._known(found)
        return {name: self._variates(self._places(name)[0], scaled[self._places(name)[0]])
                for name in known}  # fmt: skip

    def transform(self, views: Any, *, return_std: bool = False) -> Any:
        """The mean of the views' variates; from some of the views, what they say of it."""
        found, scaled = self._new(views)
        q = self._locate(found, scaled)
        mean, std = self._named_output(q.mean, np.sqrt(q.variance), found)
        return (mean, std) if return_std else mean

    def predict(
        self,
        views: Any,
        target: Names | None = None,
        *,
        return_std: bool = False,
        return_cov: bool = False,
        n_samples: int | None = None,
        random_state: Any = None,
    ) -> Any:
        """Regress views on the canonical variates of those that are known.

        Parameters and results as in :meth:`GroupFactorAnalysis.predict`.
        """
        found, scaled = self._new(views)
        targets = self._targets(target, found)
        places, Z = self._known_variates(found, scaled)
        rng = self._rng(random_state)
        answers: dict[str, Any] = {}
        for name in targets:
            place = self._places(name)[0]
            rule = regress(self._training_variates(places), self.core_.data[place])
            answer = self._answer(place, rule, Z, return_std, return_cov, n_samples, rng)
            answers[name] = answer if n_samples else self._like(found, name, answer)
        return answers[targets[0]] if isinstance(target, str) else answers

    def impute(self, views: Any = None, *, return_std: bool = False) -> Any:
        """The views that are missing, predicted; training views are complete."""
        check_is_fitted(self)
        found = self._training_views() if views is None else self._new(views)[0]
        known = self._known(found)
        filled, stds = {}, {}
        for place, name in enumerate(found.names):
            table, std = found.tables[place], np.zeros(found.tables[place].shape)
            if name not in known:
                table, std = self.predict(views, name, return_std=True)
            filled[name] = self._like(found, name, np.asarray(table))
            stds[name] = self._like(found, name, np.asarray(std))
        return (filled, stds) if return_std else filled

    def score(self, views: Any, y: Any = None) -> float:
        """Mean correlation of the variates over dimensions and pairs of views, on new samples."""
        found = list(self.variates(views).values())
        if len(found) < 2:
            raise DataError("a correlation needs two views")
        pairs = [(a, b) for k, a in enumerate(found) for b in found[k + 1 :]]
        return float(np.mean([correlations(a, b).mean() for a, b in pairs]))

    def fit_transform(self, views: Any, y: Any = None) -> Float[np.ndarray, "N Q"]:
        """Fit and return the latent positions of the training samples."""
        return self.fit(views).latent_mean_

    # ------------------------------------------------------------------ fitting

    def _prepare(self, views: Any) -> list[Float[np.ndarray, "N _"]]:
        self._validate_params()
        found = self._read_training(views)
        self._refuse_holes(found, "fit")
        tables = self._take(found)
        if len(tables) < 2:
            raise DataError("CCA needs two views or more; for one there is PPCA")
        return tables

    def _publish(self, tables: Sequence[Float[np.ndarray, "N _"]]) -> None:
        """Variates, positions and relevance (mean square slope of a view on a position)."""
        self.core_ = CanonicalCore(tuple(tables), ())
        variates = tuple(self._variates(k, Y) for k, Y in enumerate(tables))
        self.core_ = CanonicalCore(tuple(tables), variates)
        self.latent_mean_ = np.mean(variates, axis=0)
        self.latent_std_ = np.zeros_like(self.latent_mean_)
        spread = self.latent_mean_.std(axis=0)
        power = np.stack(
            [np.mean((self._slopes_at(k) * spread) ** 2, axis=0) for k in range(len(tables))]
        )
        power = power / np.maximum(power.max(axis=1, keepdims=True), 1e-300)
        self.relevance_values_ = power
        self.n_active_ = int((power > ACTIVE_THRESHOLD).any(axis=0).sum())

    # ------------------------------------------------------------------ edges

    def _new(self, views: Any) -> tuple[Views, list[Float[np.ndarray, "N _"]]]:
        found = self._read_new(views)
        check_views(found)
        self._refuse_holes(found, "answer for")
        return found, self._scaled(found)

    def _refuse_holes(self, found: Views, what: str) -> None:
        """A view is there for all samples or, except in training, for none."""
        for name, table in zip(found.names, found.tables, strict=True):
            missing = np.isnan(table)
            if missing.any() and (what == "fit" or not missing.all()):
                raise DataError(
                    f"view {name!r} has missing values, which {type(self).__name__} cannot {what}; "
                    "ProbabilisticCCA and GroupFactorAnalysis can"
                )

    def _training_variates(self, places: Sequence[int]) -> Float[np.ndarray, "N Z"]:
        return np.hstack([self.core_.variates[place] for place in places])

    def _known_variates(
        self, found: Views, scaled: Sequence[Float[np.ndarray, "N _"]]
    ) -> tuple[list[int], Float[np.ndarray, "N Z"]]:
        places = self._places(self._known(found))
        return places, np.hstack([self._variates(place, scaled[place]) for place in places])

    def _locate(self, found: Views, scaled: Sequence[Float[np.ndarray, "N _"]]) -> Latent:
        places, Z = self._known_variates(found, scaled)
        rule = regress(self._training_variates(places), self.latent_mean_)
        certain = len(places) == len(self.view_names_)
        covariance = np.zeros_like(rule.covariance()) if certain else rule.covariance()
        return Latent(rule.at(Z), covariance[None], np.zeros(len(Z), int))

    def _answer(
        self,
        place: int,
        rule: Regression,
        Z: Float[np.ndarray, "N Z"],
        std: bool,
        cov: bool,
        n_samples: int | None,
        rng: np.random.RandomState,
    ) -> Any:
        scaling, mean = self.scalings_[place], rule.at(Z)
        if n_samples is not None:
            if std or cov:
                raise OptionError("ask for samples or for moments, not for both")
            weights = rng.standard_normal((n_samples, len(Z), len(rule.residuals)))
            return scaling.undo(mean + weights @ rule.residuals / np.sqrt(len(rule.residuals)))
        if cov:
            refuse_large_covariance(len(rule.mean))
            full = np.broadcast_to(rule.covariance(), (len(Z), len(rule.mean), len(rule.mean)))
            return scaling.undo(mean), scaling.undo_covariance(full)
        if std:
            spread = np.broadcast_to(np.sqrt(rule.variance()), mean.shape)
            return scaling.undo(mean), scaling.undo_std(spread)
        return scaling.undo(mean)

    # ------------------------------------------------------------------ from positions

    def _rule_at(self, place: int) -> Regression:
        return regress(self.latent_mean_, self.core_.data[place])

    def _slopes_at(self, place: int) -> Float[np.ndarray, "D Q"]:
        return self._rule_at(place).slopes.T

    def _slopes(self, place: int) -> Float[np.ndarray, "D Q"]:
        return np.abs(self._slopes_at(place)) * self.latent_mean_.std(axis=0)

    def _fitted(self, place: int) -> Fitted:
        rule = self._rule_at(place)
        return lambda q: rule.at(np.asarray(q.mean))

    def _positions(self, X: Any, latent_std: Any = None) -> Latent:
        return known_positions(self._checked_positions(X), latent_std)

    def _outputs(
        self, view: int, q: Latent, std: bool, cov: bool, n_samples: int | None, seed: Any
    ) -> Any:
        rule, scaling = self._rule_at(view), self.scalings_[view]
        mean = scaling.undo(rule.at(q.mean))
        if not std:
            return mean
        moved = np.einsum("pqr,rd,qd->pd", q.covariance, rule.slopes, rule.slopes, optimize=True)
        variance = moved[q.pattern] + rule.variance()
        return mean, scaling.undo_std(np.sqrt(variance))

    def _draw_positions(
        self, n_samples: int, latent: str, rng: np.random.RandomState
    ) -> Float[np.ndarray, "S Q"]:
        if latent not in {"prior", "posterior"}:
            raise OptionError(f"latent must be 'prior' or 'posterior', got {latent!r}")
        X = self.latent_mean_
        if latent == "posterior":
            return X[rng.randint(len(X), size=n_samples)]
        return rng.multivariate_normal(X.mean(axis=0), np.atleast_2d(np.cov(X.T)), size=n_samples)

    def _draw_at(
        self, view: int, x: Float[np.ndarray, "S N Q"], rng: np.random.RandomState
    ) -> Float[np.ndarray, "S N D"]:
        flat = x.reshape(-1, x.shape[-1])
        drawn = self._answer(view, self._rule_at(view), flat, False, False, 1, rng)[0]
        return drawn.reshape(*x.shape[:2], -1)


def correlations(
    a: Float[np.ndarray, "N Q"], b: Float[np.ndarray, "N Q"]
) -> Float[np.ndarray, " Q"]:
    """Correlation of every column of one table with the same column of another."""
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    scale = np.linalg.norm(a, axis=0) * np.linalg.norm(b, axis=0)
    return np.sum(a * b, axis=0) / np.maximum(scale, 1e-300)

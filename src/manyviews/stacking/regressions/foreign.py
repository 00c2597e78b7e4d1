"""Any regressor of scikit-learn's kind, as a recipe; kept as arrays where its kind is known."""

from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import get_tags

from .base import Path, Recipe, Regression, Separate
from .forest import Trees
from .linear import LinearMap
from .neighbours import NeighbourMap


@dataclass(frozen=True)
class Foreign(Regression):
    """A fitted regressor of which no record of arrays is known: it cannot be saved."""

    regressor: Any

    def predict(self, X: Float[np.ndarray, "n P"]) -> Float[np.ndarray, "n D"]:
        means = np.asarray(self.regressor.predict(X), dtype=np.float64)
        return means[:, None] if means.ndim == 1 else means

    def doubt(self, X: Float[np.ndarray, "n P"]) -> Float[np.ndarray, " n"] | None:
        if not _has_std(self.regressor):
            return None
        std = np.asarray(self.regressor.predict(X, return_std=True)[1])
        return std if std.ndim == 1 else np.sqrt(np.mean(std**2, axis=1))


@dataclass(frozen=True)
class ByRegressor(Recipe):
    """Fits clones of a regressor: one for all columns or, if it takes but one, one for each."""

    regressor: Any

    def path(self, X: np.ndarray, Y: np.ndarray, new: np.ndarray) -> Path:
        found = self.fit(X, Y, np.zeros(Y.shape[1], dtype=int))
        return Path(found.predict(new)[None], found.doubt(new))

    def fit(self, X: np.ndarray, Y: np.ndarray, chosen: np.ndarray) -> Regression:
        if Y.shape[1] > 1 and not get_tags(self.regressor).target_tags.multi_output:
            return Separate(tuple(self._one(X, y) for y in Y.T))
        return self._one(X, Y if Y.shape[1] > 1 else Y[:, 0])

    def _one(self, X: np.ndarray, y: np.ndarray) -> Regression:
        fitted = clone(self.regressor).fit(X, y)
        return as_record(fitted, X, y) or Foreign(fitted)


def as_record(fitted: Any, X: Float[np.ndarray, "N P"], y: np.ndarray) -> Regression | None:
    """The same as a record of arrays, if one is known and agrees on the training rows."""
    if _has_std(fitted):
        return None
    found: Regression | None = None
    if isinstance(fitted, RandomForestRegressor | ExtraTreesRegressor):
        found = Trees.of(list(fitted.estimators_))
    elif isinstance(fitted, DecisionTreeRegressor):
        found = Trees.of([fitted])
    elif isinstance(fitted, KNeighborsRegressor):
        outputs = y.reshape(len(y), -1)
        found = NeighbourMap(X, outputs, np.full(outputs.shape[1], int(fitted.n_neighbors)))
    elif hasattr(fitted, "coef_"):
        coefficients = np.atleast_2d(np.asarray(fitted.coef_, dtype=np.float64)).T
        if len(coefficients) == X.shape[1]:
            intercept = np.ravel(fitted.predict(np.zeros((1, X.shape[1]))))
            found = LinearMap(coefficients, intercept)
    if found is None:
        return None
    same = np.allclose(found.predict(X), Foreign(fitted).predict(X), rtol=1e-6, atol=1e-8)
    return found if same else None


def _has_std(regressor: Any) -> bool:
    return "return_std" in signature(regressor.predict).parameters

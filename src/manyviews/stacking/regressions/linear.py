"""Linear regressions: the mean, ridge regression, partial least squares."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from sklearn.cross_decomposition import PLSRegression

from .base import Path, Recipe, Regression

PENALTIES = tuple(np.logspace(-4, 6, 21).tolist())
COMPONENTS = (1, 2, 3, 4, 5, 7, 10, 15)


@dataclass(frozen=True)
class LinearMap(Regression):
    """y = xB + b."""

    coefficients: Float[np.ndarray, "P D"]
    intercept: Float[np.ndarray, " D"]

    def predict(self, X: Float[np.ndarray, "n P"]) -> Float[np.ndarray, "n D"]:
        return X @ self.coefficients + self.intercept


@dataclass(frozen=True)
class Mean(Recipe):
    """The mean of every column, whatever is known."""

    def path(self, X: np.ndarray, Y: np.ndarray, new: np.ndarray) -> Path:
        return Path(np.broadcast_to(Y.mean(axis=0), (1, len(new), Y.shape[1])))

    def fit(self, X: np.ndarray, Y: np.ndarray, chosen: np.ndarray) -> LinearMap:
        return LinearMap(np.zeros((X.shape[1], Y.shape[1])), Y.mean(axis=0))


@dataclass(frozen=True)
class Ridge(Recipe):
    """Ridge regression, B = (XᵀX + αI)⁻¹XᵀY of centred tables, α chosen by column.

    One singular value decomposition X = USVᵀ serves all penalties: B = V S/(S² + α) UᵀY.
    """

    penalties: tuple[float, ...] = PENALTIES

    def path(self, X: np.ndarray, Y: np.ndarray, new: np.ndarray) -> Path:
        x, y = X.mean(axis=0), Y.mean(axis=0)
        s, V, projected = _decomposed(X - x, Y - y)
        scores = (new - x) @ V
        means = [y + scores @ (_filter(s, a)[:, None] * projected) for a in self.penalties]
        return Path(np.stack(means))

    def fit(self, X: np.ndarray, Y: np.ndarray, chosen: Int[np.ndarray, " D"]) -> LinearMap:
        x, y = X.mean(axis=0), Y.mean(axis=0)
        s, V, projected = _decomposed(X - x, Y - y)
        penalties = np.asarray(self.penalties)[chosen]
        coefficients = V @ (_filter(s[:, None], penalties) * projected)
        return LinearMap(coefficients, y - x @ coefficients)


@dataclass(frozen=True)
class PartialLeastSquares(Recipe):
    """Partial least squares; its components are nested, so that one fit serves all numbers."""

    counts: tuple[int, ...] = COMPONENTS

    def path(self, X: np.ndarray, Y: np.ndarray, new: np.ndarray) -> Path:
        maps = self._maps(X, Y)
        return Path(np.stack([each.predict(new) for each in maps]))

    def fit(self, X: np.ndarray, Y: np.ndarray, chosen: Int[np.ndarray, " D"]) -> LinearMap:
        maps = self._maps(X, Y)
        coefficients = np.stack([each.coefficients for each in maps])
        intercepts = np.stack([each.intercept for each in maps])
        columns = np.arange(Y.shape[1])
        return LinearMap(coefficients[chosen, :, columns].T, intercepts[chosen, columns])

    def _maps(self, X: np.ndarray, Y: np.ndarray) -> list[LinearMap]:
        x, y = X.mean(axis=0), Y.mean(axis=0)
        most = max(1, min(max(self.counts), X.shape[1], len(X) - 1))
        found = PLSRegression(most, scale=False).fit(X - x, Y - y)
        maps = []
        for count in self.counts:
            R, Q = found.x_rotations_[:, :count], found.y_loadings_[:, :count]
            coefficients = R @ Q.T
            maps.append(LinearMap(coefficients, y - x @ coefficients))
        return maps


def _decomposed(X: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Singular values, right vectors, and the outputs seen along the left ones."""
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    return s, Vt.T, U.T @ Y


def _filter(s: np.ndarray, penalty: float | np.ndarray) -> np.ndarray:
    return s / (s**2 + penalty)

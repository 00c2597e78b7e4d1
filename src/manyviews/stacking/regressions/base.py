"""A regression of one table on another, its setting chosen on rows held out."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

FEW_COLUMNS = 15  # up to which columns with missing values are fitted one by one
PSEUDO_ROWS = 30.0  # by which the choice for a column leans on that for all


class Regression(ABC):
    """A fitted regression: a record of arrays, in standardised units."""

    @abstractmethod
    def predict(self, X: Float[np.ndarray, "n P"]) -> Float[np.ndarray, "n D"]:
        """Means of the outputs."""

    def doubt(self, X: Float[np.ndarray, "n P"]) -> Float[np.ndarray, " n"] | None:
        """How unsure it is of each row, up to a factor; None if it cannot tell."""
        return None


class Path(NamedTuple):
    """Predictions of new rows at every setting, and doubts of them (if there are any)."""

    means: Float[np.ndarray, "K n D"]
    doubt: Float[np.ndarray, " n"] | None = None


class Recipe(ABC):
    """How to fit a regression; where there are several settings, columns choose among them."""

    @abstractmethod
    def path(
        self, X: Float[np.ndarray, "N P"], Y: Float[np.ndarray, "N D"], new: np.ndarray
    ) -> Path:
        """Fit at every setting and predict new rows."""

    @abstractmethod
    def fit(
        self,
        X: Float[np.ndarray, "N P"],
        Y: Float[np.ndarray, "N D"],
        chosen: Int[np.ndarray, " D"],
    ) -> Regression:
        """Fit at the chosen setting of every column."""


class Learnt(NamedTuple):
    """A regression, and what fits without them said of the training rows.

    ``doubt`` is N x 1, or N x D where every column was fitted on its own.
    """

    regression: Regression
    held_out: Float[np.ndarray, "N D"]
    doubt: Float[np.ndarray, "N _"] | None


@dataclass(frozen=True)
class Separate(Regression):
    """One regression per column."""

    parts: tuple[Regression, ...]

    def predict(self, X: Float[np.ndarray, "n P"]) -> Float[np.ndarray, "n D"]:
        return np.hstack([part.predict(X) for part in self.parts])


@dataclass(frozen=True)
class Turned(Regression):
    """Regressions of the outputs' principal components, and back: y = V f(x)."""

    components: Regression
    axes: Float[np.ndarray, "D R"]

    def predict(self, X: Float[np.ndarray, "n P"]) -> Float[np.ndarray, "n D"]:
        return self.components.predict(X) @ self.axes.T


@dataclass(frozen=True)
class Averaged(Regression):
    """The mean of what several say; how unsure the first is."""

    parts: tuple[Regression, ...]

    def predict(self, X: Float[np.ndarray, "n P"]) -> Float[np.ndarray, "n D"]:
        return np.mean([part.predict(X) for part in self.parts], axis=0)

    def doubt(self, X: Float[np.ndarray, "n P"]) -> Float[np.ndarray, " n"] | None:
        return self.parts[0].doubt(X)


def learn(
    recipe: Recipe,
    X: Float[np.ndarray, "N P"],
    Y: Float[np.ndarray, "N D"],
    fold: Int[np.ndarray, " N"],
    joint: bool = False,
) -> Learnt:
    """Fit, with the setting of the smallest squared error in the folds.

    A column's error counts with that of all columns together, which weighs as much as thirty
    rows. Where outputs have missing values, up to fifteen columns are fitted one by one to the
    rows that have them; of more, missing outputs are taken at their means.

    With ``joint`` settings are chosen a second time, for principal components of the outputs in
    the place of columns, and predictions are the means of both. What moves many columns together is
    often easier to predict than what is left, and needs less smoothing.
    """
    if np.isnan(Y).any() and Y.shape[1] <= FEW_COLUMNS:
        return _one_by_one(recipe, X, Y, fold)
    known = ~np.isnan(Y)
    filled = np.where(known, Y, 0.0)
    means: np.ndarray | None = None
    doubt: np.ndarray | None = None
    for number in np.unique(fold):
        out = fold == number
        found = recipe.path(X[~out], filled[~out], X[out])
        if means is None:
            means = np.empty((len(found.means), *Y.shape))
            doubt = None if found.doubt is None else np.empty((len(Y), 1))
        means[:, out] = found.means
        if doubt is not None and found.doubt is not None:
            doubt[out, 0] = found.doubt
    assert means is not None
    errors = np.where(known, means - filled, 0.0)
    chosen = _best(errors, int(known.sum()))
    regression, held_out = recipe.fit(X, filled, chosen), _at(means, chosen)
    if joint and len(means) > 1 and Y.shape[1] > 1:
        axes = np.linalg.svd(filled, full_matrices=False)[2].T
        chosen = _best(errors @ axes, int(known.sum()))
        turned = Turned(recipe.fit(X, filled @ axes, chosen), axes)
        regression = Averaged((regression, turned))
        held_out = 0.5 * (held_out + _at(means @ axes, chosen) @ axes.T)
    return Learnt(regression, held_out, doubt)


def _best(errors: Float[np.ndarray, "K N D"], n_values: int) -> Int[np.ndarray, " D"]:
    """The setting of every column."""
    squares = np.sum(errors**2, axis=1)
    everywhere = PSEUDO_ROWS * squares.sum(axis=1, keepdims=True) / max(n_values, 1)
    return np.argmin(squares + everywhere, axis=0)


def _at(means: Float[np.ndarray, "K N D"], chosen: Int[np.ndarray, " D"]) -> np.ndarray:
    return np.take_along_axis(means, chosen[None, None, :], axis=0)[0]


def _one_by_one(recipe: Recipe, X: np.ndarray, Y: np.ndarray, fold: np.ndarray) -> Learnt:
    parts, held_out = [], np.full_like(Y, np.nan)
    for column in range(Y.shape[1]):
        rows = ~np.isnan(Y[:, column])
        again = np.unique(fold[rows], return_inverse=True)[1]
        if again.max(initial=0) == 0:
            again = np.arange(rows.sum()) % 2  # all values are in one fold
        found = learn(recipe, X[rows], Y[rows, column : column + 1], again)
        parts.append(found.regression)
        held_out[rows, column] = found.held_out[:, 0]
    return Learnt(Separate(tuple(parts)), held_out, None)

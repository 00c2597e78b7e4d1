"""A regression that answers one question, from the units of the data and back to them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ..data import Scaling, Views
from ..errors import DataError
from .inputs import Inputs
from .noise import Noise
from .question import Question
from .regressions import Averaged, Foreign, Recipe, Regression, Separate, Turned, learn
from .regressions.neighbours import nearest

LEAST_ROWS = 4
MOST_FOR_DISTANCES = 3000  # rows
NEAREST = 5


@dataclass(frozen=True)
class Answer:
    """A regression with what goes before and after it.

    Attributes
    ----------
    question : Question
    inputs : Inputs
        From the known views to the regression's inputs.
    outputs : Scaling
        Of the target's columns.
    regression : Regression
    noise : Noise
    rows : ndarray of shape (n_rows, n_inputs), optional
        Training rows, where the noise depends on the distance from them.
    """

    question: Question
    inputs: Inputs
    outputs: Scaling
    regression: Regression
    noise: Noise
    rows: Float[np.ndarray, "N P"] | None

    @classmethod
    def learn(
        cls,
        question: Question,
        views: Views,
        fold: Int[np.ndarray, " N"],
        recipe: Recipe,
        marks: bool = True,
        heteroscedastic: bool = True,
        joint: bool = False,
    ) -> "Answer":
        """Fit the regression, and its noise to what it says of rows held out."""
        rows = question.rows(views)
        if rows.sum() < LEAST_ROWS:
            raise DataError(f"{rows.sum()} samples can teach {question}; {LEAST_ROWS} are needed")
        own = np.unique(fold[rows], return_inverse=True)[1]
        if own.max() == 0:
            raise DataError(f"all samples that can teach {question} are of one group")
        X, Y = side_by_side(views[rows], question), views.array(question.target)[rows]
        inputs = Inputs.fit(X, marks)
        outputs = Scaling.fit(np.where(np.isnan(Y).all(axis=0), 0.0, Y), "column")
        x, y = inputs(X), outputs.apply(Y)
        found = learn(recipe, x, y, own, joint)
        covariates = {}
        if heteroscedastic:
            covariates["mean"] = np.nan_to_num(found.held_out)
            if found.doubt is not None:
                covariates["doubt"] = np.log(np.maximum(found.doubt, 1e-12))
            elif len(x) <= MOST_FOR_DISTANCES:
                covariates["distance"] = _logarithm(_apart(x, own))
        noise = Noise.fit(y - found.held_out, covariates, own)
        kept = x if noise.source == "distance" else None
        return cls(question, inputs, outputs, found.regression, noise, kept)

    def predict(self, views: Views) -> tuple[np.ndarray, np.ndarray]:
        """Mean and std in the units of the data."""
        x = self.inputs(side_by_side(views, self.question))
        means = self.regression.predict(x)
        covariate = None
        if self.noise.source == "mean":
            covariate = means
        elif self.noise.source == "doubt":
            covariate = _logarithm(self.regression.doubt(x))
        elif self.noise.source == "distance":
            assert self.rows is not None
            covariate = _logarithm(nearest(self.rows, x, NEAREST)[1].mean(axis=1))
        std = self.noise.std(means, covariate)
        return self.outputs.undo(means), self.outputs.undo_std(std)

    def unsaveable(self) -> Any:
        """A fitted regressor that no file can hold; None if there is none."""
        left = [self.regression]
        while left:
            part = left.pop()
            if isinstance(part, Foreign):
                return part.regressor
            left += part.parts if isinstance(part, Separate | Averaged) else ()
            left += [part.components] if isinstance(part, Turned) else []
        return None


def side_by_side(views: Views, question: Question) -> Float[np.ndarray, "N P"]:
    """The known views as one table."""
    return np.hstack([views.array(name) for name in question.known])


def _apart(x: Float[np.ndarray, "N P"], fold: Int[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
    """Mean distance of every row to the nearest rows of other folds."""
    apart = np.empty(len(x))
    for number in np.unique(fold):
        out = fold == number
        apart[out] = nearest(x[~out], x[out], NEAREST)[1].mean(axis=1)
    return apart


def _logarithm(doubt: Any) -> Float[np.ndarray, "n 1"]:
    return np.log(np.maximum(np.asarray(doubt), 1e-12))[:, None]

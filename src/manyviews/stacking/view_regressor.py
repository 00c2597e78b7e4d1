"""A regression as a model of views: any view from any others, with standard deviations."""

from typing import Any, Self

from sklearn.base import BaseEstimator, is_regressor
from sklearn.utils.validation import check_is_fitted

from .._runtime import single_threaded_blas
from ..data import Views
from ..errors import OptionError
from ..options import BOOLEAN, Options, check_options, count
from .answers import Answer
from .folds import fold_of_rows
from .question import Question
from .regressions import RECIPES, ByRegressor, Recipe


class ViewRegressor(BaseEstimator):
    """Predicts a view from others by a regression, made probabilistic by its held-out errors.

    The known views stand side by side, missing values at their training means (and marked as
    missing where that is common), and are standardised, as are the columns of the target.
    For every question one regression is fitted, when it is first asked or by `learn()`:

        y_d = f_d(x) + e_d,   e_d ~ N(0, σ_d²),

    with σ_d² the mean square of column d's errors in folds held out. The variance may follow
    the predicted mean, or how far a row is from the training rows (or the regressor's own std),
    where that gives held-out errors a higher density.

    Parameters
    ----------
    regressor : str, Recipe or scikit-learn regressor, default="ridge"
        ``"mean"``, ``"ridge"``, ``"pls"``, ``"knn"``, ``"gp"``, ``"forest"``; their settings are
        chosen in the folds. Or any regressor with ``fit(X, y)`` and ``predict(X)``.
    folds : int, default=5
        Folds of training rows. Groups and sequences stay whole.
    heteroscedastic : bool, default=True
        Whether the variance may vary from row to row.
    marks : bool, default=True
        Whether missing inputs are marked by columns of their own.
    joint : bool, default=False
        Whether settings are chosen for principal components of the target, too, and not only for
        its columns; predictions are the means of both.
    random_state : int, default=0
        For the folds.

    Attributes
    ----------
    answers_ : list
        The regressions fitted so far.

    Examples
    --------
    >>> import numpy as np
    >>> from manyviews.stacking import ViewRegressor
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(80, 2))
    >>> views = {"a": x, "b": x @ rng.normal(size=(2, 3)) + 0.5 * rng.normal(size=(80, 3))}
    >>> model = ViewRegressor("ridge").fit(views)
    >>> mean, std = model.predict({"a": x[:2]}, "b", return_std=True)
    >>> std.round(1).tolist()
    [[0.6, 0.5, 0.6], [0.6, 0.5, 0.6]]
    """

    _options: Options = {"folds": (count(2),), "heteroscedastic": (BOOLEAN,), "marks": (BOOLEAN,),
                "joint": (BOOLEAN,), "random_state": (count(0),)}  # fmt: skip

    def __init__(
        self,
        regressor: Any = "ridge",
        *,
        folds: int = 5,
        heteroscedastic: bool = True,
        marks: bool = True,
        joint: bool = False,
        random_state: int = 0,
    ):
        self.regressor = regressor
        self.folds = folds
        self.heteroscedastic = heteroscedastic
        self.marks = marks
        self.joint = joint
        self.random_state = random_state

    def fit(self, views: Any, y: Any = None, *, groups: Any = None) -> Self:
        """Keep the views; regressions follow with the questions."""
        check_options(self, self._options)
        self._recipe()
        self._views = views if isinstance(views, Views) else Views(views)
        self._fold = fold_of_rows(self._views, self.folds, groups, self.random_state)
        self.view_names_ = tuple(self._views)
        self.answers_: list[Answer] = []
        return self

    def learn(self, known: Any, target: str) -> Self:
        """Fit the regression that answers a question, if that has not been done."""
        check_is_fitted(self)
        self._answer(Question.of(self.view_names_, target, known))
        return self

    def predict(self, views: Any, target: str, *, return_std: bool = False) -> Any:
        """Mean (and std) of a view, given those that ``views`` has."""
        check_is_fitted(self)
        given = views if isinstance(views, Views) else Views(views)
        answer = self._answer(Question.of(self.view_names_, target, tuple(given)))
        with single_threaded_blas():
            mean, std = answer.predict(given)
        return (mean, std) if return_std else mean

    def _recipe(self) -> Recipe:
        if isinstance(self.regressor, Recipe):
            return self.regressor
        if isinstance(self.regressor, str):
            if self.regressor not in RECIPES:
                raise OptionError(
                    f"there is no regressor {self.regressor!r}: there are {', '.join(RECIPES)}"
                )
            return RECIPES[self.regressor]()
        if not is_regressor(self.regressor):
            kind = type(self.regressor).__name__
            raise OptionError(f"{kind} is no regressor: it needs fit(X, y) and predict(X)")
        return ByRegressor(self.regressor)

    def _answer(self, question: Question) -> Answer:
        for answer in self.answers_:
            if answer.question == question:
                return answer
        if not hasattr(self, "_views"):
            raise OptionError(
                f"this model came from a file without its training data, and has not learnt "
                f"{question}: it has learnt {', '.join(str(a.question) for a in self.answers_)}"
            )
        with single_threaded_blas():
            self.answers_.append(
                Answer.learn(
                    question, self._views, self._fold, self._recipe(), self.marks,
                    self.heteroscedastic, self.joint,
                )
            )  # fmt: skip
        return self.answers_[-1]

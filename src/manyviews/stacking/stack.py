"""A stack: the predictions of several models, put together by what held-out values say."""

import os
from copy import copy
from typing import Any, Self

import numpy as np
import pandas as pd
from jaxtyping import Float
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..data import Aligned, Views, as_views, check_overlap, match_views
from ..errors import DataError, OptionError
from ..io import write
from ..options import ARRAY, BOOLEAN, NONE, SEED, VERBOSE, check_options, count, instance_of, one_of
from ..shells.fitted_model import at_least_one
from ..shells.naming import Names, check_views, known_views, listed, refuse_second_view
from .blend import Blend
from .ensemble import Ensemble, Plan
from .folds import fold_of_rows, group_codes
from .members import named_members, usual_members
from .mixture import Mixture
from .question import Question
from .saving import refuse_unsaveable, unfitted

LEAST_SAMPLES = 8


class Stack(BaseEstimator):
    """Models put together: a mean of smallest held-out errors, and widths of highest density.

    For a view y to be predicted from others x, with μ_m and σ_m the mean and standard deviation of
    member m,

        p(y_d | x) = Σ_m Σ_s w_ms N(y_d; μ(x), (s c_md σ_md(x))²),   μ(x) = Σ_m v_m μ_m(x),

    with s ∈ {½, 1, 2}. The shares v minimise the squared errors of held-out values (Breiman
    1996), leaning by ten rows on how likely each member is alone, and the weights w maximise
    their log density (Yao et al. 2018), both on the simplex and by fits to the other folds; c_md
    calibrates a standard deviation by errors of held-out values. A mixture of the members' own
    densities would be wider where they disagree, and no better for it; several widths around one
    mean make tails as heavy as they are.

    Parameters
    ----------
    models : list or dict by name, optional
        Members: models of this library (also several seeds of one), scikit-learn regressors, short
        names (``"mean"``, ``"ridge"``, ``"pls"``, ``"knn"``, ``"gp"``, ``"forest"``, ``"gfa"``,
        ``"pcca"``, ``"mrd"``; ``"joint-ridge"``, ``"joint-pls"``, ``"joint-knn"``, ``"joint-gp"``:
        see ``joint`` in `ViewRegressor`), and any object with ``fit(views)`` and
        ``predict(known, target, return_std=True)``. Default: the mean, the four joint ones, GFA
        and MRD, with ``"forest"`` for up to 200,000 numbers and ``"pcca"`` for up to 600 columns
        (100 with holes or of three views and more).
    folds : int, default=5
        Number of folds of shuffled samples; groups and sequences stay whole.
    targets : str or list of str, optional
        Views to predict, each from all others. Default: every view. Other questions can be
        learnt later (`learn()`).
    weights : {"auto", "view", "column"}, default="auto"
        One set of shares and weights for all columns of a view, or one for each. ``"auto"`` uses
        the second if it gains more than a standard error in folds that they were not learnt from.
    calibrate : bool, default=True
        Whether to calibrate standard deviations by held-out errors; otherwise c_md = 1.
    refit : bool, default=True
        Whether to fit every member once more, to all samples. If not, the fits of the folds are
        kept, and a member is their mixture.
    n_jobs : int, optional
        Number of processes that fit members and folds in parallel, as in scikit-learn.
    random_state : int, RandomState or None, default=None
        Seed of the folds, and of members without a seed of their own.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    weights_ : DataFrame of shape (n_questions, n_members)
        Shares of the members in the mean, by question, averaged over columns if these have their
        own.
    scores_ : DataFrame
        Mean log density per held-out value, in standard deviations of the columns, of every
        member and of the stack.
    blends_ : list of Blend
        Shares, widths and their weights, column by column.
    seconds_ : Series
        Seconds by member, of all its fits.
    view_names_ : tuple of str
        Names of the views, in their order.

    Examples
    --------
    >>> import numpy as np
    >>> from manyviews import Stack
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2, 2, size=(60, 1))
    >>> noise = 0.1 * rng.normal(size=(60, 5))
    >>> views = {"a": x + noise[:, :3], "b": x**2 + noise[:, 3:]}
    >>> stack = Stack(["mean", "ridge", "gp"], targets="b", random_state=0).fit(views)
    >>> stack.weights_.round(1)
              mean  ridge   gp
    b from a   0.0    0.0  1.0
    >>> stack.predict({"a": [[1.0, 1.0, 1.0]]}, "b", quantiles=[0.05, 0.95]).shape
    (2, 1, 2)
    """

    _options = {
        "models": (ARRAY, instance_of(dict), NONE),
        "folds": (count(2),),
        "targets": (instance_of(str), ARRAY, NONE),
        "weights": (one_of("auto", "view", "column"),),
        "calibrate": (BOOLEAN,),
        "refit": (BOOLEAN,),
        "random_state": (SEED,),
        "verbose": (VERBOSE,),
    }

    def __init__(
        self,
        models: Any = None,
        *,
        folds: int = 5,
        targets: Names | None = None,
        weights: str = "auto",
        calibrate: bool = True,
        refit: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.models = models
        self.folds = folds
        self.targets = targets
        self.weights = weights
        self.calibrate = calibrate
        self.refit = refit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; with ``deep``, members given as models and their own."""
        params = super().get_params(deep=False)
        if deep and self.models is not None:
            for name, member in named_members(self.models).items():
                if hasattr(member, "get_params"):
                    own = member.get_params()
                    params |= {name: member} | {f"{name}__{key}": v for key, v in own.items()}
        return params

    # ------------------------------------------------------------------ fitting

    def fit(
        self, views: Any, y: Any = None, *, times: Any = None, sequences: Any = None,
        groups: Any = None,
    ) -> Self:  # fmt: skip
        """Fit all members, and learn the weights.

        Parameters
        ----------
        views : dict, list, MuData, Views
            Two views or more. NaN is missing, and a sample may lack a view. A sample counts for a
            question if it has a value of the target and one of a known view.
        times, sequences : array-like or Series, optional
            Time stamps and sequences for members that take them; a
            `Views` may carry them.
        groups : array-like or Series, optional
            Groups of samples that must not be divided between folds. Default: sequences.
        """
        check_options(self, self._options)
        refuse_second_view(y)
        data = self._read(views, times, sequences)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        wanted = listed(self.targets) or list(self.view_names_)
        questions = [Question.of(self.view_names_, target) for target in wanted]
        plan = Plan(self.weights, self.calibrate, self.refit, self.n_jobs, bool(self.verbose))
        models = usual_members(data) if self.models is None else self.models
        self.ensemble_ = Ensemble.fit(
            named_members(models), data, fold_of_rows(data, self.folds, groups, seed),
            questions, plan, group_codes(data, groups), seed,
        )  # fmt: skip
        return self

    def learn(self, known: Names | None, target: str) -> Self:
        """Learn the weights of a question: ``target`` from ``known`` views (None: all others)."""
        check_is_fitted(self)
        given = None if known is None else tuple(listed(known))
        self.ensemble_.blend_for(Question.of(self.view_names_, target, given))
        return self

    def _read(self, views: Any, times: Any, sequences: Any) -> Views:
        given = isinstance(views, Views) and times is None and sequences is None
        data = views if given else Views(views, times=times, sequences=sequences)
        self.view_names_, self.columns_ = tuple(data), data.columns
        if len(self.view_names_) < 2:
            raise DataError(f"a stack needs two views or more, got {list(self.view_names_)}")
        if len(data) < LEAST_SAMPLES:
            raise DataError(f"a stack needs {LEAST_SAMPLES} samples or more, got {len(data)}")
        found = as_views(data)
        check_overlap(found, timed=data.times is not None)
        check_views(found, empty_rows=data.times is not None)
        return data

    # ------------------------------------------------------------------ who carries what

    @property
    def blends_(self) -> list[Blend]:
        """Weights and widths for every question asked so far."""
        check_is_fitted(self)
        return self.ensemble_.blends

    @property
    def seconds_(self) -> pd.Series:
        """Seconds of all fits, by member."""
        check_is_fitted(self)
        return pd.Series(self.ensemble_.seconds)

    @property
    def weights_(self) -> pd.DataFrame:
        """Shares of the members in the mean, by question."""
        check_is_fitted(self)
        rows = {str(b.question): b.shares.mean(axis=1) for b in self.blends_}
        return pd.DataFrame.from_dict(rows, orient="index", columns=list(self.ensemble_.models))

    @property
    def scores_(self) -> pd.DataFrame:
        """Mean log density per held-out value of the members and of the stack, by question."""
        check_is_fitted(self)
        rows = {str(b.question): [*b.scores, b.score] for b in self.blends_}
        columns = [*self.ensemble_.models, "stack"]
        return pd.DataFrame.from_dict(rows, orient="index", columns=columns)

    # ------------------------------------------------------------------ new samples

    def predict(
        self,
        views: Any,
        target: str | None = None,
        *,
        times: Any = None,
        sequences: Any = None,
        return_std: bool = False,
        quantiles: Any = None,
        n_samples: int | None = None,
        random_state: Any = None,
    ) -> Any:
        """Predict a view of new samples from the views that are known.

        Parameters
        ----------
        views : dict, list with None for what is wanted, MuData, Views
            Known views. Values of the target among them are not used.
        target : str, optional
            The view to predict. May be omitted if exactly one view is not given.
        return_std, quantiles, n_samples
            Return the mean alone; mean and standard deviation; quantiles of the mixture, of shape
            (n_quantiles, n_rows, n_columns); or draws, of shape (n_samples, n_rows, n_columns): the
            deviations of a row from the mean are those of one member if columns have the same
            weights.

        Returns
        -------
        ndarray or DataFrame
            A DataFrame where samples came with names.
        """
        if sum((bool(return_std), quantiles is not None, n_samples is not None)) > 1:
            raise OptionError("ask for one of return_std, quantiles and n_samples")
        found, question, new = self._new(views, target, times, sequences)
        if n_samples is not None:
            rng = check_random_state(random_state)
            return self.ensemble_.draws(new, question, at_least_one(n_samples), rng)
        mixture = self.ensemble_.mixture(new, question)
        if quantiles is not None:
            return mixture.quantile(_levels(quantiles))
        place = self.view_names_.index(question.target)
        tables = [mixture.mean, mixture.std] if return_std else [mixture.mean]
        if found.labelled:
            tables = [pd.DataFrame(t, found.samples, self.columns_[place]) for t in tables]
        return tuple(tables) if return_std else tables[0]

    def predict_mixture(
        self, views: Any, target: str | None = None, *, times: Any = None, sequences: Any = None
    ) -> Mixture:
        """The predictive distribution: a mixture of Gaussians for every value."""
        _, question, new = self._new(views, target, times, sequences)
        return self.ensemble_.mixture(new, question)

    def log_density(
        self, views: Any, target: str, *, known: Names | None = None, times: Any = None,
        sequences: Any = None,
    ) -> Float[np.ndarray, "N D"]:  # fmt: skip
        """Log density of every value of one view, given the others (or those named as known).

        NaN where there is no value, or nothing is known of the sample.
        """
        found = self._match(views)
        given = listed(known) or [name for name in known_views(found) if name != target]
        question = Question.of(self.view_names_, target, given)
        new = _timed(found, views, times, sequences)
        rows = question.rows(new)
        density = np.full((len(new), len(self.columns_[self.view_names_.index(target)])), np.nan)
        if rows.any():
            mixture = self.ensemble_.mixture(new[rows], question)
            density[rows] = mixture.log_density(new.array(target)[rows])
        return density

    def score_samples(
        self, views: Any, target: Names | None = None, *, times: Any = None, sequences: Any = None
    ) -> Float[np.ndarray, " N"]:
        """Sum over the targets of log p(view | other views) of every sample."""
        check_is_fitted(self)
        wanted = listed(target) or [blend.question.target for blend in self.blends_]
        found = [
            self.log_density(views, name, times=times, sequences=sequences)
            for name in dict.fromkeys(wanted)
        ]
        return np.nansum(np.hstack(found), axis=1)

    def score(
        self, views: Any, y: Any = None, *, times: Any = None, sequences: Any = None
    ) -> float:
        """Mean of `score_samples()`: higher is better."""
        return float(np.mean(self.score_samples(views, times=times, sequences=sequences)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted stack to one file; see `manyviews.load`.

        The file holds members and weights, but not the folds' fits that further questions need.
        """
        check_is_fitted(self)
        refuse_unsaveable(self.ensemble_.models)
        plain = copy(self)
        plain.models = unfitted(self.models)
        write(path, plain)

    # ------------------------------------------------------------------ edges

    def _match(self, views: Any) -> Aligned:
        check_is_fitted(self)
        found = match_views(views, self.view_names_, self.columns_)
        for name, table in zip(found.names, found.tables, strict=True):
            if np.isinf(table).any():
                raise DataError(f"view {name!r} contains infinity")
        return found

    def _new(
        self, views: Any, target: str | None, times: Any, sequences: Any
    ) -> tuple[Aligned, Question, Views]:
        found = self._match(views)
        known = known_views(found)
        if target is None:
            absent = [name for name in self.view_names_ if name not in known]
            if len(absent) != 1:
                raise OptionError(f"name the target: one of {absent or list(self.view_names_)}")
            (target,) = absent
        question = Question.of(self.view_names_, target, known)
        new = _timed(found, views, times, sequences)
        told = question.informed(new)
        if not told.all() and new.times is None:
            raise DataError(
                f"sample {found.samples[int(np.flatnonzero(~told)[0])]!r} has no value in "
                f"{' or '.join(question.known)} ({int((~told).sum())} such samples): leave it out"
            )
        return found, question, new


def _timed(found: Aligned, views: Any, times: Any, sequences: Any) -> Views:
    if times is None and sequences is None and isinstance(views, Views):
        times, sequences = views.times, views.sequences
    return Views(found, times=times, sequences=sequences)


def _levels(quantiles: Any) -> Float[np.ndarray, " L"]:
    levels = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
    if levels.ndim != 1 or not ((levels > 0) & (levels < 1)).all():
        raise OptionError(f"quantiles must lie between 0 and 1, got {quantiles!r}")
    return levels

"""Classification by one density model per class [BGPLVM16, §5.5]."""

import os
import warnings
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ..data import Views, check_values, match_views
from ..errors import ConstantColumnWarning, DataError, OptionError
from ..inference.checkpoint import keeping_checkpoints
from ..io import register_record, write
from ..shells import ViewsModel
from ..shells.fitted_model import MIN_SAMPLES
from ..variational import MRD, BayesianGPLVM
from .density_powers import DensityPowers
from .features import labels_of, one_table, several_views

Rows = Float[np.ndarray, "N D"] | Views
"""One table, or several views of the same samples; both are sliced by rows."""


@register_record
class GenerativeClassifier(ClassifierMixin, BaseEstimator):
    """Classifier with one density model per class: p(c | x) ∝ p(c) p(x | c).

    With a Bayesian GP-LVM, log p(x | c) is F(Y_c, x) - F(Y_c), a difference of two bounds
    [BGPLVM16, eq. 36]. Densities identify rows that are unlike all classes, and rows may have
    missing values. Of several views the model of a class is an `MRD`, and p(x | c) is the joint
    density of the views that a sample has.

    Parameters
    ----------
    estimator : estimator, optional
        A density model with ``fit(X)`` and ``score_samples(X)``; a clone is fitted to the rows of
        each class. For several views, a model of them. Default:
        ``BayesianGPLVM(signal_check="off")`` or, for several views, ``MRD(signal_check="off")``.
    priors : {"empirical", "uniform"}, array-like or dict, default="empirical"
        Class priors: shares of the training rows, equal ones, one number per class in the order
        of ``classes_``, or a number by class.
    reject_share : float, default=0.0
        Share of ordinary rows that `reject()` may reject: its threshold is that quantile of
        the log density of training rows. Zero computes no threshold.
    calibration : int or float, optional
        Folds (int) or held-out share (float below one) of training rows that are scored by models
        which have not seen them; each fold costs another fit of all classes. A power and an offset
        for each class then minimise the log loss of these rows, and the threshold of
        `reject()` is computed from them. By default densities are used as they are, and the
        threshold comes from rows that the models have seen, so that somewhat more than
        ``reject_share`` of new rows are rejected.
    n_jobs : int, optional
        Number of processes that fit and score classes in parallel, as in scikit-learn; -1 uses
        all cores. Default: one.

    Attributes
    ----------
    classes_ : ndarray
        Class labels.
    models_ : list
        The fitted model of every class.
    log_priors_ : ndarray
        Logarithms of the class priors.
    powers_ : DensityPowers
        The calibration: ``power`` and ``offset`` of every class.
    threshold_ : float
        Log density below which a row is rejected; minus infinity without ``reject_share``.
    view_names_ : tuple of str
        Names of the views; only if there are several.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from manyviews import BayesianGPLVM, GenerativeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> density = BayesianGPLVM(2, n_inducing=10, signal_check="off", random_state=0)
    >>> model = GenerativeClassifier(density, reject_share=0.01).fit(X, y)
    >>> model.predict(X[[0, 60]])
    array([0, 1])
    >>> model.reject([[0.0, 9.0, 9.0, 0.0]])
    array([ True])

    Several views, of which new samples may lack some:

    >>> from manyviews.linear import ProbabilisticCCA
    >>> views = {"sepal": X[:, :2], "petal": X[:, 2:]}
    >>> model = GenerativeClassifier(ProbabilisticCCA(1)).fit(views, y)
    >>> model.predict({"petal": X[[0, 60], 2:]})
    array([0, 1])
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        priors: Any = "empirical",
        reject_share: float = 0.0,
        calibration: int | float | None = None,
        n_jobs: int | None = None,
    ):
        self.estimator = estimator
        self.priors = priors
        self.reject_share = reject_share
        self.calibration = calibration
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Fit one model per class to a table, or to views as for `MRD`; NaN is missing.

        Where views have row names, a Series of labels is matched by its index.
        """
        if not 0.0 <= self.reject_share < 1.0:
            raise OptionError(f"reject_share must lie in [0, 1), got {self.reject_share!r}")
        if y is None:
            raise DataError("requires y to be passed, but the target y is None")
        rows = self._read(X, reset=True)
        labels = column_or_1d(labels_of(y, rows) if isinstance(rows, Views) else y, warn=True)
        if len(labels) != len(rows):
            raise DataError(f"there are {len(rows)} rows but {len(labels)} labels")
        check_classification_targets(labels)
        self.classes_, code = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise DataError("the labels hold 1 class: a classifier needs two or more")
        self.log_priors_ = np.log(self._class_priors(code))
        with keeping_checkpoints():
            self._fit_and_calibrate(rows, code)
        return self

    def _fit_and_calibrate(self, rows: Rows, code: np.ndarray) -> None:
        self.models_ = self._fit_models(rows, code)
        self.powers_ = DensityPowers.none(len(self.classes_))
        held_out = np.arange(len(rows))
        if self.calibration is not None:
            held_out, densities = self._held_out(rows, code)
            self.powers_ = DensityPowers.fit(densities, code[held_out], self.log_priors_)
        elif self.reject_share > 0:
            densities = self._score_models(self.models_, rows)
        self.threshold_ = -np.inf
        if self.reject_share > 0:
            total = logsumexp(densities + self.log_priors_, axis=1)
            self.threshold_ = float(np.quantile(total, self.reject_share))

    def _fit_models(self, rows: Rows, code: np.ndarray) -> list[Any]:
        parts = [rows[code == place] for place in range(len(self.classes_))]
        for label, part in zip(self.classes_, parts, strict=True):
            if len(part) < MIN_SAMPLES:
                raise DataError(
                    f"class {np.asarray(label).item()!r} has {len(part)} rows; a density needs "
                    f"{MIN_SAMPLES} or more"
                )
        return Parallel(self.n_jobs)(
            delayed(_fit_class)(self._new_model(part), part, label)
            for label, part in zip(self.classes_, parts, strict=True)
        )

    def _new_model(self, rows: Rows) -> Any:
        several = isinstance(rows, Views)
        if self.estimator is None:
            return MRD(signal_check="off") if several else BayesianGPLVM(signal_check="off")
        kind = type(self.estimator).__name__
        if not hasattr(self.estimator, "score_samples"):
            raise OptionError(f"{kind} has no score_samples: it is no density model")
        if several and not isinstance(self.estimator, ViewsModel):
            raise OptionError(
                f"{kind} takes one table, and there are several views: give a model of views as "
                "estimator, such as MRD(), or one table"
            )
        model = clone(self.estimator)
        inducing = getattr(model, "n_inducing", None)
        if isinstance(inducing, int):  # a rare class has fewer rows than that
            model.n_inducing = min(inducing, len(rows))
        elif isinstance(inducing, dict):
            model.n_inducing = {name: min(count, len(rows)) for name, count in inducing.items()}
        return model

    def _class_priors(self, code: np.ndarray) -> Float[np.ndarray, " C"]:
        n_classes = len(self.classes_)
        if isinstance(self.priors, str):
            if self.priors not in {"empirical", "uniform"}:
                raise OptionError(
                    f"priors must be 'empirical', 'uniform' or numbers, got {self.priors!r}"
                )
            counts = np.bincount(code) if self.priors == "empirical" else np.ones(n_classes)
            return counts / counts.sum()
        given = self.priors
        if isinstance(given, Mapping):
            absent = [label for label in self.classes_ if label not in given]
            if absent:
                raise OptionError(f"priors lack the classes {absent}")
            given = [given[label] for label in self.classes_]
        values = np.asarray(given, dtype=np.float64)
        if values.shape != (n_classes,) or not (values > 0).all() or not np.isfinite(values).all():
            raise OptionError(f"priors must be {n_classes} positive numbers, got {self.priors!r}")
        return values / values.sum()

    def _held_out(
        self, rows: Rows, code: np.ndarray
    ) -> tuple[np.ndarray, Float[np.ndarray, "n C"]]:
        """Some rows, or all in folds, and their log densities under models without them."""
        asked = self.calibration
        folds: Any
        if isinstance(asked, int) and asked >= 2:
            folds = StratifiedKFold(asked, shuffle=True, random_state=0)
        elif isinstance(asked, float) and 0.0 < asked < 1.0:
            folds = StratifiedShuffleSplit(1, test_size=asked, random_state=0)
        else:
            raise OptionError(f"calibration must be a number of folds or a share, got {asked!r}")
        held_out, found = [], []
        for kept, out in folds.split(code, code):
            held_out.append(out)
            models = self._fit_models(rows[kept], code[kept])
            found.append(self._score_models(models, rows[out]))
        return np.concatenate(held_out), np.concatenate(found)

    def _score_models(self, models: list[Any], rows: Rows) -> Float[np.ndarray, "N C"]:
        scores = Parallel(self.n_jobs)(delayed(_score_class)(model, rows) for model in models)
        return np.stack(scores, axis=1)

    # ------------------------------------------------------------------ new rows

    def log_densities(self, X: Any) -> Float[np.ndarray, "N C"]:
        """Log p(x | c) for every row and class (columns as in ``classes_``), not calibrated."""
        check_is_fitted(self)
        return self._score_models(self.models_, self._read(X, reset=False))

    def score_samples(self, X: Any) -> Float[np.ndarray, " N"]:
        """Log p(x): the density of every row under the mixture of all classes."""
        densities = self.log_densities(X)
        return logsumexp(densities + self.log_priors_, axis=1)

    def predict_log_proba(self, X: Any) -> Float[np.ndarray, "N C"]:
        """Log probabilities of the classes."""
        densities = self.log_densities(X)
        joint = self.powers_.apply(densities) + self.log_priors_
        return joint - logsumexp(joint, axis=1, keepdims=True)

    def predict_proba(self, X: Any) -> Float[np.ndarray, "N C"]:
        """Probabilities of the classes."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any, *, reject_label: Any = None) -> np.ndarray:
        """The most probable class of every row; ``reject_label``, if given, for rejected rows."""
        densities = self.log_densities(X)
        joint = self.powers_.apply(densities) + self.log_priors_
        found = self.classes_[np.argmax(joint, axis=1)]
        if reject_label is None:
            return found
        strange = self._strange(logsumexp(densities + self.log_priors_, axis=1))
        return np.where(strange, np.asarray(reject_label), found)

    def reject(self, X: Any) -> np.ndarray:
        """Return True for rows whose density is below ``threshold_``: unlike all classes."""
        return self._strange(self.score_samples(X))

    def _strange(self, density: Float[np.ndarray, " N"]) -> np.ndarray:
        if not np.isfinite(self.threshold_):
            raise OptionError("there is no threshold: fit with reject_share above zero")
        return density < self.threshold_

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted classifier to one file; see `manyviews.load`."""
        check_is_fitted(self)
        write(path, self)

    def _read(self, X: Any, reset: bool) -> Rows:
        if reset:
            for stale in ("view_names_", "columns_", "n_features_in_", "feature_names_in_"):
                self.__dict__.pop(stale, None)
            if several_views(X):
                views = Views(X)
                self.view_names_, self.columns_ = tuple(views), views.columns
                return views
        elif hasattr(self, "view_names_"):
            return Views(match_views(X, self.view_names_, self.columns_))
        elif several_views(X):
            raise DataError("the classifier was fitted to one table: give one, not several views")
        table = one_table(self, X, reset)
        rows = X.index if isinstance(X, pd.DataFrame) else None
        check_values(table, "X", getattr(self, "feature_names_in_", None), rows)
        return table

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags


def _fit_class(model: Any, rows: Rows, label: Any) -> Any:
    with warnings.catch_warnings():  # constant within a class is what tells it from others
        warnings.simplefilter("ignore", ConstantColumnWarning)
        try:
            return model.fit(rows)
        except DataError as wrong:
            raise DataError(f"class {np.asarray(label).item()!r}: {wrong}") from wrong


def _score_class(model: Any, rows: Rows) -> Float[np.ndarray, " N"]:
    return model.score_samples(rows)

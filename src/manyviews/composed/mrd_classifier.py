"""Classification with MRD: the labels are one more view [MRD21, §5.4]."""

from typing import Any, Self

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ..data import Views
from ..errors import DataError, OptionError
from ..fitted.cross_view import TREATMENTS
from ..inference.checkpoint import keeping_checkpoints
from ..io import register_record, write
from ..likelihoods import Bernoulli, Categorical
from ..shells.views import Modes, carried
from ..variational import MRD
from .features import labels_of, one_table, several_views
from .label_folds import label_folds

LABELS = "labels"
CATEGORICAL, CODES = "categorical", "codes"
LABEL_NOISE_FLOOR = 0.01  # of the codes' variance; without one, exact labels outweigh all else


@register_record
class MRDClassifier(ClassifierMixin, BaseEstimator):
    """Semi-supervised classifier of one or several views, with one or several labels per sample.

    Labels enter an `MRD` of all views as one more view [MRD21, §5.4], which for new samples is
    predicted from the others. Samples whose label is NaN take part in the fit without a label.
    With time stamps the latent points move along sequences, and labels of neighbours in time inform
    each other.

    With ``labels="categorical"`` that view has a `Categorical` likelihood, p(class) ∝ e^(f_class);
    several labels per sample are `Bernoulli` columns. Where `MRD` has a link from known views, it
    leads to the labels, too.

    With ``labels="codes"`` labels are coded -1 / +1 with a column per class, as in the paper, and
    Gaussian: with moments m and v of the columns, p(class) ∝ Π_c N(code_c; m_c, v_c + τ²), mixed
    over the modes of q(x*). Several labels per sample are decided column by column. Exact labels
    have no noise, and their predictions would be too certain; τ² is added to their variance. By
    default an output that equals its code gets odds of n+1 to 1 from n labels (rule of succession);
    with ``calibration_folds``, τ² minimises the log loss of held-out samples.

    Parameters
    ----------
    estimator : MRD, optional
        The model. Its options are set as ``estimator__n_components`` and so on. Default: ``MRD()``.
    labels : {"categorical", "codes"}, default="codes"
        What the labels are to the model; see above.
    private : {"posterior", "nearest", "blend", "conditional"}, default="conditional"
        Source of the dimensions that the features do not determine; see
        `MRD`. Labels can occupy a dimension of their own, which only nearby
        training samples inform.
    n_modes : int, default=3
        Optima of the latent position that probabilities are averaged over.
    calibration_folds : int, default=0
        Of codes: folds for the calibration, each of which costs another fit. Zero uses the rule
        above. With time stamps, whole sequences are left out (stretches of it, if there is but
        one).

    Attributes
    ----------
    classes_ : ndarray
        Class labels; with several labels per sample, their numbers or column names.
    label_noise_ : float
        The variance τ² of the calibration; zero where labels are no codes.
    model_ : MRD
        The fitted model, with the labels as its view ``"labels"``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from manyviews import MRD, MRDClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> views = {"sepal": X[:, :2], "petal": X[:, 2:]}
    >>> model = MRDClassifier(MRD(3, 20, random_state=0)).fit(views, y)
    >>> model.predict({"petal": X[:1, 2:]})
    array([0])
    """

    def __init__(
        self,
        estimator: MRD | None = None,
        *,
        labels: str = CODES,
        private: str = "conditional",
        n_modes: int = 3,
        calibration_folds: int = 0,
    ):
        self.estimator = estimator
        self.labels = labels
        self.private = private
        self.n_modes = n_modes
        self.calibration_folds = calibration_folds

    def fit(self, X: Any, y: Any, *, times: Any = None, sequences: Any = None) -> Self:
        """Fit to features (views as for `MRD`, or one table) and labels.

        ``y`` holds one class per sample, or a 0/1 matrix of labels. Samples whose label is NaN (or
        None, in ``y`` of objects) inform the structure of the features only. Where views have row
        names, a Series of labels is matched by its index. For ``times`` and ``sequences`` see
        `MRD.fit`.
        """
        if self.private not in TREATMENTS:
            raise OptionError(f"private must be one of {TREATMENTS}, got {self.private!r}")
        if self.labels not in {CATEGORICAL, CODES}:
            raise OptionError(f"labels must be {CATEGORICAL!r} or {CODES!r}, got {self.labels!r}")
        if self.labels == CATEGORICAL and self.calibration_folds:
            raise OptionError(
                f"calibration_folds are for labels={CODES!r}: a categorical likelihood has no "
                "label noise to calibrate"
            )
        times, sequences = carried(X, times, sequences)
        views = Views(self._read(X, reset=True), times=times, sequences=sequences)
        if LABELS in views:
            raise DataError(f"no feature view may be called {LABELS!r}")
        codes = self._encode(labels_of(y, views) if several_views(X) else y, len(views))
        with keeping_checkpoints():
            self.model_ = self._fit_model(views, codes)
            self.label_noise_ = self._label_noise(views, codes)
        return self

    def _label_noise(self, views: Views, codes: Float[np.ndarray, "N C"]) -> float:
        """τ², by the rule of succession or by folds."""
        if self.labels == CATEGORICAL:
            return 0.0
        if self.calibration_folds:
            return self._calibrate(views, codes)
        labelled = int((~np.isnan(codes)).any(axis=1).sum())
        return float((2.0 if self.multilabel_ else 4.0) / np.log(labelled + 1.0))

    def _fit_model(self, views: Views, codes: Float[np.ndarray, "N C"], fold: bool = False) -> MRD:
        model = MRD() if self.estimator is None else clone(self.estimator)
        if fold and isinstance(model.n_inducing, int):
            model.n_inducing = min(model.n_inducing, len(views))
        floors: dict[str, Any] = _by_view(model.noise_floor, views)
        kinds: dict[str, Any] = _by_view(model.likelihood, views)
        if self.labels == CODES:
            floors.setdefault(LABELS, LABEL_NOISE_FLOOR)
            model.residual_link = False  # codes are no measurements: no line leads to them
            labels = pd.DataFrame(codes, columns=[str(c) for c in self.classes_])
        elif self.multilabel_:
            kinds[LABELS] = Bernoulli()
            labels = pd.DataFrame((codes + 1.0) / 2.0, columns=[str(c) for c in self.classes_])
        else:
            kinds[LABELS] = Categorical(np.arange(len(self.classes_), dtype=float))
            level = np.where(np.isnan(codes).any(axis=1), np.nan, np.argmax(codes, axis=1))
            labels = pd.DataFrame({"label": level})
        model.noise_floor = floors
        model.likelihood = {name: kind for name, kind in kinds.items() if kind is not None} or None
        frames = {
            name: pd.DataFrame(views.array(name), index=views.samples, columns=columns)
            for name, columns in zip(views, views.columns, strict=True)
        }
        labels.index = pd.Index(views.samples)
        return model.fit({**frames, LABELS: labels}, times=views.times, sequences=views.sequences)

    def predict_proba(self, X: Any, *, times: Any = None, sequences: Any = None) -> Any:
        """Probability of every class (columns as in ``classes_``), or of every label.

        For ``times`` and ``sequences`` see `BayesianGPLVM.transform`; without them, samples are
        taken one by one.
        """
        check_is_fitted(self)
        times, sequences = carried(X, times, sequences)
        new = self._read(X, reset=False)
        if self.labels == CODES:
            return self._chances(self._modes(self.model_, new, times, sequences), self.label_noise_)
        found = self.model_.predict_proba(
            new, LABELS, times=times, sequences=sequences, n_modes=self.n_modes,
            private=self.private,
        )  # fmt: skip
        if self.multilabel_:
            return np.stack([table.to_numpy()[:, 1] for table in found.values()], axis=1)
        return found["label"].to_numpy()

    def predict(self, X: Any, *, times: Any = None, sequences: Any = None) -> np.ndarray:
        """The most probable class of each sample, or all labels with a probability above ½."""
        chances = self.predict_proba(X, times=times, sequences=sequences)
        if self.multilabel_:
            return (chances > 0.5).astype(int)
        return self.classes_[np.argmax(chances, axis=1)]

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, *, times: Any = None, sequences: Any = None
    ) -> float:
        """Accuracy: the share of samples whose class (or whose every label) is right."""
        from sklearn.metrics import accuracy_score  # slow to import

        found = self.predict(X, times=times, sequences=sequences)
        return float(accuracy_score(y, found, sample_weight=sample_weight))

    def save(self, path: Any) -> None:
        """Write the fitted classifier to one file; see `manyviews.load`."""
        check_is_fitted(self)
        write(path, self)

    def _modes(self, model: MRD, views: Any, times: Any, sequences: Any) -> Modes:
        return model.predict_modes(
            views, LABELS, times=times, sequences=sequences, n_modes=self.n_modes,
            private=self.private,
        )  # fmt: skip

    def _chances(self, modes: Modes, noise: float) -> Float[np.ndarray, "N C"]:
        variances = modes.stds**2 + noise
        if self.multilabel_:
            chances = expit(2.0 * modes.means / variances)
        else:
            codes = 2.0 * np.eye(len(self.classes_)) - 1.0
            misfit = (codes - modes.means[..., None, :]) ** 2 / variances[..., None, :]
            chances = softmax(-0.5 * misfit.sum(axis=-1), axis=-1)
        mixed = np.einsum("ns,nsc->nc", modes.weights, chances)
        return np.clip(mixed, 0.0, 1.0)  # rounding can go beyond

    def _calibrate(self, views: Views, codes: Float[np.ndarray, "N C"]) -> float:
        """The label noise of the best log loss on samples that the model has not seen."""
        when = self.model_.when_
        found: list[tuple[Modes, Float[np.ndarray, "n C"]]] = []
        for out, sequence in label_folds(codes, self.calibration_folds, when):
            kept = np.setdiff1d(np.arange(len(codes)), out)
            model = self._fit_model(views[kept], codes[kept], fold=True)
            new = views[out]
            sequences = new.sequences if sequence is None else sequence
            found.append((self._modes(model, new, new.times, sequences), codes[out]))

        def loss(log_noise: float) -> float:
            total = 0.0
            for modes, code in found:
                chances = np.clip(self._chances(modes, float(np.exp(log_noise))), 1e-12, 1 - 1e-12)
                hit = np.log(chances) * (code > 0)
                total -= float(hit.sum())
                if self.multilabel_:
                    total -= float((np.log1p(-chances) * (code < 0)).sum())
            return total

        grid = np.linspace(np.log(0.01), np.log(10.0), 40)
        return float(np.exp(grid[int(np.argmin([loss(g) for g in grid]))]))

    def _read(self, X: Any, reset: bool) -> Any:
        """Views as they are; a single table through scikit-learn's checks."""
        if several_views(X):
            return X
        table = one_table(self, X, reset)
        return {"X": pd.DataFrame(table, index=X.index) if isinstance(X, pd.DataFrame) else table}

    def _encode(self, y: Any, n_samples: int) -> Float[np.ndarray, "N C"]:
        """Labels as -1 / +1, a column per class (or per label); NaN where there is none."""
        if y is None:
            raise DataError("requires y to be passed, but the target y is None")
        values = y.to_numpy() if isinstance(y, pd.Series | pd.DataFrame) else np.asarray(y)
        if len(values) != n_samples:
            raise DataError(f"there are {n_samples} samples but {len(values)} labels")
        self.multilabel_ = values.ndim == 2 and values.shape[1] > 1
        if self.multilabel_:
            columns = y.columns if isinstance(y, pd.DataFrame) else range(values.shape[1])
            self.classes_ = np.asarray(list(columns))
            return np.where(np.isnan(values.astype(float)), np.nan, 2.0 * values.astype(float) - 1)
        values = column_or_1d(values, warn=True)
        known = ~pd.isna(values)
        kept = values[known] if known.any() else values
        if values.dtype.kind == "f" and not known.all():
            kept = kept.astype(int) if (kept == np.round(kept)).all() else kept
        elif values.dtype == object:
            kept = np.asarray(kept.tolist())
        check_classification_targets(kept)
        if type_of_target(kept) not in {"binary", "multiclass"}:
            raise DataError(f"unknown label type: {type_of_target(kept)}")
        self.classes_, places = np.unique(kept, return_inverse=True)
        if len(self.classes_) < 2:
            raise DataError(
                f"the labels hold 1 class ({self.classes_[0]!r}): a classifier needs two or more"
            )
        codes = np.full((n_samples, len(self.classes_)), np.nan)
        codes[known] = 2.0 * np.eye(len(self.classes_))[places] - 1.0
        return codes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        tags.classifier_tags.multi_label = True
        return tags


def _by_view(given: Any, views: Views) -> dict[str, Any]:
    """An option of every view, in a dict that may be changed."""
    return dict(given) if isinstance(given, dict) else dict.fromkeys(views, given)

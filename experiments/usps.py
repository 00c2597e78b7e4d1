"""Handwritten digits by one density model per class [BGPLVM16, §5.5]."""

import time
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from manyviews import BayesianGPLVM, GenerativeClassifier, Search

from .setting import Setting
from .table import Row, printed, summarise

PUBLISHED = 95
PRINTED = {
    "1-vs-all logistic regression": 283,
    "1-vs-all SVM": 119,
    "GP classification, VI, m = 250": 99,
    "GP classification, EP, m = 250": 126,
}


def run(setting: Setting) -> list[Row]:
    """Errors on the test digits; Q = 10 and M = 50 for every class, equal class priors."""
    data = setting.load("usps")
    X, y = data["Y_train_gpmat"].astype(float), data["labels_train"]
    test, truth = data["Y_test_gpmat"].astype(float), data["labels_test"]
    if setting.quick:
        few = np.concatenate([np.flatnonzero(y == digit)[:40] for digit in range(3)])
        some = np.flatnonzero(truth < 3)[:60]
        X, y, test, truth = X[few], y[few], test[some], truth[some]
    rows = ours(setting, X, y, test, truth)
    for name, model in baselines(setting).items():
        began = time.perf_counter()
        wrong = int((model.fit(X, y).predict(test) != truth).sum())
        rows.append(summarise(name, "errors", [wrong], seconds=time.perf_counter() - began))
    return [*rows, *(printed(name, "errors", value) for name, value in PRINTED.items())]


def ours(
    setting: Setting, X: np.ndarray, y: np.ndarray, test: np.ndarray, truth: np.ndarray
) -> list[Row]:
    """The generative classifier over the seeds, densities as they are and calibrated.

    The calibration holds out a sixth of the training digits, so it costs twice the training.
    """
    name = "generative classifier, Bayesian GP-LVM"
    errors: dict[str, list[float]] = {name: [], f"{name}, calibrated": []}
    spent = []
    for seed in range(1 if setting.quick else setting.seeds):
        n_inducing, search = (15, Search(max_iter=30)) if setting.quick else (50, Search())
        density = BayesianGPLVM(
            10, n_inducing=n_inducing, search=search, signal_check="off", random_state=seed
        )
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = GenerativeClassifier(
                density, priors="uniform", calibration=1 / 6, n_jobs=None if setting.quick else -1
            ).fit(X, y)
            trained = time.perf_counter()
            found = model.log_densities(test)
        spent.append((trained - began, time.perf_counter() - trained))
        for method, scores in zip(errors, (found, model.powers_.apply(found)), strict=True):
            errors[method].append(int((scores.argmax(axis=1) != truth).sum()))
    fit, score = np.mean(spent, axis=0)
    note = f"{fit:.0f} s to train and calibrate, {score:.0f} s to score"
    return [
        summarise(
            method, "errors", wrong, seconds=fit + score, ours=True, published=PUBLISHED,
            note=f"by seed {wrong}; {note}",
        )
        for method, wrong in errors.items()
    ]  # fmt: skip


def baselines(setting: Setting) -> dict[str, object]:
    """The usual ones; the SVM's C by 5-fold cross-validation on the training digits."""
    grid = {"estimator__C": [1.0, 10.0] if setting.quick else [0.1, 1.0, 10.0, 100.0]}
    one_vs_all = OneVsRestClassifier(SVC(gamma="scale"))
    return {
        "1-NN": KNeighborsClassifier(1),
        "SVM, one against all": GridSearchCV(one_vs_all, grid, cv=5),
        "logistic regression, one against all": OneVsRestClassifier(
            LogisticRegression(max_iter=1000)
        ),
    }

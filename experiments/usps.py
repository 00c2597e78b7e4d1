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

from .pieces import tallied
from .setting import Setting
from .table import Row, printed, summarise

PUBLISHED = 95
NAME = "generative classifier, Bayesian GP-LVM"
PRINTED = {
    "1-vs-all logistic regression": 283,
    "1-vs-all SVM": 119,
    "GP classification, VI, m = 250": 99,
    "GP classification, EP, m = 250": 126,
}


def run(setting: Setting) -> list[Row]:
    """Errors on the test digits; Q = 10 and M = 50 for every class, equal class priors."""
    X, y, test, truth = digits(setting)
    rows = ours(setting)
    for name, model in baselines(setting).items():
        began = time.perf_counter()
        wrong = int((model.fit(X, y).predict(test) != truth).sum())
        rows.append(summarise(name, "errors", [wrong], seconds=time.perf_counter() - began))
    return [*rows, *(printed(name, "errors", value) for name, value in PRINTED.items())]


def digits(setting: Setting) -> tuple[np.ndarray, ...]:
    """Training digits and their classes, test digits and theirs."""
    data = setting.load("usps")
    X, y = data["Y_train_gpmat"].astype(float), data["labels_train"]
    test, truth = data["Y_test_gpmat"].astype(float), data["labels_test"]
    if setting.quick:
        few = np.concatenate([np.flatnonzero(y == digit)[:40] for digit in range(3)])
        some = np.flatnonzero(truth < 3)[:60]
        X, y, test, truth = X[few], y[few], test[some], truth[some]
    return X, y, test, truth


def ours(setting: Setting) -> list[Row]:
    """The generative classifier over the seeds, densities as they are and calibrated.

    The calibration holds out a sixth of the training digits, so it costs twice the training.
    """
    seeds = range(1 if setting.quick else setting.seeds)
    found = tallied(setting, one_classifier, [(NAME, seed) for seed in seeds])
    return [
        summarise(method, measure, wrong, seconds=seconds, ours=True, published=PUBLISHED)
        for (method, measure), (wrong, seconds) in found.items()
    ]


def one_classifier(setting: Setting, name: str, seed: int) -> dict[str, dict[str, float]]:
    """Errors of one classifier, without and with the calibration of its densities."""
    X, y, test, truth = digits(setting)
    n_inducing, search = (15, Search(max_iter=30)) if setting.quick else (50, Search())
    density = BayesianGPLVM(
        10, n_inducing=n_inducing, search=search, signal_check="off", random_state=seed
    )
    alone = setting.quick or setting.jobs > 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GenerativeClassifier(
            density, priors="uniform", calibration=1 / 6, n_jobs=None if alone else -1
        ).fit(X, y)
        found = model.log_densities(test)
    by_method = {name: found, f"{name}, calibrated": model.powers_.apply(found)}
    return {
        method: {"errors": int((scores.argmax(axis=1) != truth).sum())}
        for method, scores in by_method.items()
    }


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

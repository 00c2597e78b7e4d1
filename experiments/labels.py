"""Labels as a view of `MRDClassifier`: as codes with a noise floor, or categorical.

    python -m experiments labels [--sets wine ...] [--methods codes ...] [--jobs 16]

Four sets, of each the training part, in five stratified folds: log loss and accuracy of the classes
of samples left out. The rule, written before the first number: the default is the way with the
smallest log loss, averaged over folds and then over sets.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manyviews import MRD, MRDClassifier, Search

from .pieces import finished
from .setting import DataFolderError, Setting
from .table import Row, summarise

CODES, CATEGORICAL, NO_LINK = "codes", "categorical", "categorical without link"
LOGISTIC, MARGINAL = "logistic regression", "marginal"
METHODS = (CODES, CATEGORICAL, NO_LINK, LOGISTIC, MARGINAL)
FOLDS, N_OIL = 5, 200
WIDEST = 300  # words of the news
Views = dict[str, np.ndarray]


def oil(setting: Setting) -> tuple[Views, np.ndarray]:
    """200 of the training rows of the oil flow."""
    data = setting.load("oil")
    chosen = np.random.default_rng(0).permutation(len(data["Y_train"]))[:N_OIL]
    return {"oil": data["Y_train"][chosen]}, data["labels_onehot_train"].argmax(axis=1)[chosen]


def glioma(setting: Setting) -> tuple[Views, np.ndarray]:
    """The type of brain tumours from two measurements, one of which some lack."""
    data = setting.load("tables/glioma_mfa")
    return {name: data[name].astype(float) for name in ("cgh", "expression")}, data["labels"]


def news(setting: Setting) -> tuple[Views, np.ndarray]:
    """The topic of stories from three papers: the logarithms of counts of the commonest words."""
    data = setting.load("tables/news3sources")
    views = {}
    for name in ("bbc", "guardian", "reuters"):
        counts = data[name].astype(float)
        common = np.sort(np.argsort(-(counts > 0).sum(axis=0), kind="stable")[:WIDEST])
        views[name] = np.log1p(counts[:, common])
    return views, data["labels"]


def wine(setting: Setting) -> tuple[Views, np.ndarray]:
    """The grower of wines from thirteen measurements."""
    X, y = load_wine(return_X_y=True)
    return {"wine": X}, y


SETS: dict[str, Callable[[Setting], tuple[Views, np.ndarray]]] = {
    "oil": oil, "glioma_mfa": glioma, "news3sources": news, "wine": wine,
}  # fmt: skip


def run(setting: Setting) -> list[Row]:
    """Log loss and accuracy of every way in every set, and over all."""
    sets = setting.sets or (("wine",) if setting.quick else tuple(SETS))
    chosen = setting.methods or ((CODES, LOGISTIC, MARGINAL) if setting.quick else METHODS)
    for given, known in ((sets, tuple(SETS)), (chosen, METHODS)):
        unknown = [name for name in given if name not in known]
        if unknown:
            raise DataFolderError(f"there is no {unknown[0]!r}: there are {', '.join(known)}")
    folds = 1 if setting.quick else FOLDS
    pieces = [(m, name, fold) for fold in range(folds) for name in sets for m in chosen]
    found = finished(setting, one_fold, pieces, _said, all_of_them=False)
    rows = []
    for method in chosen:
        means = []
        for name in sets:
            answers = [a for piece, a in found.items() if piece[:2] == (method, name)]
            if not answers:
                continue
            means.append(float(np.mean([a["log-loss"] for a in answers])))
            seconds = float(np.mean([a["seconds"] for a in answers]))
            note = f"{len(answers)} folds" if len(answers) < folds else ""
            rows += [
                summarise(method, f"{name} | {measure}", [a[measure] for a in answers],
                          seconds=seconds, ours=method not in (LOGISTIC, MARGINAL), note=note)
                for measure in ("log-loss", "accuracy")
            ]  # fmt: skip
        if len(means) == len(sets):
            rows.append(summarise(method, "mean log-loss", [float(np.mean(means))],
                                  ours=method not in (LOGISTIC, MARGINAL)))  # fmt: skip
    return rows


def _said(answer: dict[str, Any]) -> str:
    return f"{answer['log-loss']:.3f}"


def one_fold(setting: Setting, method: str, name: str, fold: int) -> dict[str, float]:
    """Fit to four fifths and ask about the others."""
    views, y = SETS[name](setting)
    y = np.unique(y, return_inverse=True)[1]
    division = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    train, new = list(division.split(y, y))[fold]
    varied = {n: np.nan_to_num(np.nanstd(t[train], axis=0)) > 0 for n, t in views.items()}
    known, asked = ({n: t[rows][:, varied[n]] for n, t in views.items()} for rows in (train, new))
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chances = _ask(setting, method, known, y[train], asked)
    return {
        "log-loss": float(log_loss(y[new], chances, labels=np.arange(y.max() + 1))),
        "accuracy": float(np.mean(chances.argmax(axis=1) == y[new])),
        "seconds": time.perf_counter() - began,
    }


def _ask(setting: Setting, method: str, known: Views, y: np.ndarray, asked: Views) -> np.ndarray:
    """Probabilities of the classes."""
    if method == MARGINAL:
        shares = np.bincount(y) / len(y)
        return np.tile(shares, (len(next(iter(asked.values()))), 1))
    if method == LOGISTIC:
        tables = [np.hstack(list(views.values())) for views in (known, asked)]
        centre = np.nanmean(tables[0], axis=0)
        X, new = (np.where(np.isnan(table), centre, table) for table in tables)
        model = make_pipeline(
            StandardScaler(), LogisticRegressionCV(scoring="neg_log_loss", cv=3, max_iter=2000)
        )
        return np.asarray(model.fit(X, y).predict_proba(new))
    search = Search(n_restarts=1, max_iter=20) if setting.quick else None
    base = MRD(residual_link=method != NO_LINK, search=search, random_state=0, signal_check="off")
    labels = CODES if method == CODES else CATEGORICAL
    return np.asarray(MRDClassifier(base, labels=labels).fit(known, y).predict_proba(asked))

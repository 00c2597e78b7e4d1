"""Exam marks of 88 students: two closed-book and three open-book papers ([Leen08, §3.6.3], X3).

The linear part: canonical correlations by CCA, by probabilistic CCA in closed form and by EM,
and with a fifth of the marks hidden (over seeds). The literature value, 0.663, is that of Mardia,
Kent & Bibby (1979), quoted at second hand. The other rows predict the open-book marks of
students held out (5-fold, shuffled by seed) from the closed-book ones, in standard deviations:
linear models, a Gaussian process latent variable model (MRD), and least squares.
"""

import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold

from manyviews import Search
from manyviews.linear import (
    CCA,
    GroupFactorAnalysis,
    KernelCCA,
    ProbabilisticCCA,
    gaussian_mutual_information,
)

from .paper_model import paper_mrd
from .pieces import tallied
from .scores import nlpd, rmse
from .setting import Setting
from .table import Row, printed, summarise

MARDIA = 0.663
OURS = ("PCCA", "GFA", "kernel CCA", "MRD")
HIDDEN = 0.2


def run(setting: Setting) -> list[Row]:
    """Correlations, then predictions."""
    rows = correlations(marks(setting), setting)
    pieces = [("held-out", seed) for seed in range(setting.seeds)]
    for (method, measure), (values, _) in tallied(setting, one_division, pieces).items():
        rows.append(summarise(method, measure, values, ours=method in OURS))
    return rows


def marks(setting: Setting) -> dict[str, np.ndarray]:
    """The two views."""
    data = setting.load("exam_marks")
    return {"closed": data["closed_book"], "open": data["open_book"]}


def correlations(views: dict[str, np.ndarray], setting: Setting) -> list[Row]:
    """The canonical correlations of all students."""
    rows = []
    models = {
        "CCA": CCA(),
        "PCCA, closed form": ProbabilisticCCA(),
        "PCCA, EM": ProbabilisticCCA(method="em", tol=1e-11, max_iter=20_000),
    }
    for name, model in models.items():
        began = time.perf_counter()
        found = model.fit(views).canonical_correlations_
        seconds = time.perf_counter() - began
        for place, value in enumerate(found):
            measure = "canonical-correlation" + ("" if place == 0 else f"-{place + 1}")
            rows.append(
                summarise(name, measure, [float(value)], seconds=seconds, ours=True,
                          published=MARDIA if place == 0 else None)
            )  # fmt: skip
        information = gaussian_mutual_information(found)
        rows.append(summarise(name, "mutual-information", [information], ours=True))
    pieces = [("hidden", seed) for seed in range(setting.seeds)]
    rows += [
        summarise(method, measure, values, seconds=seconds, ours=True, published=MARDIA)
        for (method, measure), (values, seconds) in tallied(setting, one_hiding, pieces).items()
    ]
    return [*rows, printed("Mardia et al. 1979, at second hand", "canonical-correlation", MARDIA)]


def one_hiding(setting: Setting, _: str, seed: int) -> dict[str, dict[str, float]]:
    """The first canonical correlation by EM with a fifth of the marks hidden."""
    rng = np.random.default_rng(seed)
    holed = {
        k: np.where(rng.random(Y.shape) < HIDDEN, np.nan, Y) for k, Y in marks(setting).items()
    }
    kept = ~np.all([np.isnan(Y).all(axis=1) for Y in holed.values()], axis=0)
    model = ProbabilisticCCA(1).fit({k: Y[kept] for k, Y in holed.items()})
    value = float(model.canonical_correlations_[0])
    return {"PCCA, a fifth of the marks hidden": {"canonical-correlation": value}}


def one_division(setting: Setting, _: str, seed: int) -> dict[str, dict[str, float]]:
    """Open-book marks from closed-book ones, students held out in five folds."""
    views, search = marks(setting), Search()
    if setting.quick:
        search = Search(max_iter=20, n_restarts=1)
    models: dict[str, Callable[[], Any]] = {
        "PCCA": lambda: ProbabilisticCCA(1),
        "GFA": lambda: GroupFactorAnalysis(3, random_state=seed),
        "kernel CCA": lambda: KernelCCA(1),
        "MRD": lambda: paper_mrd(3, 20, scaling="column", search=search, random_state=seed),
    }
    unit = views["open"].std(axis=0)
    errors: dict[str, list[tuple[np.ndarray, ...]]] = defaultdict(list)
    for train, test in KFold(5, shuffle=True, random_state=seed).split(views["open"]):
        part = {name: Y[train] for name, Y in views.items()}
        truth = views["open"][test] / unit
        for name, make in models.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = make().fit(part)
            given = {"closed": views["closed"][test]}
            mean, std = model.predict(given, "open", return_std=True)
            errors[name].append((truth, mean / unit, std / unit))
        line = LinearRegression().fit(part["closed"], part["open"])
        left = part["open"] - line.predict(part["closed"])
        std = np.broadcast_to(np.sqrt(np.mean(left**2, axis=0)) / unit, truth.shape)
        mean = line.predict(views["closed"][test]) / unit
        errors["least squares"].append((truth, mean, std))
        mean = np.broadcast_to(part["open"].mean(axis=0) / unit, truth.shape)
        std = np.broadcast_to(part["open"].std(axis=0) / unit, truth.shape)
        errors["training mean"].append((truth, mean, std))
    found = {}
    for name, folds in errors.items():
        truth, mean, std = (np.concatenate(parts) for parts in zip(*folds, strict=True))
        found[name] = {"open-RMSE": rmse(truth, mean), "open-NLPD": nlpd(truth, mean, std)}
    return found

"""Data drawn from a model: how often its 90 % intervals hold the values that it was not shown."""

from pathlib import Path
from typing import Any

import numpy as np

from manyviews import MRD, BayesianGPLVM, Search
from manyviews.linear import GroupFactorAnalysis, ProbabilisticCCA

from .case import Part, Result

TRAIN, TEST = 60, 60
HIDDEN = 0.2  # share of the values that are to be imputed
ONE_START = Search(n_restarts=1)
WIDTH = 1.6448536269514722  # standard deviations on either side


def start(folder: Path) -> Any:
    """Every case is one set of data for one model, the models in turn."""

    def case(rng: np.random.Generator, number: int) -> Result:
        return Result("asked", numbers=QUESTIONS[number % len(QUESTIONS)](rng))

    return case


def _inside(truth: Any, mean: Any, std: Any) -> float:
    truth, mean, std = (np.asarray(one, dtype=float) for one in (truth, mean, std))
    return float(np.mean(np.abs(truth - mean) <= WIDTH * std))


def _processes(rng: np.random.Generator, x: np.ndarray, columns: int, noise: float) -> np.ndarray:
    """Columns drawn from Gaussian processes of unit variance and lengthscale, with noise."""
    squared = ((x[:, None] - x[None]) ** 2).sum(axis=-1)
    root = np.linalg.cholesky(np.exp(-0.5 * squared) + 1e-9 * np.eye(len(x)))
    clean = root @ rng.standard_normal((len(x), columns))
    return clean + np.sqrt(noise) * rng.standard_normal(clean.shape)


def _gplvm(rng: np.random.Generator) -> dict[str, float]:
    table = _processes(rng, rng.standard_normal((TRAIN, 2)), 10, 0.1)
    hidden = rng.random(table.shape) < HIDDEN
    hidden[hidden.all(axis=1), 0] = False
    model = BayesianGPLVM(4, n_inducing=30, random_state=0, signal_check="off")
    mean, std = model.fit(np.where(hidden, np.nan, table)).impute(return_std=True)
    return {"BayesianGPLVM, impute": _inside(table[hidden], mean[hidden], std[hidden])}


def _views(rng: np.random.Generator) -> dict[str, np.ndarray]:
    x = rng.standard_normal((TRAIN + TEST, 3))
    return {
        "a": _processes(rng, x[:, :2], 10, 0.1),
        "b": _processes(rng, x[:, 1:], 8, 0.1),
    }


def _crossing(model: Any, views: dict[str, np.ndarray], name: str) -> dict[str, float]:
    new = {view: table[TRAIN:] for view, table in views.items()}
    found = {}
    for known, wanted in (("a", "b"), ("b", "a")):
        mean, std = model.predict({known: new[known]}, wanted, return_std=True)
        found[f"{name}, {known} to {wanted}"] = _inside(new[wanted], mean, std)
    return found


def _mrd(rng: np.random.Generator) -> dict[str, float]:
    views = _views(rng)
    model = MRD(5, n_inducing=30, search=ONE_START, random_state=0, signal_check="off")
    model.fit({view: table[:TRAIN] for view, table in views.items()})
    found = _crossing(model, views, "MRD")
    model.set_params(residual_link=False)
    return found | _crossing(model, views, "MRD without residual link")


def _mrd_impute(rng: np.random.Generator) -> dict[str, float]:
    views = {view: table[:TRAIN] for view, table in _views(rng).items()}
    return _imputed(
        MRD(5, n_inducing=30, search=ONE_START, random_state=0, signal_check="off"),
        views,
        "MRD",
        rng,
    )


def _imputed(
    model: Any, views: dict[str, np.ndarray], name: str, rng: np.random.Generator
) -> dict[str, float]:
    hidden = {view: rng.random(table.shape) < HIDDEN for view, table in views.items()}
    for one in hidden.values():
        one[one.all(axis=1), 0] = False
    model.fit({view: np.where(hidden[view], np.nan, table) for view, table in views.items()})
    mean, std = model.impute(return_std=True)
    inside = [
        _inside(views[v][hidden[v]], np.asarray(mean[v])[hidden[v]], np.asarray(std[v])[hidden[v]])
        for v in views
    ]
    return {f"{name}, impute": float(np.mean(inside))}


def _factors(rng: np.random.Generator, columns: tuple[int, int], private: bool) -> Any:
    """Two shared factors and, with independent noise, a private one each; or correlated noise."""
    shared, views = rng.standard_normal((TRAIN + TEST, 2)), {}
    for name, width in zip("ab", columns, strict=True):
        table, mixing = shared @ rng.standard_normal((2, width)), np.eye(width)
        if private:
            table += rng.standard_normal((TRAIN + TEST, 1)) @ rng.standard_normal((1, width))
        else:
            mixing = mixing + 0.3 * rng.standard_normal((width, width))
        views[name] = table + 0.5 * rng.standard_normal(table.shape) @ mixing
    return views


def _gfa(rng: np.random.Generator) -> dict[str, float]:
    views = _factors(rng, (10, 8), True)
    train = {view: table[:TRAIN] for view, table in views.items()}
    model = GroupFactorAnalysis(6, random_state=0).fit(train)
    found = _crossing(model, views, "GroupFactorAnalysis")
    return found | _imputed(
        GroupFactorAnalysis(6, random_state=0), train, "GroupFactorAnalysis", rng
    )


def _pcca(rng: np.random.Generator) -> dict[str, float]:
    views = _factors(rng, (5, 4), False)
    train = {view: table[:TRAIN] for view, table in views.items()}
    found = _crossing(ProbabilisticCCA(2).fit(train), views, "ProbabilisticCCA")
    return found | _imputed(ProbabilisticCCA(2), train, "ProbabilisticCCA", rng)


QUESTIONS = (_gplvm, _mrd, _mrd_impute, _gfa, _pcca)

PART = Part(
    "coverage of 90 % intervals on data drawn from the model",
    limit=600.0, share=4.0, start=start,
)  # fmt: skip

"""Data drawn from models: how often 90 % intervals hold the values that were not shown."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from manyviews import (
    CGPDS,
    MRD,
    BayesianGPLVM,
    DirichletPCCA,
    DirichletPPCA,
    McGPDS,
    MixturePCCA,
    MixturePPCA,
    Search,
    UncertainGPRegressor,
    linear,
    points,
)

from . import simulate
from .case import Part, Result
from .simulate import TEST, TRAIN

HIDDEN = 0.2  # share of the values that are to be imputed
WIDTH = 1.6448536269514722  # standard deviations on either side

SEEDED: dict[str, Any] = {"random_state": 0}
FEW = {**SEEDED, "n_inducing": 30, "signal_check": "off", "search": Search(n_restarts=1)}
POINTS = {**SEEDED, "search": Search(n_restarts=1, max_iter=300)}
CHAIN = {**SEEDED, "n_chains": 2, "n_sweeps": 600}

Question = Callable[[np.random.Generator], dict[str, float]]

INTEGRATED = ("BayesianGPLVM", "CGPDS", "GroupFactorAnalysis", "MRD", "McGPDS")
"""Models that know how uncertain their maps are, and whose intervals are to hold 88 to 92 %."""


def start_with(questions: dict[str, Question]) -> Callable[[Path], Any]:
    """Every case is one set of data for one model and question, these in turn."""
    asked = list(questions.values())

    def case(rng: np.random.Generator, number: int) -> Result:
        return Result("asked", numbers=asked[number % len(asked)](rng))

    return lambda folder: case


def inside(truth: Any, mean: Any, std: Any) -> float:
    """Share of values in their intervals."""
    truth, mean, std = (np.asarray(one, dtype=float) for one in (truth, mean, std))
    return float(np.mean(np.abs(truth - mean) <= WIDTH * std))


def hidden_values(rng: np.random.Generator, table: np.ndarray) -> np.ndarray:
    """Which values are not shown: a fifth, and no whole row."""
    hidden = rng.random(table.shape) < HIDDEN
    hidden[hidden.all(axis=1), 0] = False
    return hidden


# ---------------------------------------------------------------------- questions


def imputed_table(
    make: Callable[[], Any], data: Any, rng: np.random.Generator, **when: Any
) -> float:
    """Values that are missing from the table that a model is fitted to."""
    table = data(rng)
    hidden = hidden_values(rng, table)
    mean, std = make().fit(np.where(hidden, np.nan, table), **when).impute(return_std=True)
    return inside(table[hidden], mean[hidden], std[hidden])


def imputed_rows(make: Callable[[], Any], data: Any, rng: np.random.Generator) -> float:
    """Values that are missing from new rows, of models that are fitted to complete ones."""
    table = data(rng)
    hidden = hidden_values(rng, table)
    hidden[: TRAIN // 2] = False
    model = make().fit(table[: TRAIN // 2])
    mean, std = model.impute(np.where(hidden, np.nan, table), return_std=True)
    return inside(table[hidden], mean[hidden], std[hidden])


def imputed_views(
    make: Callable[[], Any], data: Any, rng: np.random.Generator, timed: bool = False
) -> float:
    """Values that are missing from the views that a model is fitted to."""
    views = {name: table[:TRAIN] for name, table in data(rng).items()}
    hidden = {name: hidden_values(rng, table) for name, table in views.items()}
    held = {name: np.where(hidden[name], np.nan, table) for name, table in views.items()}
    when = {"times": np.arange(float(TRAIN))} if timed else {}
    mean, std = make().fit(held, **when).impute(return_std=True)
    return float(
        np.mean([inside(views[v][h], np.asarray(mean[v])[h], np.asarray(std[v])[h])
                 for v, h in hidden.items()])
    )  # fmt: skip


def crossed(
    make: Callable[[], Any],
    data: Any,
    rng: np.random.Generator,
    timed: bool = False,
    then: dict[str, dict[str, Any]] | None = None,
) -> dict[str, float]:
    """Each of two views of new samples from the other; ``then`` with other options, by name."""
    views = data(rng)
    rows = np.arange(TRAIN + TEST)
    known = rows % 2 == 0 if timed else rows < TRAIN
    old, new = ({"times": rows[part].astype(float)} if timed else {} for part in (known, ~known))
    model = make().fit({name: table[known] for name, table in views.items()}, **old)
    found = {}
    for name, options in {"": {}, **(then or {})}.items():
        model.set_params(**options)
        for given, wanted in (("a", "b"), ("b", "a")):
            mean, std = model.predict({given: views[given][~known]}, wanted, return_std=True, **new)
            found[f"{name}, {given} to {wanted}"] = inside(views[wanted][~known], mean, std)
    return found


def regressed(rng: np.random.Generator) -> dict[str, float]:
    """New outputs from inputs of which some are missing."""
    x = rng.standard_normal((TRAIN + TEST, 3))
    y = simulate.processes(rng, x[:, :2], 1, 0.1)[:, 0]
    holes = np.where(hidden_values(rng, x), np.nan, x)
    model = UncertainGPRegressor(20, **SEEDED).fit(holes[:TRAIN], y[:TRAIN])
    mean, std = model.predict(holes[TRAIN:], return_std=True)
    return {"UncertainGPRegressor, predict": inside(y[TRAIN:], mean, std)}


# ---------------------------------------------------------------------- who is asked

TIMES = {"times": np.arange(float(TRAIN))}
Maker = Callable[[], Any]
IMPUTED: dict[str, tuple[Any, Maker, Any]] = {
    "PPCA": (imputed_table, lambda: linear.PPCA(2, **SEEDED), simulate.straight_table),
    "FactorAnalysis": (
        imputed_table, lambda: linear.FactorAnalysis(2, **SEEDED), simulate.straight_table),
    "BayesianPCA": (
        imputed_table, lambda: linear.BayesianPCA(4, **SEEDED), simulate.straight_table),
    "BayesianGPLVM": (imputed_table, lambda: BayesianGPLVM(4, **FEW), simulate.curved_table),
    "BayesianGPLVM with times": (
        partial(imputed_table, **TIMES), lambda: BayesianGPLVM(3, **FEW),
        lambda rng: simulate.paths(rng)["a"][:TRAIN]),
    "CGPDS": (
        partial(imputed_table, **TIMES), lambda: CGPDS(3, **FEW),
        lambda rng: simulate.paths(rng)["a"][:TRAIN]),
    "GPLVM": (imputed_table, lambda: points.GPLVM(2, **POINTS), simulate.curved_table),
    "MixturePPCA": (imputed_table, lambda: MixturePPCA(2, 1, **SEEDED), simulate.clustered_table),
    "DirichletPPCA": (imputed_table, lambda: DirichletPPCA(1, **CHAIN), simulate.clustered_table),
    "DirichletPPCA, variational": (
        imputed_rows, lambda: DirichletPPCA(1, inference="variational", **SEEDED),
        simulate.clustered_table),
}  # fmt: skip
SEVERAL: dict[str, tuple[Maker, Any, dict[str, Any]]] = {
    "GroupFactorAnalysis": (
        lambda: linear.GroupFactorAnalysis(6, **SEEDED), simulate.factors, {}),
    "ProbabilisticCCA": (
        lambda: linear.ProbabilisticCCA(2, **SEEDED), simulate.correlated, {}),
    "MRD": (
        lambda: MRD(5, **FEW), simulate.curved_views,
        {"then": {" without residual link": {"residual_link": False}}}),
    "MRD with times": (lambda: MRD(4, **FEW), simulate.paths, {"timed": True}),
    "McGPDS": (lambda: McGPDS(4, **FEW), simulate.paths, {"timed": True}),
    "SharedGPLVM": (lambda: points.SharedGPLVM(3, **POINTS), simulate.curved_views, {}),
    "SharedPrivateGPLVM": (
        lambda: points.SharedPrivateGPLVM(1, 1, **POINTS), simulate.curved_views, {}),
    "SubspaceGPLVM": (lambda: points.SubspaceGPLVM(1, 1, **POINTS), simulate.curved_views, {}),
    "MixturePCCA": (lambda: MixturePCCA(2, 1, **SEEDED), simulate.clusters, {}),
    "DirichletPCCA": (lambda: DirichletPCCA(1, **CHAIN), simulate.clusters, {}),
}  # fmt: skip
CROSSED: dict[str, tuple[Maker, Any, dict[str, Any]]] = {
    **SEVERAL,
    "GPLVMCCA": (lambda: points.GPLVMCCA(1, **POINTS), simulate.correlated, {}),
    "CCA": (lambda: linear.CCA(2, regularisation=0.1), simulate.correlated, {}),
    "KernelCCA": (lambda: linear.KernelCCA(2), simulate.correlated, {}),
    "DirichletPCCA, variational": (
        lambda: DirichletPCCA(1, inference="variational", **SEEDED), simulate.clusters, {}),
}  # fmt: skip


def _imputing(name: str) -> Question:
    ask, make, data = IMPUTED[name]
    return lambda rng: {f"{name}, impute": ask(make, data, rng)}


def _imputing_views(name: str) -> Question:
    make, data, more = SEVERAL[name]
    timed = {"timed": True} if "timed" in more else {}
    return lambda rng: {f"{name}, impute": imputed_views(make, data, rng, **timed)}


def _crossing(name: str) -> Question:
    make, data, more = CROSSED[name]
    return lambda rng: {
        name + asked: share for asked, share in crossed(make, data, rng, **more).items()
    }


QUESTIONS: dict[str, Question] = {
    **{f"{name}, impute": _imputing(name) for name in IMPUTED},
    **{f"{name}, impute": _imputing_views(name) for name in SEVERAL},
    **{f"{name}, views": _crossing(name) for name in CROSSED},
    "UncertainGPRegressor": regressed,
}

OF_INTEGRATED = {name: ask for name, ask in QUESTIONS.items() if name.startswith(INTEGRATED)}
OF_OTHERS = {name: ask for name, ask in QUESTIONS.items() if name not in OF_INTEGRATED}

PART = Part(
    "coverage of 90 % intervals on data drawn from models, of models that integrate over their "
    f"maps: {len(OF_INTEGRATED)} questions in turn",
    limit=600.0, share=3.0, start=start_with(OF_INTEGRATED),
)  # fmt: skip
OTHERS = Part(
    f"the same of all other models: {len(OF_OTHERS)} questions in turn",
    limit=600.0, share=1.0, start=start_with(OF_OTHERS),
)  # fmt: skip

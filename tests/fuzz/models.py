"""Every public estimator, at settings that take little time, and the arguments that it takes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from manyviews import (
    CGPDS,
    MRD,
    AutoregressiveGP,
    BayesianGPLVM,
    DirichletPCCA,
    DirichletPPCA,
    GenerativeClassifier,
    McGPDS,
    MixturePCCA,
    MixturePPCA,
    MRDClassifier,
    Search,
    UncertainGPRegressor,
    linear,
    points,
)

BRIEF = Search(max_iter=4, n_restarts=1, n_starts=2)
FEW = {"n_inducing": 6, "search": BRIEF, "signal_check": "off", "random_state": 0}
POINTS = {"search": Search(max_iter=4, n_starts=2), "random_state": 0}

Maker = Callable[[], Any]

TABLES: dict[str, Maker] = {
    "PPCA": lambda: linear.PPCA(2, max_iter=20, random_state=0),
    "FactorAnalysis": lambda: linear.FactorAnalysis(1, max_iter=20, random_state=0),
    "BayesianPCA": lambda: linear.BayesianPCA(2, max_iter=20, random_state=0),
    "BayesianGPLVM": lambda: BayesianGPLVM(2, **FEW),
    "CGPDS": lambda: CGPDS(2, **FEW),
    "GPLVM": lambda: points.GPLVM(2, **POINTS),
    "MixturePPCA": lambda: MixturePPCA(2, 1, n_restarts=1, max_iter=20, random_state=0),
    "DirichletPPCA": lambda: DirichletPPCA(
        1, inference="variational", max_clusters=3, n_restarts=1, max_iter=5, random_state=0
    ),
}
SEVERAL: dict[str, Maker] = {
    "GroupFactorAnalysis": lambda: linear.GroupFactorAnalysis(2, max_iter=20, random_state=0),
    "ProbabilisticCCA": lambda: linear.ProbabilisticCCA(
        2, regularisation="auto", max_iter=20, random_state=0
    ),
    "CCA": lambda: linear.CCA(2, regularisation=0.1),
    "KernelCCA": lambda: linear.KernelCCA(2),
    "MixturePCCA": lambda: MixturePCCA(2, 1, n_restarts=1, max_iter=20, random_state=0),
    "DirichletPCCA": lambda: DirichletPCCA(
        1, inference="variational", max_clusters=3, n_restarts=1, max_iter=5, random_state=0
    ),
    "MRD": lambda: MRD(2, residual_link=False, **FEW),
    "McGPDS": lambda: McGPDS(2, **FEW),
    "SharedGPLVM": lambda: points.SharedGPLVM(2, **POINTS),
    "SharedPrivateGPLVM": lambda: points.SharedPrivateGPLVM(1, 1, n_rounds=1, **POINTS),
    "SubspaceGPLVM": lambda: points.SubspaceGPLVM(1, 1, **POINTS),
    "GPLVMCCA": lambda: points.GPLVMCCA(1, **POINTS),
}
OTHERS: dict[str, Maker] = {
    "UncertainGPRegressor": lambda: UncertainGPRegressor(6, search=BRIEF, random_state=0),
    "GenerativeClassifier": lambda: GenerativeClassifier(linear.PPCA(1)),
    "MRDClassifier": lambda: MRDClassifier(MRD(2, **FEW)),
    "AutoregressiveGP": lambda: AutoregressiveGP(
        2, UncertainGPRegressor(5, search=BRIEF, random_state=0)
    ),
}
FAST = (
    "PPCA", "FactorAnalysis", "BayesianPCA", "GroupFactorAnalysis", "ProbabilisticCCA", "CCA",
    "KernelCCA",
)  # fmt: skip
"""Models that need no compiler."""

MODELS = {**TABLES, **SEVERAL, **OTHERS}
TIMED = {"CGPDS", "McGPDS"}


def training(
    name: str, table: Any, other: Any, rng: np.random.Generator
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of ``fit`` for a table (of 24 rows) and another one."""
    when = {"times": np.arange(24.0)} if name in TIMED else {}
    if name in SEVERAL:
        return ({"odd": table, "good": other},), when
    if name.endswith("Classifier"):
        return (table, np.arange(24) % 2), {}
    if name == "UncertainGPRegressor":
        return (table, rng.standard_normal(24)), {}
    return (table,), when

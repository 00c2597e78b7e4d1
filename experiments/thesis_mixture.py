"""Mixtures of PCCA on a pair of curves, by EM and with a Dirichlet process [Leen08, §5.2, §5.5].

The thesis gives neither formulas, nor N, nor noise: here an arc and a sine curve share a uniform
coordinate, with 150 training and 500 test samples and noise of standard deviation 0.05.
"""

import time
import warnings
from typing import Any

import numpy as np

from manyviews import DirichletPCCA, MixturePCCA

from .pieces import tallied
from .setting import Setting
from .table import Row, summarise
from .thesis_mixture_pictures import draw_chain, draw_densities, draw_fits

NOISE = 0.05
N_TRAIN, N_TEST = 150, 500
CLUSTERS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20)
PUBLISHED_CLUSTERS = 4.0


def curves(n: int, seed: int) -> dict[str, np.ndarray]:
    """An arc and a sine curve of one hidden coordinate."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(0.0, np.pi, n)
    arc = np.stack([np.cos(t), np.sin(t)], axis=1)
    sine = np.stack([t - 0.5 * np.pi, np.sin(2.0 * t)], axis=1)
    noise = NOISE * rng.standard_normal((n, 4))
    return {"arc": arc + noise[:, :2], "sine": sine + noise[:, 2:]}


def manifolds(n: int = 200) -> dict[str, np.ndarray]:
    """The curves themselves."""
    t = np.linspace(0.0, np.pi, n)
    arc = np.stack([np.cos(t), np.sin(t)], axis=1)
    return {"arc": arc, "sine": np.stack([t - 0.5 * np.pi, np.sin(2.0 * t)], axis=1)}


def run(setting: Setting) -> list[Row]:
    """Training and held-out log density, cross-view errors, coverage, clusters."""
    found = tallied(
        setting, one_fit,
        [(name, seed) for seed in range(setting.seeds) for name in methods(setting, seed)],
    )  # fmt: skip
    rows = [
        summarise(
            name, measure, values, seconds=seconds,
            ours=not name.startswith("EM, K = 1,"), note=note(measure),
            published=PUBLISHED_CLUSTERS if (name, measure) == ("DP, Gibbs", "clusters") else None,
        )
        for (name, measure), (values, seconds) in found.items()
    ]  # fmt: skip
    return sorted(rows, key=lambda row: row.measure)


def one_fit(setting: Setting, name: str, seed: int) -> dict[str, dict[str, float]]:
    """One method on one draw, and its pictures."""
    train, test = curves(N_TRAIN, 2 * seed), curves(N_TEST, 2 * seed + 1)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = methods(setting, seed)[name]().fit(train)
    seconds = time.perf_counter() - began
    if seed == 0:
        draw_fits(setting, name, model, train)
        if name.startswith("DP"):
            draw_densities(setting, name, model, train, test)
        if hasattr(model, "trace_"):
            draw_chain(setting, name, model)
    return {name: measures(model, train, test) | {"seconds": seconds}}


def methods(setting: Setting, seed: int) -> dict[str, Any]:
    """Constructors by name; EM with one cluster is plain PCCA, the baseline."""
    sweeps = 40 if setting.quick else 10_000
    found = {
        f"EM, K = {k}{', plain PCCA' if k == 1 else ''}": (
            lambda k=k: MixturePCCA(k, 1, random_state=seed)
        )
        for k in (CLUSTERS[:3] if setting.quick else CLUSTERS)
    }
    # as in the thesis: from one cluster, 3 of 10 sweeps burnt, every tenth kept
    found["DP, Gibbs"] = lambda: DirichletPCCA(
        1, n_sweeps=sweeps, burn_in=3 * sweeps // 10, n_chains=1, start="one",
        random_state=seed,
    )  # fmt: skip
    found["DP, Gibbs, 4 starts"] = lambda: DirichletPCCA(
        1, n_sweeps=max(sweeps // 5, 20), n_chains=4, random_state=seed
    )
    found["DP, variational"] = lambda: DirichletPCCA(
        1, inference="variational", max_clusters=15, random_state=seed
    )
    return found


def measures(model: Any, train: dict, test: dict) -> dict[str, float]:
    """What the table shows of one fit."""
    found = {"train-log-density": model.score(train), "test-log-density": model.score(test)}
    for known, wanted in (("arc", "sine"), ("sine", "arc")):
        mean, std = model.predict({known: test[known]}, wanted, return_std=True)
        found[f"RMSE-{wanted}"] = float(np.sqrt(np.mean((mean - test[wanted]) ** 2)))
        inside = np.abs(test[wanted] - mean) < 1.645 * std
        found[f"coverage-90-{wanted}"] = float(np.mean(inside))
    if hasattr(model, "n_clusters_"):
        found["clusters"] = float(model.n_clusters_)
    curve = manifolds()
    for view in (
        "arc",
        "sine",
    ):  # the lowest density along the manifold tells whether it is covered
        density = model.predictive_density(None, view, curve[view])[0]
        found[f"lowest-density-{view}"] = float(np.quantile(density, 0.02))
    return found


def note(measure: str) -> str:
    """What a measure means, where its name does not tell."""
    if measure.startswith("lowest-density"):
        return "2 % quantile of the marginal density along the true curve"
    return (
        "the thesis: settles at 4, on curves it does not specify" if measure == "clusters" else ""
    )

"""Which options of MRD hold on tables that nobody tuned to: the choice of its defaults.

    python -m experiments defaults --jobs 2 --json defaults.json

The rule. The data sets of ``experiments tables`` are put in alphabetical order; those at odd
places choose, those at even places are looked at once, with the options chosen. A choice is made
by the mean over tasks of the gain in log density per value over ridge regression, in one division
into five folds, the gain of a task counting for half a nat at most, either way. Options are varied
one at a time from the default; a change must gain 0.005 to be made, so that the simpler stands
among equals.
"""

from typing import Any

import numpy as np

from manyviews import MRD, Search
from manyviews.stacking import Asked

from .setting import Setting
from .table import Row, summarise
from .tables import compared, plain_regressions, problems
from .tables_tasks import TASKS

MOST_GAIN = 0.5
WORTH = 0.005
QUIET = {"signal_check": "off"}
QUICK = ("gait",)
VARIANTS: dict[str, Any] = {
    "default": MRD(**QUIET),
    "kernel rbf": MRD(kernel="rbf", **QUIET),
    "kernel linear": MRD(kernel="linear", **QUIET),
    "scaling by view": MRD(scaling="view", **QUIET),
    "5 components": MRD(5, **QUIET),
    "20 components": MRD(20, **QUIET),
    "20 inducing inputs": MRD(n_inducing=20, **QUIET),
    "100 inducing inputs": MRD(n_inducing=100, **QUIET),
    "canonical start": MRD(init="canonical", **QUIET),
    "power by correlations": MRD(evidence_power="auto", **QUIET),
    "conditional private": Asked(MRD(**QUIET), {"private": "conditional"}),
    "tolerance 1e-5": MRD(search=Search(tol=1e-5), **QUIET),
    "tolerance 1e-3": MRD(search=Search(tol=1e-3), **QUIET),
    "one start": MRD(search=Search(n_restarts=1), **QUIET),
    "no link": MRD(residual_link=False, **QUIET),
    "no link, conditional private": Asked(
        MRD(residual_link=False, **QUIET), {"private": "conditional"}
    ),
}


def halves() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Data sets that choose, and data sets that are looked at once."""
    names = sorted({task.name for task in TASKS})
    return tuple(names[::2]), tuple(names[1::2])


def run(setting: Setting) -> list[Row]:
    """Every variant on the half that chooses, a row for each; then what the rule says."""
    sets = setting.sets or (QUICK if setting.quick else halves()[0])
    chosen = setting.methods or (("default", "no link") if setting.quick else tuple(VARIANTS))
    methods = ("ridge", *chosen)
    gains: dict[str, list[float]] = {name: [] for name in methods}
    ratios: dict[str, list[float]] = {name: [] for name in methods}
    seconds: dict[str, list[float]] = {name: [] for name in methods}
    for problem in problems(setting, sets):
        models = {"ridge": plain_regressions(problem)["ridge"]}
        models |= {name: VARIANTS[name] for name in chosen}
        found = compared(problem, models, 0, setting.shared("tables"), setting.jobs)
        table = found.table.set_index("method")
        for name in methods:
            if name not in table.index:
                continue
            gain = table.loc[name, "log_density"] - table.loc["ridge", "log_density"]
            gains[name].append(float(np.clip(gain, -MOST_GAIN, MOST_GAIN)))
            ratios[name].append(float(table.loc[name, "error"] / table.loc["ridge", "error"]))
            seconds[name].append(float(table.loc[name, "seconds"]))
    rows = []
    for name in (name for name in methods if gains[name]):
        note, took = f"{len(gains[name])} tasks", float(np.mean(seconds[name]))
        for measure, value in (
            ("density-gain-over-ridge", float(np.mean(gains[name]))),
            ("RMSE-ratio-to-ridge", float(np.exp(np.mean(np.log(ratios[name]))))),
            ("RMSE-ratio-to-ridge-worst", max(ratios[name])),
        ):
            ours = name != "ridge"
            rows.append(summarise(name, measure, [value], seconds=took, ours=ours, note=note))
    return rows

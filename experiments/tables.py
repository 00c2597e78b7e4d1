"""Many real tables: one view from others, our models beside the usual regressions.

    python -m experiments tables --sets gait russett --methods ridge GFA --jobs 2 --json tables.json

Errors are root mean squares in standard deviations of the training columns, pooled over columns
and five folds; densities are log densities per value in the same units, those of the stack of
its mixture and all others Gaussian. Every finished piece stands in a file of its own, so that a
run goes on where it stopped.
"""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import RidgeCV
from sklearn.neighbors import KNeighborsRegressor

from manyviews import MRD, Stack, Views
from manyviews.linear import GroupFactorAnalysis, ProbabilisticCCA
from manyviews.stacking import Comparison, ViewRegressor, compare

from .setting import DataFolderError, Setting
from .table import Row, summarise
from .tables_picture import draw
from .tables_tasks import TASKS, Problem, Task, load

REFERENCES = ("mean", "ridge", "5-NN", "PLS")  # in the order of the published errors
OURS = ("GFA", "GFA, column noise", "PCCA", "MRD", "Stack")
QUICK = {"sets": ("russett", "gait"), "methods": ("mean", "ridge", "GFA")}
MOST_FOR_FORESTS = 1_000_000  # samples times columns of the target
STRETCHES = 20  # of a series, that stay whole in the folds inside of a fit


def plain_regressions(problem: Problem) -> dict[str, Any]:
    """Those whose errors come with the data, with one variance per column."""
    plain = {"marks": False, "heteroscedastic": False}
    n_inputs = sum(problem.views[name].shape[1] for name in problem.task.known)
    return {
        "mean": ViewRegressor("mean", **plain),
        "ridge": ViewRegressor(RidgeCV(np.logspace(-1, 5, 13)), **plain),
        "PLS": ViewRegressor(PLSRegression(min(5, n_inputs)), **plain),
        "5-NN": ViewRegressor(KNeighborsRegressor(5), **plain),
    }


def methods(problem: Problem) -> dict[str, Any]:
    """Unfitted methods by name."""
    target = problem.task.target
    found = plain_regressions(problem) | {
        "GP regression": ViewRegressor("gp"),
        "random forest": ViewRegressor("forest"),
        "GFA": GroupFactorAnalysis(),
        "GFA, column noise": GroupFactorAnalysis(noise="column", scaling="column"),
        "PCCA": ProbabilisticCCA(regularisation=0.3, scaling="column"),
        "MRD": MRD(signal_check="off"),
        "Stack": Stack(targets=[target]),
    }
    if problem.views[target].size > MOST_FOR_FORESTS:
        del found["random forest"]
    return found


def run(setting: Setting) -> list[Row]:
    """Every task and method that was asked for, a row for each measure, and what they sum up to."""
    sets = setting.sets or (QUICK["sets"] if setting.quick else ())
    chosen = setting.methods or (QUICK["methods"] if setting.quick else ())
    console = Console(stderr=True)
    found: dict[Task, list[Comparison]] = {}
    for problem in problems(setting, sets):
        task, known = problem.task, methods(problem)
        absent = [name for name in chosen if name not in known and name != "random forest"]
        if absent:
            raise DataFolderError(f"there is no method {absent[0]!r}: there are {list(known)}")
        models = {name: model for name, model in known.items() if not chosen or name in chosen}
        began = time.perf_counter()
        repeats = 1 if setting.quick or task.split == "blocks" else setting.repeats
        found[task] = [
            compared(problem, models, repeat, setting.kept, setting.jobs)
            for repeat in range(repeats)
        ]
        seconds = time.perf_counter() - began
        console.print(f"{task.label}: {seconds:.0f} s", highlight=False)
    rows = [row for task, runs in found.items() for row in task_rows(task, runs)]
    draw(rows, setting.results / "tables.png")
    return [*rows, *overall(rows)]


def problems(setting: Setting, sets: Sequence[str]) -> Iterator[Problem]:
    """The tasks of some data sets, or all, with their data."""
    unknown = sorted(set(sets) - {task.name for task in TASKS})
    if unknown:
        raise DataFolderError(f"there is no task for the set {unknown[0]!r}")
    for task in TASKS:
        if not sets or task.name in sets:
            yield load(setting, task)


def compared(
    problem: Problem, models: dict[str, Any], repeat: int, folder: Path, n_jobs: int
) -> Comparison:
    """All methods on the same folds."""
    task, fold = problem.task, np.empty(len(problem.views[problem.task.target]), dtype=int)
    for number, (_, out) in enumerate(problem.splits(repeat)):
        fold[out] = number
    groups = problem.groups
    if task.split == "blocks":
        groups = np.arange(len(fold)) * STRETCHES // len(fold)
    return compare(
        Views(problem.views), models, targets=task.target, folds=fold, groups=groups,
        reference="ridge" if "ridge" in models else next(iter(models)), cache=folder,
        n_jobs=n_jobs, random_state=repeat,
    )  # fmt: skip


def task_rows(task: Task, runs: list[Comparison]) -> list[Row]:
    """Error, density, coverage and seconds of every method, means over repeats."""
    tables = [found.table.set_index("method") for found in runs]
    names = dict.fromkeys(name for table in tables for name in table.index)
    failures = {name: why for found in runs for name, why in found.failures.items()}
    rows = []
    for name in names:
        ours, kept = name in OURS, [table for table in tables if name in table.index]
        seconds = float(np.mean([table.loc[name, "seconds"] for table in kept]))
        for measure, column in (
            ("RMSE", "error"), ("log-density", "log_density"), ("coverage-90", "coverage"),
        ):  # fmt: skip
            published = None
            if measure == "RMSE" and task.published is not None and name in REFERENCES:
                published = task.published[REFERENCES.index(name)]
            values = [float(table.loc[name, column]) for table in kept]
            if measure == "RMSE" and published is not None:
                values = values[:1]  # the folds that the published errors are of
            rows.append(
                summarise(
                    name, f"{task.label} | {measure}", values, seconds=seconds, ours=ours,
                    published=published,
                )
            )  # fmt: skip
    for name, why in failures.items():
        rows.append(Row(name, f"{task.label} | RMSE", float("nan"), note=why[:80]))
    return rows


def overall(rows: list[Row]) -> list[Row]:
    """Over all tasks: ratios of errors and differences of densities to ridge's, and the worst."""
    values = {(row.method, row.measure): row.value for row in rows}
    found = []
    for name in dict.fromkeys(row.method for row in rows):
        ratios, gains, seconds = [], [], []
        for row in (r for r in rows if r.method == name and np.isfinite(r.value)):
            other = values.get(("ridge", row.measure))
            if other is None or not np.isfinite(other):
                continue
            if row.measure.endswith("| RMSE"):
                ratios.append(row.value / other)
                seconds.append(row.seconds)
            elif row.measure.endswith("| log-density"):
                gains.append(row.value - other)
        if not ratios:
            continue
        took, ours = float(np.mean(seconds)), name in OURS
        geometric = [float(np.exp(np.mean(np.log(ratios))))]
        note = f"{len(ratios)} tasks"
        for measure, value in (
            ("RMSE-ratio-to-ridge", geometric),
            ("RMSE-ratio-to-ridge-worst", [max(ratios)]),
            ("density-gain-over-ridge", [float(np.mean(gains))]),
            ("density-gain-over-ridge-worst", [min(gains)]),
        ):
            found.append(summarise(name, measure, value, seconds=took, ours=ours, note=note))
    return found

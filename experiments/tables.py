"""Many real tables: one view from others, our models beside the usual regressions.

    python -m experiments tables --sets gait russett --methods ridge GFA --jobs 2 --json tables.json

Errors are root mean squares in standard deviations of the training columns, pooled over columns
and five folds; densities are log densities per value in the same units, those of the stack of
its mixture and all others Gaussian. PCCA is measured where it is a usual member of stacks. Every
finished piece stands in a file of its own, so that a run goes on where it stopped; the pieces of a
stack are its members (`tables_stacks`). Other libraries are measured where they are named
(`tables_peers`).
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import RidgeCV
from sklearn.neighbors import KNeighborsRegressor

from manyviews import MRD, Views
from manyviews.linear import GroupFactorAnalysis, ProbabilisticCCA
from manyviews.stacking import Comparison, Question, ViewRegressor, compare
from manyviews.stacking.cells import Cells
from manyviews.stacking.comparing import scored_fold
from manyviews.stacking.members import usual_members

from . import tables_peers
from .pieces import Piece, finished, place
from .setting import DataFolderError, Setting
from .table import Row, summarise
from .tables_picture import draw
from .tables_stacks import MEMBERS, Division, said_by, stacked, suits, usual
from .tables_tasks import FOLDS, TASKS, Problem, Task, load

REFERENCES = ("mean", "ridge", "5-NN", "PLS")  # in the order of the published errors
OURS = ("GFA", "GFA, column noise", "PCCA", "MRD", "Stack")
QUICK = {"sets": ("russett", "gait"), "methods": ("mean", "ridge", "GFA")}
MOST_FOR_FORESTS = 1_000_000  # samples times columns of the target
STRETCHES = 20  # of a series, that stay whole in the folds inside of a fit
FEW_SAMPLES = 600  # up to which programs take longer than fits: one process does all folds
SIDE_BY_SIDE = 8  # larger tasks: processes that begin with different data do not compile the same
RIVALS = ("ridge", "PLS", "5-NN", "GP regression", "random forest")
ERROR, DENSITY = "| RMSE", "| log-density"
STACK = "Stack"  # the last of the larger tasks
MEMBER = "Stack: "  # and the name of a member: a piece of a stack


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
    """Unfitted methods by name, but for stacks and other libraries."""
    found = plain_regressions(problem) | {
        "GP regression": ViewRegressor("gp"),
        "random forest": ViewRegressor("forest"),
        "GFA": GroupFactorAnalysis(),
        "GFA, column noise": GroupFactorAnalysis(noise="column", scaling="column"),
        "PCCA": ProbabilisticCCA(regularisation=0.3, scaling="column"),
        "MRD": MRD(signal_check="off"),
    }
    if problem.views[problem.task.target].size > MOST_FOR_FORESTS:
        del found["random forest"]
    if "pcca" not in usual_members(Views(problem.views)):
        del found["PCCA"]
    return found


METHODS = (
    "mean", "ridge", "PLS", "5-NN", "GP regression", "random forest", "GFA", "GFA, column noise",
    "PCCA", "MRD", "Stack",
)  # fmt: skip


def run(setting: Setting) -> list[Row]:
    """Every task and method that was asked for, a row for each measure, and what they sum up to.

    Of what has not been done in all folds when the time is up there is no row.
    """
    sets = setting.sets or (QUICK["sets"] if setting.quick else ())
    chosen = setting.methods or (QUICK["methods"] if setting.quick else METHODS)
    known = (*METHODS, *tables_peers.METHODS)
    absent = [name for name in chosen if name not in known]
    if absent:
        raise DataFolderError(f"there is no method {absent[0]!r}: there are {list(known)}")
    tasks = chosen_tasks(sets)
    sizes = {task.label: n_samples(load(setting, task)) for task in tasks}
    folds = planned(tasks, chosen, 1 if setting.quick else setting.repeats, sizes)
    pieces = [piece for each in folds for piece in parts(each)]

    def together(piece: Piece) -> Piece:
        return piece[:3] if sizes[piece[0]] <= FEW_SAMPLES else piece

    cells = finished(setting, one_fold, pieces, said, all_of_them=False, together=together)
    whole = [each for each in folds if each[1] == STACK and all(p in cells for p in parts(each))]
    cells |= finished(setting, stack_fold, whole, said, all_of_them=False)
    found = {task: comparisons(task, chosen, cells) for task in tasks}
    rows = [row for task, runs in found.items() if runs for row in task_rows(task, runs)]
    draw(rows, setting.results / "tables.png")
    return [*rows, *overall(rows)]


def planned(
    tasks: Sequence[Task],
    chosen: Sequence[str],
    repeats: int,
    sizes: Mapping[str, int],
) -> list[Piece]:
    """All folds: tasks of few samples with all methods, then the others, stacks of these last.

    Of the former the largest come first, so that no process works alone at the end. Of the latter
    the smallest come first, a few side by side: the first fold of each, the second, and so on.
    """
    by_size = sorted(tasks, key=lambda task: sizes[task.label])
    few = [task for task in reversed(by_size) if sizes[task.label] <= FEW_SAMPLES]
    many = [task for task in by_size if sizes[task.label] > FEW_SAMPLES]
    slow_first = list(reversed(chosen))
    kinds = [[name for name in slow_first if (name == STACK) == last] for last in (False, True)]
    found = []
    for repeat in range(repeats):
        found += [
            (task.label, method, repeat, fold)
            for task in few
            if divided(task, repeat)
            for method in slow_first
            for fold in range(FOLDS)
        ]
        found += [
            (task.label, method, repeat, fold)
            for names in kinds
            for first in range(0, len(many), SIDE_BY_SIDE)
            for method in names
            for fold in range(FOLDS)
            for task in many[first : first + SIDE_BY_SIDE]
            if divided(task, repeat)
        ]
    return found


def n_samples(problem: Problem) -> int:
    """Samples that have the target and something known."""
    return len(problem.views[problem.task.target])


def divided(task: Task, repeat: int) -> bool:
    """Whether there is another division into folds: blocks can be divided in one way only."""
    return repeat == 0 or task.split != "blocks"


@lru_cache(maxsize=2)
def _problem(setting: Setting, label: str) -> Problem:
    return load(setting, next(task for task in TASKS if task.label == label))


def one_fold(
    setting: Setting, label: str, name: str, repeat: int, number: int
) -> dict[str, Any] | None:
    """The scores of one method in one fold; None where the method is not for this task."""
    problem = _problem(setting, label)
    fold, groups = folds_of(problem, repeat)
    data = Views(problem.views)
    question = Question.of(tuple(problem.views), problem.task.target)
    if name in tables_peers.METHODS:
        return tables_peers.peer_fold(name, data, fold, number, question, repeat)
    if name.startswith(MEMBER):
        member, division = name.removeprefix(MEMBER), Division(data, fold, number, groups, repeat)
        return said_by(member, data, question, division) if suits(member, division) else None
    known = methods(problem)
    if name not in known:
        return None
    return scored_fold(name, known[name], number, data, fold, [question], groups, repeat)


def parts(piece: Piece) -> list[Piece]:
    """The pieces of a piece: of a stack, its members."""
    label, name, *rest = piece
    return [(label, MEMBER + each, *rest) for each in MEMBERS] if name == STACK else [piece]


def stack_fold(setting: Setting, label: str, name: str, repeat: int, number: int) -> dict[str, Any]:
    """The scores of a stack in one fold, its members being there."""
    problem = _problem(setting, label)
    fold, groups = folds_of(problem, repeat)
    data, target = Views(problem.views), problem.task.target
    division = Division(data, fold, number, groups, repeat)
    members = {}
    for member in usual(division):
        kept = Cells.read(place(setting, one_fold, (label, MEMBER + member, repeat, number)))
        assert kept is not None
        members[member] = kept["answer"]
    question = Question.of(tuple(problem.views), target)
    seconds = sum(found["seconds"] for found in members.values())
    scores = stacked(members, data, question, division)
    failures = [f"{m}: {found['failure']}" for m, found in members.items() if found["failure"]]
    return {
        "method": name, "fold": number, "seconds": seconds, "failure": "", "notes": failures,
        "scores": {target: {**scores, "seconds": seconds}},
    }  # fmt: skip


def said(cell: dict[str, Any] | None) -> str:
    """What is told of a piece."""
    if cell is None:
        return "not for so large a table"
    if cell["failure"]:
        return str(cell["failure"])[:80]
    if "scores" not in cell:
        return ""
    (scores,) = cell["scores"].values()
    error = np.sqrt(scores["squares"] / scores["values"])
    return f"error {error:.3f}, log density {scores['log_density'] / scores['values']:.3f}"


def comparisons(
    task: Task, chosen: Sequence[str], cells: dict[Piece, dict[str, Any] | None]
) -> list[Comparison]:
    """For every division, the methods that have been measured in all its folds."""
    found = []
    for repeat in sorted({piece[2] for piece in cells if piece[0] == task.label}):
        kept = {
            name: [
                cell
                for fold in range(FOLDS)
                if (cell := cells.get((task.label, name, repeat, fold))) is not None
            ]
            for name in chosen
        }
        whole = {name: own for name, own in kept.items() if len(own) == FOLDS}
        if not whole:
            continue
        question = Question((*task.known,), task.target)
        rows = [cell for own in whole.values() for cell in own]
        reference = "ridge" if "ridge" in whole else next(iter(whole))
        found.append(Comparison.of(rows, list(whole), [question], reference, n_samples=0))
    return found


def chosen_tasks(sets: Sequence[str]) -> list[Task]:
    """The tasks of some data sets, or all."""
    unknown = sorted(set(sets) - {task.name for task in TASKS})
    if unknown:
        raise DataFolderError(f"there is no task for the set {unknown[0]!r}")
    return [task for task in TASKS if not sets or task.name in sets]


def problems(setting: Setting, sets: Sequence[str]) -> Iterator[Problem]:
    """The tasks of some data sets, or all, with their data."""
    for task in chosen_tasks(sets):
        yield load(setting, task)


def folds_of(problem: Problem, repeat: int) -> tuple[np.ndarray, np.ndarray | None]:
    """The fold of every row, and the groups that stay whole in folds inside of a fit."""
    fold = np.empty(len(problem.views[problem.task.target]), dtype=int)
    for number, (_, out) in enumerate(problem.splits(repeat)):
        fold[out] = number
    if problem.task.split == "blocks":
        return fold, np.arange(len(fold)) * STRETCHES // len(fold)
    return fold, problem.groups


def compared(
    problem: Problem, models: dict[str, Any], repeat: int, folder: Path, n_jobs: int
) -> Comparison:
    """All methods on the same folds."""
    fold, groups = folds_of(problem, repeat)
    return compare(
        Views(problem.views), models, targets=problem.task.target, folds=fold, groups=groups,
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
    """Over all tasks: what every method has beside ridge, and beside the best rival of each task;
    other libraries beside MRD, too.

    Ratios of errors and differences of densities, their means and the worst; and the share of
    tasks with a higher density.
    """
    values = {(row.method, row.measure): row.value for row in rows}
    seconds = {(row.method, row.measure): row.seconds for row in rows}
    found = []
    for name in dict.fromkeys(row.method for row in rows):
        beside = [(("ridge",), "ridge"), (RIVALS, "best-rival")]
        beside += [(("MRD",), "MRD")] if name in tables_peers.METHODS else []
        for rivals, label in beside:
            ratios, gains, took = [], [], []
            for task in (m for n, m in values if n == name and m.endswith(ERROR)):
                density = task.removesuffix(ERROR) + DENSITY
                errors = [values.get((rival, task), np.nan) for rival in rivals]
                others = [values.get((rival, density), np.nan) for rival in rivals]
                if np.isfinite([values[name, task], *errors, *others]).all():
                    ratios.append(values[name, task] / min(errors))
                    gains.append(values[name, density] - max(others))
                    took.append(seconds[name, task])
            if not ratios:
                continue
            for measure, value in (
                (f"RMSE-ratio-to-{label}", np.exp(np.mean(np.log(ratios)))),
                (f"RMSE-ratio-to-{label}-worst", max(ratios)),
                (f"density-gain-over-{label}", np.mean(gains)),
                (f"density-gain-over-{label}-worst", min(gains)),
                (f"density-above-{label}", np.mean(np.array(gains) > 0.0)),
            ):
                found.append(
                    summarise(
                        name, measure, [float(value)], seconds=float(np.mean(took)),
                        ours=name in OURS, note=f"{len(ratios)} tasks",
                    )
                )  # fmt: skip
    return found

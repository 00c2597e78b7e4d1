"""Counts, yes or no, levels and censored times: whole views, and hidden entries, predicted.

    python -m experiments kinds --jobs 16 --limit 480 --json kinds.json

Every task of :mod:`.kinds_tasks` in five folds: ours with the right likelihood for the target, ours
as if it were Gaussian, the regularised GLM and the marginal of the collection, and MOFA+, in an
environment of its own (:mod:`.kinds_mofa`), as is MOFA-FLEX if ``--methods`` names it. Losses are
in the units of the collection, less is better.
Every fold of every method stands in a file of its own, first folds first: a run that ends at its
limit has some of every task, and goes on with the same command. Of each task those folds count that
all methods have.
"""

import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from manyviews import Search

from . import kinds_models as models
from . import kinds_references as references
from .kinds_mofa import FLEX, mofa
from .kinds_tasks import FOLDS, TASKS, Problem, Task, load
from .pieces import finished
from .setting import DataFolderError, Setting
from .table import Row, summarise

MARGINAL, GLM, OURS, GAUSSIAN, MOFA = "marginal", "GLM", "MRD", "MRD as Gaussian", "MOFA"
MOFAFLEX = "MOFA-FLEX"
METHODS = (MARGINAL, GLM, OURS, GAUSSIAN, MOFA)
LATENT = (OURS, GAUSSIAN, MOFA)
QUICK: dict[str, Any] = {"sets": ("russett",), "methods": (MARGINAL, GLM, OURS)}
SLOW_LAST = ("hobbies", "nhanes", "bfi")  # so that a run with a limit has all others first


def run(setting: Setting) -> list[Row]:
    """The loss of every method in every task, and what they come to."""
    sets = setting.sets or (QUICK["sets"] if setting.quick else ())
    chosen = setting.methods or (QUICK["methods"] if setting.quick else METHODS)
    for given, known in ((sets, {t.name for t in TASKS}), (chosen, {*METHODS, MOFAFLEX})):
        unknown = sorted(set(given) - known)
        if unknown:
            raise DataFolderError(f"there is no {unknown[0]!r}: there are {sorted(known)}")
    tasks = [task for task in TASKS if not sets or task.name in sets]
    folds = 1 if setting.quick else FOLDS
    pieces = [  # a run with a limit has a few folds of every task
        (method, _name(task), fold)
        for last in (False, True)
        for fold in range(folds)
        for task in tasks
        if (task.name in SLOW_LAST) == last
        for method in chosen
    ]
    found = finished(setting, one_fold, pieces, _said, all_of_them=False)
    rows = []
    for task in tasks:
        for method, answers in _comparable(found, chosen, _name(task)).items():
            rows += _rows(task, method, answers)
    return [*rows, *overall(rows)]


def _comparable(
    found: dict[Any, dict[str, Any]], methods: Sequence[str], name: str
) -> dict[str, list[dict[str, Any]]]:
    """Answers to a task in the folds that all methods have, if they have any."""
    done = {m: {fold: found[m, name, fold] for fold in range(FOLDS) if (m, name, fold) in found}
            for m in methods}  # fmt: skip
    done = {method: answers for method, answers in done.items() if answers}
    shared = set.intersection(*map(set, done.values())) if done else set()
    return {m: [answers[fold] for fold in sorted(shared)] for m, answers in done.items() if shared}


def _name(task: Task) -> str:
    return f"{task.label} [{task.form}]"


@lru_cache(maxsize=2)
def _problem(setting: Setting, name: str) -> Problem:
    return load(setting, next(task for task in TASKS if _name(task) == name))


def one_fold(setting: Setting, method: str, name: str, fold: int) -> dict[str, Any]:
    """The losses of one method in one fold, added up."""
    problem = _problem(setting, name)
    hidden = list(problem.folds())[fold]
    search = Search(n_restarts=1, max_iter=20) if setting.quick else None
    began, inside = time.perf_counter(), np.empty(0)
    try:
        if method == MARGINAL:
            losses = references.marginal(problem, hidden)
        elif method == GLM:
            losses = references.glm(problem, hidden)
        elif method == MOFA:
            losses, inside = mofa(problem, hidden)
        elif method == MOFAFLEX:
            losses, inside = mofa(problem, hidden, FLEX)
        else:
            ask = models.ours if method == OURS else models.as_gaussian
            losses, inside = ask(problem, hidden, search)
    except Exception as error:
        return {"failure": f"{type(error).__name__}: {error}"[:200]}
    return {
        "loss": float(losses.sum()), "count": len(losses), "inside": float(inside.sum()),
        "asked": len(inside), "seconds": time.perf_counter() - began,
    }  # fmt: skip


def _said(answer: dict[str, Any]) -> str:
    if "failure" in answer:
        return answer["failure"]
    return f"{answer['loss'] / max(answer['count'], 1):.3f}"


def _rows(task: Task, method: str, answers: list[dict[str, Any]]) -> list[Row]:
    """The loss over all folds that are there, and the coverage."""
    failed = [answer["failure"] for answer in answers if "failure" in answer]
    kept = [answer for answer in answers if "failure" not in answer]
    label = _name(task)
    if not kept:
        return [Row(method, f"{label} | loss", float("nan"), note=failed[0])] if failed else []
    published = {MARGINAL: task.marginal, GLM: task.glm}.get(method)
    seconds = float(np.mean([answer["seconds"] for answer in kept]))
    ours = method in (OURS, GAUSSIAN)
    note = f"{len(kept)} folds" if len(kept) < FOLDS else ""
    note = f"{note} {failed[0]}" if failed else note
    count = sum(answer["count"] for answer in kept)
    loss = sum(answer["loss"] for answer in kept) / count
    rows = [summarise(method, f"{label} | loss", [loss], seconds=seconds, ours=ours,
                      published=published, note=note)]  # fmt: skip
    asked = sum(answer["asked"] for answer in kept)
    if asked:
        inside = sum(answer["inside"] for answer in kept) / asked
        rows.append(summarise(method, f"{label} | coverage-90", [inside], ours=ours))
    return rows


def overall(rows: list[Row]) -> list[Row]:
    """Mean gains over the marginal and the GLM, in nats, and how often a method is better."""
    values = {(row.method, row.measure): row.value for row in rows if row.measure.endswith("loss")}
    found = []
    for method in dict.fromkeys(row.method for row in rows):
        for rival in (MARGINAL, GLM, GAUSSIAN, MOFA):
            gains = [
                values[rival, measure] - value
                for (own, measure), value in values.items()
                if own == method and np.isfinite(value)
                and np.isfinite(values.get((rival, measure), np.nan))
            ]  # fmt: skip
            if not gains or method == rival:
                continue
            note = f"better in {sum(gain > 0 for gain in gains)} of {len(gains)} tasks"
            found.append(
                summarise(method, f"gain-over-{rival.replace(' ', '-')}", [float(np.mean(gains))],
                          ours=method in (OURS, GAUSSIAN), note=note)
            )  # fmt: skip
    return [*found, *_best(values)]


def _best(values: dict[tuple[str, str], float]) -> list[Row]:
    """The share of tasks in which each of the latent variable methods is the best of them."""
    tasks = {
        measure: [values.get((method, measure), np.nan) for method in LATENT]
        for _, measure in values
    }
    whole = [losses for losses in tasks.values() if np.isfinite(losses).all()]
    if not whole:
        return []
    first = np.argmin(whole, axis=1)
    return [
        summarise(
            method, "best-latent-variable-method", [float(np.mean(first == place))],
            ours=method != MOFA, note=f"{int(np.sum(first == place))} of {len(whole)} tasks",
        )
        for place, method in enumerate(LATENT)
    ]  # fmt: skip

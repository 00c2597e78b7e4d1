"""Options of a model chosen by how well it predicts held-out values of views from other views."""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from ..data import Views, as_views, check_overlap
from ..errors import DataError, OptionError
from ..shells.naming import Names, check_views, listed
from .cells import Cells, described, fingerprint
from .comparison import Comparison, standard_error
from .fitting import EXPECTED, Outcome, fit_one
from .folds import fold_of_rows, group_codes
from .members import answer, fitted, fresh
from .parallel import side_by_side
from .progress import Steps
from .question import Question
from .scores import Scores, training_scale

AFTER_THE_FIT = ("evidence_power", "residual_link")  # options that may be changed then
Options = dict[str, Any]


@dataclass(frozen=True)
class Selection:
    """Options that were tried, and the model with those chosen.

    Attributes
    ----------
    model : model
        With the options chosen, fitted to all samples.
    options : dict
        What was chosen.
    table : DataFrame
        A row per combination of options: error, log density and coverage, means over the targets,
        and the gain in log density over the first combination with its standard error over folds.
    comparison : Comparison
        All measures by view and fold; combinations are named by their options.
    """

    model: Any
    options: Options
    table: pd.DataFrame
    comparison: Comparison


def select(
    model: Any,
    grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
    views: Any,
    *,
    targets: Names | None = None,
    folds: Any = 5,
    groups: Any = None,
    cache: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
    verbose: int = 0,
) -> Selection:
    """Choose options of a model by cross-validation of one view from the others.

    The combination with the highest log density of held-out values is taken, if it gains more than
    one standard error (over folds, in pairs) on the first combination; that one otherwise. Put what
    is simpler first. ``evidence_power`` and ``residual_link`` of `MRD` are tried without further
    fits.

    Parameters
    ----------
    model : model of views
        Such as ``MRD()``; it is not changed.
    grid : dict of lists, or list of these
        Values to try by name of the option, as scikit-learn's ``ParameterGrid`` takes them.
    views : dict, list, MuData, Views
        Two views or more; NaN is missing.
    targets : str or list of str, optional
        Views to predict, each from all others. Default: every view.
    folds, groups, cache, n_jobs, random_state, verbose
        As for `compare`.

    Examples
    --------
    >>> import numpy as np
    >>> from manyviews import select
    >>> from manyviews.linear import GroupFactorAnalysis
    >>> x = np.random.default_rng(0).normal(size=(60, 2))
    >>> noise = 0.3 * np.random.default_rng(1).normal(size=(60, 7))
    >>> views = {"a": x @ np.ones((2, 4)) + noise[:, :4], "b": x[:, :1] + noise[:, 4:]}
    >>> found = select(GroupFactorAnalysis(random_state=0), {"n_components": [1, 2]}, views)
    >>> found.options
    {'n_components': 2}
    """
    data = views if isinstance(views, Views) else Views(views)
    if len(tuple(data)) < 2:
        raise DataError(f"a selection needs two views or more, got {list(data)}")
    aligned = as_views(data)
    check_overlap(aligned)
    check_views(aligned)
    names = tuple(data)
    questions = [Question.of(names, target) for target in listed(targets) or names]
    tried = _tried(model, grid)
    fold, codes = fold_of_rows(data, folds, groups, random_state), group_codes(data, groups)
    cells = Cells(cache, fingerprint(data, fold, codes, questions, random_state))
    jobs = [
        (model, before, afters, number)
        for number in range(int(fold.max()) + 1)
        for before, afters in tried
    ]
    paths = [cells.path("select", job[3], described(model) + repr(job[1:3])) for job in jobs]
    known = [cells.read(path) for path in paths]
    left = [
        (*job, path, data, fold, questions, codes, random_state)
        for job, path, there in zip(jobs, paths, known, strict=True)
        if there is None
    ]
    found = [cell for some in known if some is not None for cell in some["cells"]]
    with Steps("selecting", len(left), bool(verbose)) as steps:
        for some in side_by_side(_try, left, n_jobs):
            steps.done(", ".join(dict.fromkeys(cell["method"] for cell in some)))
            found += some
    options = {_named({**b, **a}): {**b, **a} for b, afters in tried for a in afters}
    first = next(iter(options))
    comparison = Comparison.of(found, list(options), questions, first, len(data))
    if first in comparison.failures:
        raise DataError(f"{first} cannot be fitted: {comparison.failures[first]}")
    table = _table(comparison)
    chosen = _chosen(table, first)
    best = fresh(clone(model).set_params(**options[chosen]), len(data), random_state)
    return Selection(fitted(best, data, codes), options[chosen], table, comparison)


def _tried(model: Any, grid: Any) -> list[tuple[Options, list[Options]]]:
    """Combinations of options to fit with, and of options to ask with after each of these fits."""
    known = model.get_params()
    found: dict[str, tuple[Options, list[Options]]] = {}
    for each in ParameterGrid(grid):
        for name in each:
            if name not in known:
                raise OptionError(f"{type(model).__name__} has no option {name!r}")
        after = {name: value for name, value in each.items() if name in AFTER_THE_FIT}
        before = {name: value for name, value in each.items() if name not in after}
        found.setdefault(_named(before), (before, []))[1].append(after)
    return list(found.values())


def _named(options: Options) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in sorted(options.items())) or "as given"


def _try(
    model: Any,
    before: Options,
    afters: Sequence[Options],
    number: int,
    path: Any,
    data: Views,
    fold: np.ndarray,
    questions: Sequence[Question],
    groups: Any,
    seed: int,
) -> list[dict[str, Any]]:
    """One fit in one fold, asked with every combination of the options that need no other fit."""
    outcome = fit_one("", clone(model).set_params(**before), data, fold, number, [], groups, seed)
    found = [_asked(outcome, {**before, **after}, after, data, fold, questions) for after in afters]
    Cells.write(path, {"cells": found})
    return found


def _asked(
    outcome: Outcome,
    options: Options,
    after: Options,
    data: Views,
    fold: np.ndarray,
    questions: Sequence[Question],
) -> dict[str, Any]:
    scores, failure = {}, outcome.failure
    try:
        for question in () if failure else questions:
            out = (fold == outcome.fold) & question.rows(data)
            if not out.any():
                continue
            began, table = time.perf_counter(), data.array(question.target)
            said = answer(outcome.model.set_params(**after), data[out], question)
            found = Scores.of(said, table[out], training_scale(table[fold != outcome.fold]))
            seconds = outcome.seconds + time.perf_counter() - began
            scores[question.target] = {**found.as_dict(), "seconds": seconds}
    except EXPECTED as wrong:
        failure = f"{type(wrong).__name__}: {wrong}"
    return {
        "method": _named(options), "fold": outcome.fold, "failure": failure,
        "notes": outcome.notes, "scores": {} if failure else scores,
    }  # fmt: skip


def _table(comparison: Comparison) -> pd.DataFrame:
    """Means over the targets, and gains over the first combination, fold by fold."""
    folds = comparison.folds
    means = folds.groupby(["method", "fold"], sort=False)[
        ["error", "log_density", "coverage"]
    ].mean()
    wide = means["log_density"].unstack("method")
    gains = wide.sub(wide[comparison.reference], axis=0)
    table = means.groupby("method", sort=False).mean()
    table["gain"] = gains.mean()
    table["gain_se"] = [standard_error(gains[name].dropna().to_numpy()) for name in table.index]
    return table.reset_index(names="options")


def _chosen(table: pd.DataFrame, reference: str) -> str:
    best = int(np.argmax(table["log_density"]))
    worth = table["gain"].to_numpy()[best] > table["gain_se"].to_numpy()[best]
    return str(table["options"].to_numpy()[best]) if worth else reference

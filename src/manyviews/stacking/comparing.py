"""Models and their rivals compared on the user's own data, fold by fold."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..data import Views, as_views, check_overlap
from ..errors import DataError, OptionError
from ..shells.naming import Names, check_views, listed
from .cells import Cells, described, fingerprint
from .comparison import Comparison
from .fitting import fit_one
from .folds import fold_of_rows, group_codes
from .members import JOINT, named_members, usual_members
from .parallel import side_by_side
from .progress import Steps
from .question import Question
from .scores import Scores, training_scale
from .stack import Stack

ORDER = ("mean", "ridge", "pls", "knn", "gp", "forest", "gfa", "pcca", "mrd")


def compare(
    views: Any,
    models: Any = None,
    *,
    targets: Names | None = None,
    folds: Any = 5,
    reference: str | None = None,
    times: Any = None,
    sequences: Any = None,
    groups: Any = None,
    cache: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
    verbose: int = 0,
) -> Comparison:
    """Predict every view from the others by several methods, cross-validated.

    Parameters
    ----------
    views : dict, list, MuData, Views
        Two views or more; NaN is missing.
    models : list or dict by name, optional
        As for `Stack`, and ``"stack"`` for a stack of the usual members. Default:
        the mean, ridge, PLS, k-NN, GP regression, a random forest (up to 200,000 numbers), GFA,
        PCCA (up to 600 columns, 100 with holes or of three views and more), MRD with a brief
        search, and the stack.
    targets : str or list of str, optional
        Views to predict, each from all others. Default: every view.
    folds : int or array-like of int, default=5
        Number of folds of shuffled samples, with groups and sequences whole; or the fold of every
        sample.
    reference : str, optional
        The method that all others are compared with, in pairs, fold by fold. Default: ``"ridge"``,
        or the first method where ridge is none of them.
    times, sequences, groups
        As for `Stack`.
    cache : path, optional
        A folder for results, one JSON file per method and fold. A later call with the same data and
        options reads them instead of fitting again.
    n_jobs : int, optional
        Number of processes that work on methods and folds in parallel.
    random_state : int, default=0
        Seed of the folds.
    verbose : int, default=0
        1 shows progress.

    Returns
    -------
    Comparison
        With ``table``, ``sentence``, ``plot()`` and ``to_json()``.

    Examples
    --------
    >>> import numpy as np
    >>> from manyviews import compare
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(60, 2))
    >>> views = {"a": x + 0.3 * rng.normal(size=(60, 2)), "b": x @ rng.normal(size=(2, 3))}
    >>> found = compare(views, ["mean", "ridge", "knn"], targets="b")
    >>> found.table[["method", "error"]].round(2)
      method  error
    0   mean   1.06
    1  ridge   0.32
    2    knn   0.43
    >>> print(found.sentence)
    Use ridge: no method is better by more than a standard error.
    """
    given = isinstance(views, Views) and times is None and sequences is None
    data = views if given else Views(views, times=times, sequences=sequences)
    if len(tuple(data)) < 2:
        raise DataError(f"a comparison needs two views or more, got {list(data)}")
    views = as_views(data)
    check_overlap(views, timed=data.times is not None)
    check_views(views, empty_rows=data.times is not None)
    names = tuple(data)
    questions = [Question.of(names, target) for target in listed(targets) or names]
    methods = _methods(models, data, questions)
    if reference is None:
        reference = "ridge" if "ridge" in methods else next(iter(methods))
    if reference not in methods:
        raise OptionError(f"reference={reference!r} is none of the methods {list(methods)}")
    fold = fold_of_rows(data, folds, groups, random_state)
    codes = group_codes(data, groups)
    cells = Cells(cache, fingerprint(data, fold, codes, questions, random_state))
    jobs = [
        (name, method, number, cells.path(name, number, described(method)))
        for number in range(int(fold.max()) + 1)
        for name, method in methods.items()
    ]
    found = [cell for *_, path in jobs if (cell := cells.read(path)) is not None]
    open_jobs = [job for job in jobs if cells.read(job[3]) is None]
    pieces = [(*job, data, fold, questions, codes, random_state) for job in open_jobs]
    with Steps("comparing", len(pieces), bool(verbose)) as steps:
        for cell in side_by_side(_cell, pieces, n_jobs):
            steps.done(f"{cell['method']}, {cell['seconds']:.1f} s")
            found.append(cell)
    return Comparison.of(found, list(methods), questions, reference, len(data))


def _methods(models: Any, data: Views, questions: Sequence[Question]) -> dict[str, Any]:
    """Members by name; a stack of the usual ones where it is named."""
    if models is None:
        usual = {*JOINT, *usual_members(data)}
        models = [*(name for name in ORDER if name in usual), "stack"]
    stack = Stack(targets=[question.target for question in questions])
    if isinstance(models, dict):
        models = {name: stack if each == "stack" else each for name, each in models.items()}
    elif isinstance(models, list | tuple):
        models = [stack if isinstance(each, str) and each == "stack" else each for each in models]
    return named_members(models)


def _cell(name: str, method: Any, number: int, path: Path | None, *rest: Any) -> dict[str, Any]:
    """One method and one fold; written down before anything else happens."""
    cell = scored_fold(name, method, number, *rest)
    Cells.write(path, cell)
    return cell


def scored_fold(
    name: str,
    method: Any,
    number: int,
    data: Views,
    fold: np.ndarray,
    questions: Sequence[Question],
    groups: Any,
    seed: int,
) -> dict[str, Any]:
    """One method and one fold: its scores by target, or why there are none."""
    outcome = fit_one(name, method, data, fold, number, questions, groups, seed)
    scores = {}
    for question, said in outcome.answers.items():
        table = data.array(question.target)
        rows = (fold == number) & question.rows(data)
        found = Scores.of(said, table[rows], training_scale(table[fold != number]))
        scores[question.target] = {**found.as_dict(), "seconds": outcome.spent[question]}
    return {
        "method": name,
        "fold": number,
        "seconds": outcome.seconds,
        "failure": outcome.failure,
        "notes": outcome.notes,
        "scores": {} if outcome.failure else scores,
    }

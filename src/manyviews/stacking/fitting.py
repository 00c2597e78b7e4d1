"""Members fitted to the rows outside of a fold and asked about those in it, side by side."""

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._runtime import single_threaded_blas
from ..data import Views
from ..errors import ManyviewsError, MemberLeftOutWarning
from ..inference.row_programs import sharing_programs
from .members import answer, fitted, fresh
from .mixture import Mixture
from .parallel import side_by_side
from .progress import Steps
from .question import Question

ALL = -1  # in the place of a fold: no row is held out
EXPECTED = (ManyviewsError, ValueError, ArithmeticError, np.linalg.LinAlgError)


@dataclass
class Outcome:
    """One member and one fold.

    Attributes
    ----------
    member : str
    fold : int
        The fold held out, or -1.
    model : object
        The fitted member.
    answers : dict
        By question, what it says of the rows held out that count (`Question.rows`).
    failure : str
        Why there is no answer; empty if there is one.
    seconds : float
        Of the fit and all answers.
    spent : dict
        By question, of the fit and its own answer.
    notes : list of str
        Members that a member, if it is a stack, has left out.
    """

    member: str
    fold: int
    model: Any = None
    answers: dict[Question, Mixture] = field(default_factory=dict)
    failure: str = ""
    seconds: float = 0.0
    spent: dict[Question, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def fit_all(
    members: dict[str, Any],
    views: Views,
    fold: np.ndarray,
    questions: Sequence[Question],
    *,
    folds: Sequence[int],
    groups: Any = None,
    seed: int | None = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> list[Outcome]:
    """Fit every member without each of the folds (all rows for -1) and ask the questions."""
    pieces = [
        (name, member, views, fold, number, questions, groups, seed, ALL in folds)
        for number in folds
        for name, member in members.items()
    ]
    found = []
    with Steps("stacking", len(pieces), verbose) as steps:
        for outcome in side_by_side(fit_one, pieces, n_jobs):
            steps.done(f"{outcome.member}, {outcome.seconds:.1f} s")
            found.append(outcome)
    place = {name: order for order, name in enumerate(members)}
    return sorted(found, key=lambda outcome: (place[outcome.member], outcome.fold))


def fit_one(
    name: str,
    member: Any,
    views: Views,
    fold: np.ndarray,
    number: int,
    questions: Sequence[Question],
    groups: Any,
    seed: int | None,
    whole: bool = False,
) -> Outcome:
    """One member and one fold; what goes wrong for a reason is said, not raised.

    Compiled programs are shared with the fits to other folds, and with that to all rows where
    there is one (``whole``).
    """
    began = time.perf_counter()
    kept = fold != number
    most = len(fold) if whole else len(fold) - int(np.bincount(fold).min())
    outcome = Outcome(name, number)
    with (
        warnings.catch_warnings(record=True) as caught,
        single_threaded_blas(),
        sharing_programs(most),
    ):
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", MemberLeftOutWarning)
        try:
            own = None if groups is None else np.asarray(groups)[kept]
            train = views if kept.all() else views[kept]
            outcome.model = fitted(fresh(member, fewest(fold), seed), train, own)
            fit = time.perf_counter() - began
            for question in questions:
                asked = time.perf_counter()
                if hasattr(outcome.model, "learn"):
                    outcome.model.learn(question.known, question.target)
                rows = ~kept & question.rows(views)
                if rows.any():
                    outcome.answers[question] = answer(outcome.model, views[rows], question)
                outcome.spent[question] = fit + time.perf_counter() - asked
        except EXPECTED as wrong:
            outcome.failure = f"{type(wrong).__name__}: {wrong}"
    outcome.notes = [str(warning.message) for warning in caught]
    outcome.seconds = time.perf_counter() - began
    return outcome


def fewest(fold: np.ndarray) -> int:
    """Rows without the largest fold."""
    return len(fold) - int(np.bincount(fold).max())


def without_failures(outcomes: Sequence[Outcome], members: dict[str, Any]) -> dict[str, Any]:
    """The members that have answered everywhere; a warning for every other."""
    failed = {outcome.member: outcome.failure for outcome in outcomes if outcome.failure}
    for name, failure in failed.items():
        warnings.warn(
            f"member {name!r} is left out of the stack, since it failed: {failure}",
            MemberLeftOutWarning,
            stacklevel=4,
        )
    return {name: member for name, member in members.items() if name not in failed}

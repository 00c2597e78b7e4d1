"""Fitted members, and how they are mixed for every question that has been asked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ..data import Views
from ..errors import DataError, OptionError
from .blend import SCALES, Blend, learn_blend
from .fitting import ALL, Outcome, fit_all, without_failures
from .members import answer, own_draws
from .mixture import Mixture
from .question import Question


@dataclass(frozen=True)
class Plan:
    """How weights are learnt: see `Stack` for what the options mean."""

    weights: str = "auto"
    calibrate: bool = True
    refit: bool = True
    n_jobs: int | None = None
    verbose: bool = False


@dataclass(frozen=True)
class Study:
    """What further weights are learnt from: the data, their folds, and the fits without each."""

    views: Views
    fold: Int[np.ndarray, " N"]
    models: dict[str, list[Any]]


class Ensemble:
    """Members that have been fitted, and the weights learnt so far.

    Attributes
    ----------
    models : dict of list
        By member, the fits that predict: one to all rows, or one per fold.
    blends : list of Blend
        One for every question asked.
    seconds : dict
        By member, of all fits.
    plan : Plan
    """

    def __init__(
        self, models: dict[str, list[Any]], seconds: dict[str, float], plan: Plan, study: Study
    ):
        self.models = models
        self.seconds = seconds
        self.plan = plan
        self.blends: list[Blend] = []
        self._study = study  # not part of a file

    @classmethod
    def fit(
        cls,
        members: dict[str, Any],
        views: Views,
        fold: Int[np.ndarray, " N"],
        questions: Sequence[Question],
        plan: Plan,
        groups: Any = None,
        seed: int | None = None,
    ) -> "Ensemble":
        """Fit all members without each fold (and to all rows), and learn the weights."""
        numbers = [*range(int(fold.max()) + 1), *([ALL] if plan.refit else [])]
        outcomes = fit_all(
            members, views, fold, questions, folds=numbers, groups=groups, seed=seed,
            n_jobs=plan.n_jobs, verbose=plan.verbose,
        )  # fmt: skip
        kept = without_failures(outcomes, members)
        if not kept:
            first = {o.member: o.failure for o in reversed(outcomes)}
            raise DataError(
                "no member of the stack could be fitted: "
                + "; ".join(f"{name}: {failure}" for name, failure in first.items())
            )
        outcomes = [outcome for outcome in outcomes if outcome.member in kept]
        folds = _models(kept, [o for o in outcomes if o.fold != ALL])
        final = _models(kept, [o for o in outcomes if o.fold == ALL]) if plan.refit else folds
        seconds = {n: sum(o.seconds for o in outcomes if o.member == n) for n in kept}
        found = cls(final, seconds, plan, Study(views, fold, folds))
        for question in questions:
            found.blends.append(found._learnt(question, outcomes))
        return found

    def blend_for(self, question: Question) -> Blend:
        """The weights for a question, learnt now if they have not been."""
        for blend in self.blends:
            if blend.question == question:
                return blend
        if not hasattr(self, "_study"):
            known = ", ".join(str(blend.question) for blend in self.blends)
            raise OptionError(
                f"this stack came from a file, and has no weights for {question}: it has them "
                f"for {known}. Before saving, learn(known, target) learns others"
            )
        views, outcomes = self._study.views, []
        for name, models in self._study.models.items():
            for number, model in enumerate(models):
                rows = (self._study.fold == number) & question.rows(views)
                found = {question: answer(model, views[rows], question)} if rows.any() else {}
                outcomes.append(Outcome(name, number, model, found))
        self.blends.append(self._learnt(question, outcomes))
        return self.blends[-1]

    def _learnt(self, question: Question, outcomes: Sequence[Outcome]) -> Blend:
        views, fold = self._study.views, self._study.fold
        rows = np.flatnonzero(question.rows(views))
        if len(np.unique(fold[rows])) < 2:
            raise DataError(
                f"{len(rows)} samples can tell about {question}, too few to hold some out"
            )
        parts = []
        for name in self.models:
            said = [
                (np.flatnonzero(fold[rows] == o.fold), o.answers[question])
                for o in outcomes
                if o.member == name and question in o.answers
            ]
            parts.append(Mixture.by_rows(said, len(rows)))
        truth = views.array(question.target)[rows]
        return learn_blend(
            question, tuple(self.models), parts, truth, fold[rows], self.plan.weights,
            self.plan.calibrate,
        )  # fmt: skip

    # ------------------------------------------------------------------ new samples

    def mixture(self, new: Views, question: Question) -> Mixture:
        """What all members say together."""
        return self.blend_for(question)([self._said(name, new, question) for name in self.models])

    def draws(
        self, new: Views, question: Question, n_samples: int, rng: np.random.RandomState
    ) -> Float[np.ndarray, "K N D"]:
        """Values of a row around the mean, by the width of one member, and jointly where it can."""
        blend = self.blend_for(question)
        said = [self._said(name, new, question) for name in self.models]
        centre = blend.centre(said)
        weights = np.broadcast_to(blend.weights[:, None, :], (len(blend.weights), *centre.shape))
        scale, member = np.divmod(
            Mixture(weights, weights, weights).pick(n_samples, rng), len(said)
        )
        values = np.empty(member.shape)
        for place, name in enumerate(self.models):
            own = member == place
            if own.any():
                drawn = own_draws(self.models[name], said[place], new, question, n_samples, rng)
                apart = blend.widths[place] * (drawn - said[place].mean)
                values[own] = (centre + np.asarray(SCALES)[scale] * apart)[own]
        return values

    def _said(self, name: str, new: Views, question: Question) -> Mixture:
        """What a member says: its one fit, or those of the folds together."""
        found = [answer(model, new, question) for model in self.models[name]]
        return Mixture.blend(found, np.full((len(found), 1), 1.0 / len(found)))


def _models(names: Any, outcomes: Sequence[Outcome]) -> dict[str, list[Any]]:
    return {name: [o.model for o in outcomes if o.member == name] for name in names}

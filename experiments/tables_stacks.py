"""Stacks in two steps: what every member says of held-out rows, kept; and how that is mixed.

The fits of the members take nearly all the time of a stack. They are pieces of their own, so that
they run side by side, and another way of mixing costs seconds.
"""

import base64
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from manyviews import Stack, Views
from manyviews.inference.row_programs import sharing_programs
from manyviews.stacking import Mixture, Question, fold_of_rows
from manyviews.stacking.blend import learn_blend
from manyviews.stacking.fitting import ALL, fit_all
from manyviews.stacking.folds import group_codes
from manyviews.stacking.members import answer, named_members, usual_members
from manyviews.stacking.scores import Scores, training_scale

MEMBERS = (
    "mrd",
    "joint-gp",
    "gp",
    "forest",
    "gfa",
    "pcca",
    "joint-ridge",
    "joint-pls",
    "joint-knn",
    "ridge",
    "pls",
    "knn",
    "mean",
)  # that may be tried; slow ones first
NOT_ALWAYS = ("forest", "pcca")
Kept = Mapping[str, Any]


class Division:
    """The rows that a stack learns from when a fold is left out, and its own folds of these."""

    def __init__(self, data: Views, fold: Int[np.ndarray, " N"], number: int, groups: Any,
                 seed: int):  # fmt: skip
        self.out = fold == number
        self.train = data[~self.out]
        self.groups = None if groups is None else np.asarray(groups)[~self.out]
        self.seed = int(np.random.RandomState(seed).randint(2**31 - 1))  # as a stack draws it
        self.inner = fold_of_rows(self.train, Stack().folds, self.groups, self.seed)
        self.most = len(fold) - int(np.bincount(fold).min())


def said_by(name: str, data: Views, question: Question, division: Division) -> dict[str, Any]:
    """Means and stds of all rows: of training rows by fits to the inner folds, of others by one
    to all training rows.
    """
    train, inner = division.train, division.inner
    with sharing_programs(division.most):
        fits = fit_all(
            named_members([name]), train, inner, [question],
            folds=[*range(int(inner.max()) + 1), ALL], groups=group_codes(train, division.groups),
            seed=division.seed,
        )  # fmt: skip
    seconds = sum(fit.seconds for fit in fits)
    failure = next((fit.failure for fit in fits if fit.failure), "")
    if failure:
        return {"failure": failure, "seconds": seconds}
    means = np.full(data.array(question.target).shape, np.nan)
    stds, kept = means.copy(), np.flatnonzero(~division.out)
    for fit in fits:
        if fit.fold == ALL:
            rows, said = division.out, answer(fit.model, data[division.out], question)
        else:
            rows, said = kept[inner == fit.fold], fit.answers[question]
        means[rows], stds[rows] = said.means[0], said.stds[0]
    return {
        "failure": "", "seconds": seconds, "shape": means.shape,
        "means": packed(means), "stds": packed(stds),
    }  # fmt: skip


def stacked(
    members: Mapping[str, Kept], data: Views, question: Question, division: Division
) -> dict[str, Any]:
    """The scores of the stack of the members, in the form of `scored_fold`."""
    kept = {name: found for name, found in members.items() if not found["failure"]}
    truth = data.array(question.target)
    learnt, asked = [], []
    for found in kept.values():
        means, stds = (unpacked(found[key], found["shape"]) for key in ("means", "stds"))
        learnt.append(Mixture.gaussian(means[~division.out], stds[~division.out]))
        asked.append(Mixture.gaussian(means[division.out], stds[division.out]))
    blend = learn_blend(question, list(kept), learnt, truth[~division.out], division.inner)
    scale = training_scale(truth[~division.out])
    return Scores.of(blend(asked), truth[division.out], scale).as_dict()


def suits(name: str, division: Division) -> bool:
    """Whether a member is for tables of this size."""
    return name not in NOT_ALWAYS or name in usual(division)


def usual(division: Division) -> tuple[str, ...]:
    """The members of a default stack, in its order."""
    return tuple(usual_members(division.train))


def packed(values: Float[np.ndarray, "N D"]) -> str:
    """Numbers as text, in single precision."""
    return base64.b64encode(zlib.compress(values.astype("<f4").tobytes(), 6)).decode()


def unpacked(text: str, shape: tuple[int, int]) -> Float[np.ndarray, "N D"]:
    """The numbers of `packed()`."""
    values = np.frombuffer(zlib.decompress(base64.b64decode(text)), "<f4")
    return values.reshape(shape).astype(np.float64)

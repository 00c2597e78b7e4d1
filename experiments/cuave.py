"""Speech from video by collaborative dynamics (003 §6.3): 194 frames train, 51 test.

The training mean and a linear regression on principal components beat every row of the paper's
table, so they are what is to be beaten. What a user decides (the form of the video, the map, with
or without dynamics, the power of the evidence, the treatment of the private path) is chosen by the
error on four stretches of the training sequence, each predicted from a model of the other three.
The same predictions say with what shares all kinds together would do best.
"""

import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls
from sklearn.decomposition import PCA

from manyviews import McGPDS, Stage

from .cuave_rivals import (
    N_STRETCHES,
    PUBLISHED,
    Speech,
    baseline_rows,
    load,
    measures,
    mrd_rows,
)
from .pose_mc import BRIEF, HELD, HELD_ALPHA, TREATMENTS
from .scores import rmse
from .setting import Setting
from .table import Row, printed, summarise

POWERS = (1.0, 0.1, 0.01)
N_WHITENED = 20
STAGES = (Stage("lbfgs", 40, hold=HELD), Stage("adam", 120), Stage("lbfgs", 60))


class Kind(NamedTuple):
    """What is settled before the fit."""

    whitened: bool
    kernel: str
    dynamic: bool
    sharing: str
    n_components: int = 5

    def __str__(self) -> str:
        video = f"{N_WHITENED} whitened components" if self.whitened else "pixels"
        alpha = f"α = {HELD_ALPHA}" if self.sharing == "held" else f"α by {self.sharing}"
        prior = "dynamics" if self.dynamic else "no dynamics"
        return f"{video}, {self.kernel} map, {prior}, {alpha}, Q = {self.n_components}"


STACKED = "McGPDS, all kinds together"
KINDS = (
    Kind(False, "rbf", True, "dimension"),  # the paper's
    Kind(False, "linear", True, "held", 10),
    Kind(True, "rbf", True, "view"),
    Kind(True, "linear", True, "held"),
    Kind(True, "linear", False, "dimension"),
)


class Answers(NamedTuple):
    """What a user decides."""

    kind: Kind
    power: float
    private: str

    def __str__(self) -> str:
        return f"{self.kind}, power {self.power:g}, {self.private}"


class Moments(NamedTuple):
    """Means and standard deviations."""

    mean: np.ndarray
    std: np.ndarray


class Fitted(NamedTuple):
    """A model and how it wants the video."""

    kind: Kind
    model: McGPDS
    prepare: Callable[[np.ndarray], np.ndarray]


def run(setting: Setting) -> list[Row]:
    """Baselines, the choice on training data, McGPDS and MRD."""
    train, test = load(setting)
    rows = baseline_rows(train, test)
    rows += main_rows(setting, train, test) + mrd_rows(setting, train, test)
    return rows + [
        printed("shared GP-LVM", measure, value)
        for measure, value in zip(("RMSE", "NLPD"), (1.61, 4.70), strict=True)
    ]


def fit(setting: Setting, train: Speech, seed: int, kind: Kind) -> Fitted:
    """RBF kernels over time, M = 50 for each process; J = 1, or 0 with a linear map."""
    size = {"n_inducing": 8, "stages": BRIEF} if setting.quick else {"stages": STAGES}
    held = {"sharing": "view", "alpha": HELD_ALPHA}
    model = McGPDS(
        kind.n_components, kernel=kind.kernel, n_local=0 if kind.kernel == "linear" else 1,
        time_kernel="rbf", shared_kernel="rbf", random_state=seed, signal_check="off",
        **size, **(held if kind.sharing == "held" else {"sharing": kind.sharing}),
    )  # fmt: skip
    prepare: Callable[[np.ndarray], np.ndarray] = np.asarray
    if kind.whitened:
        prepare = PCA(N_WHITENED, whiten=True).fit(train.video).transform
    views = {"video": prepare(train.video), "speech": train.mfcc}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Fitted(kind, model.fit(views, times=train.frame if kind.dynamic else None), prepare)


def predictions(
    fitted: Fitted, speech: Speech, power: float, treatments: tuple[str, ...]
) -> dict[str, Moments]:
    """The speech of a new sequence by each treatment; its paths are inferred but once."""
    model = fitted.model.set_params(evidence_power={"video": power})
    known = {"video": fitted.prepare(speech.video)}
    when = {"times": speech.frame, "sequences": "new"} if fitted.kind.dynamic else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = model._locate(model._new(known, **when))
        model._locate = lambda *_: found  # type: ignore[method-assign]
        try:
            return {
                name: Moments(*model.predict(
                    known, "speech", private=name, return_std=True, **when))
                for name in treatments
            }  # fmt: skip
        finally:
            del model._locate


def left_out(setting: Setting, train: Speech) -> tuple[dict[Answers, Moments], dict[Kind, float]]:
    """The training frames, every stretch predicted from a model of the others; seconds of a fit."""
    place = np.arange(len(train.frame))
    parts: dict[Answers, list[Moments]] = {}
    seconds = {}
    for kind in KINDS:
        began = time.perf_counter()
        for stretch in np.array_split(place, N_STRETCHES):
            out = np.isin(place, stretch)
            fitted = fit(setting, train.take(~out), 0, kind)
            for power in POWERS:
                found = predictions(fitted, train.take(out), power, TREATMENTS)
                for private, moments in found.items():
                    parts.setdefault(Answers(kind, power, private), []).append(moments)
        seconds[kind] = (time.perf_counter() - began) / N_STRETCHES
    joined = {answers: Moments(*map(np.concatenate, zip(*part, strict=True)))
              for answers, part in parts.items()}  # fmt: skip
    return joined, seconds


def weights(truth: np.ndarray, guesses: list[np.ndarray]) -> np.ndarray:
    """Shares, none negative, of the guesses whose mean comes nearest to the truth (stacking)."""
    heavy = 1e3 * np.linalg.norm(truth)  # so that they sum to one
    matrix = np.vstack(
        [np.stack([g.ravel() for g in guesses], axis=1), np.full(len(guesses), heavy)]
    )
    found, _ = nnls(matrix, np.append(truth.ravel(), heavy))
    return found / found.sum()


def mixed(parts: list[Moments], shares: np.ndarray) -> Moments:
    """Mean and standard deviation of a mixture."""
    means, stds = (np.stack(part) for part in zip(*parts, strict=True))
    mean = np.tensordot(shares, means, 1)
    second = np.tensordot(shares, means**2 + stds**2, 1)
    return Moments(mean, np.sqrt(np.maximum(second - mean**2, 0.0)))


def main_rows(setting: Setting, train: Speech, test: Speech) -> list[Row]:
    """McGPDS with the chosen answers, its other treatments, and all kinds of it together."""
    if setting.quick:
        best, rows, shares = [Answers(KINDS[-1], 1.0, "conditional")], [], np.ones(1)
    else:
        guesses, seconds_of = left_out(setting, train)
        errors = {answers: rmse(train.mfcc, guess.mean) for answers, guess in guesses.items()}
        rows = [
            Row(f"McGPDS, {answers}", "validation-RMSE", error, ours=True,
                seconds=seconds_of[answers.kind], note="left-out stretches")
            for answers, error in errors.items()
        ]  # fmt: skip
        best = [
            min((answers for answers in errors if answers.kind == kind), key=errors.__getitem__)
            for kind in KINDS
        ]
        best.sort(key=errors.__getitem__)
        shares = weights(train.mfcc, [guesses[answers].mean for answers in best])
        used = (shares > 0) | (np.arange(len(best)) == 0)
        best, shares = [answers for answers, u in zip(best, used, strict=True) if u], shares[used]
    seeds = 1 if setting.quick else min(setting.seeds, 3)
    began = time.perf_counter()
    by_seed = [one_seed(setting, train, test, best, shares, seed) for seed in range(seeds)]
    seconds = (time.perf_counter() - began) / seeds
    published = dict(zip(("RMSE", "NLPD"), PUBLISHED["McGPDS"], strict=True))
    together = ", ".join(f"{share:.2f}" for share in shares)
    for method in by_seed[0]:
        note = f"shares {together}" if method == STACKED else str(best[0])
        for measure in by_seed[0][method]:
            rows.append(
                summarise(
                    method, measure, [found[method][measure] for found in by_seed], ours=True,
                    seconds=seconds, note=note,
                    published=published.get(measure) if method == "McGPDS" else None,
                )
            )  # fmt: skip
    return rows


def one_seed(
    setting: Setting,
    train: Speech,
    test: Speech,
    best: list[Answers],
    shares: np.ndarray,
    seed: int,
) -> dict[str, dict[str, float]]:
    """Measures of the best kind by treatment, and of the mixture of all kinds."""
    parts, found = [], {}
    for answers in best:
        fitted = fit(setting, train, seed, answers.kind)
        guesses = predictions(fitted, test, answers.power, TREATMENTS)
        parts.append(guesses[answers.private])
        if answers is best[0]:
            found["McGPDS"] = measures(test, *guesses[answers.private])
            found |= {f"McGPDS, {name}": measures(test, *m) for name, m in guesses.items()}
    return found | {STACKED: measures(test, *mixed(parts, shares))}

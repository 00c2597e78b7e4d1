"""Speech from video by collaborative dynamics [McGPDS23, §6.3]: 194 frames train, 51 test.

The training mean and a linear regression on principal components beat every row of the paper's
table, so they are what is to be beaten. What a user decides (the form of the video, the map, with
or without dynamics, the power of the evidence, the treatment of the private path) is chosen by the
error on stretches of the training frames that are left out, and that look as far from the rest
as the test frames do from the training frames (:func:`.cuave_rivals.left_out_folds`).
"""

import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import PCA

from manyviews import McGPDS, Search, Stage

from .cuave_rivals import (
    PUBLISHED,
    Speech,
    baseline_rows,
    left_out_folds,
    load,
    measures,
    mrd_rows,
)
from .pieces import finished, tallied
from .pose_mc import BRIEF, HELD, TREATMENTS
from .remembering import remembering
from .scores import rmse
from .setting import Setting
from .table import Row, printed, standardised, summarise

POWERS = (1.0, 0.1, 0.01)
STAGES = (Stage("lbfgs", 40, hold=HELD), Stage("adam", 120), Stage("lbfgs", 60))


class Kind(NamedTuple):
    """What is settled before the fit."""

    n_whitened: int
    kernel: str
    dynamic: bool = False

    def __str__(self) -> str:
        video = f"{self.n_whitened} whitened components" if self.n_whitened else "pixels"
        prior = "dynamics" if self.dynamic else "no dynamics"
        return f"{video}, {self.kernel} map, J = {self.n_local}, {prior}"

    @property
    def n_local(self) -> int:
        """Local processes: none where maps are linear."""
        return 0 if self.kernel == "linear" else 1


PAPERS = Kind(0, "rbf", dynamic=True)
KINDS = (
    *(Kind(size, kernel) for size in (0, 20, 50, 100) for kernel in ("linear", "rbf")),
    Kind(50, "linear", dynamic=True),
    PAPERS,
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
    folds = left_out_folds(train.video, test.video)
    rows = baseline_rows(train, test, folds)
    if "paper" in setting.methods:
        return rows + paper_rows(setting)
    rows += main_rows(setting, train, folds) + mrd_rows(setting, train, test)
    if not setting.quick:
        rows += paper_rows(setting)
    rows += standardised(rows)
    return rows + [
        printed("shared GP-LVM", measure, value)
        for measure, value in zip(("RMSE", "NLPD"), (1.61, 4.70), strict=True)
    ]


def fit(setting: Setting, train: Speech, seed: int, kind: Kind) -> Fitted:
    """Q = 5, α by dimension, RBF over time, M = 50 for each process; J = 1, or 0 if linear."""
    model = McGPDS(
        5, kernel=kind.kernel, n_local=kind.n_local, sharing="dimension",
        time_kernel="rbf", shared_kernel="rbf", random_state=seed, signal_check="off",
        n_inducing=8 if setting.quick else None, fit_power=1.0,
        search=Search(stages=BRIEF if setting.quick else STAGES),
    )  # fmt: skip
    prepare: Callable[[np.ndarray], np.ndarray] = np.asarray
    if kind.n_whitened:
        prepare = PCA(kind.n_whitened, whiten=True).fit(train.video).transform
    views = {"video": prepare(train.video), "speech": train.mfcc}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(views, times=train.frame if kind.dynamic else None)
    return Fitted(kind, remembering(model), prepare)


def predictions(
    fitted: Fitted, speech: Speech, power: float, treatments: tuple[str, ...]
) -> dict[str, Moments]:
    """The speech of other frames by each treatment; their paths are inferred but once."""
    model = fitted.model.set_params(evidence_power={"video": power})
    known = {"video": fitted.prepare(speech.video)}
    when = {"times": speech.frame} if fitted.kind.dynamic else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            name: Moments(*model.predict(known, "speech", private=name, return_std=True, **when))
            for name in treatments
        }


def left_out(
    setting: Setting, train: Speech, folds: np.ndarray
) -> tuple[dict[Answers, np.ndarray], dict[Kind, float]]:
    """The training frames, every fold predicted from a model of the others; seconds of a fold."""
    pieces = [(*kind, int(fold)) for kind in KINDS for fold in np.unique(folds)]
    found: dict[Answers, np.ndarray] = {}
    seconds: dict[Kind, list[float]] = {}
    for (*parts, fold), answer in finished(setting, one_fold, pieces).items():
        kind = Kind(*parts)
        seconds.setdefault(kind, []).append(answer["seconds"])
        for power, private, mean in answer["means"]:
            answers = Answers(kind, power, private)
            found.setdefault(answers, np.zeros_like(train.mfcc))[folds == fold] = mean
    return found, {kind: float(np.mean(several)) for kind, several in seconds.items()}


def one_fold(
    setting: Setting, n_whitened: int, kernel: str, dynamic: bool, fold: int
) -> dict[str, Any]:
    """The means of one kind for the frames of a fold, by every power and treatment."""
    train, test = load(setting)
    out = left_out_folds(train.video, test.video) == fold
    began = time.perf_counter()
    fitted = fit(setting, train.take(~out), 0, Kind(n_whitened, kernel, dynamic))
    means = [
        (power, private, guess.mean)
        for power in POWERS
        for private, guess in predictions(fitted, train.take(out), power, TREATMENTS).items()
    ]
    return {"means": means, "seconds": time.perf_counter() - began}


def one_fit(
    setting: Setting, n_whitened: int, kernel: str, dynamic: bool, power: float, seed: int
) -> dict[str, dict[str, float]]:
    """Measures on the test frames by every treatment of the private path."""
    train, test = load(setting)
    fitted = fit(setting, train, seed, Kind(n_whitened, kernel, dynamic))
    found = predictions(fitted, test, power, TREATMENTS)
    return {private: measures(test, *guess) for private, guess in found.items()}


def paper_rows(setting: Setting) -> list[Row]:
    """The kind of the paper (pixels, RBF maps, J = 1, dynamics) at power one, every treatment."""
    pieces = [(*PAPERS, 1.0, seed) for seed in range(min(setting.seeds, 3))]
    published = dict(zip(("RMSE", "NLPD"), PUBLISHED["McGPDS"], strict=True))
    return [
        summarise(
            f"McGPDS, the paper's kind, {private}", measure, values, ours=True, seconds=seconds,
            published=published.get(measure), note=f"{PAPERS}, power 1",
        )
        for (private, measure), (values, seconds) in tallied(setting, one_fit, pieces).items()
    ]  # fmt: skip


def main_rows(setting: Setting, train: Speech, folds: np.ndarray) -> list[Row]:
    """McGPDS with the chosen answers, and with its other treatments of the private path."""
    best, rows = Answers(Kind(20, "linear"), 1.0, "conditional"), []
    if not setting.quick:
        guesses, seconds_of = left_out(setting, train, folds)
        errors = {answers: rmse(train.mfcc, guess) for answers, guess in guesses.items()}
        rows = [
            Row(f"McGPDS, {answers}", "validation-RMSE", error, ours=True,
                seconds=seconds_of[answers.kind], note="left-out stretches")
            for answers, error in errors.items()
        ]  # fmt: skip
        best = min(errors, key=errors.__getitem__)
    seeds = range(1 if setting.quick else min(setting.seeds, 3))
    by_seed = tallied(setting, one_fit, [(*best.kind, best.power, seed) for seed in seeds])
    published = dict(zip(("RMSE", "NLPD"), PUBLISHED["McGPDS"], strict=True))
    for private in (best.private, *(name for name in TREATMENTS if name != best.private)):
        chosen = private == best.private
        for (treatment, measure), (values, seconds) in by_seed.items():
            if treatment == private:
                rows.append(
                    summarise(
                        "McGPDS" if chosen else f"McGPDS, {private}", measure, values, ours=True,
                        seconds=seconds, note=str(best._replace(private=private)),
                        published=published.get(measure) if chosen else None,
                    )
                )  # fmt: skip
    return rows

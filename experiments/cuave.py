"""Speech from video by collaborative dynamics (003 §6.3): 194 frames train, 51 test.

The training mean and a linear regression on principal components beat every row of the paper's
table, so they are what is to be beaten. What a user decides (the form of the video, the map, with
or without dynamics, the power of the evidence, the treatment of the private path) is chosen by the
error on four stretches of the training sequence, each predicted from a model of the other three.
"""

import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.decomposition import PCA
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import LinearRegression, RidgeCV
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline

from manyviews import MRD, McGPDS, Stage

from .pose_mc import BRIEF, HELD, HELD_ALPHA, TREATMENTS
from .scores import coverage, nlpd, rmse
from .setting import Setting
from .table import Row, printed, summarise

PUBLISHED = {
    "nearest neighbour": (1.31, None),
    "shared GP-LVM": (1.61, 4.70),
    "MRD": (1.29, 4.34),
    "MRD with dynamics": (1.24, 3.45),
    "McGPDS": (1.19, 1.94),
}
POWERS = (1.0, 0.1, 0.01)
N_STRETCHES = 4
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


KINDS = (
    Kind(False, "rbf", True, "dimension"),  # the paper's
    Kind(False, "linear", True, "held", 10),
    Kind(True, "rbf", True, "view"),
    Kind(True, "linear", True, "held"),
    Kind(True, "linear", False, "dimension"),
)


class Speech(NamedTuple):
    """Video frames, speech features and the number of every frame."""

    video: np.ndarray
    mfcc: np.ndarray
    frame: np.ndarray

    def take(self, chosen: np.ndarray) -> "Speech":
        """Some of the frames."""
        return Speech(*(part[chosen] for part in self))


class Answers(NamedTuple):
    """What a user decides."""

    kind: Kind
    power: float
    private: str

    def __str__(self) -> str:
        return f"{self.kind}, power {self.power:g}, {self.private}"


class Fitted(NamedTuple):
    """A model and how it wants the video."""

    kind: Kind
    model: McGPDS
    prepare: Callable[[np.ndarray], np.ndarray]


def load(setting: Setting) -> tuple[Speech, Speech]:
    """The training and the test sequence."""
    data = setting.load("cuave")
    parts = []
    for name in ("train", "test"):
        video, mfcc = data[f"video_{name}"].astype(float), data[f"mfcc_{name}"]
        speech = Speech(video, mfcc, np.arange(float(len(mfcc))))
        if setting.quick:
            speech = Speech(video[:, ::40], mfcc, speech.frame).take(np.arange(len(mfcc)) < 60)
        parts.append(speech)
    return parts[0], parts[1]


def run(setting: Setting) -> list[Row]:
    """Baselines, the choice on training data, McGPDS and MRD."""
    train, test = load(setting)
    rows = baseline_rows(train, test)
    rows += main_rows(setting, train, test) + mrd_rows(setting, train, test)
    return rows + [
        printed("shared GP-LVM", measure, value)
        for measure, value in zip(("RMSE", "NLPD"), (1.61, 4.70), strict=True)
    ]


def measures(test: Speech, mean: np.ndarray, std: np.ndarray | None) -> dict[str, float]:
    """Error, density and coverage."""
    found = {"RMSE": rmse(test.mfcc, mean)}
    if std is None:
        return found
    std = np.broadcast_to(std, mean.shape)
    return {
        **found,
        "NLPD": nlpd(test.mfcc, mean, std),
        "coverage-90": coverage(test.mfcc, mean, std),
    }


def baseline_rows(train: Speech, test: Speech) -> list[Row]:
    """What needs no latent paths."""
    X, Y = train.video, train.mfcc
    answers: dict[str, tuple[np.ndarray, np.ndarray | None]] = {
        "training mean": (np.tile(Y.mean(axis=0), (len(test.mfcc), 1)), Y.std(axis=0)),
    }
    for k in (1, 5):
        name = "nearest neighbour" if k == 1 else f"{k} nearest neighbours"
        answers[name] = (KNeighborsRegressor(k).fit(X, Y).predict(test.video), None)
    stretches, penalties = KFold(N_STRETCHES), np.logspace(0, 9, 19)
    linear = {
        "PCA(10) + linear regression": make_pipeline(PCA(10), LinearRegression()),
        "ridge, penalty by left-out frames": RidgeCV(penalties),
        "ridge, penalty by left-out stretches": RidgeCV(penalties, cv=stretches),
    }
    for name, model in linear.items():
        left = Y - cross_val_predict(model, X, Y, cv=10)
        answers[name] = (model.fit(X, Y).predict(test.video), np.sqrt(np.mean(left**2, axis=0)))
    reduced = PCA(10).fit(X)
    Z, scale = reduced.transform(X), float(Y.std())
    kernel = ConstantKernel(1.0) * RBF(float(Z.std()) * 3.0) + WhiteKernel(0.1)
    process = GaussianProcessRegressor(kernel, random_state=0)
    process.fit(Z / Z.std(), (Y - Y.mean(axis=0)) / scale)
    mean, std = process.predict(reduced.transform(test.video) / Z.std(), return_std=True)
    answers["PCA(10) + GP regression"] = (mean * scale + Y.mean(axis=0), std * scale)
    rows = []
    for name, (mean, spread) in answers.items():
        for measure, value in measures(test, mean, spread).items():
            published = PUBLISHED.get(name, (None, None))[0] if measure == "RMSE" else None
            rows.append(Row(name, measure, value, published=published))
    return rows


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
    fitted: Fitted, test: Speech, power: float, treatments: tuple[str, ...]
) -> dict[str, dict[str, float]]:
    """Measures of each treatment for a new sequence; its paths are inferred but once."""
    model = fitted.model.set_params(evidence_power={"video": power})
    known = {"video": fitted.prepare(test.video)}
    when = {"times": test.frame, "sequences": "new"} if fitted.kind.dynamic else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = model._locate(model._new(known, **when))
        model._locate = lambda *_: found  # type: ignore[method-assign]
        try:
            return {
                name: measures(test, *model.predict(
                    known, "speech", private=name, return_std=True, **when))
                for name in treatments
            }  # fmt: skip
        finally:
            del model._locate


def choose(setting: Setting, train: Speech) -> tuple[Answers, list[Row]]:
    """The answers of the smallest error on left-out stretches of the training sequence."""
    place = np.arange(len(train.frame))
    stretches = np.array_split(place, N_STRETCHES)
    errors: dict[Answers, list[float]] = {}
    seconds = {}
    for kind in KINDS:
        began = time.perf_counter()
        for stretch in stretches:
            out = np.isin(place, stretch)
            fitted = fit(setting, train.take(~out), 0, kind)
            for power in POWERS:
                found = predictions(fitted, train.take(out), power, TREATMENTS)
                for private, values in found.items():
                    answers = Answers(kind, power, private)
                    errors.setdefault(answers, []).append(values["RMSE"])
        seconds[kind] = (time.perf_counter() - began) / N_STRETCHES
    rows = [
        summarise(f"McGPDS, {answers}", "validation-RMSE", values, ours=True,
                  seconds=seconds[answers.kind], note="left-out stretches")
        for answers, values in errors.items()
    ]  # fmt: skip
    return min(errors, key=lambda answers: float(np.mean(errors[answers]))), rows


def main_rows(setting: Setting, train: Speech, test: Speech) -> list[Row]:
    """McGPDS with the chosen answers, and the other treatments beside it."""
    found: dict[str, list[dict[str, float]]] = {}
    if setting.quick:
        answers, rows = Answers(KINDS[-1], 1.0, "conditional"), []
    else:
        answers, rows = choose(setting, train)
    began = time.perf_counter()
    seeds = 1 if setting.quick else min(setting.seeds, 3)
    for seed in range(seeds):
        fitted = fit(setting, train, seed, answers.kind)
        for private, values in predictions(fitted, test, answers.power, TREATMENTS).items():
            found.setdefault(private, []).append(values)
    seconds = (time.perf_counter() - began) / seeds
    named = {"McGPDS": answers.private, **{f"McGPDS, {private}": private for private in TREATMENTS}}
    published = dict(zip(("RMSE", "NLPD"), PUBLISHED["McGPDS"], strict=True))
    for method, private in named.items():
        for measure in found[private][0]:
            rows.append(
                summarise(
                    method, measure, [v[measure] for v in found[private]], ours=True,
                    seconds=seconds, note=str(answers._replace(private=private)),
                    published=published.get(measure) if method == "McGPDS" else None,
                )
            )  # fmt: skip
    return rows


def mrd_rows(setting: Setting, train: Speech, test: Speech) -> list[Row]:
    """MRD without and with dynamics, with default options."""
    rows = []
    size = {"n_inducing": 8, "max_iter": 3} if setting.quick else {"n_inducing": 50}
    for dynamic in (False, True):
        name = "MRD with dynamics" if dynamic else "MRD"
        times = {"times": train.frame} if dynamic else {}
        when = {"times": test.frame, "sequences": "new"} if dynamic else {}
        began = time.perf_counter()
        model = MRD(
            10, evidence_power="auto", init="canonical", n_restarts=1, random_state=0,
            signal_check="off", **{"max_iter": 150, **size},
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit({"video": train.video, "speech": train.mfcc}, **times)
            answer = model.predict({"video": test.video}, "speech", return_std=True, **when)
        seconds = time.perf_counter() - began
        published = dict(zip(("RMSE", "NLPD"), PUBLISHED[name], strict=True))
        for measure, value in measures(test, *answer).items():
            rows.append(Row(name, measure, value, seconds=seconds, ours=True,
                            published=published.get(measure)))  # fmt: skip
    return rows

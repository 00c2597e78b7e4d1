"""Human pose from silhouettes (000 §5.3, 004): one view predicted from another.

Training and test frames are those of the papers. A user of a model is left with some
questions: the start, the source of the private dimensions, the power of the evidence. They
are answered on the training sequences alone: some are predicted from a model of the others
(fitted from one start, for time), and the answers of the highest density are kept; once for
independent frames, once for sequences with a Gaussian process over time.
"""

import itertools
import time
import warnings
from typing import NamedTuple

import numpy as np

from manyviews import MRD

from .pose_baselines import baselines, joint_distance
from .scores import coverage, nlpd
from .setting import Setting
from .table import Row, printed, summarise

STARTS = ("concatenated", "separate")
PRIVATE = ("posterior", "nearest", "blend", "conditional")
POWERS = {False: (1.0, 0.1, 0.01), True: (1.0, 0.1, 0.01)}
MODES = 5
PUBLISHED = {False: 4.67, True: 2.94}
DEFAULTS = ("concatenated", "posterior", 1.0)


class Frames(NamedTuple):
    """Silhouettes, poses, the sequence of every frame and its number there."""

    S: np.ndarray
    P: np.ndarray
    sequence: np.ndarray
    number: np.ndarray

    def take(self, chosen: np.ndarray) -> "Frames":
        """Some of the frames."""
        return Frames(*(part[chosen] for part in self))

    def times(self, dynamic: bool) -> dict[str, np.ndarray]:
        """What a model with dynamics is told besides the views."""
        return {"times": self.number, "sequences": self.sequence} if dynamic else {}


def load(setting: Setting) -> tuple[Frames, Frames]:
    """Training and test frames."""
    data = setting.load("human_pose_silhouette")
    train, test = data["mrd_train_mask"].astype(bool), data["mrd_test_mask"].astype(bool)
    if setting.quick:
        train[np.flatnonzero(train)[np.arange(train.sum()) % 6 > 0]] = False
        test[np.flatnonzero(test)[40:]] = False
    fields = ("silhouette_hog", "pose_xyz", "seq_id", "frame_in_seq")
    frames = Frames(*(data[name] for name in fields))
    return frames.take(train), frames.take(test)


def run(setting: Setting) -> list[Row]:
    """Baselines; then, without and with dynamics, the choice on training data and the test."""
    train, test = load(setting)
    rows = baselines(train.S, train.P, test.S, test.P)
    for dynamic in (False, True):
        name = "MRD with dynamics" if dynamic else "MRD"
        choice, table = choose(setting, train, dynamic)
        rows += table
        asked = {name: choice, f"{name}, defaults": DEFAULTS}
        results: dict[str, list[tuple[float, ...]]] = {}
        for seed in range(1 if setting.quick else min(setting.seeds, 3)):
            for init in sorted({first for first, *_ in asked.values()}):
                began = time.perf_counter()
                model = fit(setting, train, init, seed, dynamic)
                seconds = time.perf_counter() - began
                for method in (key for key, answers in asked.items() if answers[0] == init):
                    found = measure(model, test, *asked[method][1:], dynamic)
                    results.setdefault(method, []).append((*found, seconds))
        for method, values in results.items():
            start, private, power = asked[method]
            distance, density, held, seconds = np.transpose(values)
            note = f"{start}, {private}, power {power:g}"
            options = {"seconds": float(np.mean(seconds)), "ours": True, "note": note}
            published = PUBLISHED[dynamic]
            rows += [
                summarise(method, "joint-distance", list(distance), published=published, **options),
                summarise(method, "NLPD", list(density), **options),
                summarise(method, "coverage-90", list(held), **options),
            ]
    rows += [
        printed(name, "joint-distance", value)
        for name, value in {
            "shared GP-LVM": 5.13,
            "GP regression": 4.27,
            "nearest neighbour with sequences": 4.04,
        }.items()
    ]
    return rows


def fit(
    setting: Setting, train: Frames, init: str, seed: int, dynamic: bool, n_restarts: int = 3
) -> MRD:
    """Q = 10, M = 100, RBF-ARD."""
    options = {"n_inducing": 100, "n_restarts": n_restarts}
    if setting.quick:
        options = {"n_inducing": 20, "max_iter": 20, "n_restarts": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MRD(10, init=init, random_state=seed, signal_check="off", **options)
        return model.fit({"silhouette": train.S, "pose": train.P}, **train.times(dynamic))


def measure(
    model: MRD, test: Frames, private: str, power: float, dynamic: bool
) -> tuple[float, float, float]:
    """Joint distance, negative log density and coverage of the poses predicted."""
    model.set_params(evidence_power=power)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mean, std = model.predict(
            {"silhouette": test.S}, "pose", private=private, n_modes=MODES, return_std=True,
            **test.times(dynamic),
        )  # fmt: skip
    moving = test.P.std(axis=0) > 0  # the root of the skeleton stays where it is
    return (
        joint_distance(mean, test.P),
        nlpd(test.P[:, moving], mean[:, moving], std[:, moving]),
        coverage(test.P[:, moving], mean[:, moving], std[:, moving]),
    )


def choose(
    setting: Setting, train: Frames, dynamic: bool
) -> tuple[tuple[str, str, float], list[Row]]:
    """The start, the treatment of private dimensions and the power, by held-out sequences."""
    names = np.unique(train.sequence)
    folds = 2 if setting.quick else min(4, len(names))
    powers = POWERS[dynamic][: 1 if setting.quick else None]
    scores: dict[tuple[str, str, float], list[tuple[float, ...]]] = {}
    began = time.perf_counter()
    for fold in range(folds):
        out = np.isin(train.sequence, names[fold::folds])
        for init in STARTS:
            model = fit(setting, train.take(~out), init, 0, dynamic, n_restarts=1)
            for private, power in itertools.product(PRIVATE, powers):
                found = measure(model, train.take(out), private, power, dynamic)
                scores.setdefault((init, private, power), []).append(found)
    seconds = (time.perf_counter() - began) / folds
    best = min(scores, key=lambda key: float(np.mean(scores[key], axis=0)[1]))
    name = "dynamics, " if dynamic else ""
    rows = [
        summarise(
            f"{name}{init}, {private}, {power:g}", f"validation-{measure}",
            [value[i] for value in scores[init, private, power]],
            seconds=seconds, ours=True, note="held-out training sequences",
        )
        for init, private, power in scores
        for i, measure in enumerate(("joint-distance", "NLPD"))
    ]  # fmt: skip
    return best, rows

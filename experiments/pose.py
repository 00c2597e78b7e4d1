"""Human pose from silhouettes [MRD21, §5.3; MRD12]: one view predicted from another.

Training and test frames are those of the papers. A user of a model is left with some
questions: the start, the number of dimensions and the prior over time, the source of the private
dimensions, the power of the evidence, whether sequences move as training sequences did. They
are answered on the training sequences alone: some are predicted
from a model of the others (fitted from one start, for time), and the answers of the highest
density are kept, and those of the smallest distance; once for independent frames, once for
sequences with a Gaussian process over time.
"""

import itertools
import time
import warnings
from typing import Any, NamedTuple

import numpy as np

from manyviews import MRD, Search
from manyviews.inference.following import followed_path
from manyviews.inference.new_sequences import MOMENTA, TRUSTS
from manyviews.latent import make_sequences

from .paper_model import paper_mrd
from .pose_baselines import baselines, joint_distance
from .pose_points import EK, SHON, Poses, ek_poses, shon_poses
from .remembering import remembering
from .scores import coverage, nlpd
from .setting import Setting
from .table import Row, printed, summarise

PRIVATE = ("posterior", "nearest", "blend", "conditional")
POWERS = {False: (1.0, 0.1, 0.01), True: (0.1, 0.01)}
FLOWS = {False: (0.0,), True: (0.0, 1.0)}
MODES = 5
PUBLISHED = {False: 4.67, True: 2.94}
PUBLISHED_EK = 5.13
HALF_RATE = 8  # a sequence
AVERAGED = ", fits averaged"


class Answers(NamedTuple):
    """What a user decides."""

    start: str
    n_components: int
    time_kernel: str = "rbf"
    private: str = "posterior"
    power: float = 1.0
    flow: float = 0.0

    @property
    def model(self) -> "Answers":
        """What is settled before the fit."""
        return Answers(*self[:3])

    def __str__(self) -> str:
        said = f"{self.start}, Q = {self.n_components}, {self.private}, power {self.power:g}"
        return f"{said}, {self.time_kernel} over time, flow {self.flow:g}"


DEFAULTS = Answers("concatenated", 10)
MODELS = {
    False: [Answers(start, 10) for start in ("concatenated", "separate", "canonical")],
    True: [Answers("canonical", size, kernel) for size in (4, 5) for kernel in ("matern32", "rbf")],
}


class Moments(NamedTuple):
    """Means and standard deviations of poses."""

    mean: np.ndarray
    std: np.ndarray


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
    frames = frames._replace(number=frames.number * pace(frames.sequence))
    return frames.take(train), frames.take(test)


def pace(sequence: np.ndarray) -> np.ndarray:
    """Units of time from one frame of a sequence to the next.

    Sequence 8 was recorded half as often as the others, as its silhouettes show: a step takes 19
    of its frames, some 35 of theirs, and it changes twice as much from frame to frame.
    """
    return np.where(sequence == HALF_RATE, 2, 1)


def run(setting: Setting) -> list[Row]:
    """Baselines; then, without and with dynamics, the choice on training data and the test."""
    train, test = load(setting)
    rows = baselines(train.S, train.P, test.S, test.P) + along_flow(train, test)
    for dynamic in (False, True):
        name = "MRD with dynamics" if dynamic else "MRD"
        best, table = choose(setting, train, dynamic)
        rows += table
        asked = {f"{name}, defaults": DEFAULTS}
        for flow, (by_density, by_distance) in best.items():
            way = f"{name} and flow" if flow else name
            asked |= {way: by_density, f"{way}, chosen by distance": by_distance}
        results: dict[str, list[tuple[float, ...]]] = {}
        said: dict[str, list[Moments]] = {}
        for seed in range(1 if setting.quick else min(setting.seeds, 5 if dynamic else 3)):
            for kind in sorted({answers.model for answers in asked.values()}):
                began = time.perf_counter()
                model = fit(setting, train, kind, seed, dynamic)
                seconds = time.perf_counter() - began
                for method in (key for key, answers in asked.items() if answers.model == kind):
                    said.setdefault(method, []).append(ask(model, test, asked[method], dynamic))
                    found = scores(test, said[method][-1])
                    results.setdefault(method, []).append((*found, seconds))
        for method, several in said.items():
            asked[method + AVERAGED] = asked[method]
            results[method + AVERAGED] = [(*scores(test, average(several)), 0.0)]
        for method in asked:
            distance, density, held, seconds = np.transpose(results[method])
            note = str(asked[method])
            options = {"seconds": float(np.mean(seconds)), "ours": True, "note": note}
            published = PUBLISHED[dynamic]
            rows += [
                summarise(method, "joint-distance", list(distance), published=published, **options),
                summarise(method, "NLPD", list(density), **options),
                summarise(method, "coverage-90", list(held), **options),
            ]
    rows += point_rows(setting, train, test)
    rows += [
        printed(name, "joint-distance", value)
        for name, value in {
            "GP regression": 4.27,
            "nearest neighbour with sequences": 4.04,
        }.items()
    ]
    return rows


def along_flow(train: Frames, test: Frames) -> list[Row]:
    """Poses along paths that move on as training sequences did, without any model."""
    sequences = make_sequences(train.number[:, None].astype(float), train.sequence)
    when = test.number[:, None].astype(float)
    rows = []
    for how in itertools.product(TRUSTS, MOMENTA):
        poses = followed_path(train.P, sequences, (test.S,), (train.S,), when, test.sequence, *how)
        name = "training poses along their flow, trust {:g}, momentum {:g}".format(*how)
        rows.append(Row(name, "joint-distance", joint_distance(poses, test.P)))
    return rows


def point_rows(setting: Setting, train: Frames, test: Frames) -> list[Row]:
    """Latent points: Shon's model, of as many dimensions as MRD starts with, and Ek's."""
    left_out = folds_of(train)
    found = {
        SHON: shon_poses(train, test, DEFAULTS.n_components, 10 if setting.quick else 200),
        EK: ek_poses(setting, train, test, left_out),
        f"{EK} with dynamics": ek_poses(setting, train, test, left_out, dynamic=True),
    }
    return [row for name, poses in found.items() for row in _point_rows(name, test, poses)]


def _point_rows(name: str, test: Frames, poses: Poses) -> list[Row]:
    distance, density, held = scores(test, Moments(poses.mean, poses.std))
    options: dict[str, Any] = {"seconds": poses.seconds, "ours": True, "note": poses.note}
    published = PUBLISHED_EK if name == EK else None
    return [
        Row(name, "joint-distance", distance, published=published, **options),
        Row(name, "NLPD", density, **options),
        Row(name, "coverage-90", held, **options),
    ]


def folds_of(train: Frames) -> list[np.ndarray]:
    """Training sequences in four parts; which frames each part has."""
    names = np.unique(train.sequence)
    folds = min(4, len(names))
    return [np.isin(train.sequence, names[fold::folds]) for fold in range(folds)]


def fit(
    setting: Setting,
    train: Frames,
    kind: Answers,
    seed: int,
    dynamic: bool,
    n_restarts: int | None = None,
) -> MRD:
    """M = 100, RBF-ARD; with dynamics one start, for time."""
    n_inducing, search = 100, Search(n_restarts=n_restarts or (1 if dynamic else 3))
    if setting.quick:
        n_inducing, search = 20, Search(n_restarts=1, max_iter=20)
    model = paper_mrd(
        kind.n_components, n_inducing, init=kind.start, time_kernel=kind.time_kernel,
        search=search, random_state=seed,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit({"silhouette": train.S, "pose": train.P}, **train.times(dynamic))
    return remembering(model)


def ask(model: MRD, test: Frames, answers: Answers, dynamic: bool) -> Moments:
    """The poses predicted."""
    model.set_params(evidence_power=answers.power)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Moments(*model.predict(
            {"silhouette": test.S}, "pose", private=answers.private, n_modes=MODES,
            flow_weight=answers.flow, return_std=True, **test.times(dynamic),
        ))  # fmt: skip


def average(several: list[Moments]) -> Moments:
    """What several fits say together: each is one optimum of many."""
    means = np.array([one.mean for one in several])
    variance = np.mean([one.std**2 for one in several], axis=0) + means.var(axis=0)
    return Moments(means.mean(axis=0), np.sqrt(variance))


def scores(test: Frames, found: Moments) -> tuple[float, float, float]:
    """Joint distance, negative log density and coverage of the poses predicted."""
    moving = test.P.std(axis=0) > 0  # the root of the skeleton stays where it is
    truth, mean, std = test.P[:, moving], found.mean[:, moving], found.std[:, moving]
    return joint_distance(found.mean, test.P), nlpd(truth, mean, std), coverage(truth, mean, std)


def choose(
    setting: Setting, train: Frames, dynamic: bool
) -> tuple[dict[float, tuple[Answers, Answers]], list[Row]]:
    """By flow, the answers of the highest density and of the smallest distance.

    Both on held-out sequences. A flow is not of the paper, so it is a method of its own.
    """
    folds = folds_of(train)
    kinds, ways = MODELS[dynamic], (POWERS[dynamic], FLOWS[dynamic], PRIVATE)
    if setting.quick:
        kinds, ways = kinds[-1:], tuple(way[:1] for way in ways)
    table: dict[Answers, list[tuple[float, ...]]] = {}
    began = time.perf_counter()
    tried = folds[:1] if setting.quick else folds
    for out, kind in itertools.product(tried, kinds):
        model = fit(setting, train.take(~out), kind, 0, dynamic, n_restarts=1)
        for power, flow, private in itertools.product(*ways):
            answers = kind._replace(private=private, power=power, flow=flow)
            found = scores(train.take(out), ask(model, train.take(out), answers, dynamic))
            table.setdefault(answers, []).append(found)
    seconds = (time.perf_counter() - began) / len(tried)
    means = {answers: np.mean(values, axis=0) for answers, values in table.items()}
    best = {}
    for flow in sorted({answers.flow for answers in means}):
        ours = [answers for answers in means if answers.flow == flow]
        by_density, by_distance = (min(ours, key=lambda a: float(means[a][i])) for i in (1, 0))
        best[flow] = (by_density, by_distance)
    name = "dynamics, " if dynamic else ""
    rows = [
        summarise(
            f"{name}{answers}", f"validation-{measure}", [value[i] for value in values],
            seconds=seconds, ours=True, note="held-out training sequences",
        )
        for answers, values in table.items()
        for i, measure in enumerate(("joint-distance", "NLPD"))
    ]  # fmt: skip
    return best, rows

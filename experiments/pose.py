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
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from manyviews import MRD, Search
from manyviews.inference.following import followed_path
from manyviews.inference.new_sequences import MOMENTA, TRUSTS
from manyviews.latent import make_sequences

from .paper_model import paper_mrd
from .pieces import finished
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
AVERAGED, AS_THEY_ARE = ", fits averaged", ", intervals as they are"
MEASURES = ("joint-distance", "NLPD", "coverage-90")


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
CHOSEN = Answers("canonical", 4, "rbf", "conditional", 0.1)
"""By distance on held-out sequences, with dynamics; ``--methods chosen`` runs this alone."""
CHOSEN_NAME = "MRD with dynamics, chosen by distance"
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
    if "chosen" in setting.methods:
        pieces = [("ask", True, *CHOSEN, seed) for seed in seeds_of(setting, True)]
        found = list(finished(setting, one_piece, pieces).values())
        return rows + answer_rows(test, CHOSEN_NAME, CHOSEN, found, PUBLISHED[True])
    folds = {dynamic: fold_pieces(setting, train, dynamic) for dynamic in (False, True)}
    finished(setting, one_piece, [*folds[False], *folds[True]])  # side by side
    wanted: dict[bool, dict[str, Answers]] = {}
    for dynamic, pieces in folds.items():
        name = "MRD with dynamics" if dynamic else "MRD"
        best, table = choose(finished(setting, one_piece, pieces), dynamic)
        rows += table
        wanted[dynamic] = {f"{name}, defaults": DEFAULTS}
        for flow, (by_density, by_distance) in best.items():
            way = f"{name} and flow" if flow else name
            wanted[dynamic] |= {way: by_density, f"{way}, chosen by distance": by_distance}
    asked = {
        dynamic: [("ask", dynamic, *answers, seed)
                  for answers in dict.fromkeys(wanted[dynamic].values())
                  for seed in seeds_of(setting, dynamic)]
        for dynamic in wanted
    }  # fmt: skip
    points = [("points", name) for name in (SHON, EK, f"{EK} with dynamics")]
    finished(setting, one_piece, [*asked[False], *asked[True], *points])
    for dynamic, methods in wanted.items():
        found = finished(setting, one_piece, asked[dynamic])
        for method, answers in methods.items():
            own = [found["ask", dynamic, *answers, s] for s in seeds_of(setting, dynamic)]
            rows += answer_rows(test, method, answers, own, PUBLISHED[dynamic])
    for (_, name), told in finished(setting, one_piece, points).items():
        rows += _point_rows(name, test, Poses(*(np.array(t) for t in told[:2]), *told[2:]))
    rows += [
        printed(name, "joint-distance", value)
        for name, value in {
            "GP regression": 4.27,
            "nearest neighbour with sequences": 4.04,
        }.items()
    ]
    return rows


def seeds_of(setting: Setting, dynamic: bool) -> range:
    """Three without dynamics, five with them."""
    return range(1 if setting.quick else min(setting.seeds, 5 if dynamic else 3))


def one_piece(setting: Setting, what: str, *rest: Any) -> Any:
    """A kind of model on held-out sequences, poses that a fit predicts, or latent points."""
    return WORK[what](setting, *rest)


def one_answer(setting: Setting, dynamic: bool, *asked: Any) -> dict[str, Any]:
    """Poses of the test walk, with intervals as the model has them and, over time, calibrated."""
    *said, seed = asked
    answers = Answers(*said)
    train, test = load(setting)
    began = time.perf_counter()
    model = fit(setting, train, answers.model, seed, dynamic)
    seconds = time.perf_counter() - began
    plain = ask(model, test, answers, dynamic)
    found = {"plain": plain, "seconds": seconds, "bound": float(model.lower_bound_)}
    if dynamic:
        model.set_params(residual_link=True)
        found["calibrated"] = ask(model, test, answers, dynamic)
    return found


def answer_rows(
    test: Frames, method: str, answers: Answers, found: list[dict[str, Any]], published: float
) -> list[Row]:
    """Measures of single fits and of their average, by the intervals that there are."""
    rows = []
    options: dict[str, Any] = {"ours": True, "note": str(answers)}
    seconds = float(np.mean([one["seconds"] for one in found]))
    ways = {"calibrated": method, "plain": f"{method}{AS_THEY_ARE}"}
    if "calibrated" not in found[0]:
        ways = {"plain": method}
    for how, said in ways.items():
        several = [Moments(*(np.array(part) for part in one[how])) for one in found]
        methods = ((said, several, seconds), (said + AVERAGED, [average(several)], 0.0))
        for name, moments, took in methods:
            measured = np.transpose([scores(test, one) for one in moments])
            rows += [
                summarise(name, measure, list(values), seconds=took, **options,
                          published=published if measure == "joint-distance" else None)
                for measure, values in zip(MEASURES, measured, strict=True)
            ]  # fmt: skip
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


def one_points(setting: Setting, name: str) -> Poses:
    """Latent points: Shon's model, of as many dimensions as MRD starts with, or Ek's."""
    train, test = load(setting)
    if name == SHON:
        return shon_poses(train, test, DEFAULTS.n_components, 10 if setting.quick else 200)
    return ek_poses(setting, train, test, folds_of(train), dynamic=name != EK)


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


def fold_pieces(setting: Setting, train: Frames, dynamic: bool) -> list[Any]:
    """Every kind on every fold."""
    kinds = MODELS[dynamic][-1:] if setting.quick else MODELS[dynamic]
    folds = range(1 if setting.quick else len(folds_of(train)))
    return [("fold", dynamic, *kind.model, fold) for fold in folds for kind in kinds]


def one_fold(setting: Setting, dynamic: bool, *asked: Any) -> dict[str, Any]:
    """Scores of a kind on held-out sequences, by power, flow and private dimensions."""
    *model, fold = asked
    kind = Answers(*model)
    train, _ = load(setting)
    out = folds_of(train)[fold]
    began = time.perf_counter()
    fitted = fit(setting, train.take(~out), kind, 0, dynamic, n_restarts=1)
    ways = (POWERS[dynamic], FLOWS[dynamic], PRIVATE)
    if setting.quick:
        ways = tuple(way[:1] for way in ways)
    table = []
    for power, flow, private in itertools.product(*ways):
        answers = kind._replace(private=private, power=power, flow=flow)
        found = scores(train.take(out), ask(fitted, train.take(out), answers, dynamic))
        table.append((*answers, found))
    return {"table": table, "seconds": time.perf_counter() - began}


def choose(
    tried: dict[Any, Any], dynamic: bool
) -> tuple[dict[float, tuple[Answers, Answers]], list[Row]]:
    """By flow, the answers of the highest density and of the smallest distance.

    Both on held-out sequences. A flow is not of the paper, so it is a method of its own.
    """
    table: dict[Answers, list[tuple[float, ...]]] = {}
    for piece in tried.values():
        for *said, found in piece["table"]:
            table.setdefault(Answers(*said), []).append(tuple(found))
    seconds = float(np.mean([piece["seconds"] for piece in tried.values()]))
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


WORK: dict[str, Callable[..., Any]] = {"fold": one_fold, "ask": one_answer, "points": one_points}

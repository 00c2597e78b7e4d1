"""Poses from silhouettes by collaborative dynamics [McGPDS23, §6.2], on that paper's split.

Training frames are every third of seven walks, test frames 158 successive ones of another. Some
questions are left to a user: how the weights α are learnt, or where they are held; the power of
the evidence of new frames; the treatment of the private path. They are answered on training
sequences held out (one split, predicted from a model of the others, mean of three seeds): the
smallest distance of the poses, and among answers within 0.1 of it, which is what seeds differ by,
the best density, with intervals as the models have them. The paper learns α, its script holds it:
the best answers of either kind have rows of their own; ``--methods learnt`` runs those of learnt
weights alone, with the answers that were chosen. The paper's script sets the noise precision of the
pose view to 100 before it scores; nothing of the kind is done here.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline

from manyviews import McGPDS, Search, Stage

from .paper_model import paper_mrd
from .pieces import finished
from .pose import AS_THEY_ARE, Frames, along_flow, pace
from .pose_baselines import baselines, joint_distance
from .pose_picture import draw_poses, draw_sizes
from .pose_points import EK, SHON, ek_poses, shon_poses
from .remembering import remembering
from .scores import coverage, nlpd
from .setting import Setting
from .table import Row, standardised, summarise

PUBLISHED = {
    "nearest neighbour": (2.65, None),
    "NN in X of MRD": (3.19, None),
    "NN in X of McGPDS": (2.40, None),
    EK: (5.15, 3.41),
    "MRD": (5.03, 3.37),
    "MRD with dynamics": (2.65, 3.01),
    "independent CGPDS": (2.69, 3.22),
    "McGPDS": (2.37, 2.60),
    "McGPDS + GP-LVM prior": (2.62, 3.78),
    "McGPDS + linear map": (2.81, None),
}
ABLATIONS: dict[str, dict[str, Any]] = {
    "independent CGPDS": {"sharing": "none"},
    "McGPDS + GP-LVM prior": {"time_kernel": "white"},
    "McGPDS + linear map": {"kernel": "linear", "n_local": 0},
}
KINDS = (
    ("held", "concatenated", 1.0),  # α by view, not learnt
    ("view", "concatenated", 1.0),
    ("view", "concatenated", 0.3),
    ("view", "concatenated", "auto"),
    ("dimension", "concatenated", 1.0),
)
CHOOSING_SEEDS, ALIKE = 3, 0.1
HELD_ALPHA = 0.1
MEASURED = ("joint-distance", "NLPD")  # in the order of what is published
POWERS = (1.0, 0.1, 0.01)
TREATMENTS = ("conditional", "nearest", "nearest-own")
HELD_OUT = (1, 4, 7, 8)
HELD = ("noise", "kernel.*variance", "alpha", "spread")
N_COMPONENTS, N_INDUCING = 5, 50
SIZES = {"Q": (2, 3, 8), "M": (10, 25, 100)}  # the paper's figure 8, beside those of the table
DRAWN = slice(10, None, 30)  # frames of the test walk
MRDS = {"MRD": False, "MRD with dynamics": True}
STAGES = (Stage("lbfgs", 40, hold=HELD), Stage("adam", 120), Stage("lbfgs", 60))
BRIEF = (Stage("lbfgs", 3, hold=HELD), Stage("lbfgs", 3))


class Answers(NamedTuple):
    """What a user decides."""

    sharing: str
    start: str
    fit_power: float | str = 1.0
    power: float = 1.0
    private: str = "conditional"

    @property
    def kind(self) -> dict[str, Any]:
        """What is settled before the fit."""
        return {"sharing": self.sharing, "init": self.start, "fit_power": self.fit_power}

    def __str__(self) -> str:
        alpha = f"α = {HELD_ALPHA}" if self.sharing == "held" else f"α by {self.sharing}"
        fitted = f"{alpha}, {self.start} start, fit power {self.fit_power}"
        return f"{fitted}, power {self.power:g}, {self.private}"


LEARNT = Answers("view", "concatenated", "auto", 0.1)
"""The learnt weights chosen on held-out sequences; ``--methods learnt`` takes them."""


def load(setting: Setting) -> tuple[Frames, Frames]:
    """Training and test frames, with frame numbers as times."""
    data = setting.load("human_pose_silhouette")
    train, test = data["mcgpds_train_mask"].astype(bool), data["mcgpds_test418_mask"].astype(bool)
    if setting.quick:
        train &= (data["seq_id"] == 6) & (data["frame_in_seq"] % 12 == 0)
        test[np.flatnonzero(test)[20:]] = False
    fields = ("silhouette_hog", "pose_xyz", "seq_id", "frame_in_seq")
    frames = Frames(*(data[name] for name in fields))
    frames = frames._replace(number=frames.number * pace(frames.sequence))
    unseen = Frames(
        data["silhouette_hog_test418"], data["pose_xyz_test418"],
        np.full(len(test), 418), np.arange(len(test)),
    )  # fmt: skip
    return frames.take(train), unseen.take(test)


def run(setting: Setting) -> list[Row]:
    """Baselines, the choice on training sequences, McGPDS, its ablations and its rivals."""
    train, test = load(setting)
    rows = baseline_rows(train, test)
    points = (SHON, EK, f"{EK} with dynamics")
    if setting.quick:
        rows += main_rows(setting, LEARNT) + piece_rows(setting, "rival", [(n,) for n in points])
        return rows + standardised(rows)
    if "learnt" in setting.methods:
        return [*rows, *learnt_rows(setting, LEARNT), *standardised(rows)]
    rivals = [(name,) for name in (*MRDS, *points)]
    kinds = [("kind", *kind, seed) for kind in KINDS for seed in range(CHOOSING_SEEDS)]
    finished(setting, one_piece, [*kinds, *(("rival", *rival) for rival in rivals)])  # at once
    (held, learnt), table = choose(finished(setting, one_piece, kinds))
    ablations = [(*held, name) for name in ABLATIONS]
    fits = [one for answers in (learnt, held) for one in fits_of(setting, answers)]
    sizes = [piece for _, piece in sized(learnt)]
    finished(setting, one_piece, [*fits, *sizes, *(("ablation", *one) for one in ablations)])
    rows += table + main_rows(setting, held)
    rows += learnt_rows(setting, learnt) + size_rows(setting, learnt)
    draw(setting, test, learnt, rows)
    rows += piece_rows(setting, "ablation", ablations) + piece_rows(setting, "rival", rivals)
    return rows + standardised(rows)


def one_piece(setting: Setting, what: str, *rest: Any) -> Any:
    """A kind on held-out sequences, a fit for the test walk, an ablation or a rival."""
    return WORK[what](setting, *rest)


def baseline_rows(train: Frames, test: Frames) -> list[Row]:
    """Means, linear models, neighbours and direct regression."""
    rows = baselines(train.S, train.P, test.S, test.P) + along_flow(train, test)
    linear = make_pipeline(PCA(10), LinearRegression()).fit(train.S, train.P)
    distance = joint_distance(linear.predict(test.S), test.P)
    rows.append(Row("PCA(10) + linear regression", "joint-distance", distance))
    for row in rows:
        if row.method == "nearest neighbour" and row.measure == "joint-distance":
            row.published = PUBLISHED[row.method][0]
    return rows


def fit(setting: Setting, train: Frames, seed: int, **options: Any) -> McGPDS:
    """Q = 5 as in the paper, Matérn-3/2 priors, M = 50 for each process, J = 1."""
    sizes = options.pop("n_components", N_COMPONENTS), options.pop("n_inducing", N_INDUCING)
    if options.get("sharing") == "held":
        options |= {"sharing": "view", "alpha": HELD_ALPHA}
    model = McGPDS(
        sizes[0], 8 if setting.quick else sizes[1], random_state=seed,
        time_kernel=options.pop("time_kernel", "matern32"), shared_kernel="matern32",
        search=Search(stages=BRIEF if setting.quick else STAGES), **options,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit({"silhouette": train.S, "pose": train.P}, **train.times(True))
    return remembering(model)


def measures(test: Frames, mean: np.ndarray, std: np.ndarray) -> dict[str, float]:
    """Joint distance, and density and coverage of the coordinates that move."""
    moving = test.P.std(axis=0) > 0
    truth, mean_, std_ = test.P[:, moving], mean[:, moving], std[:, moving]
    return {
        "joint-distance": joint_distance(mean, test.P),
        "NLPD": nlpd(truth, mean_, std_),
        "coverage-90": coverage(truth, mean_, std_),
    }


def predictions(
    model: McGPDS,
    test: Frames,
    power: float,
    treatments: tuple[str, ...],
    calibrated: bool = False,
) -> dict[str, dict[str, float]]:
    """Measures of each treatment, the latent paths being inferred but once."""
    model.set_params(evidence_power=power, calibrated=calibrated)
    known = {"silhouette": test.S}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            name: measures(test, *model.predict(
                known, "pose", private=name, return_std=True, **test.times(True)))
            for name in treatments
        }  # fmt: skip


def one_kind(setting: Setting, *asked: Any) -> dict[str, Any]:
    """Scores of one kind on held-out training sequences, by every power and treatment."""
    *kind, seed = asked
    train, _ = load(setting)
    out = np.isin(train.sequence, HELD_OUT)
    began = time.perf_counter()
    model = fit(setting, train.take(~out), seed, **Answers(*kind).kind)
    seconds = time.perf_counter() - began
    scores = [
        (power, private, found)
        for power in POWERS
        for private, found in predictions(model, train.take(out), power, TREATMENTS).items()
    ]
    return {"scores": scores, "seconds": seconds}


def choose(found: dict[Any, Any]) -> tuple[tuple[Answers, Answers], list[Row]]:
    """The best answers on held-out sequences, with weights held and learnt."""
    scores: dict[Answers, list[dict[str, float]]] = {}
    seconds: dict[Answers, list[float]] = {}
    for (_, *kind, _), tried in found.items():
        for power, private, measured in tried["scores"]:
            answers = Answers(*kind, power, private)
            scores.setdefault(answers, []).append(measured)
            seconds.setdefault(answers, []).append(tried["seconds"])
    rows = [
        summarise(
            f"McGPDS, {answers}", f"validation-{measure}", [one[measure] for one in several],
            ours=True, seconds=float(np.mean(seconds[answers])), note="training sequences held out",
        )
        for answers, several in scores.items()
        for measure in MEASURED
    ]  # fmt: skip

    def mean(answers: Answers, measure: str) -> float:
        return float(np.mean([one[measure] for one in scores[answers]]))

    def best(asked: list[Answers]) -> Answers:
        nearest = min(mean(answers, "joint-distance") for answers in asked)
        alike = [one for one in asked if mean(one, "joint-distance") <= nearest + ALIKE]
        return min(alike, key=lambda answers: mean(answers, "NLPD"))

    held = [answers for answers in scores if answers.sharing == "held"]
    return (best(held), best([answers for answers in scores if answers not in held])), rows


def summary(
    method: str, found: list[dict[str, float]], seconds: float, note: str = ""
) -> list[Row]:
    """Rows of one method over its seeds."""
    published = dict(zip(MEASURED, PUBLISHED.get(method, (None, None)), strict=True))
    return [
        summarise(
            method, measure, [values[measure] for values in found], seconds=seconds, ours=True,
            published=published.get(measure), note=note,
        )
        for measure in found[0]
    ]  # fmt: skip


def fits_of(setting: Setting, answers: Answers) -> list[Any]:
    """The fits behind the rows of some answers."""
    seeds = range(1 if setting.quick else setting.seeds)
    return [("fit", *answers, seed, N_COMPONENTS, N_INDUCING) for seed in seeds]


def one_fit(setting: Setting, *asked: Any) -> dict[str, Any]:
    """Measures on the test walk by treatment, those of the neighbour in X, and the weights."""
    *said, seed, n_components, n_inducing = asked
    answers = Answers(*said)
    train, test = load(setting)
    began = time.perf_counter()
    model = fit(setting, train, seed, n_components=n_components, n_inducing=n_inducing,
                **answers.kind)  # fmt: skip
    seconds = time.perf_counter() - began
    found = predictions(model, test, answers.power, TREATMENTS, calibrated=True)
    as_is = predictions(model, test, answers.power, (answers.private,))
    found["as is"] = as_is[answers.private]
    losses = model.compare_private("silhouette", "pose")
    found["training"] = {"bound": model.lower_bound_, "left-out-NLPD": losses[answers.private]}
    near = neighbour_in_x(model, train, test)
    found["X"] = {"joint-distance": joint_distance(near, test.P)}
    mean = model.predict(
        {"silhouette": test.S}, "pose", private=answers.private, **test.times(True)
    )
    poses = {"McGPDS": mean[DRAWN], "NN in X of McGPDS": near[DRAWN]}
    weights = model.alpha_.to_numpy().round(2)
    weights = weights if answers.sharing == "dimension" else weights[:, 0]
    return {
        "found": found,
        "weights": weights,
        "seconds": seconds,
        "poses": poses,
        "fit_power": model.fit_power_,
    }


def main_rows(setting: Setting, answers: Answers, method: str = "McGPDS") -> list[Row]:
    """McGPDS with the chosen answers; beside it the other treatments, and neighbours in X."""
    fits = list(finished(setting, one_piece, fits_of(setting, answers)).values())
    seconds = float(np.mean([one["seconds"] for one in fits]))

    def of(treatment: str) -> list[dict[str, float]]:
        return [one["found"][treatment] for one in fits]

    note = f"{answers}; α {fits[0]['weights']}, fit power {fits[0]['fit_power']:.2f}"
    rows = summary(method, of(answers.private), seconds, note)
    rows += summary(f"{method}{AS_THEY_ARE}", of("as is"), seconds, note)
    for private in TREATMENTS:
        named = str(answers._replace(private=private))
        rows += summary(f"McGPDS, {private}", of(private), seconds, named)
    rows += summary(method, of("training"), seconds, "what training sequences say of each seed")
    return rows + summary("NN in X of McGPDS", of("X"), seconds)


def sized(answers: Answers) -> list[tuple[str, Any]]:
    """Fits of other sizes, by name: the paper's figure 8."""
    usual = {"Q": N_COMPONENTS, "M": N_INDUCING}
    return [
        (f"McGPDS, {letter} = {size}", ("fit", *answers, 0, *(usual | {letter: size}).values()))
        for letter, sizes in SIZES.items()
        for size in sizes
    ]


def size_rows(setting: Setting, answers: Answers) -> list[Row]:
    """Errors and seconds by the dimensions of a path and by the number of inducing inputs."""
    (usual,) = finished(setting, one_piece, fits_of(setting, answers)[:1]).values()
    found, seconds = usual["found"][answers.private], usual["seconds"]
    rows = summary(f"McGPDS, Q = {N_COMPONENTS}", [found], seconds, str(answers))
    rows += summary(f"McGPDS, M = {N_INDUCING}", [found], seconds, str(answers))
    for name, piece in sized(answers):
        (one,) = finished(setting, one_piece, [piece]).values()
        rows += summary(name, [one["found"][answers.private]], one["seconds"], str(answers))
    return rows


def draw(setting: Setting, test: Frames, answers: Answers, rows: list[Row]) -> None:
    """The paper's figures 7 and 8: some poses, and errors and seconds by size."""
    (one,) = finished(setting, one_piece, fits_of(setting, answers)[:1]).values()
    rivals = finished(setting, one_piece, [("rival", name) for name in MRDS]).values()
    data = setting.load("human_pose_silhouette")
    seen = data["mcgpds_test418_mask"].astype(bool)
    images = data["silhouette_image_test418"][seen][DRAWN].reshape(-1, 128, 128)
    drawn = {"truth": test.P[DRAWN]}
    drawn |= {told[0][0]: np.array(told[0][4]) for told in rivals}
    drawn |= {name: np.array(poses) for name, poses in one["poses"].items()}
    draw_poses(setting, images.transpose(0, 2, 1), drawn)
    usual = {"Q": N_COMPONENTS, "M": N_INDUCING}
    draw_sizes(setting, rows, {letter: {*SIZES[letter], usual[letter]} for letter in SIZES})


def learnt_rows(setting: Setting, answers: Answers) -> list[Row]:
    """McGPDS with learnt weights, as the paper defines it, and the other treatments beside it."""
    method = "McGPDS, learnt α"
    rows = main_rows(setting, answers, method)
    for row in rows:
        if not row.method.startswith(method):
            row.method += ", learnt α"
        elif row.measure in MEASURED:
            row.published = PUBLISHED["McGPDS"][MEASURED.index(row.measure)]
    return rows


def neighbour_in_x(model: McGPDS, train: Frames, test: Frames) -> np.ndarray:
    """Poses of the training frames nearest in the shared path."""
    columns = model.engine_.latent.shared_dimensions()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = model.transform({"silhouette": test.S}, **test.times(True))[:, columns]
    near = NearestNeighbors(n_neighbors=1).fit(model.latent_mean_[:, columns])
    return train.P[near.kneighbors(x, return_distance=False)[:, 0]]


def piece_rows(setting: Setting, what: str, asked: list[Any]) -> list[Row]:
    """Rows of pieces that tell methods, measures, seconds and notes."""
    pieces = [(what, *one) for one in asked]
    return [
        row
        for told in finished(setting, one_piece, pieces).values()
        for method, found, seconds, note, *_ in told
        for row in summary(method, [found], seconds, note)
    ]


def one_ablation(setting: Setting, *asked: Any) -> list[Any]:
    """One of the paper's ablations, with the power chosen for the whole model.

    The treatment is the best one on the training sequences, by cross-validation. Where nothing is
    shared, a pose can only come from the frame that is nearest in the silhouettes' own path.
    """
    *said, name = asked
    answers = Answers(*said)
    train, test = load(setting)
    options = {**answers.kind, **ABLATIONS[name]}
    began = time.perf_counter()
    model = fit(setting, train, 0, **options)
    seconds = time.perf_counter() - began
    model.set_params(evidence_power=answers.power)
    private = "nearest-own"
    if options["sharing"] != "none":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            private = str(model.compare_private("silhouette", "pose").idxmin())
    found = predictions(model, test, answers.power, (private,), calibrated=True)[private]
    return [(name, found, seconds, f"power {answers.power:g}, {private}")]


def one_rival(setting: Setting, name: str) -> list[Any]:
    """MRD, with default options, or a model of latent points."""
    train, test = load(setting)
    if name in MRDS:
        return mrd_found(name, train, test)
    if name == SHON:
        poses = shon_poses(train, test, 10, 10 if setting.quick else 100)
    else:
        out = np.isin(train.sequence, HELD_OUT)
        # with --quick there is one sequence
        left_out = [np.arange(len(out)) % 2 == 0] if setting.quick else [out]
        poses = ek_poses(setting, train, test, left_out, dynamic=name != EK)
    return [(name, measures(test, poses.mean, poses.std), poses.seconds, poses.note)]


def mrd_found(name: str, train: Frames, test: Frames) -> list[Any]:
    """MRD without or with dynamics; with them, the nearest neighbour in its X too."""
    dynamic, known = MRDS[name], {"silhouette": test.S}
    began = time.perf_counter()
    model = paper_mrd(
        10, 50, evidence_power="auto", time_kernel="matern32", residual_link=dynamic,
        search=Search(n_restarts=1, max_iter=150), random_state=0,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit({"silhouette": train.S, "pose": train.P}, **train.times(dynamic))
        seconds = time.perf_counter() - began
        answer = model.predict(known, "pose", return_std=True, **test.times(dynamic))
        note = "power read off residuals"
        told: list[Any] = [(name, measures(test, *answer), seconds, note, answer[0][DRAWN])]
        if dynamic and model.shared():
            index, _ = model.correspondences(known, "pose", 1, **test.times(True))
            distance = joint_distance(train.P[index[:, 0].astype(int)], test.P)
            told.append(("NN in X of MRD", {"joint-distance": distance}, seconds, ""))
    return told


WORK: dict[str, Callable[..., Any]] = {
    "kind": one_kind,
    "fit": one_fit,
    "ablation": one_ablation,
    "rival": one_rival,
}

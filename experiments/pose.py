"""Human pose from silhouettes (000 §5.3, 004): one view predicted from another.

Training and test frames are those of the papers. Three questions are left to the user of a
model: the start, the source of the private dimensions, and the power of the evidence. They
are answered on the training sequences alone: some are predicted from a model of the others
(fitted from one start, for time), and the answers of the highest density are kept.
"""

import itertools
import time
import warnings

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import RidgeCV
from sklearn.neighbors import KNeighborsRegressor

from manyviews import MRD

from .scores import coverage, nlpd
from .setting import Setting
from .table import Row, printed, summarise

STARTS = ("concatenated", "separate")
PRIVATE = ("posterior", "nearest", "blend", "conditional")
POWERS = (1.0, 0.1, 0.01)
MODES = 5


def run(setting: Setting) -> list[Row]:
    """The published split; baselines, the choice on training data, and the test."""
    data = setting.load("human_pose_silhouette")
    train, test = data["mrd_train_mask"].astype(bool), data["mrd_test_mask"].astype(bool)
    sequences = data["seq_id"][train]
    S, P = data["silhouette_hog"], data["pose_xyz"]
    if setting.quick:
        keep = np.arange(train.sum()) % 6 == 0
        train[np.flatnonzero(train)[~keep]] = False
        sequences = sequences[keep]
    rows = baselines(S[train], P[train], S[test], P[test])
    start, private, power, table = choose(setting, S[train], P[train], sequences)
    rows += table
    results: dict[str, list[tuple[float, ...]]] = {}
    asked = {
        "MRD": (start, private, power),
        "MRD, defaults": ("concatenated", "posterior", 1.0),
    }
    for seed in range(1 if setting.quick else min(setting.seeds, 3)):
        for init in {first for first, *_ in asked.values()}:
            began = time.perf_counter()
            model = fit(setting, S[train], P[train], init, seed)
            seconds = time.perf_counter() - began
            for method in (name for name, answers in asked.items() if answers[0] == init):
                found = measure(model, S[test], P[test], *asked[method][1:])
                results.setdefault(method, []).append((*found, seconds))
    for method, values in results.items():
        distance, density, held, seconds = np.transpose(values)
        note = f"{start}, {private}, power {power:g}" if method == "MRD" else ""
        options = {"seconds": float(np.mean(seconds)), "ours": True, "note": note}
        rows += [
            summarise(method, "joint-distance", list(distance), published=4.67, **options),
            summarise(method, "NLPD", list(density), **options),
            summarise(method, "coverage-90", list(held), **options),
        ]
    rows += [
        printed(name, "joint-distance", value)
        for name, value in {
            "MRD with dynamics": 2.94,
            "shared GP-LVM": 5.13,
            "GP regression": 4.27,
            "nearest neighbour with sequences": 4.04,
        }.items()
    ]
    return rows


def joint_distance(a: np.ndarray, b: np.ndarray) -> float:
    """Mean over frames and joints of the Euclidean distance."""
    return float(np.linalg.norm((a - b).reshape(len(a), -1, 3), axis=2).mean())


def fit(
    setting: Setting, S: np.ndarray, P: np.ndarray, init: str, seed: int, n_restarts: int = 3
) -> MRD:
    """Q = 10, M = 100, RBF-ARD."""
    options = {"n_inducing": 100, "n_restarts": n_restarts}
    if setting.quick:
        options = {"n_inducing": 20, "max_iter": 40, "n_restarts": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MRD(10, init=init, random_state=seed, signal_check="off", **options)
        return model.fit({"silhouette": S, "pose": P})


def measure(
    model: MRD, S: np.ndarray, P: np.ndarray, private: str, power: float
) -> tuple[float, float, float]:
    """Joint distance, negative log density and coverage of the poses predicted."""
    model.set_params(evidence_power=power)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mean, std = model.predict(
            {"silhouette": S}, "pose", private=private, n_modes=MODES, return_std=True
        )
    moving = P.std(axis=0) > 0  # the root of the skeleton stays where it is
    return (
        joint_distance(mean, P),
        nlpd(P[:, moving], mean[:, moving], std[:, moving]),
        coverage(P[:, moving], mean[:, moving], std[:, moving]),
    )


def choose(
    setting: Setting, S: np.ndarray, P: np.ndarray, sequences: np.ndarray
) -> tuple[str, str, float, list[Row]]:
    """The start, the treatment of private dimensions and the power, by held-out sequences."""
    names = np.unique(sequences)
    folds = 2 if setting.quick else min(4, len(names))
    powers = (1.0, 0.1) if setting.quick else POWERS
    scores: dict[tuple[str, str, float], list[tuple[float, ...]]] = {}
    began = time.perf_counter()
    for fold in range(folds):
        out = np.isin(sequences, names[fold::folds])
        for init in STARTS:
            model = fit(setting, S[~out], P[~out], init, seed=0, n_restarts=1)
            for private, power in itertools.product(PRIVATE, powers):
                found = measure(model, S[out], P[out], private, power)
                scores.setdefault((init, private, power), []).append(found)
    seconds = (time.perf_counter() - began) / folds
    means = {key: np.mean(values, axis=0) for key, values in scores.items()}
    best = min(means, key=lambda key: means[key][1])
    rows = [
        summarise(
            f"{init}, {private}, {power:g}", f"validation-{measure}",
            [value[i] for value in scores[init, private, power]],
            seconds=seconds, ours=True, note="held-out training sequences",
        )
        for init, private, power in scores
        for i, measure in enumerate(("joint-distance", "NLPD"))
    ]  # fmt: skip
    return *best, rows


def baselines(S: np.ndarray, P: np.ndarray, S_test: np.ndarray, P_test: np.ndarray) -> list[Row]:
    """Mean, ridge, nearest neighbours and direct Gaussian process regression."""
    rows = []
    mean, std = np.tile(P.mean(axis=0), (len(P_test), 1)), P.std(axis=0)
    rows.append(_row("training mean", P_test, mean, np.tile(std, (len(P_test), 1)), 0.0))
    began = time.perf_counter()
    ridge = RidgeCV(np.logspace(-3, 3, 13)).fit(S, P)
    left = np.sqrt(np.mean((ridge.predict(S) - P) ** 2, axis=0))
    seconds = time.perf_counter() - began
    spread = np.tile(left, (len(P_test), 1))
    rows.append(_row("ridge", P_test, ridge.predict(S_test), spread, seconds))
    for k in (1, 5):
        near = KNeighborsRegressor(k).fit(S, P).predict(S_test)
        name = "nearest neighbour" if k == 1 else f"{k} nearest neighbours"
        rows.append(Row(name, "joint-distance", joint_distance(near, P_test)))
    near = KNeighborsRegressor(1).fit(P, P).predict(P_test)
    note = "cheats: it has seen the pose"
    distance = joint_distance(near, P_test)
    rows.append(Row("nearest neighbour in pose space", "joint-distance", distance, note=note))
    began = time.perf_counter()
    scale = P.std()
    kernel = ConstantKernel(1.0) * RBF(S.std() * np.sqrt(S.shape[1])) + WhiteKernel(0.1)
    process = GaussianProcessRegressor(kernel, random_state=0).fit(S, (P - P.mean(axis=0)) / scale)
    mean, std = process.predict(S_test, return_std=True)
    mean, std = mean * scale + P.mean(axis=0), std * scale
    rows.append(_row("GP regression (EQ)", P_test, mean, std, time.perf_counter() - began))
    return [row for part in rows for row in (part if isinstance(part, list) else [part])]


def _row(
    name: str, truth: np.ndarray, mean: np.ndarray, std: np.ndarray, seconds: float
) -> list[Row]:
    moving = truth.std(axis=0) > 0
    truth_, mean_, std_ = truth[:, moving], mean[:, moving], std[:, moving]
    values = {
        "joint-distance": joint_distance(mean, truth),
        "NLPD": nlpd(truth_, mean_, std_),
        "coverage-90": coverage(truth_, mean_, std_),
    }
    return [Row(name, measure, value, seconds=seconds) for measure, value in values.items()]

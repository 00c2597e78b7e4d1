"""What is held against MRD on poses: means, linear models, neighbours and direct regression."""

import time
import warnings

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import RidgeCV
from sklearn.neighbors import KNeighborsRegressor, NearestNeighbors

from manyviews.inference.paths import smoothest_path
from manyviews.linear import GroupFactorAnalysis, ProbabilisticCCA

from .scores import coverage, nlpd
from .table import Row


def joint_distance(a: np.ndarray, b: np.ndarray) -> float:
    """Mean over frames and joints of the Euclidean distance."""
    return float(np.linalg.norm((a - b).reshape(len(a), -1, 3), axis=2).mean())


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
    linear = {
        "PCCA": ProbabilisticCCA(10, regularisation="auto"),
        "GFA": GroupFactorAnalysis(10, evidence_power="auto", random_state=0),
    }
    for name, model in linear.items():
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the joint that stays where it is
            model.fit({"silhouette": S, "pose": P})
        seconds = time.perf_counter() - began
        mean, std = model.predict({"silhouette": S_test}, "pose", return_std=True)
        rows.append(_row(name, P_test, mean, std, seconds, ours=True))
    for k in (1, 5):
        near = KNeighborsRegressor(k).fit(S, P).predict(S_test)
        name = "nearest neighbour" if k == 1 else f"{k} nearest neighbours"
        rows.append(Row(name, "joint-distance", joint_distance(near, P_test)))
    choices = NearestNeighbors(n_neighbors=30).fit(S).kneighbors(S_test, return_distance=False)
    frames = np.arange(float(len(S_test)))[:, None]
    path = smoothest_path(P, choices, (S_test,), (S,), frames, np.zeros(len(S_test), int))
    name, distance = "nearest neighbours along a smooth path", joint_distance(P[path], P_test)
    rows.append(Row(name, "joint-distance", distance))
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
    name: str,
    truth: np.ndarray,
    mean: np.ndarray,
    std: np.ndarray,
    seconds: float,
    ours: bool = False,
) -> list[Row]:
    moving = truth.std(axis=0) > 0
    truth_, mean_, std_ = truth[:, moving], mean[:, moving], std[:, moving]
    values = {
        "joint-distance": joint_distance(mean, truth),
        "NLPD": nlpd(truth_, mean_, std_),
        "coverage-90": coverage(truth_, mean_, std_),
    }
    return [
        Row(name, measure, value, seconds=seconds, ours=ours) for measure, value in values.items()
    ]

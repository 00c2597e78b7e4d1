"""Audiovisual speech [McGPDS23, §6.3], and what McGPDS is compared with on it."""

import time
import warnings
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.decomposition import PCA
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import LinearRegression, Ridge, RidgeCV
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline

from manyviews import Search

from .paper_model import paper_mrd
from .scores import coverage, nlpd, rmse
from .setting import Setting
from .table import Row

PUBLISHED = {
    "nearest neighbour": (1.31, None),
    "shared GP-LVM": (1.61, 4.70),
    "MRD": (1.29, 4.34),
    "MRD with dynamics": (1.24, 3.45),
    "McGPDS": (1.19, 1.94),
}
N_FOLDS = 5


class Speech(NamedTuple):
    """Video frames, speech features and the number of every frame."""

    video: np.ndarray
    mfcc: np.ndarray
    frame: np.ndarray

    def take(self, chosen: np.ndarray) -> "Speech":
        """Some of the frames."""
        return Speech(*(part[chosen] for part in self))


def load(setting: Setting) -> tuple[Speech, Speech]:
    """Training and test frames: one recording, of which the test frames are the end.

    (The picture changes no more from the last of the former to the first of the latter than
    between other neighbours, and the windows of sound, which share their edges, go on.)
    """
    data = setting.load("cuave")
    parts = []
    for name in ("train", "test"):
        video, mfcc = data[f"video_{name}"].astype(float), data[f"mfcc_{name}"]
        if setting.quick:
            video, mfcc = video[-60:, ::40], mfcc[-60:]
        began = len(parts[0].frame) if parts else 0
        parts.append(Speech(video, mfcc, began + np.arange(float(len(mfcc)))))
    return parts[0], parts[1]


def left_out_folds(train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """A fold for every training frame, such that folds are as hard to reach as the test frames.

    The frames are cut into stretches, which take turns in ``N_FOLDS`` folds: as many stretches as
    bring the median distance from a left-out picture to the nearest of the others closest to
    that from a test picture to the nearest training picture. (Single frames would be too easy, as
    neighbours are alike; the quarters of the recording are too hard.)
    """
    wanted = np.median(cdist(test, train).min(axis=1))
    between, place = cdist(train, train), np.arange(len(train))

    def gap(n_stretches: int) -> float:
        folds = place * n_stretches // len(train) % N_FOLDS
        apart = np.where(folds[:, None] == folds, np.inf, between).min(axis=1)
        return abs(float(np.median(apart)) - float(wanted))

    best = min(range(N_FOLDS, len(train) // 2), key=gap)
    return place * best // len(train) % N_FOLDS


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


def baseline_rows(train: Speech, test: Speech, folds: np.ndarray) -> list[Row]:
    """What needs no latent paths."""
    X, Y = train.video, train.mfcc
    answers: dict[str, tuple[np.ndarray, np.ndarray | None]] = {
        "training mean": (np.tile(Y.mean(axis=0), (len(test.mfcc), 1)), Y.std(axis=0)),
    }
    for k in (1, 5):
        name = "nearest neighbour" if k == 1 else f"{k} nearest neighbours"
        answers[name] = (KNeighborsRegressor(k).fit(X, Y).predict(test.video), None)
    stretches, penalties = PredefinedSplit(folds), np.logspace(0, 9, 19)
    frames = RidgeCV(penalties).fit(X, Y).alpha_
    linear = {
        "PCA(10) + linear regression": make_pipeline(PCA(10), LinearRegression()),
        "ridge, penalty by left-out frames": Ridge(frames),
        "ridge, penalty by left-out stretches": Ridge(
            RidgeCV(penalties, cv=stretches).fit(X, Y).alpha_
        ),
    }
    for name, model in linear.items():
        left = Y - cross_val_predict(model, X, Y, cv=stretches)
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


def mrd_rows(setting: Setting, train: Speech, test: Speech) -> list[Row]:
    """MRD without and with dynamics, with default options."""
    rows = []
    search = Search(n_restarts=1, max_iter=3 if setting.quick else 150)
    for dynamic in (False, True):
        name = "MRD with dynamics" if dynamic else "MRD"
        times = {"times": train.frame} if dynamic else {}
        when = {"times": test.frame} if dynamic else {}
        began = time.perf_counter()
        model = paper_mrd(
            10, 8 if setting.quick else 50, evidence_power="auto", init="canonical",
            search=search, random_state=0,
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

"""Classification of the oil flow with the labels as a second view
[MRD21, §5.4; MRD12; McGPDS23, §6.4].
"""

import time
import warnings

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from manyviews import McGPDS, MRDClassifier, Search

from .paper_model import paper_mrd
from .setting import Setting
from .table import Row, summarise

SIZES = (70, 100, 200, 300, 500, 1000)
DRAWS = 10
COLLABORATIVE = (70, 100, 200)  # sizes and draws for McGPDS, for time
COLLABORATIVE_DRAWS = 3
NEIGHBOUR = {70: 0.941, 100: 0.954, 200: 0.973, 300: 0.985, 500: 0.989, 1000: 0.992}


def run(setting: Setting) -> list[Row]:
    """Accuracy on the 1000 test rows, from random subsets of the training rows."""
    data = setting.load("oil")
    Y, labels = data["Y_train"], data["labels_onehot_train"].argmax(axis=1)
    test, truth = data["Y_test"], data["labels_onehot_test"].argmax(axis=1)
    sizes, draws = ((70,), 2) if setting.quick else (SIZES, DRAWS)
    rows: list[Row] = []
    for size in sizes:
        accuracy: dict[str, list[float]] = {}
        seconds: dict[str, float] = {}
        losses = []
        for draw in range(1 if size == len(Y) else draws):  # there is one subset of everything
            chosen = np.random.default_rng(draw).permutation(len(Y))[:size]
            for name, make in methods(setting, size, draw).items():
                began = time.perf_counter()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model = make().fit(Y[chosen], labels[chosen])
                    predicted = model.predict(test)
                    if name == "MRD":
                        losses.append(log_loss(truth, model.predict_proba(test)))
                seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - began
                accuracy.setdefault(name, []).append(float(np.mean(predicted == truth)))
        for name, values in accuracy.items():
            options = {"seconds": seconds[name] / len(values), "ours": name == "MRD"}
            note = ""
            if name == "MRD":
                wins = np.array(values) > np.array(accuracy["1-NN"])
                note = f"above 1-NN in {int(wins.sum())} of {len(values)} draws"
            elif name == "1-NN":
                note = f"the papers' 1-NN: {NEIGHBOUR[size]:.3f}"
            rows.append(summarise(name, f"accuracy-{size}", values, note=note, **options))
        rows.append(summarise("MRD", f"log-loss-{size}", losses, ours=True))
        if size in COLLABORATIVE:
            few = 1 if setting.quick else COLLABORATIVE_DRAWS
            rows.append(collaborative_row(setting, size, few, (Y, labels), (test, truth)))
    return rows


def collaborative_row(
    setting: Setting,
    size: int,
    draws: int,
    train: tuple[np.ndarray, np.ndarray],
    test: tuple[np.ndarray, np.ndarray],
) -> Row:
    """McGPDS of points [McGPDS23, §6.4], of the first few of the same draws;
    the largest label wins.
    """
    values, began = [], time.perf_counter()
    for draw in range(draws):
        chosen = np.random.default_rng(draw).permutation(len(train[0]))[:size]
        codes = 2.0 * np.eye(train[1].max() + 1)[train[1][chosen]] - 1.0
        model = McGPDS(
            5, min(size, 20 if setting.quick else 50), sharing="dimension", init="concatenated",
            random_state=draw, noise_floor={"labels": 1e-2},
            search=Search(max_iter=20 if setting.quick else 300),
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit({"oil": train[0][chosen], "labels": codes})
            found = model.predict({"oil": test[0]}, "labels", private="conditional")
        values.append(float(np.mean(found.argmax(axis=1) == test[1])))
    seconds = (time.perf_counter() - began) / draws
    return summarise("McGPDS", f"accuracy-{size}", values, seconds=seconds, ours=True)


def methods(setting: Setting, size: int, seed: int) -> dict[str, object]:
    """Constructors by name; MRD with Q = 10 and at most 50 inducing inputs."""
    search = Search(max_iter=40) if setting.quick else Search()
    inducing = min(size, 20 if setting.quick else 50)
    kernel = ConstantKernel(1.0) * RBF(1.0) + WhiteKernel(0.1)
    return {
        "MRD": lambda: MRDClassifier(paper_mrd(10, inducing, random_state=seed, search=search)),
        "1-NN": lambda: KNeighborsClassifier(1),
        "logistic regression": lambda: make_pipeline(
            StandardScaler(), LogisticRegression(max_iter=1000)
        ),
        "SVM": lambda: make_pipeline(StandardScaler(), SVC(C=10.0)),
        "GP regression of the labels": lambda: LabelRegression(kernel),
    }


class LabelRegression:
    """Direct GP regression of -1 / +1 codes; the largest output wins."""

    def __init__(self, kernel: object):
        self.process = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)

    def fit(self, X: np.ndarray, y: np.ndarray) -> "LabelRegression":
        self.process.fit(X, 2.0 * np.eye(y.max() + 1)[y] - 1.0)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.process.predict(X).argmax(axis=1)

"""Classification of the oil flow with the labels as a second view
[MRD21, §5.4; MRD12; McGPDS23, §6.4].
"""

import warnings
from collections.abc import Callable
from typing import Any

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
from .pieces import tallied
from .setting import Setting
from .table import Row, summarise

SIZES = (70, 100, 200, 300, 500, 1000)
DRAWS = 10
COLLABORATES = "McGPDS"
COLLABORATIVE = (70, 100, 200)  # sizes and draws for McGPDS, for time
COLLABORATIVE_DRAWS = 3
NEIGHBOUR = {70: 0.941, 100: 0.954, 200: 0.973, 300: 0.985, 500: 0.989, 1000: 0.992}


def run(setting: Setting) -> list[Row]:
    """Accuracy on the 1000 test rows, from random subsets of the training rows."""
    sizes, draws = ((70,), 2) if setting.quick else (SIZES, DRAWS)
    rows: list[Row] = []
    for size in sizes:
        # there is one subset of everything
        pieces = [
            (name, size, draw)
            for draw in range(1 if size == SIZES[-1] else draws)
            for name in methods(setting, size, draw)
        ]
        if size in COLLABORATIVE:
            few = range(1 if setting.quick else COLLABORATIVE_DRAWS)
            pieces += [(COLLABORATES, size, draw) for draw in few]
        found = tallied(setting, one_draw, pieces)
        neighbour = np.array(found["1-NN", f"accuracy-{size}"].values)
        for (name, measure), (values, seconds) in found.items():
            published, note = None, ""
            if name == "1-NN":
                published = NEIGHBOUR[size]
            elif name == "MRD" and measure == f"accuracy-{size}":
                wins = int((np.array(values) > neighbour).sum())
                note = f"above 1-NN in {wins} of {len(values)} draws"
            rows.append(
                summarise(
                    name, measure, values, note=note, seconds=seconds, published=published,
                    ours=name in {"MRD", COLLABORATES},
                )
            )  # fmt: skip
    return rows


def one_draw(setting: Setting, name: str, size: int, draw: int) -> dict[str, dict[str, float]]:
    """Accuracy of one method from one subset; of MRD the log loss, too."""
    data = setting.load("oil")
    Y, labels = data["Y_train"], data["labels_onehot_train"].argmax(axis=1)
    test, truth = data["Y_test"], data["labels_onehot_test"].argmax(axis=1)
    chosen = np.random.default_rng(draw).permutation(len(Y))[:size]
    found: dict[str, float] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == COLLABORATES:
            predicted = collaborative(setting, Y[chosen], labels[chosen], test, draw)
        else:
            model = methods(setting, size, draw)[name]().fit(Y[chosen], labels[chosen])
            predicted = model.predict(test)
        if name == "MRD":
            found[f"log-loss-{size}"] = float(log_loss(truth, model.predict_proba(test)))
    return {name: {f"accuracy-{size}": float(np.mean(predicted == truth)), **found}}


def collaborative(
    setting: Setting, Y: np.ndarray, labels: np.ndarray, test: np.ndarray, seed: int
) -> np.ndarray:
    """McGPDS of points [McGPDS23, §6.4]; the largest label wins."""
    codes = 2.0 * np.eye(labels.max() + 1)[labels] - 1.0
    model = McGPDS(
        5, min(len(Y), 20 if setting.quick else 50), sharing="dimension", init="concatenated",
        random_state=seed, noise_floor={"labels": 1e-2},
        search=Search(max_iter=20 if setting.quick else 300),
    )  # fmt: skip
    model.fit({"oil": Y, "labels": codes})
    return model.predict({"oil": test}, "labels", private="conditional").argmax(axis=1)


def methods(setting: Setting, size: int, seed: int) -> dict[str, Callable[[], Any]]:
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

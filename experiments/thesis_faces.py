"""Halves of faces ([Leen08, §3.6.4-5], X4 and X5): the right one from the left one, pixels missing.

280 pixels per half and 600 faces: the smallest eigenvalues of a covariance of so many columns come
out far too small, so that faces are placed by what is noise, the more so the more pixels are seen.
The ridge on the noise covariance is chosen on a sixth of the training faces. The thesis has
polynomial kernels, of a degree that it does not say (here two), and a sparse model; so has a row
here, beside one of all faces that are not tested.
"""

from typing import Any

import numpy as np
from sklearn.linear_model import RidgeCV

from manyviews import Search
from manyviews.points import GPLVMCCA, SharedGPLVM

from .pieces import finished
from .setting import Setting
from .table import Row, printed
from .thesis_tally import Tally, fitted

HIDDEN = {0: 0.1299, 10: 0.1325, 20: 0.1336, 30: 0.1354, 40: 0.1372, 50: 0.1404, 60: 0.1423}
LEVELS = (*HIDDEN, 80, 90, 95)  # per cent; the thesis ends at 60
N_FACES, N_TEST, RUNS = 600, 100, 20
RIDGES = ("auto", 0.03, 0.1)
PRIOR = 0.01  # the halves are nearly functions of each other
N_INDUCING = 100
FEW = 2  # runs of models beside the main ones


def faces_rows(setting: Setting) -> list[Row]:
    """RMS error per pixel, which is between zero and one."""
    tally = Tally.of(finished(setting, all_faces, [("faces",)]).values())
    known = [level for level in HIDDEN if ("GPLVM-CCA", f"faces-RMS-{level}") in tally.values]
    rows = tally.rows({("GPLVM-CCA", f"faces-RMS-{level}"): HIDDEN[level] for level in known})
    return rows + [printed("thesis", f"faces-RMS-{level}", HIDDEN[level]) for level in known]


def all_faces(setting: Setting, _: str) -> dict[str, Any]:
    """All methods, fitted once, on faces of which more and more pixels are missing."""
    faces = setting.load("frey_faces")
    left, right = faces["Y_left_half"] / 255.0, faces["Y_right_half"] / 255.0
    n_train, n_test, runs = (60, 8, 1) if setting.quick else (N_FACES, N_TEST, RUNS)
    levels = (0, 60) if setting.quick else LEVELS
    order = np.random.default_rng(0).permutation(len(left))
    train, test = order[:n_train], order[n_train : n_train + n_test]
    views = {"left": left[train], "right": right[train]}
    most = np.setdiff1d(order[: 2 * n_train] if setting.quick else order, test)
    tally = Tally()
    ridge, tried = chosen_ridge(setting, views)
    shared = SharedGPLVM(2, search=Search(max_iter=300, tol=1e-4), random_state=0)
    models = {
        "GPLVM-CCA": cca(setting, views, ridge),
        "shared GP-LVM (GPLVM-PCA)": fitted(shared, views, setting.quick),
    }
    sparse: dict[str, Any] = {"n_inducing": 10 if setting.quick else N_INDUCING}
    beside = {
        "GPLVM-CCA, sparse, polynomial": cca(setting, views, ridge, kernel="polynomial", **sparse),
        f"GPLVM-CCA, sparse, all {len(most)} faces": cca(
            setting, {"left": left[most], "right": right[most]}, ridge, **sparse
        ),
    }
    if not setting.quick:
        beside["GPLVM-CCA, no ridge"] = cca(setting, views, 0.0)
    models |= beside
    for name, model in models.items():
        tally.took(name, model)
    linear = RidgeCV(np.logspace(-2, 4, 13)).fit(views["left"], views["right"])
    for run_number in range(runs):
        rng = np.random.default_rng([1, run_number])
        ranks = rng.uniform(size=(n_test, left.shape[1])).argsort(axis=1)
        for level in levels:
            if level == 0 and run_number:
                continue
            hidden = ranks < round(level / 100 * left.shape[1])
            given = np.where(hidden, np.nan, left[test])
            guesses = {
                name: model.predict({"left": given}, "right")
                for name, model in models.items()
                if name not in beside or run_number < FEW
            }
            filled = np.where(hidden, views["left"].mean(axis=0), left[test])
            guesses["ridge regression"] = linear.predict(filled)
            guesses["nearest neighbour"] = nearest(given, views)
            for name, guess in guesses.items():
                note = tried if name == "GPLVM-CCA" and level == 0 else ""
                tally.add(name, f"faces-RMS-{level}", rms(guess - right[test]), note)
    return tally.content()


def cca(setting: Setting, views: dict[str, np.ndarray], ridge: Any, **options: Any) -> Any:
    """GPLVM-CCA of two dimensions."""
    model = GPLVMCCA(
        2, psi_prior=PRIOR, psi_ridge=ridge, search=Search(max_iter=300, tol=1e-4), random_state=0,
        **options,
    )  # fmt: skip
    return fitted(model, views, setting.quick)


def chosen_ridge(setting: Setting, views: dict[str, np.ndarray]) -> tuple[Any, str]:
    """The ridge with which the last sixth of the training faces is best predicted; and all."""
    if setting.quick:
        return RIDGES[1], ""
    cut = len(views["left"]) * 5 // 6
    fit, held = ({k: Y[rows] for k, Y in views.items()} for rows in (slice(cut), slice(cut, None)))
    errors = [
        rms(cca(setting, fit, ridge).predict({"left": held["left"]}, "right") - held["right"])
        for ridge in RIDGES
    ]
    tried = ", ".join(f"{r}: {e:.4f}" for r, e in zip(RIDGES, errors, strict=True))
    return RIDGES[int(np.argmin(errors))], f"ridge on held-out training faces: {tried}"


def rms(error: np.ndarray) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(error**2)))


def nearest(given: np.ndarray, views: dict[str, np.ndarray]) -> np.ndarray:
    """The right half of the training face nearest in the pixels that are there."""
    return np.stack(
        [views["right"][np.argmin(np.nansum((views["left"] - row) ** 2, axis=1))] for row in given]
    )

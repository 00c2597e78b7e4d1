"""The thesis's latent points (001 chapters 3 and 4, X1-X7): toys, exam marks, faces, bars.

The thesis prints single runs; toys here are means over seeds. GPLVM-CCA has its default prior,
except on the second toy and the faces, whose views are nearly functions of each other: there it
is 0.01, as the documentation advises. The rows of the default prior are there, too.
"""

import time
import warnings
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import spearmanr
from sklearn.decomposition import NMF
from sklearn.linear_model import RidgeCV
from sklearn.neighbors import KNeighborsRegressor

from manyviews.linear import CCA
from manyviews.points import GPLVMCCA, SharedGPLVM, SharedPrivateGPLVM

from .setting import Setting
from .table import Row, printed, summarise

CLOSE = 0.01  # the prior where views are nearly functions of each other
ROOTS = (np.array([[0.1, 0.3], [0.3, 1.0]]), np.array([[0.2, 0.1], [0.1, 1.0]]))
MIXES = (np.array([[0.7, 0.5], [0.5, 0.7]]), np.array([[0.5, -0.2], [-0.2, 0.5]]))
HIDDEN = {0: 0.1299, 10: 0.1325, 20: 0.1336, 30: 0.1354, 40: 0.1372, 50: 0.1404, 60: 0.1423}
N_FACES = 600


def run(setting: Setting) -> list[Row]:
    """X1, X2, X3, X6 and X7, then X4 and X5."""
    marks = setting.load("exam_marks")
    faces = setting.load("frey_faces")
    return [
        *linear_toy(setting),
        *circle_toy(setting),
        *exam(setting, {"closed": marks["closed_book"], "open": marks["open_book"]}),
        *bars_rows(setting),
        *frey(setting, faces["Y_left_half"] / 255.0, faces["Y_right_half"] / 255.0),
    ]


def fitted(model: Any, views: dict[str, np.ndarray], quick: bool) -> Any:
    if quick:
        model.set_params(max_iter=40, tol=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(views)


def correlation_of_views(model: Any) -> float:
    """Between the points that each view alone gives the training samples."""
    a, b = (x[:, 0] for x in model.latent_by_view().values())
    return abs(float(np.corrcoef(a, b)[0, 1]))


def make_linear_toy(seed: int, n: int = 200) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """X1: a shared direction that has little variance; the population correlation is 0.8."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 1))
    signal = x @ np.array([[2.0, 0.0]])
    first, second = ((signal + rng.normal(size=(n, 2))) @ root for root in ROOTS)
    return x[:, 0], {"first": first, "second": second}


def linear_toy(setting: Setting) -> list[Row]:
    """Correlation of the two views' points, and of the points with the truth."""
    models = {
        "GPLVM-CCA": lambda: GPLVMCCA(1, kernel="linear", random_state=0),
        "GPLVM-CCA, prior 0.001": lambda: GPLVMCCA(
            1, kernel="linear", psi_prior=1e-3, random_state=0
        ),
        "shared GP-LVM (GPLVM-PCA)": lambda: SharedGPLVM(1, kernel="linear", random_state=0),
    }
    found: dict[tuple[str, str], list[float]] = {}
    for seed in range(1 if setting.quick else setting.seeds):
        x, views = make_linear_toy(seed)
        reference = CCA(1).fit(views)
        found.setdefault(("CCA", "linear-view-correlation"), []).append(
            float(reference.canonical_correlations_[0])
        )
        found.setdefault(("CCA", "linear-truth-correlation"), []).append(
            abs(float(np.corrcoef(reference.latent_mean_[:, 0], x)[0, 1]))
        )
        for name, make in models.items():
            model = fitted(make(), views, setting.quick)
            found.setdefault((name, "linear-view-correlation"), []).append(
                correlation_of_views(model)
            )
            found.setdefault((name, "linear-truth-correlation"), []).append(
                abs(float(np.corrcoef(model.latent_mean_[:, 0], x)[0, 1]))
            )
    return rows_of(found, set(models))


def make_circle_toy(seed: int, n: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """X2: two mixtures of a circle, noise of standard deviation 0.1 (not variance; see 001)."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-np.pi, np.pi, size=n)
    circle = np.column_stack([np.cos(0.8 * x), np.sin(0.8 * x)])
    first, second = ((circle + 0.1 * rng.normal(size=circle.shape)) @ mix.T for mix in MIXES)
    return x, {"first": first, "second": second}


def circle_toy(setting: Setting) -> list[Row]:
    """Order of the points, noise covariances, and prediction of each view from the other.

    The start is Isomap's: CCA folds the circle, to a lower likelihood as a rule.
    """
    options: dict[str, Any] = {"init": "isomap", "random_state": 0}
    models = {
        "GPLVM-CCA": lambda: GPLVMCCA(1, psi_prior=CLOSE, **options),
        "GPLVM-CCA, default prior": lambda: GPLVMCCA(1, **options),
        "shared GP-LVM (GPLVM-PCA)": lambda: SharedGPLVM(1, **options),
    }
    found: dict[tuple[str, str], list[float]] = {}
    for seed in range(1 if setting.quick else 4 * setting.seeds):
        x, views = make_circle_toy(seed, 120)
        train = {name: Y[:100] for name, Y in views.items()}
        test = {name: Y[100:] for name, Y in views.items()}
        for name, make in models.items():
            model = fitted(make(), train, setting.quick)
            score = abs(float(spearmanr(model.latent_mean_[:, 0], x[:100])[0]))
            found.setdefault((name, "circle-order"), []).append(score)
            for a, b in (("first", "second"), ("second", "first")):
                error = np.mean(np.sum((model.predict({b: test[b]}, a) - test[a]) ** 2, axis=1))
                found.setdefault((name, f"circle-MSE-{a}"), []).append(float(error))
            if isinstance(model, GPLVMCCA):
                for view, mix in zip(("first", "second"), MIXES, strict=True):
                    noise = model.psi_[view] / model.beta_[view]
                    truth = 0.01 * mix @ mix.T
                    error = np.linalg.norm(noise - truth) / np.linalg.norm(truth)
                    found.setdefault((name, f"circle-noise-error-{view}"), []).append(float(error))
        for a, b in (("first", "second"), ("second", "first")):
            near = KNeighborsRegressor(5).fit(train[b], train[a]).predict(test[b])
            error = float(np.mean(np.sum((near - test[a]) ** 2, axis=1)))
            found.setdefault(("5 nearest neighbours", f"circle-MSE-{a}"), []).append(error)
    return rows_of(found, set(models))


def exam(setting: Setting, views: dict[str, np.ndarray]) -> list[Row]:
    """X3: correlation of the two views' points, beside CCA's."""
    model = fitted(GPLVMCCA(1, random_state=0, scaling="column"), views, setting.quick)
    linear = fitted(
        GPLVMCCA(1, kernel="linear", random_state=0, scaling="column"), views, setting.quick
    )
    plain = fitted(SharedGPLVM(1, random_state=0, scaling="column"), views, setting.quick)
    by_view = model.latent_by_view()
    sign = np.sign(np.corrcoef(by_view["closed"][:, 0], views["closed"].sum(axis=1))[0, 1])
    gap = sign * (by_view["closed"] - by_view["open"])[:, 0]
    order = np.argsort(gap)
    note = f"better closed: {order[::-1][:3] + 1}; better open: {order[:3] + 1} (students)"
    return [
        Row("GPLVM-CCA, RBF", "exam-view-correlation", correlation_of_views(model), ours=True,
            note=note),
        Row("GPLVM-CCA, linear", "exam-view-correlation", correlation_of_views(linear), ours=True),
        Row("shared GP-LVM, RBF", "exam-view-correlation", correlation_of_views(plain), ours=True),
        Row("CCA", "exam-view-correlation", float(CCA(1).fit(views).canonical_correlations_[0]),
            published=0.663),
    ]  # fmt: skip


def frey(setting: Setting, left: np.ndarray, right: np.ndarray) -> list[Row]:
    """X4, X5: the right half of a face from the left one, some of whose pixels are missing."""
    n_train, n_test, runs = (60, 8, 1) if setting.quick else (N_FACES, 100, 3)
    levels = (0, 60) if setting.quick else tuple(HIDDEN)
    found: dict[tuple[str, str], list[float]] = {}
    order = np.random.default_rng(0).permutation(len(left))
    train, test = order[:n_train], order[n_train : n_train + n_test]
    views = {"left": left[train], "right": right[train]}
    began = time.perf_counter()
    models = {
        "GPLVM-CCA": fitted(
            GPLVMCCA(2, psi_prior=CLOSE, max_iter=150, tol=1e-4, random_state=0),
            views, setting.quick,
        ),
        "shared GP-LVM (GPLVM-PCA)": fitted(
            SharedGPLVM(2, max_iter=150, tol=1e-4, random_state=0), views, setting.quick
        ),
    }  # fmt: skip
    seconds = (time.perf_counter() - began) / 2
    ridge = RidgeCV(np.logspace(-2, 4, 13)).fit(views["left"], views["right"])
    for run_number in range(runs):
        rng = np.random.default_rng([1, run_number])
        ranks = rng.uniform(size=(n_test, left.shape[1])).argsort(axis=1)
        for level in levels:
            if level == 0 and run_number:
                continue
            hidden = ranks < round(level / 100 * left.shape[1])
            given = np.where(hidden, np.nan, left[test])
            for name, model in models.items():
                error = model.predict({"left": given}, "right") - right[test]
                found.setdefault((name, f"faces-RMS-{level}"), []).append(
                    float(np.sqrt(np.mean(error**2)))
                )
            filled = np.where(hidden, views["left"].mean(axis=0), left[test])
            near = nearest(given, views)
            for name, guess in {"ridge": ridge.predict(filled), "nearest neighbour": near}.items():
                error = float(np.sqrt(np.mean((guess - right[test]) ** 2)))
                found.setdefault((name, f"faces-RMS-{level}"), []).append(error)
    rows = rows_of(found, set(models), seconds)
    return rows + [printed("thesis", f"faces-RMS-{level}", HIDDEN[level]) for level in levels]


def nearest(given: np.ndarray, views: dict[str, np.ndarray]) -> np.ndarray:
    """The right half of the training face nearest in the pixels that are there."""
    return np.stack(
        [views["right"][np.argmin(np.nansum((views["left"] - row) ** 2, axis=1))] for row in given]
    )


def make_bars(seed: int, n: int = 200) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """X6: images of 8 x 8 with a horizontal bar, the same in both, and a vertical one each.

    Transposed as in the thesis: samples are pixels, columns are images. Also the 16 bars.
    """
    rng = np.random.default_rng(seed)
    images: dict[str, list[np.ndarray]] = {"left": [], "right": []}
    for row in rng.integers(8, size=n):
        for half, name in enumerate(images):
            image = np.zeros((8, 8))
            image[row], image[:, 4 * half + rng.integers(4)] = 1.0, 1.0
            images[name].append(image.ravel())
    grid = np.indices((8, 8)).reshape(2, 64)
    bars = np.concatenate([np.eye(8)[grid[0]], np.eye(8)[grid[1]]], axis=1)
    return {name: np.array(found).T for name, found in images.items()}, bars


def matched(latent: np.ndarray, bars: np.ndarray) -> np.ndarray:
    """Correlation of every bar with the latent image that is matched to it."""
    both = np.corrcoef(latent.T, bars.T)[: latent.shape[1], latent.shape[1] :]
    left, right = linear_sum_assignment(-np.abs(both))
    return np.abs(both)[left, right]


def bars_rows(setting: Setting) -> list[Row]:
    """X6 and X7: are the latent images the bars, and how many of twelve shared ones survive."""
    found: dict[tuple[str, str], list[float]] = {}
    for seed in range(1 if setting.quick else min(setting.seeds, 3)):
        views, bars = make_bars(seed)
        groups = {"shared": bars[:, :8], "left": bars[:, 8:12], "right": bars[:, 12:]}
        options = {"bounded": True, "init": "ncca", "random_state": seed, "max_iter": 600}
        model = fitted(SharedPrivateGPLVM(8, 4, **options), views, setting.quick)
        X = model.latent_mean_
        blocks = {"shared": X[:, :8], "left": X[:, 8:12], "right": X[:, 12:]}
        parts = [matched(blocks[name], groups[name]) for name in groups]
        add(found, "shared-private GP-LVM", np.concatenate(parts))
        both = np.hstack([views["left"], views["right"]])
        add(found, "NMF, nothing known of views",
            matched(NMF(16, init="nndsvda", max_iter=2000).fit_transform(both), bars))  # fmt: skip
        pruned = SharedPrivateGPLVM(12, 4, ard_prior=1.0, **options)
        pruned = fitted(pruned, views, setting.quick)
        weights = np.stack([shared for shared, _ in pruned.weights_.values()])
        kept = (weights > 0.01 * weights.max(axis=1, keepdims=True)).any(axis=0).sum()
        key = ("shared-private GP-LVM", "bars-shared-kept-of-12")
        found.setdefault(key, []).append(float(kept))
    return rows_of(found, {"shared-private GP-LVM"})


def add(found: dict[tuple[str, str], list[float]], name: str, values: np.ndarray) -> None:
    found.setdefault((name, "bars-mean-correlation"), []).append(float(values.mean()))
    found.setdefault((name, "bars-found-of-16"), []).append(float((values > 0.8).sum()))


def rows_of(
    found: dict[tuple[str, str], list[float]], ours: set[str], seconds: float = 0.0
) -> list[Row]:
    return [
        summarise(name, measure, values, ours=name in ours, seconds=seconds)
        for (name, measure), values in found.items()
    ]

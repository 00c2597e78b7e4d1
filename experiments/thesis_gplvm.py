"""The thesis's latent points ([Leen08, chapters 3 and 4], X1-X7): toys, exam marks, faces, bars.

The thesis prints single runs; toys here are means over seeds. GPLVM-CCA has its default prior,
except on the second toy and the faces, whose views are nearly functions of each other: there it
is 0.01, as the documentation advises. The rows of the default prior are there, too.
"""

from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.neighbors import KNeighborsRegressor

from manyviews.linear import CCA
from manyviews.points import GPLVMCCA, SharedGPLVM

from .pieces import finished
from .setting import Setting
from .table import Row
from .thesis_bars import bars_rows
from .thesis_faces import faces_rows
from .thesis_tally import Tally, fitted

CLOSE = 0.01  # the prior where views are nearly functions of each other
ROOTS = (np.array([[0.1, 0.3], [0.3, 1.0]]), np.array([[0.2, 0.1], [0.1, 1.0]]))
MIXES = (np.array([[0.7, 0.5], [0.5, 0.7]]), np.array([[0.5, -0.2], [-0.2, 0.5]]))


def run(setting: Setting) -> list[Row]:
    """X1, X2, X3, X6 and X7, then X4 and X5."""
    marks = setting.load("exam_marks")
    return [
        *linear_toy(setting),
        *circle_toy(setting),
        *exam(setting, {"closed": marks["closed_book"], "open": marks["open_book"]}),
        *bars_rows(setting),
        *faces_rows(setting),
    ]


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
    pieces = [("linear", seed) for seed in range(1 if setting.quick else 2 * setting.seeds)]
    return Tally.of(finished(setting, one_linear_toy, pieces).values()).rows()


def one_linear_toy(setting: Setting, _: str, seed: int) -> dict[str, Any]:
    """All methods on one draw."""
    models = {
        "GPLVM-CCA": GPLVMCCA(1, kernel="linear", random_state=0),
        "GPLVM-CCA, prior 0.001": GPLVMCCA(1, kernel="linear", psi_prior=1e-3, random_state=0),
        "shared GP-LVM (GPLVM-PCA)": SharedGPLVM(1, kernel="linear", random_state=0),
    }
    tally = Tally()
    x, views = make_linear_toy(seed)
    reference = CCA(1).fit(views)
    tally.add("CCA", "linear-view-correlation", reference.canonical_correlations_[0])
    found = {"CCA": reference}
    for name, model in models.items():
        found[name] = fitted(model, views, setting.quick)
        tally.took(name, found[name])
        tally.add(name, "linear-view-correlation", correlation_of_views(found[name]))
    for name, model in found.items():
        truth = abs(np.corrcoef(model.latent_mean_[:, 0], x)[0, 1])
        tally.add(name, "linear-truth-correlation", truth)
    return tally.content()


def make_circle_toy(seed: int, n: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """X2: two mixtures of a circle, noise of standard deviation 0.1
    (not variance; see [Leen08]).
    """
    rng = np.random.default_rng(seed)
    x = rng.uniform(-np.pi, np.pi, size=n)
    circle = np.column_stack([np.cos(0.8 * x), np.sin(0.8 * x)])
    first, second = ((circle + 0.1 * rng.normal(size=circle.shape)) @ mix.T for mix in MIXES)
    return x, {"first": first, "second": second}


def circle_toy(setting: Setting) -> list[Row]:
    """Order of the points, noise covariances, and prediction of each view from the other."""
    pieces = [("circle", seed) for seed in range(1 if setting.quick else 4 * setting.seeds)]
    return Tally.of(finished(setting, one_circle_toy, pieces).values()).rows()


def one_circle_toy(setting: Setting, _: str, seed: int) -> dict[str, Any]:
    """All methods on one draw.

    The start is Isomap's: CCA folds the circle, to a lower likelihood as a rule.
    """
    options: dict[str, Any] = {"init": "isomap", "random_state": 0}
    models = {
        "GPLVM-CCA": GPLVMCCA(1, psi_prior=CLOSE, **options),
        "GPLVM-CCA, default prior": GPLVMCCA(1, **options),
        "shared GP-LVM (GPLVM-PCA)": SharedGPLVM(1, **options),
    }
    tally = Tally()
    x, views = make_circle_toy(seed, 120)
    train = {name: Y[:100] for name, Y in views.items()}
    test = {name: Y[100:] for name, Y in views.items()}
    for name, given in models.items():
        model = fitted(given, train, setting.quick)
        tally.took(name, model)
        tally.add(name, "circle-order", abs(spearmanr(model.latent_mean_[:, 0], x[:100])[0]))
        for a, b in (("first", "second"), ("second", "first")):
            error = np.mean(np.sum((model.predict({b: test[b]}, a) - test[a]) ** 2, axis=1))
            tally.add(name, f"circle-MSE-{a}", error)
        if isinstance(model, GPLVMCCA):
            errors = []
            for view, mix in zip(("first", "second"), MIXES, strict=True):
                noise = model.psi_[view] / model.beta_[view]
                truth = 0.01 * mix @ mix.T
                errors.append(np.linalg.norm(noise - truth) / np.linalg.norm(truth))
            tally.add(name, "circle-noise-error", float(np.mean(errors)))
    for a, b in (("first", "second"), ("second", "first")):
        near = KNeighborsRegressor(5).fit(train[b], train[a]).predict(test[b])
        error = np.mean(np.sum((near - test[a]) ** 2, axis=1))
        tally.add("5 nearest neighbours", f"circle-MSE-{a}", error)
    return tally.content()


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

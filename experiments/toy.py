"""The toy of known signals [MRD21, §5.1], and harder ones of three and five views.

A latent dimension belongs to the views whose relevance for it exceeds the library's threshold.
The segmentation is correct if these sets are exactly those of the true signals and every
signal correlates best with the dimension of its own set. The signals serve to measure only.
Held-out samples measure what view A says about view B: the shared signal, and no more.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.cross_decomposition import CCA
from sklearn.decomposition import PCA, FastICA
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import cross_val_predict

from manyviews import MRD, Search
from manyviews.linear import GroupFactorAnalysis

from .paper_model import paper_mrd
from .pieces import tallied
from .scores import coverage, nlpd, rmse
from .setting import Setting
from .table import Row, summarise
from .toy_data import Toy, correlations, harder_toy, published_toy
from .toy_picture import THRESHOLD, draw

FACTORS = "factors"  # in place of a kernel: group factor analysis


class Recipe(NamedTuple):
    """A toy, and what is fitted to it."""

    make: Callable[[int], Toy]
    n_components: int
    kernel: str
    temporal: bool = False


BENT = "MRD, 3 views, curved maps"
PUBLISHED = {
    "MRD": Recipe(published_toy, 8, "linear"),
    "MRD, temporal prior": Recipe(published_toy, 8, "linear", temporal=True),
    "GFA": Recipe(published_toy, 8, FACTORS),
}
THREE_VIEWS = {
    "MRD, 3 views": Recipe(partial(harder_toy, 3), 10, "linear"),
    "GFA, 3 views": Recipe(partial(harder_toy, 3), 10, FACTORS),
}
HARDER = THREE_VIEWS | {
    "MRD, 5 views": Recipe(partial(harder_toy, 5), 14, "linear"),
    "GFA, 5 views": Recipe(partial(harder_toy, 5), 14, FACTORS),
    BENT: Recipe(partial(harder_toy, 3, curved=True), 10, "rbf"),
    f"{BENT}, temporal prior": Recipe(partial(harder_toy, 3, curved=True), 10, "rbf", True),
}
KEPT = {"MRD": 3, "MRD, temporal prior": 3}  # dimensions, as printed


def run(setting: Setting) -> list[Row]:
    """The published toy with its held-out samples, then the harder toys."""
    rows = recovery_rows(setting, PUBLISHED, setting.seeds)
    rows += baseline_rows(setting) + held_out_rows(setting)
    if setting.quick:
        return rows + recovery_rows(setting, THREE_VIEWS, 1)
    return rows + recovery_rows(setting, HARDER, min(setting.seeds, 5))


def fit(
    setting: Setting,
    views: dict[str, np.ndarray],
    q: int,
    kernel: str,
    seed: int,
    times: np.ndarray | None = None,
) -> MRD | GroupFactorAnalysis:
    """Default settings but for the number of dimensions and the kernel, or linear factors."""
    if kernel == FACTORS:
        return GroupFactorAnalysis(q, random_state=seed).fit(views)
    n_inducing, search = (20, Search(max_iter=300)) if setting.quick else (None, Search())
    model = paper_mrd(q, n_inducing, kernel=kernel, search=search, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(views, times=times)


def recovery_rows(setting: Setting, methods: Iterable[str], seeds: int) -> list[Row]:
    """Correlation with the signals, dimensions kept, and whose they are."""
    pieces = [(method, seed) for method in methods for seed in range(seeds)]
    rows = []
    for (method, measure), found in tallied(setting, one_recovery, pieces).items():
        kept = measure == "dimensions-kept"
        true = len((PUBLISHED | HARDER)[method].make(0).users)
        rows.append(
            summarise(
                method, measure, found.values, seconds=found.seconds, ours=True,
                published=KEPT.get(method) if kept else None, note=f"true {true}" if kept else "",
            )
        )  # fmt: skip
    return rows


def one_recovery(setting: Setting, method: str, seed: int) -> dict[str, dict[str, float]]:
    """One fit and its picture."""
    recipe = (PUBLISHED | HARDER)[method]
    toy = recipe.make(seed)
    times = toy.times if recipe.temporal else None
    model = fit(setting, toy.views, recipe.n_components, recipe.kernel, seed, times)
    if seed == 0:
        draw(setting, method, toy, model)
    return {method: recovery(toy, model)}


def recovery(toy: Toy, model: MRD | GroupFactorAnalysis) -> dict[str, float]:
    """The three measures of one fit."""
    matches = correlations(toy.signals, model.latent_mean_)
    owners = owners_of(model)
    active = [dimension for dimension, group in enumerate(owners) if group]
    best, own = [], []
    for row, group in zip(matches, toy.users, strict=True):
        assigned = [d for d in active if owners[d] == group]
        best.append(row[assigned or slice(None)].max())
        own.append(int(row.argmax()) in assigned)
    same = Counter(owners[d] for d in active) == Counter(toy.users)
    return {
        "signal-correlation": float(min(best)),
        "dimensions-kept": model.n_active_,
        "segmentation-correct": float(same and all(own)),
    }


def owners_of(model: MRD | GroupFactorAnalysis) -> list[str]:
    """The names of the views that use each dimension, joined."""
    used = model.relevance_.to_numpy() > THRESHOLD
    return ["".join(np.array(model.view_names_)[column]) for column in used.T]


def baseline_rows(setting: Setting) -> list[Row]:
    """Linear methods on the published toy, told the true number of signals."""
    note = "told the number; cannot say whose a signal is"
    pieces = [("baselines", seed) for seed in range(setting.seeds)]
    return [
        summarise(method, measure, found.values, note=note)
        for (method, measure), found in tallied(setting, one_baseline, pieces).items()
    ]


def one_baseline(setting: Setting, _: str, seed: int) -> dict[str, dict[str, float]]:
    """The smallest correlation with a signal."""
    toy = published_toy(seed)
    joint, shared = np.concatenate(list(toy.views.values()), axis=1), toy.signals[:, 2:]
    ica = FastICA(3, random_state=seed, max_iter=1000, whiten="unit-variance")
    answers = {
        "PCA, 3 components": correlations(toy.signals, PCA(3).fit_transform(joint)),
        "FastICA, 3 components": correlations(toy.signals, ica.fit_transform(joint)),
        "CCA, shared signal only": correlations(
            shared, CCA(1).fit_transform(toy.views["A"], toy.views["B"])[0]
        ),
    }
    return {
        method: {"signal-correlation": float(matches.max(axis=1).min())}
        for method, matches in answers.items()
    }


def held_out_rows(setting: Setting) -> list[Row]:
    """View B from view A on a random fifth of the samples that the fit has not seen."""
    pieces = [("held-out", seed) for seed in range(setting.seeds)]
    return [
        summarise(
            method, measure, found.values, ours=method in PUBLISHED, note="view B from view A"
        )
        for (method, measure), found in tallied(setting, one_held_out, pieces).items()
    ]


def one_held_out(setting: Setting, _: str, seed: int) -> dict[str, dict[str, float]]:
    """The scores of every method."""
    toy = published_toy(seed)
    order = np.random.default_rng([seed, 1]).permutation(len(toy.signals))
    train, test = toy.rows(order[20:]), toy.rows(order[:20])
    ours = {"MRD": "linear", "GFA": FACTORS}
    answers = {
        method: fit(setting, train, 8, kernel, seed).predict({"A": test["A"]}, "B", return_std=True)
        for method, kernel in ours.items()
    } | {
        "ridge regression": ridge(train["A"], train["B"], test["A"]),
        "training mean": (train["B"].mean(axis=0), train["B"].std(axis=0)),
    }
    return {method: scores(test["B"], *answer) for method, answer in answers.items()}


def ridge(A: np.ndarray, B: np.ndarray, new: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Penalty by leave-one-out, standard deviations from cross-validated residuals."""
    model = RidgeCV(np.logspace(-3, 4, 15))
    std = (B - cross_val_predict(model, A, B, cv=10)).std(axis=0)
    return model.fit(A, B).predict(new), std


def scores(Y: np.ndarray, mean: np.ndarray, std: np.ndarray) -> dict[str, float]:
    """Error, mean negative log density per value, and share inside the 90 % intervals."""
    std = np.broadcast_to(std, Y.shape)
    return {
        "RMSE": rmse(Y, mean),
        "NLPD": nlpd(Y, mean, std),
        "coverage-90": coverage(Y, mean, std),
    }

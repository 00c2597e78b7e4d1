"""The toy of known signals [MRD21, §5.1], and harder ones of three and five views.

A latent dimension belongs to the views whose relevance for it exceeds the library's threshold.
The segmentation is correct if these sets are exactly those of the true signals and every
signal correlates best with the dimension of its own set. The signals serve to measure only.
Held-out samples measure what view A says about view B: the shared signal, and no more.
"""

import time
import warnings
from collections import Counter
from collections.abc import Callable

import numpy as np
from sklearn.cross_decomposition import CCA
from sklearn.decomposition import PCA, FastICA
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import cross_val_predict

from manyviews import MRD, Search
from manyviews.linear import GroupFactorAnalysis

from .paper_model import paper_mrd
from .scores import coverage, nlpd, rmse
from .setting import Setting
from .table import Row, summarise
from .toy_data import Toy, correlations, harder_toy, published_toy
from .toy_picture import THRESHOLD, draw

FACTORS = "factors"  # in place of a kernel: group factor analysis


def run(setting: Setting) -> list[Row]:
    """The published toy with its held-out samples, then the harder toys."""
    rows = recovery_rows(setting, "MRD", published_toy, 8, "linear", kept=3)
    prior = "MRD, temporal prior"
    rows += recovery_rows(setting, prior, published_toy, 8, "linear", kept=3, temporal=True)
    rows += recovery_rows(setting, "GFA", published_toy, 8, FACTORS)
    rows += baseline_rows(setting)
    rows += held_out_rows(setting)
    few = min(setting.seeds, 1 if setting.quick else 5)
    quick = Setting(setting.data, few, setting.quick, setting.results)
    rows += recovery_rows(quick, "MRD, 3 views", lambda s: harder_toy(3, s), 10, "linear")
    rows += recovery_rows(quick, "GFA, 3 views", lambda s: harder_toy(3, s), 10, FACTORS)
    if setting.quick:
        return rows
    rows += recovery_rows(quick, "MRD, 5 views", lambda s: harder_toy(5, s), 14, "linear")
    rows += recovery_rows(quick, "GFA, 5 views", lambda s: harder_toy(5, s), 14, FACTORS)
    for temporal in (False, True):
        bent = "MRD, 3 views, curved maps" + (", temporal prior" if temporal else "")
        rows += recovery_rows(
            quick, bent, lambda s: harder_toy(3, s, curved=True), 10, "rbf", temporal=temporal
        )
    return rows


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


def recovery_rows(
    setting: Setting,
    method: str,
    make: Callable[[int], Toy],
    q: int,
    kernel: str,
    kept: int | None = None,
    temporal: bool = False,
) -> list[Row]:
    """Correlation with the signals, dimensions kept, and whose they are."""
    found: dict[str, list[float]] = {}
    began = time.perf_counter()
    for seed in range(setting.seeds):
        toy = make(seed)
        times = toy.times if temporal else None
        model = fit(setting, toy.views, q, kernel, seed, times)
        if seed == 0:
            draw(setting, method, toy, model)
        for measure, value in recovery(toy, model).items():
            found.setdefault(measure, []).append(value)
    seconds = (time.perf_counter() - began) / setting.seeds
    true = {"dimensions-kept": f"true {len(toy.users)}, by seed {found['dimensions-kept']}"}
    return [
        summarise(
            method, measure, values, seconds=seconds, ours=True,
            published=kept if measure == "dimensions-kept" else None, note=true.get(measure, ""),
        )
        for measure, values in found.items()
    ]  # fmt: skip


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
    found: dict[str, list[float]] = {}
    for seed in range(setting.seeds):
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
        for method, matches in answers.items():
            found.setdefault(method, []).append(float(matches.max(axis=1).min()))
    note = "told the number; cannot say whose a signal is"
    return [summarise(m, "signal-correlation", v, note=note) for m, v in found.items()]


def held_out_rows(setting: Setting) -> list[Row]:
    """View B from view A on a random fifth of the samples that the fit has not seen."""
    found: dict[tuple[str, str], list[float]] = {}
    for seed in range(setting.seeds):
        toy = published_toy(seed)
        order = np.random.default_rng([seed, 1]).permutation(len(toy.signals))
        train, test = toy.rows(order[20:]), toy.rows(order[:20])
        model = fit(setting, train, 8, "linear", seed)
        answers = {
            "MRD": model.predict({"A": test["A"]}, "B", return_std=True),
            "GFA": fit(setting, train, 8, FACTORS, seed).predict(
                {"A": test["A"]}, "B", return_std=True
            ),
            "ridge regression": ridge(train["A"], train["B"], test["A"]),
            "training mean": (train["B"].mean(axis=0), train["B"].std(axis=0)),
        }
        for method, (mean, std) in answers.items():
            for measure, value in scores(test["B"], mean, std).items():
                found.setdefault((method, measure), []).append(value)
    return [
        summarise(method, measure, values, ours=method in {"MRD", "GFA"}, note="view B from view A")
        for (method, measure), values in found.items()
    ]


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

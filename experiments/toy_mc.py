"""The toy of [McGPDS23, §6.1]: signals behind two views, one of them shared; and a third view.

Dimension q of a view's path follows dimension q of the shared one as far as its weight lets it.
With one weight per dimension the shared signal takes one dimension (α near 0 in every view) and
the private ones another (α near 1). With a single dimension, as the paper has it, a path cannot
hold two signals, whatever its weight: that row is there too. The signals serve to measure only.

The second part is the paper's figure 6: α against the variance of a private signal that is noise.
"""

import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import spearmanr
from sklearn.cross_decomposition import CCA
from sklearn.decomposition import PCA, FastICA

from manyviews import MRD, McGPDS, Search

from .setting import Setting
from .table import Row, summarise
from .toy_data import correlations

VARIANCES = np.linspace(0.1, 1.0, 10)
FREQUENCIES = {"shared": 2.0 * np.pi, "A": np.pi**2, "B": np.sqrt(5.0) * np.pi, "C": 4.1 * np.pi}


class Signals(NamedTuple):
    """Views by name, the shared signal and the private ones, and the times."""

    views: dict[str, np.ndarray]
    shared: np.ndarray
    private: dict[str, np.ndarray]
    times: np.ndarray


def run(setting: Setting) -> list[Row]:
    """The authors' draw, draws of our own with two and three views, and the sweep of weights."""
    seeds = range(setting.seeds)
    rows = recovery_rows("McGPDS", [(published(setting), seed) for seed in seeds], setting)
    if setting.quick:
        return rows + rival_rows(setting) + sweep_rows(setting)
    rows += recovery_rows(
        "McGPDS, one dimension", [(published(setting), seed) for seed in seeds], setting,
        n_components=1, sharing="view",
    )  # fmt: skip
    rows += recovery_rows(
        "McGPDS, other draws", [(simulated("AB", seed), seed) for seed in seeds], setting
    )
    rows += recovery_rows(
        "McGPDS, 3 views", [(simulated("ABC", seed), seed) for seed in seeds], setting
    )
    rows += rival_rows(setting)
    return rows + sweep_rows(setting)


def published(setting: Setting) -> Signals:
    """The draw of the paper's figures 4 and 5."""
    data = setting.load("toy_mcgpds")
    return Signals(
        {"A": data["view1_1003"], "B": data["view2_1003"]},
        data["signal_shared_1003"],
        {"A": data["signal_private1_1003"], "B": data["signal_private2_1003"]},
        data["t"],
    )


def simulated(names: str, seed: int) -> Signals:
    """Ten columns of a private cosine beside five of the shared sine, in every view."""
    rng = np.random.default_rng([seed, len(names)])
    t = np.linspace(-1.0, 1.0, 100)
    shared = np.sin(FREQUENCIES["shared"] * t)
    private = {name: np.cos(FREQUENCIES[name] * t) for name in names}
    views = {}
    for name, own in private.items():
        blocks = [np.outer(own, rng.standard_normal(10)), np.outer(shared, rng.standard_normal(5))]
        clean = np.concatenate(blocks, axis=1)
        views[name] = clean + 0.1 * rng.standard_normal(clean.shape)
    return Signals(views, shared, private, t)


def fit(setting: Setting, views: dict[str, np.ndarray], times: np.ndarray, **options: Any) -> Any:
    """A linear map needs no more inducing inputs than a path has dimensions."""
    search = Search(n_restarts=1, max_iter=100 if setting.quick else 400)
    options = {"n_inducing": 5, "kernel": "linear", "search": search, "signal_check": "off",
               **options}  # fmt: skip
    kind = options.pop("kind", McGPDS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kind(**options).fit(views, times=times)


def recovery_rows(
    method: str, draws: list[tuple[Signals, int]], setting: Setting, **options: Any
) -> list[Row]:
    """Smallest correlation with a true signal, dimensions kept, and whether weights tell them."""
    options = {"n_components": 2, "sharing": "dimension", "init": "canonical", **options}
    found: dict[str, list[float]] = {}
    began = time.perf_counter()
    for toy, seed in draws:
        model = fit(setting, toy.views, toy.times, random_state=seed, **options)
        for measure, value in recovery(toy, model).items():
            found.setdefault(measure, []).append(value)
    seconds = (time.perf_counter() - began) / len(draws)
    note = f"Q = {options['n_components']} for each path, α by {options['sharing']}"
    return [
        summarise(method, measure, values, seconds=seconds, ours=True, note=note)
        for measure, values in found.items()
    ]


def recovery(toy: Signals, model: McGPDS) -> dict[str, float]:
    """The shared signal is sought in the shared path, a private one in its view's."""
    alpha = model.alpha_
    matches = correlations(toy.shared[:, None], model.path()[0])[0]
    common = int(matches.argmax())
    worst, right = float(matches.max()), bool((alpha[common] < 0.5).all())
    for name, signal in toy.private.items():
        found = correlations(signal[:, None], model.path(name)[0])[0]
        own = int(found.argmax())
        worst = min(worst, float(found.max()))
        right = right and own != common and bool(alpha.loc[name, own] > 0.5)
    return {
        "signal-correlation": worst,
        "dimensions-kept": float(model.n_active_),
        "segmentation-correct": float(right),
    }


def rival_rows(setting: Setting) -> list[Row]:
    """MRD with dynamics and linear methods, told the number of signals."""
    toy = published(setting)
    signals = np.stack([toy.shared, *toy.private.values()], axis=1)
    joint = np.concatenate(list(toy.views.values()), axis=1)
    found: dict[str, list[float]] = {}
    began = time.perf_counter()
    for seed in range(setting.seeds):
        model = fit(setting, toy.views, toy.times, kind=MRD, n_components=3, random_state=seed)
        ica = FastICA(3, random_state=seed, max_iter=1000, whiten="unit-variance")
        answers = {
            "MRD with dynamics": model.latent_mean_,
            "PCA, 3 components": PCA(3).fit_transform(joint),
            "FastICA, 3 components": ica.fit_transform(joint),
        }
        for method, X in answers.items():
            worst = correlations(signals, X).max(axis=1).min()
            found.setdefault(method, []).append(float(worst))
    shared = CCA(1).fit_transform(*toy.views.values())[0]
    found["CCA, shared signal only"] = [float(correlations(toy.shared[:, None], shared).max())]
    seconds = (time.perf_counter() - began) / setting.seeds
    return [
        summarise(
            method, "signal-correlation", values, ours=method.startswith("MRD"),
            seconds=seconds if method.startswith("MRD") else 0.0, note="Q = 3 in all",
        )
        for method, values in found.items()
    ]  # fmt: skip


def sweep_rows(setting: Setting) -> list[Row]:
    """α of both views while the private noise of the second grows (figure 6).

    Every view is ten columns of shared signal plus private noise, of variance 0.1 in the first;
    the private prior is white, since noise has no dynamics. Of two starts the one that ends in the
    higher bound counts.
    """
    t = np.linspace(-1.0, 1.0, 100)
    shared = np.sin(2.0 * np.pi * t)
    variances = VARIANCES[::3] if setting.quick else VARIANCES
    ranks, traces = [], []
    began = time.perf_counter()
    seeds = 1 if setting.quick else min(setting.seeds, 3)
    for seed in range(seeds):
        rng = np.random.default_rng([seed, 6])
        noise = rng.standard_normal((2, 100))
        maps = rng.standard_normal((2, 10))
        weights = []
        for variance in variances:
            paths = shared + np.sqrt([[0.1], [variance]]) * noise
            views = {
                name: np.outer(path, row) + 0.05 * rng.standard_normal((100, 10))
                for name, path, row in zip("AB", paths, maps, strict=True)
            }
            models = [
                fit(
                    setting, views, t, n_components=1, n_local=0, time_kernel="white",
                    shared_kernel="rbf", scaling="none", random_state=seed, init=start,
                )
                for start in ("concatenated", "canonical")
            ]  # fmt: skip
            best = max(models, key=lambda model: model.lower_bound_)
            weights.append(best.alpha_[0].to_numpy())
        ranks.append(spearmanr(variances, np.array(weights)[:, 1]).statistic)
        traces.append(np.array(weights))
    draw_sweep(setting, variances, np.mean(traces, axis=0))
    mean = np.mean(traces, axis=0).round(2)
    seconds = (time.perf_counter() - began) / (seeds * len(variances))
    note = f"α of A {mean[:, 0].tolist()}, of B {mean[:, 1].tolist()}"
    return [
        summarise("McGPDS, weights", "alpha-rank-correlation", ranks, ours=True, seconds=seconds,
                  note=note),
    ]  # fmt: skip


def draw_sweep(setting: Setting, variances: np.ndarray, weights: np.ndarray) -> None:
    """The picture of the paper's figure 6."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.5, 3.2), layout="constrained")
    axes = figure.subplots()
    for name, column in zip("AB", weights.T, strict=True):
        axes.plot(variances, column, marker="o", label=f"α of view {name}")
    axes.set(xlabel="variance of the private signal of view B", ylim=(0, 1))
    axes.legend()
    setting.results.mkdir(parents=True, exist_ok=True)
    figure.savefig(setting.results / "toy-mc-weights.png", dpi=120)

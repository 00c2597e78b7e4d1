"""The toy of [McGPDS23, §6.1]: signals behind two views, one of them shared; and a third view.

Dimension q of a view's path follows dimension q of the shared one as far as its weight lets it.
With one weight per dimension the shared signal takes one dimension (α near 0 in every view) and
the private ones another (α near 1). With a single dimension, as the paper has it, a path cannot
hold two signals, whatever its weight: that row is there too. The signals serve to measure only.

The second part is the paper's figure 6: α against the variance of a private signal that is noise.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import spearmanr
from sklearn.cross_decomposition import CCA
from sklearn.decomposition import PCA, FastICA

from manyviews import MRD, McGPDS, Search

from .pieces import finished, tallied
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


OWN = {"n_components": 2, "sharing": "dimension"}
METHODS: dict[str, tuple[str, dict[str, Any]]] = {  # whose signals, and how they are fitted
    "McGPDS": ("published", OWN),
    "McGPDS, one dimension": ("published", {"n_components": 1, "sharing": "view"}),
    "McGPDS, other draws": ("AB", OWN),
    "McGPDS, 3 views": ("ABC", OWN),
}


def run(setting: Setting) -> list[Row]:
    """The authors' draw, draws of our own with two and three views, and the sweep of weights."""
    names = list(METHODS)[:1] if setting.quick else list(METHODS)
    pieces = [(name, seed) for name in names for seed in range(setting.seeds)]
    rows = []
    for (method, measure), found in tallied(setting, one_recovery, pieces).items():
        options = METHODS[method][1]
        note = f"Q = {options['n_components']} for each path, α by {options['sharing']}"
        values, seconds = found
        rows.append(summarise(method, measure, values, seconds=seconds, ours=True, note=note))
    return rows + rival_rows(setting) + sweep_rows(setting)


def one_recovery(setting: Setting, method: str, seed: int) -> dict[str, dict[str, float]]:
    """One fit."""
    source, options = METHODS[method]
    toy = published(setting) if source == "published" else simulated(source, seed)
    model = fit(setting, toy.views, toy.times, random_state=seed, init="canonical", **options)
    return {method: recovery(toy, model)}


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


def recovery(toy: Signals, model: McGPDS) -> dict[str, float]:
    """Smallest correlation with a true signal, dimensions kept, and whether weights tell them.

    The shared signal is sought in the shared path, a private one in its view's.
    """
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
    found = tallied(setting, one_rival, [("rivals", seed) for seed in range(setting.seeds)])
    rows = [
        summarise(method, measure, values, ours=method.startswith("MRD"), note="Q = 3 in all",
                  seconds=seconds if method.startswith("MRD") else 0.0)
        for (method, measure), (values, seconds) in found.items()
    ]  # fmt: skip
    toy = published(setting)
    shared = CCA(1).fit_transform(*toy.views.values())[0]
    value = float(correlations(toy.shared[:, None], shared).max())
    return [*rows, Row("CCA, shared signal only", "signal-correlation", value)]


def one_rival(setting: Setting, _: str, seed: int) -> dict[str, dict[str, float]]:
    """The smallest correlation with a signal."""
    toy = published(setting)
    signals = np.stack([toy.shared, *toy.private.values()], axis=1)
    joint = np.concatenate(list(toy.views.values()), axis=1)
    model = fit(setting, toy.views, toy.times, kind=MRD, n_components=3, random_state=seed)
    ica = FastICA(3, random_state=seed, max_iter=1000, whiten="unit-variance")
    answers = {
        "MRD with dynamics": model.latent_mean_,
        "PCA, 3 components": PCA(3).fit_transform(joint),
        "FastICA, 3 components": ica.fit_transform(joint),
    }
    return {
        method: {"signal-correlation": float(correlations(signals, X).max(axis=1).min())}
        for method, X in answers.items()
    }


def sweep_rows(setting: Setting) -> list[Row]:
    """α of both views while the private noise of the second grows (figure 6)."""
    seeds = 1 if setting.quick else min(setting.seeds, 3)
    variances = VARIANCES[::3] if setting.quick else VARIANCES
    method = "McGPDS, weights"
    pieces = [(method, seed, float(v)) for seed in range(seeds) for v in variances]
    found = finished(setting, one_weight, pieces)
    traces = np.reshape(list(found.values()), (seeds, len(variances), 2))
    draw_sweep(setting, variances, traces.mean(axis=0))
    ranks = [spearmanr(variances, trace[:, 1]).statistic for trace in traces]
    return [
        summarise(method, "alpha-rank-correlation", ranks, ours=True),
        *(
            summarise(
                method, f"alpha-of-{name}-{variance:.1f}", traces[:, i, k].tolist(), ours=True
            )
            for k, name in enumerate("AB")
            for i, variance in enumerate(variances)
        ),
    ]


def one_weight(setting: Setting, _: str, seed: int, variance: float) -> np.ndarray:
    """α of both views for one variance of the private noise of the second.

    Every view is ten columns of shared signal plus private noise, of variance 0.1 in the first;
    the private prior is white, since noise has no dynamics. Of two starts the one that ends in the
    higher bound counts.
    """
    t = np.linspace(-1.0, 1.0, 100)
    rng = np.random.default_rng([seed, 6])
    noise, maps = rng.standard_normal((2, 100)), rng.standard_normal((2, 10))
    rng = np.random.default_rng([seed, 6, round(100 * variance)])
    paths = np.sin(2.0 * np.pi * t) + np.sqrt([[0.1], [variance]]) * noise
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
    return max(models, key=lambda model: model.lower_bound_).alpha_[0].to_numpy()


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

"""The picture of a fitted toy."""

import numpy as np
from matplotlib.figure import Figure

from manyviews import MRD
from manyviews.linear import GroupFactorAnalysis
from manyviews.plot.style import COLOURS

from .setting import Setting
from .toy_data import Toy, correlations

THRESHOLD = 5e-3  # the library's own


def draw(setting: Setting, method: str, toy: Toy, model: MRD | GroupFactorAnalysis) -> None:
    """Relevance per view as grouped bars, and the recovered signals over the true ones."""
    n = len(toy.users)
    figure = Figure(figsize=(12, max(3.5, 0.9 * n)), layout="constrained")
    left, right = figure.subfigures(1, 2)
    bars, values = left.subplots(), model.relevance_.to_numpy()
    places = np.arange(values.shape[1])
    for k, name in enumerate(model.view_names_):
        width = 0.8 / len(values)
        bars.bar(places + (k - (len(values) - 1) / 2) * width, np.maximum(values[k], 1e-6), width,
                 color=COLOURS[k], label=f"view {name}")  # fmt: skip
    bars.axhline(THRESHOLD, color="0.3", linestyle="--", linewidth=0.8)
    bars.set(yscale="log", ylim=(1e-6, 2), xlabel="latent dimension", ylabel="relevance")
    bars.set_xticks(places)
    bars.legend(fontsize="small")
    best = correlations(toy.signals, model.latent_mean_).argmax(axis=1)
    for axes, signal, d, group in zip(
        np.ravel(right.subplots(n, 1, sharex=True)), toy.signals.T, best, toy.users, strict=True
    ):
        scaled = np.polyval(
            np.polyfit(model.latent_mean_[:, d], signal, 1), model.latent_mean_[:, d]
        )
        axes.plot(signal, color="0.6", linewidth=3)
        axes.plot(scaled, color=COLOURS[1], linewidth=1)
        axes.set_ylabel(group, rotation=0, ha="right")
    right.suptitle("signals by the views that hold them: true (grey), recovered")
    setting.results.mkdir(parents=True, exist_ok=True)
    name = method.lower().replace(",", "").replace(" ", "-")
    figure.savefig(setting.results / f"toy-{name}.png", dpi=150)

"""Pictures of the mixtures: fits, the chain, and predictive densities both ways."""

import numpy as np
from matplotlib.figure import Figure

from manyviews import plot
from manyviews.plot.style import COLOURS

from .setting import Setting


def draw_fits(setting: Setting, name: str, model: object, train: dict) -> None:
    """The marginal density of each view over its training samples [Leen08, figures 5.2, 5.9]."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    for axes, view in zip(figure.subplots(1, 2), train, strict=True):
        plot.predictive_density(model, view, ax=axes)
        axes.scatter(*train[view].T, s=6, color=COLOURS[1], zorder=3)
    figure.suptitle(name)
    save(setting, figure, f"thesis-mixture-{slug(name)}")


def draw_densities(setting: Setting, name: str, model: object, train: dict, test: dict) -> None:
    """Predictive densities of each view given the other, for three test samples (Fig. 5.11)."""
    chosen = np.argsort(test["arc"][:, 0])[[50, 250, 450]]
    figure = Figure(figsize=(12, 7), layout="constrained")
    for row, (known, wanted) in zip(
        figure.subplots(2, 3), (("arc", "sine"), ("sine", "arc")), strict=True
    ):
        for axes, sample in zip(row, chosen, strict=True):
            given = {known: test[known][[sample]]}
            plot.predictive_density(model, wanted, given=given, ax=axes)
            axes.scatter(*train[wanted].T, s=3, color="0.6", zorder=2)
            axes.scatter(*test[wanted][sample], marker="x", color=COLOURS[1], zorder=4)
            x, y = test[known][sample]
            axes.set_title(f"{wanted} given {known} = ({x:.2f}, {y:.2f})", fontsize=9)
    save(setting, figure, f"thesis-mixture-predictive-{slug(name)}")


def draw_chain(setting: Setting, name: str, model: object) -> None:
    """Trace of the number of clusters, and its posterior (Fig. 5.7, 5.10)."""
    figure = Figure(figsize=(11, 3.5), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 1))
    for chain, trace in enumerate(model.trace_["n_clusters"]):
        left.plot(trace, linewidth=0.6, color=COLOURS[chain % len(COLOURS)])
    left.axvline(model.burn_in_, color="0.4", linestyle="--", linewidth=0.8)
    left.set(xlabel="sweep", ylabel="clusters")
    share = model.n_clusters_posterior()
    right.bar(share.index, share.to_numpy(), color=COLOURS[0])
    right.set(xlabel="clusters", ylabel="posterior probability")
    save(setting, figure, f"thesis-mixture-chain-{slug(name)}")


def save(setting: Setting, figure: Figure, name: str) -> None:
    setting.results.mkdir(parents=True, exist_ok=True)
    figure.savefig(setting.results / f"{name}.png", dpi=130)


def slug(name: str) -> str:
    return name.lower().replace(",", "").replace(" = ", "-").replace(" ", "-")

"""Draw the picture of README: two halves of digits, from data to answer.

python docs/assets/overview.py
"""

import warnings
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from manyviews import MRD, Search, plot
from manyviews.cli.demonstration import HALF, halves

N_TRAIN = 400


def main() -> None:
    """Fit, predict and draw."""
    mpl.use("agg")
    from matplotlib import pyplot as plt

    views, digits = halves(N_TRAIN + 60)
    train = {name: view[:N_TRAIN] for name, view in views.items()}
    new = {name: view[N_TRAIN:] for name, view in views.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = Search(n_restarts=2, max_iter=300)
        model = MRD(6, 40, scaling="view", search=search, random_state=0).fit(train)
        known = {"upper half": new["upper half"]}
        mean, std = model.predict(known, "lower half", return_std=True)
    labels = digits[N_TRAIN:]
    shown = [int(np.flatnonzero(labels == digit)[1]) for digit in sorted(set(labels))]

    plt.rcParams.update({"font.size": 10, "axes.titlesize": 12, "axes.titleweight": "bold"})
    figure, axes = plt.subplots(
        1, 4, figsize=(14, 3.9), layout="constrained", width_ratios=[1.0, 1.35, 1.25, 1.45]
    )
    upper, lower = (train[name].to_numpy() for name in ("upper half", "lower half"))
    for i in range(9):
        two_halves(axes[0], upper[i], lower[i], 10.5 * (i % 3), -11.5 * (i // 3))
    axes[0].set_title("Two tables, same samples")

    explained = model.variance_explained().drop(columns="total")
    order = explained.sum().sort_values(ascending=False).index[:5]
    plot.relevance_map(explained[order], ax=axes[1], label="variance explained")
    axes[1].set_title("Shared or private?")
    common = explained.min().sort_values(ascending=False).index
    first = tuple(int(d) for d in common[:2])
    plot.latent_map(model, digits[:N_TRAIN], first, ax=axes[2], background=False)
    axes[2].set(title="A map of the samples", xlabel="", ylabel="", xticks=[], yticks=[])

    given, truth = new["upper half"].to_numpy()[shown], new["lower half"].to_numpy()[shown]
    guess, error = mean.to_numpy()[shown], std.to_numpy()[shown]
    for i in range(len(shown)):
        x = 10.5 * i
        two_halves(axes[3], given[i], truth[i], x, 0.0)
        two_halves(axes[3], given[i], guess[i], x, -11.5)
        half(axes[3], error[i], x, -20.0, cmap="Oranges", vmax=float(std.to_numpy().max()))
    for y, word in ((0.0, "true"), (-11.5, "upper half given,\nlower predicted"), (-18.0, "± std")):
        axes[3].text(-1, y, word, ha="right", va="center")
    axes[3].set_title("One table from the other")
    for ax in (axes[0], axes[3]):
        ax.set_axis_off()
        ax.set_aspect("equal")
        ax.autoscale()
    axes[3].set_xlim(-24, None)

    path = Path(__file__).with_name("overview.png")
    figure.savefig(path, dpi=110)
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


def two_halves(ax: Any, upper: np.ndarray, lower: np.ndarray, x: float, y: float) -> None:
    """A digit, cut in two at the height y."""
    half(ax, upper, x, y + 0.4)
    half(ax, lower, x, y - 4.4)


def half(
    ax: Any, pixels: np.ndarray, x: float, y: float, cmap: str = "Greys", vmax: float = 16.0
) -> None:
    """Half a digit, its lower left corner at x, y, in a thin frame."""
    ax.imshow(pixels.reshape(HALF), extent=(x, x + 8, y, y + 4), cmap=cmap, vmin=0.0, vmax=vmax)
    ax.add_patch(mpl.patches.Rectangle((x, y), 8, 4, fill=False, edgecolor="0.6", linewidth=0.7))


if __name__ == "__main__":
    main()

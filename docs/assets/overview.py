"""Draw the picture of README: two halves of digits, from data to answer.

python docs/assets/overview.py
"""

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd

from manyviews import MRD, Search, plot
from manyviews.cli.demonstration import HALF, halves

N_TRAIN = 400
DIGIT = (8.0, 11.0)  # width and height of a digit that is cut in two, with its margins


class Found(NamedTuple):
    """What is drawn: the data, the fit, and answers about samples it has not seen."""

    model: MRD
    upper: np.ndarray
    lower: np.ndarray
    digits: np.ndarray
    given: np.ndarray
    truth: np.ndarray
    guess: np.ndarray
    error: np.ndarray


def main() -> None:
    """Fit, predict and draw."""
    path = Path(__file__).with_name("overview.png")
    draw(fitted(), path)
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


def fitted() -> Found:
    """The model of 400 digits, and lower halves from upper ones that it has not seen."""
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
    tables = (*train.values(), new["upper half"], new["lower half"], mean, std)
    upper, lower, *answers = (table.to_numpy() for table in tables)
    return Found(model, upper, lower, digits[:N_TRAIN], *(rows[shown] for rows in answers))


def draw(found: Found, path: Path) -> None:
    """Four pictures side by side."""
    mpl.use("agg")
    from matplotlib import pyplot as plt

    plt.rcParams.update({"font.size": 11, "axes.titlesize": 14, "axes.titleweight": "bold"})
    figure, axes = plt.subplots(
        1, 4, figsize=(16, 4.2), layout="constrained", width_ratios=[1.0, 1.2, 1.1, 1.6]
    )
    for i in range(9):
        two_halves(axes[0], found.upper[i], found.lower[i], 10 * (i % 3), -DIGIT[1] * (i // 3))
    axes[0].set(title="Two tables, same samples", xlim=(-0.5, 28.5), ylim=(-27, 5))

    explained = found.model.variance_explained().drop(columns="total")
    order = explained.sum().sort_values(ascending=False).index[:5]
    plot.relevance_map(explained[order], ax=axes[1], label="variance explained")
    words = [owner(explained[dimension]) for dimension in order]
    axes[1].set(title="What is shared, what is private", xticklabels=words, xlabel="")
    axes[1].tick_params(axis="x", labelsize=9)
    axes[1].set_yticklabels(["upper\nhalf", "lower\nhalf"])

    first = tuple(int(d) for d in explained.min().sort_values(ascending=False).index[:2])
    plot.latent_map(found.model, found.digits, first, ax=axes[2], background=False)
    axes[2].set(title="A map of the samples", xlabel="", ylabel="", xticks=[], yticks=[])

    for i in range(len(found.given)):
        x = 10.0 * i
        two_halves(axes[3], found.given[i], found.truth[i], x, 0.0)
        two_halves(axes[3], found.given[i], found.guess[i], x, -DIGIT[1])
        half(axes[3], found.error[i], x, -DIGIT[1] - 10.0, "Oranges", float(found.error.max()))
    for y, words in (
        (2.4, "given"),
        (-2.4, "truth"),
        (-8.6, "given"),
        (-13.4, "predicted"),
        (-19, "std"),
    ):
        axes[3].text(-1.0, y, words, ha="right", va="center")
    axes[3].set(title="One table from the other", xlim=(-11, 48.5), ylim=(-21.5, 5))
    for ax in (axes[0], axes[3]):
        ax.set_axis_off()
        ax.set_aspect("equal")
    figure.savefig(path, dpi=100)


def owner(explained: pd.Series) -> str:
    """Who uses a dimension."""
    users = [name.split()[0] for name, share in explained.items() if share > 0.02]
    return "shared" if len(users) == len(explained) else f"{users[0]}\nonly"


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

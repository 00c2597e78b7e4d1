"""Pictures that the experiments on images share: relevance of the views, strips of images."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from manyviews import MRD


def relevance_picture(model: MRD, path: Path) -> None:
    """Relevance of every dimension: bars side by side for two views, a heat map for more."""
    weights = model.relevance_
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    ax = figure.subplots()
    places = np.arange(weights.shape[1])
    if len(weights) == 2:
        for k, (view, row) in enumerate(weights.iterrows()):
            ax.bar(places + 0.4 * k - 0.2, row, 0.4, label=f"view {view}")
        ax.set_xticks(places)
        ax.set_ylabel("relevance (largest = 1)")
        ax.legend()
    else:
        drawn = ax.imshow(weights, aspect="auto", cmap="magma")
        ax.set_yticks(np.arange(len(weights)), weights.index, fontsize="small")
        figure.colorbar(drawn, ax=ax, label="relevance")
    ax.set_xlabel("latent dimension")
    figure.savefig(path, dpi=150)


def strips(
    rows: dict[str, np.ndarray], path: Path, shape: tuple[int, int] = (192, 168), order: str = "F"
) -> None:
    """One strip of images per row, named at its left, on one grey scale.

    Pixels are stored column by column (order F) or row by row (C).
    """
    names, first = list(rows), next(iter(rows.values()))
    ratio = shape[0] / shape[1]
    size = (1.1 * len(first) + 1.0, 1.15 * ratio * len(names))
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(len(names), len(first), squeeze=False)
    for axes, name in zip(grid, names, strict=True):
        for ax, picture in zip(axes, rows[name], strict=True):
            image = picture.reshape(shape, order=order)
            ax.imshow(image, cmap="gray", vmin=np.min(rows[name]), vmax=np.max(rows[name]))
            ax.set_xticks([])
            ax.set_yticks([])
        axes[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize="small")
    figure.savefig(path, dpi=100)

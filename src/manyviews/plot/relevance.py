"""Which latent dimensions a model uses, and for which view."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..escaping import in_picture
from .style import COLOURS, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMALLEST = 1e-6


def relevance_bars(model: Any, ax: Any = None, threshold: float = 5e-3) -> "Axes":
    """Normalised relevance of every latent dimension, on a log scale, with the threshold.

    A model of several views gets a group of bars per dimension, one for each view.
    """
    ax = axes_or_new(ax)
    table = model.relevance_
    if not isinstance(table, pd.DataFrame):
        table = pd.DataFrame(np.atleast_2d(table), index=[""])
    n_views, n_dimensions = table.shape
    places, width = np.arange(n_dimensions), 0.8 / n_views
    for k, (view, values) in enumerate(table.iterrows()):
        heights = np.maximum(values.to_numpy(), SMALLEST)
        colours = [COLOURS[k % len(COLOURS)] if v > threshold else "0.75" for v in heights]
        offset = (k - (n_views - 1) / 2) * width
        ax.bar(places + offset, heights, width, color=colours)
        if n_views > 1:
            ax.bar(0, 0, color=COLOURS[k % len(COLOURS)], label=in_picture(view))
    ax.axhline(threshold, color="0.3", linestyle="--", linewidth=0.8, label="active above")
    ax.set_yscale("log")
    ax.set_ylim(SMALLEST, 2.0)
    ax.set_xticks(places)
    ax.set_xlabel("latent dimension")
    ax.set_ylabel("relevance (largest = 1)")
    ax.set_title(f"{model.n_active_} of {n_dimensions} dimensions are active")
    ax.legend(fontsize="small")
    return ax


def relevance_map(table: pd.DataFrame, ax: Any = None, label: str = "relevance") -> "Axes":
    """Views x dimensions as a heat map: ``model.relevance_`` or ``model.variance_explained()``."""
    ax = axes_or_new(ax)
    values = np.clip(table.to_numpy(float), 0.0, 1.0)
    image = ax.imshow(values, cmap="viridis", vmin=0.0, vmax=1.0, aspect="auto")
    columns = [in_picture(c) for c in table.columns]
    turned = {"rotation": 35, "ha": "right"} if max(map(len, columns), default=0) > 6 else {}
    ax.set_xticks(range(table.shape[1]), columns, **turned)
    ax.set_yticks(range(table.shape[0]), [in_picture(i) for i in table.index])
    ax.set_xlabel("latent dimension")
    if values.size <= 200:
        for i, j in np.ndindex(*values.shape):
            shade = "white" if values[i, j] < 0.6 else "black"
            ax.text(j, i, f"{values[i, j]:.2f}", ha="center", va="center", color=shade, fontsize=8)
    ax.figure.colorbar(image, ax=ax, label=label)
    return ax

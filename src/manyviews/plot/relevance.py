"""Which latent dimensions a model uses."""

from typing import TYPE_CHECKING, Any

import numpy as np

from .style import COLOURS, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def relevance_bars(model: Any, ax: Any = None, threshold: float = 5e-3) -> "Axes":
    """Normalised relevance of every latent dimension, on a log scale, with the threshold."""
    ax = axes_or_new(ax)
    values = np.maximum(model.relevance_, 1e-6)
    colours = [COLOURS[0] if v > threshold else "0.75" for v in values]
    ax.bar(np.arange(values.size), values, color=colours)
    ax.axhline(threshold, color="0.3", linestyle="--", linewidth=0.8, label="active above")
    ax.set_yscale("log")
    ax.set_ylim(1e-6, 2.0)
    ax.set_xticks(np.arange(values.size))
    ax.set_xlabel("latent dimension")
    ax.set_ylabel("relevance (largest = 1)")
    ax.set_title(f"{model.n_active_} of {values.size} dimensions are active")
    ax.legend(fontsize="small")
    return ax

"""A picture of a comparison: how much every method gains on the reference."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..errors import OptionError
from ..escaping import in_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LABELS = {"log_density": "log density per value", "error": "error (standard deviations)"}
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#332288", "#882255")


def draw_comparison(
    table: pd.DataFrame, reference: str, ax: Any = None, measure: str = "log_density"
) -> "Axes":
    """Draw differences from the reference with two standard errors, a colour for every view."""
    if measure not in LABELS:
        raise OptionError(f"measure must be one of {sorted(LABELS)}, got {measure!r}")
    methods = list(dict.fromkeys(table["method"]))
    views = list(dict.fromkeys(table["view"]))
    if ax is None:
        from matplotlib import pyplot as plt

        height = 1.2 + 0.35 * len(methods)
        ax = plt.subplots(figsize=(6.5, height), layout="constrained")[1]
    ax.axvline(0.0, color="0.6", linewidth=1)
    offsets = np.linspace(-0.25, 0.25, len(views)) if len(views) > 1 else np.zeros(1)
    for place, view in enumerate(views):
        own = table[table["view"] == view].set_index("method").reindex(methods)
        ax.errorbar(
            own[f"{measure}_difference"],
            np.arange(len(methods)) + offsets[place],
            xerr=2.0 * own[f"{measure}_difference_se"].fillna(0.0),
            fmt="o",
            markersize=4,
            color=COLOURS[place % len(COLOURS)],
            label=in_picture(view),
        )
    ax.set_yticks(np.arange(len(methods)), [*map(in_picture, methods)])
    ax.invert_yaxis()
    better = "right" if measure == "log_density" else "left"
    known = in_picture(reference)
    ax.set_xlabel(f"{LABELS[measure]}, difference from {known} (better to the {better})")
    ax.legend(title="predicted view", fontsize="small")
    return ax

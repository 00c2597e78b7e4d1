"""Errors of several methods side by side, with error bars."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..escaping import in_picture
from .style import COLOURS, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 0.8  # of a group of bars


def rival_errors(errors: Mapping[str, Mapping[str, ArrayLike]], ax: Any = None) -> "Axes":
    """Mean errors of methods, ± one standard error over the samples, as groups of bars.

    Parameters
    ----------
    errors : dict by view of dict by method
        The error of each method for every sample.
    ax : Axes, optional
        Where to draw. Default: a new figure.
    """
    ax = axes_or_new(ax)
    views = list(errors)
    methods = list(dict.fromkeys(method for found in errors.values() for method in found))
    width = WIDTH / len(methods)
    for k, method in enumerate(methods):
        places, means, spreads = [], [], []
        for at, view in enumerate(views):
            values = np.asarray(errors[view].get(method, ()), dtype=float)
            if values.size:
                places.append(at - WIDTH / 2 + (k + 0.5) * width)
                means.append(values.mean())
                spreads.append(values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0)
        colour = "0.65" if k == 0 and len(methods) > 1 else COLOURS[(k - 1) % len(COLOURS)]
        ax.bar(
            places, means, 0.9 * width, yerr=spreads, color=colour, label=in_picture(method),
            ecolor="0.5", capsize=3, error_kw={"elinewidth": 1.0},
        )  # fmt: skip
    ax.set_xticks(range(len(views)), [in_picture(view) for view in views])
    ax.set_ylabel("mean squared error")
    ax.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax

"""How good predictions are, and whether their intervals can be believed."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm

from ..escaping import in_picture
from .style import COLOURS, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_POINTS = 4000


def predicted_against_true(
    truth: ArrayLike, mean: ArrayLike, ax: Any = None, colour: str = COLOURS[0]
) -> "Axes":
    """Scatter predictions against what was observed; the diagonal is perfection."""
    ax = axes_or_new(ax)
    y, m = np.ravel(truth), np.ravel(mean)
    known = np.flatnonzero(np.isfinite(y) & np.isfinite(m))
    known = np.random.default_rng(0).permutation(known)[:MOST_POINTS]
    y, m = y[known], m[known]
    ends = [min(y.min(), m.min()), max(y.max(), m.max())]
    ax.plot(ends, ends, color="0.5", linewidth=1)
    ax.plot(m, y, ".", markersize=3, alpha=0.5, color=colour, rasterized=True)
    ax.set(xlabel="predicted", ylabel="observed")
    return ax


def calibration(
    truth: ArrayLike,
    mean: ArrayLike,
    std: ArrayLike,
    ax: Any = None,
    label: str | None = None,
    colour: str = COLOURS[0],
) -> "Axes":
    """Share of the truth inside central intervals against their nominal level.

    Below the diagonal the model is too sure of itself, above it not sure enough.
    """
    ax = axes_or_new(ax)
    levels = np.linspace(0.05, 0.95, 19)
    inside = [coverage(truth, mean, std, level) for level in levels]
    ax.plot([0, 1], [0, 1], color="0.5", linewidth=1)
    ax.plot(levels, inside, ".-", color=colour, label=label and in_picture(label))
    ax.set(xlabel="nominal level", ylabel="share inside", xlim=(0, 1), ylim=(0, 1))
    return ax


def coverage(truth: ArrayLike, mean: ArrayLike, std: ArrayLike, level: float) -> float:
    """Share of the observed values inside the central interval of a level."""
    error = np.abs(np.asarray(truth, float) - np.asarray(mean, float))
    return float(
        np.mean((error <= norm.ppf(0.5 + level / 2) * np.asarray(std))[np.isfinite(error)])
    )

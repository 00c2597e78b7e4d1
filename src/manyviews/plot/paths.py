"""Latent paths over time, with their uncertainty."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import OptionError
from ..escaping import in_picture
from .style import COLOURS, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINTS = 300  # at which a path is drawn


def latent_paths(
    model: Any,
    sequence: Any = None,
    dimensions: Sequence[int] | None = None,
    ahead: float = 0.1,
    ax: Any = None,
) -> "Axes":
    """Draw latent dimensions of one training sequence against time, ± 2 standard deviations.

    Parameters
    ----------
    model : estimator fitted with times
        Its latent space must be a process over time.
    sequence : optional
        A training sequence. Default: the first.
    dimensions : sequence of int, optional
        Default: up to four, the most relevant (for any view).
    ahead : float, default=0.1
        How far to go on after the last row, as a share of the sequence's span.
    """
    when = getattr(model, "when_", None)
    if when is None:
        raise OptionError("the model was fitted without time stamps: there are no paths to draw")
    if when.inputs.shape[1] > 1:
        raise OptionError(f"the model has {when.inputs.shape[1]} inputs, not one time to draw")
    sequence = when.labels[0] if sequence is None else sequence
    if sequence not in when.labels:
        raise OptionError(f"there is no training sequence {sequence!r}")
    own = when.inputs[when.code == when.labels.index(sequence), 0]
    relevance = np.atleast_2d(np.asarray(model.relevance_)).max(axis=0)
    if dimensions is None:
        order = np.argsort(-relevance, kind="stable")[:4]
        dimensions = [int(d) for d in order if relevance[d] > 5e-3]
    end = own.max() + ahead * np.ptp(own)
    times = np.linspace(own.min(), end, POINTS)
    mean, std = model.forecast_latent(times, sequence)
    ax = axes_or_new(ax)
    names = [in_picture(name) for name in model.dimension_labels()]
    for colour, d in zip(COLOURS, dimensions, strict=False):
        ax.plot(times, mean[:, d], color=colour, label=f"dimension {names[d]}")
        low, high = mean[:, d] - 2.0 * std[:, d], mean[:, d] + 2.0 * std[:, d]
        ax.fill_between(times, low, high, color=colour, alpha=0.2, linewidth=0)
    if ahead > 0:
        ax.axvline(own.max(), color="0.5", linestyle=":", linewidth=1)
    ax.set(xlabel="time", ylabel="latent value")
    ax.set_title("latent paths" if sequence is None else in_picture(f"latent paths of {sequence}"))
    ax.legend(frameon=False)
    return ax

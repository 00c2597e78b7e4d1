"""Predictive densities of one view, of one or two of its columns."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import OptionError
from ..escaping import in_picture
from .style import COLOURS, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARGIN = 0.1  # of the range of the training data, beyond it on either side


def predictive_density(
    model: Any,
    view: str,
    given: Any = None,
    columns: Sequence[Any] | None = None,
    ax: Any = None,
    n_points: int = 90,
) -> "Axes":
    """Draw the density of one view, given other views of one sample, or on its own.

    Parameters
    ----------
    model : fitted MixturePCCA or DirichletPCCA
        A model whose answers are mixtures.
    view : str
        The view whose density is drawn.
    given : dict or list of views, optional
        Other views of a single sample. Default: nothing is known.
    columns : one or two columns, optional
        Default: the first two. One makes a line, two a shaded map with contours.
    """
    names = list(model.view_names_)
    if view not in names:
        raise OptionError(f"there is no view {view!r}: there are {names}")
    place = names.index(view)
    labels = model.columns_[place]
    chosen = list(labels[:2]) if columns is None else list(columns)
    if not 1 <= len(chosen) <= 2:
        raise OptionError(f"one or two columns can be drawn, got {len(chosen)}")
    unknown = [label for label in chosen if label not in labels]
    if unknown:
        raise OptionError(f"view {view!r} has no column {unknown[0]!r}")
    ax = axes_or_new(ax)
    lines = [np.linspace(*_range(model, place, labels.index(c)), n_points) for c in chosen]
    mesh = np.meshgrid(*lines)
    points = np.stack([part.ravel() for part in mesh], axis=1)
    density = model.predictive_density(given, view, points, columns=chosen)
    if len(density) != 1:
        raise OptionError(f"give views of one sample, not of {len(density)}")
    if len(chosen) == 1:
        ax.plot(lines[0], density[0], color=COLOURS[0])
        ax.set(xlabel=in_picture(f"{view}: {chosen[0]}"), ylabel="density")
        return ax
    values = density[0].reshape(n_points, n_points)
    ax.pcolormesh(*lines, np.sqrt(values), cmap="Blues", shading="auto", zorder=1)
    levels = values.max() * np.array([0.01, 0.1, 0.5])
    if values.max() > 0:
        ax.contour(*lines, values, levels=levels, colors="0.35", linewidths=0.6, zorder=2)
    names = [in_picture(f"{view}: {column}") for column in chosen]
    ax.set(xlabel=names[0], ylabel=names[1])
    return ax


def _range(model: Any, place: int, column: int) -> tuple[float, float]:
    low, high = model.ranges_[place][:, column]
    margin = MARGIN * (high - low)
    return float(low - margin), float(high + margin)

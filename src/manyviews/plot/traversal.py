"""What changes along a latent dimension, drawn as the view would be [MRD21, figure 10]."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..escaping import in_picture
from .drawing import draw_columns, draw_curves, draw_images, draw_skeletons, picture_of
from .style import axes_or_new
from .subject import Subject

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FINE = 40  # steps of a walk drawn as lines


def traversal(
    model: Any,
    dimension: int,
    view: str | None = None,
    shape: Any = None,
    steps: int = 9,
    ax: Any = None,
) -> "Axes":
    """A view along one latent dimension, the others held at the sample nearest the centre.

    Parameters
    ----------
    shape : str, optional
        How to draw the view: ``"192x168"``, ``"skeleton"``, ``"curve"``, ``"bars"``; guessed from
        its columns by default (see `manyviews.plot.choose_picture`).
    steps : int, default=9
        Pictures side by side, or curves; a few columns are drawn as lines along the dimension,
        in standard deviations from their means.
    """
    subject = Subject.of(model)
    view = subject.check_view(view)
    picture = picture_of(subject, view, shape)
    ax = axes_or_new(ax)
    X = subject.walk(dimension, FINE if picture.kind == "bars" else steps)
    values = X[:, dimension]
    mean, std = subject.generate(X, view)
    if picture.kind == "image":
        draw_images(mean, picture, grey_limits(subject, view), ax)
    elif picture.kind == "skeleton":
        draw_skeletons(mean, picture, ax)
    elif picture.kind == "curve":
        draw_curves(mean, picture, values, ax)
    else:
        centre = np.nan_to_num(np.nanmean(subject.tables[view].to_numpy(), axis=0))
        spread = subject.spread(view)
        draw_columns((mean - centre) / spread, std / spread, picture, values, ax)
        along = in_picture(f"latent dimension {subject.labels[dimension]}")
        ax.set(xlabel=along, ylabel="standard deviations")
    ax.set_title(in_picture(f"{view} along dimension {dimension}") if not subject.single else
                 f"along dimension {dimension}")  # fmt: skip
    return ax


def grey_limits(subject: Subject, view: str) -> tuple[float, float]:
    """The range of a view's training values, less its outermost half per cent."""
    low, high = np.nanpercentile(subject.tables[view].to_numpy(), [0.5, 99.5])
    return float(low), float(max(high, low + 1e-12))

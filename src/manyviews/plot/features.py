"""Which columns a latent dimension moves most."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..escaping import in_picture
from .drawing import picture_of
from .style import COLOURS, axes_or_new
from .subject import Subject

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STEADY = 0.5  # mean slope over root mean square, below which a column goes up and down


def top_features(
    model: Any,
    dimension: int,
    view: str | None = None,
    n: int = 10,
    shape: Any = None,
    ax: Any = None,
) -> "Axes":
    """The columns of a view that move farthest per standard deviation of a dimension.

    In standard deviations of the column, so that columns of different units compare. Columns that
    fall on average have bars to the left, those that go up and down again pale ones. Of an
    image (see `manyviews.plot.choose_picture` for ``shape``) all pixels are shown in their
    places, the brighter the farther they move.
    """
    subject = Subject.of(model)
    view = subject.check_view(view)
    ax = axes_or_new(ax)
    title = f"dimension {subject.labels[dimension]}"
    ax.set_title(in_picture(title if subject.single else f"{title}, {view}"))
    moves = subject.sensitivity(view).iloc[:, dimension]
    picture = picture_of(subject, view, shape)
    if picture.kind == "image":
        image = picture.arrange(moves.to_numpy())
        drawn = ax.imshow(image.mean(axis=2) if image.ndim == 3 else image, cmap="magma", vmin=0)
        ax.set_axis_off()
        ax.figure.colorbar(drawn, ax=ax, label="change")
        return ax
    moves = (moves / subject.spread(view)).nlargest(n).iloc[::-1]
    slopes = subject.sensitivity(view, signed=True).iloc[:, dimension] / subject.spread(view)
    means = slopes.loc[moves.index]
    steady = np.abs(means) > STEADY * moves
    colour = COLOURS[subject.names.index(view) % len(COLOURS)]
    signs = np.where(steady & (means < 0), -1.0, 1.0)
    bars = ax.barh(range(len(moves)), signs * moves, color=colour)
    for bar, always in zip(bars, steady, strict=True):
        bar.set_alpha(1.0 if always else 0.4)
    ax.axvline(0.0, color="0.5", linewidth=0.6)
    ax.set_yticks(range(len(moves)), [in_picture(_short(str(name))) for name in moves.index])
    ax.set_xlabel("change, in standard deviations")
    return ax


def _short(name: str, longest: int = 24) -> str:
    return name if len(name) <= longest else name[: longest - 1] + "…"

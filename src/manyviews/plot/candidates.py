"""Alternative answers to one question, side by side [MRD21, figures 12 and 13]."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from ..errors import OptionError
from ..escaping import in_picture
from ..fitted.candidates import Candidates
from .drawing import draw_curves, draw_images, draw_skeletons, picture_of
from .shapes import Picture
from .style import COLOURS, axes_or_new
from .subject import Subject
from .traversal import grey_limits

if TYPE_CHECKING:
    from matplotlib.axes import Axes

APART = 0.6  # between the first and the last candidate of a column, in columns


def candidates(
    model: Any,
    found: Candidates,
    row: int = 0,
    view: str | None = None,
    shape: Any = None,
    ax: Any = None,
) -> "Axes":
    """The candidate outputs for one sample, with their weights and where they come from.

    Parameters
    ----------
    found : Candidates
        What `MRD.predict_candidates` returned.
    row : int, default=0
        Which of the new samples.
    view : str, optional
        Another view: draws it for the training samples that the candidates come from. If these
        look alike, the known view does not tell the candidates apart.
    shape : str, optional
        How to draw the view; see `traversal()`.
    """
    subject = Subject.of(model)
    view = subject.check_view(found.view if view is None else view)
    if not 0 <= row < len(found.weights):
        raise OptionError(f"row must be from 0 to {len(found.weights) - 1}, got {row}")
    picture, ax = picture_of(subject, view, shape), axes_or_new(ax)
    if view == found.view:
        values, std = found.means[row], found.stds[row]
    else:
        values = subject.tables[view].loc[found.source[row].tolist()].to_numpy()
        std = np.zeros_like(values)
    labels = [
        in_picture(f"{weight:.0%}\n{source}")
        for weight, source in zip(found.weights[row], found.source[row], strict=True)
    ]
    if picture.kind == "image":
        draw_images(values, picture, grey_limits(subject, view), ax, labels)
    elif picture.kind == "skeleton":
        draw_skeletons(values, picture, ax, labels)
    elif picture.kind == "curve":
        draw_curves(values, picture, np.arange(float(len(values))), ax)
        _name_lines(ax, labels)
    else:
        centre = np.nan_to_num(np.nanmean(subject.tables[view].to_numpy(), axis=0))
        spread = subject.spread(view)
        _draw_points((values - centre) / spread, std / spread, picture, labels, ax)
    of = "candidates" if view == found.view else "the samples they come from"
    ax.set_title(in_picture(f"{view}: {of}"))
    return ax


def _draw_points(
    values: Float[np.ndarray, "K D"],
    std: Float[np.ndarray, "K D"],
    picture: Picture,
    labels: Sequence[str],
    ax: Any,
) -> None:
    """A point for every column and candidate, ± 1 std, in standard deviations of the columns."""
    places = np.arange(values.shape[1])
    shifts = np.linspace(-0.5, 0.5, len(values)) * APART if len(values) > 1 else [0.0]
    for k, (shift, label) in enumerate(zip(shifts, labels, strict=True)):
        ax.errorbar(
            places + shift, values[k], std[k], fmt="o", markersize=4,
            color=COLOURS[k % len(COLOURS)], label=label.replace("\n", " "),
        )  # fmt: skip
    ax.set_xticks(places, [in_picture(name) for name in picture.names])
    ax.set_ylabel("standard deviations")
    ax.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _name_lines(ax: Any, labels: Sequence[str]) -> None:
    for line, label in zip(ax.lines[-len(labels) :], labels, strict=True):
        line.set_label(label.replace("\n", " "))
    ax.legend(frameon=False, fontsize="small")

"""Rows of a view as pictures: images and skeletons side by side, curves, bars."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float
from matplotlib import colormaps
from matplotlib.collections import LineCollection

from ..escaping import in_picture
from .shapes import Picture, choose_picture, guess_bones
from .style import COLOURS
from .subject import Subject

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GAP = 0.08  # between images and skeletons side by side, as a share of their size
MOST_LINES = 8  # columns drawn as lines of their own; of more, those that change most


def picture_of(subject: Subject, view: str, shape: Any = None) -> Picture:
    """The picture that suits a view; bones of skeletons come from the training data."""
    table = subject.tables[view]
    picture = choose_picture(table.shape[1], table.columns.tolist(), shape)
    if picture.kind == "skeleton" and not picture.bones:
        bones = guess_bones(picture.arrange(table.to_numpy()))
        picture = replace(picture, bones=bones)
    return picture


def draw_images(
    rows: Float[np.ndarray, "n D"],
    picture: Picture,
    limits: tuple[float, float],
    ax: Any,
    labels: Sequence[str] = (),
) -> "Axes":
    """Images in one line, on a common grey scale, with labels below."""
    images = picture.arrange(rows)
    width = images.shape[2]
    gap = max(1, round(GAP * width))
    strip = np.full((images.shape[1], (width + gap) * len(images) - gap, *images.shape[3:]), np.nan)
    for place, image in enumerate(images):
        strip[:, place * (width + gap) : place * (width + gap) + width] = image
    if picture.shape[2:]:  # colours: to 0..1
        strip = np.nan_to_num((strip - limits[0]) / (limits[1] - limits[0]), nan=1.0).clip(0, 1)
    ax.imshow(strip, cmap="gray", vmin=limits[0], vmax=limits[1], interpolation="nearest")
    middles = np.arange(len(labels)) * (width + gap) + 0.5 * (width - 1)
    ax.set_xticks(middles, labels, fontsize="small")
    ax.tick_params(length=0)
    ax.set_yticks([])
    ax.spines[:].set_visible(False)
    return ax


def draw_skeletons(
    rows: Float[np.ndarray, "n D"], picture: Picture, ax: Any, labels: Sequence[str] = ()
) -> "Axes":
    """Skeletons in one line, seen from where they are broadest, each with its bones and label."""
    joints = flat_joints(picture.arrange(rows))
    extent = joints.max(axis=(0, 1)) - joints.min(axis=(0, 1))
    step = (1 + GAP) * max(float(extent[0]), 0.5 * float(extent[1]))
    for place, body in enumerate(joints):
        body = body + np.array([place * step, 0.0])
        lines = [body[list(bone)] for bone in picture.bones]
        ax.add_collection(LineCollection(lines, colors=COLOURS[0], linewidths=1.5))
        ax.plot(*body.T, "o", markersize=2, color=COLOURS[1])
    below = float(np.nanmin(joints[..., 1])) - GAP * float(extent[1])
    for place, label in enumerate(labels):
        ax.text(place * step, below, label, ha="center", va="top", fontsize="small")
    ax.set_aspect("equal")
    ax.autoscale_view()
    ax.set_axis_off()
    return ax


def flat_joints(joints: Float[np.ndarray, "n J 3"]) -> Float[np.ndarray, "n J 2"]:
    """Joints seen from the side: upwards is the axis of the largest extent within a body."""
    height = np.ptp(joints, axis=1).mean(axis=0)
    up = int(np.argmax(height))
    others = [axis for axis in range(3) if axis != up]
    spread = np.ptp(joints[:, :, others], axis=1).mean(axis=0)
    across = others[int(np.argmax(spread))]
    centred = joints - joints.mean(axis=1, keepdims=True) * (np.arange(3) != up)
    return np.stack([centred[:, :, across], joints[:, :, up]], axis=-1)


def draw_curves(
    rows: Float[np.ndarray, "n D"], picture: Picture, values: Float[np.ndarray, " n"], ax: Any
) -> "Axes":
    """One line per row over the columns, coloured by a value."""
    x = _numbers(picture.names)
    span = max(float(np.ptp(values)), 1e-300)
    for row, value in zip(picture.arrange(rows), values, strict=True):
        shade = colormaps["viridis"](0.9 * (value - values.min()) / span)
        ax.plot(x, row, color=shade, linewidth=1.2)
    ax.set_xlabel("column")
    return ax


def draw_columns(
    mean: Float[np.ndarray, "n D"],
    std: Float[np.ndarray, "n D"],
    picture: Picture,
    values: Float[np.ndarray, " n"],
    ax: Any,
) -> "Axes":
    """One line per column along the walk, ± 1 std, for the columns that change most."""
    mean, std = picture.arrange(mean), picture.arrange(std)
    change = np.ptp(mean, axis=0)
    chosen = np.sort(np.argsort(-change, kind="stable")[:MOST_LINES])
    for colour, d in zip(COLOURS, chosen, strict=False):
        ax.plot(values, mean[:, d], color=colour, label=in_picture(picture.names[d]))
        low, high = mean[:, d] - std[:, d], mean[:, d] + std[:, d]
        ax.fill_between(values, low, high, color=colour, alpha=0.12, linewidth=0)
    ax.legend(fontsize="small", frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


def _numbers(names: tuple[str, ...]) -> Float[np.ndarray, " D"]:
    try:
        return np.array([float(name) for name in names])
    except ValueError:
        return np.arange(len(names), dtype=float)

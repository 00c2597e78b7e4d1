"""The latent space as a scatter plot over its predictive uncertainty."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from numpy.typing import ArrayLike

from ..escaping import in_picture
from .style import COLOURS, axes_or_new, days

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GRID = 40
MANY = 2000  # points; more are drawn as pixels, also into vector files
MOST_KINDS = 30  # classes with a colour and marker of their own
ROWS = 15  # of one column of a legend
FOG = LinearSegmentedColormap.from_list("fog", [(0.5, 0.54, 0.6, 0.0), (0.5, 0.54, 0.6, 0.5)])


class Group(NamedTuple):
    """Samples that are drawn alike: which, what they are called, and how."""

    rows: Int[np.ndarray, " n"]
    label: str | None
    style: dict[str, Any]


class Fog(NamedTuple):
    """How unsure a model is of its data over a plane of the latent space."""

    spread: Float[np.ndarray, "G G"]
    extent: tuple[float, float, float, float]


def latent_map(
    model: Any,
    labels: ArrayLike | Sequence[Any] | None = None,
    dimensions: tuple[int, int] | None = None,
    ax: Any = None,
    background: bool | Fog = True,
    title: str | None = None,
) -> "Axes":
    """Scatter the training points in two latent dimensions.

    Parameters
    ----------
    model : fitted estimator
        Of one view or of several.
    labels : sequence, optional
        A class per sample (colours and a legend), or numbers or dates (a colour scale).
    dimensions : pair of int, optional
        Default: the two of the largest relevance (for any view).
    background : bool or Fog, default=True
        Shade by the standard deviation of the data predicted there: the darker, the less sure.
        A `Fog` that was computed before saves time where several maps show one plane.
    title : str, optional
        Of the legend. Default: the name of ``labels`` if it is a Series.
    """
    ax = axes_or_new(ax)
    relevance = np.atleast_2d(np.asarray(model.relevance_)).max(axis=0)
    if dimensions is None:
        order = np.argsort(-relevance, kind="stable")
        dimensions = (int(order[0]), int(order[min(1, len(order) - 1)]))
    i, j = dimensions
    X = model.latent_mean_[:, [i, j]]
    if background:
        _shade(background if isinstance(background, Fog) else fog_of(model, dimensions), ax)
    named = title or getattr(labels, "name", None)
    _points(
        X, model.latent_std_[:, [i, j]], labels, ax, None if named is None else in_picture(named)
    )
    names = [in_picture(name) for name in model.dimension_labels()]
    ax.set_xlabel(f"latent dimension {names[i]}  (relevance {relevance[i]:.2g})")
    ax.set_ylabel(f"latent dimension {names[j]}  (relevance {relevance[j]:.2g})")
    ax.set_title("latent space")
    return ax


def sample_groups(labels: ArrayLike | Sequence[Any] | None, n_samples: int) -> list[Group]:
    """The samples in groups that are drawn alike, in the order in which they are drawn.

    Each is a collection of the axes whose ``gid`` is ``samples-0``, ``samples-1``, ….
    """
    everyone = np.arange(n_samples)
    if labels is None:
        return [Group(everyone, None, {"s": 14, "color": COLOURS[0]})]
    values = np.asarray(labels)
    values = days(values) if values.dtype.kind == "M" else values
    if values.dtype.kind == "f" or (values.dtype.kind in "iu" and len(np.unique(values)) > 20):
        return [Group(everyone, None, {"s": 14, "c": values, "cmap": "viridis"})]
    kinds = sorted(pd.Series(values).dropna().unique(), key=str)
    groups = []
    for k, value in enumerate(kinds[:MOST_KINDS]):
        style = {
            "s": 16,
            "color": COLOURS[k % len(COLOURS)],
            "marker": "osD^v"[k // len(COLOURS) % 5],
            "edgecolors": "white",
            "linewidths": 0.3,
        }
        groups.append(Group(np.flatnonzero(values == value), in_picture(value), style))
    rest = np.setdiff1d(everyone, np.concatenate([everyone[:0], *(g.rows for g in groups)]))
    if len(rest):
        more = len(kinds) - MOST_KINDS
        label = f"{more} more" if more > 0 else "no label"
        groups.append(Group(rest, label, {"s": 8, "color": "0.6"}))
    return groups


def _points(
    X: np.ndarray,
    std: np.ndarray,
    labels: ArrayLike | Sequence[Any] | None,
    ax: Any,
    title: str | None,
) -> None:
    many = len(X) > MANY
    ax.errorbar(
        X[:, 0], X[:, 1], xerr=std[:, 0], yerr=std[:, 1],
        fmt="none", ecolor="0.5", elinewidth=0.4, alpha=0.3, zorder=2, rasterized=many,
    )  # fmt: skip
    groups = sample_groups(labels, len(X))
    for k, (rows, label, style) in enumerate(groups):
        drawn = ax.scatter(
            X[rows, 0], X[rows, 1], label=label, zorder=3, rasterized=many, gid=f"samples-{k}",
            **style,
        )  # fmt: skip
        if "cmap" in style:
            ax.figure.colorbar(drawn, ax=ax, label=title or "", **_ticks(labels))
    if any(group.label is not None for group in groups):
        ax.legend(
            title=title, fontsize="small", frameon=False, loc="upper left",
            bbox_to_anchor=(1.0, 1.0), ncols=1 + (len(groups) - 1) // ROWS, handletextpad=0.3,
        )  # fmt: skip


def _ticks(labels: Any) -> dict[str, Any]:
    """How a colour scale is marked: that of dates by dates."""
    if np.asarray(labels).dtype.kind != "M":
        return {}
    locator = AutoDateLocator(maxticks=8)
    return {"ticks": locator, "format": ConciseDateFormatter(locator)}


def fog_of(model: Any, dimensions: tuple[int, int]) -> Fog:
    """Predictive std over the plane of two dimensions, the others at their means."""
    X = model.latent_mean_[:, list(dimensions)]
    low, high = X.min(axis=0), X.max(axis=0)
    margin = 0.1 * np.maximum(high - low, 1e-6)
    first = np.linspace(low[0] - margin[0], high[0] + margin[0], GRID)
    second = np.linspace(low[1] - margin[1], high[1] + margin[1], GRID)
    grid = np.tile(model.latent_mean_.mean(axis=0), (GRID * GRID, 1))
    mesh = np.meshgrid(first, second)
    grid[:, dimensions[0]], grid[:, dimensions[1]] = mesh[0].ravel(), mesh[1].ravel()
    extent = (float(first[0]), float(first[-1]), float(second[0]), float(second[-1]))
    return Fog(_uncertainty(model, grid).reshape(GRID, GRID), extent)


def _shade(fog: Fog, ax: Any) -> None:
    ax.imshow(
        np.log(fog.spread), extent=fog.extent, origin="lower", aspect="auto", cmap=FOG,
        interpolation="bilinear", zorder=1,
    )  # fmt: skip
    ax.set(xlim=fog.extent[:2], ylim=fog.extent[2:], autoscale_on=False)


def _uncertainty(model: Any, X: np.ndarray) -> np.ndarray:
    """Predictive std averaged over columns and, relative to its mean, over views."""
    parts = []
    for rows in np.array_split(X, 16):  # wide views: not all at once
        answer = model.inverse_transform(rows, return_std=True)
        answers = answer.values() if isinstance(answer, dict) else [answer]
        parts.append(np.stack([std.mean(axis=1) for _, std in answers]))
    stds = np.concatenate(parts, axis=1)
    return (stds / stds.mean(axis=1, keepdims=True)).mean(axis=0)

"""The latent space as a scatter plot over its predictive uncertainty."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from .style import COLOURS, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GRID = 40
MANY = 2000  # points; more are drawn as pixels, also into vector files
MOST_KINDS = 30  # classes with a colour and marker of their own


def latent_map(
    model: Any,
    labels: ArrayLike | Sequence[Any] | None = None,
    dimensions: tuple[int, int] | None = None,
    ax: Any = None,
    background: bool = True,
) -> "Axes":
    """Scatter the training points in two latent dimensions.

    Parameters
    ----------
    model : fitted estimator
        Of one view or of several.
    labels : sequence, optional
        A class per sample (colours and a legend) or numbers (a colour scale).
    dimensions : pair of int, optional
        Default: the two of the largest relevance (for any view).
    background : bool, default=True
        Shade by the standard deviation of the data predicted there: dark is well known.
    """
    ax = axes_or_new(ax)
    relevance = np.atleast_2d(np.asarray(model.relevance_)).max(axis=0)
    if dimensions is None:
        order = np.argsort(-relevance, kind="stable")
        dimensions = (int(order[0]), int(order[min(1, len(order) - 1)]))
    i, j = dimensions
    X = model.latent_mean_[:, [i, j]]
    if background:
        _shade(model, X, dimensions, ax)
    _points(X, model.latent_std_[:, [i, j]], labels, ax)
    ax.set_xlabel(f"latent dimension {i}  (relevance {relevance[i]:.2g})")
    ax.set_ylabel(f"latent dimension {j}  (relevance {relevance[j]:.2g})")
    ax.set_title("latent space")
    return ax


def _points(
    X: np.ndarray, std: np.ndarray, labels: ArrayLike | Sequence[Any] | None, ax: Any
) -> None:
    many = len(X) > MANY
    ax.errorbar(
        X[:, 0], X[:, 1], xerr=std[:, 0], yerr=std[:, 1],
        fmt="none", ecolor="0.4", elinewidth=0.4, alpha=0.35, zorder=2, rasterized=many,
    )  # fmt: skip
    if labels is None:
        ax.scatter(X[:, 0], X[:, 1], s=12, color=COLOURS[0], zorder=3, rasterized=many)
        return
    values = np.asarray(labels)
    if values.dtype.kind == "f" or (values.dtype.kind in "iu" and len(np.unique(values)) > 20):
        style = {"s": 12, "cmap": "viridis", "zorder": 3, "rasterized": many}
        drawn = ax.scatter(X[:, 0], X[:, 1], c=values, **style)
        ax.figure.colorbar(drawn, ax=ax)
        return
    kinds = pd.Series(values).dropna().unique()
    for k, value in enumerate(sorted(kinds, key=str)[:MOST_KINDS]):
        here = values == value
        colour = COLOURS[k % len(COLOURS)]
        marker = "osD^v"[k // len(COLOURS) % 5]
        style = {
            "s": 14,
            "color": colour,
            "marker": marker,
            "edgecolors": "white",
            "linewidths": 0.3,
            "rasterized": many,
        }
        ax.scatter(X[here, 0], X[here, 1], label=str(value), zorder=3, **style)
    if len(kinds) > MOST_KINDS:
        rest = ~np.isin(values.astype(str), [str(k) for k in sorted(kinds, key=str)[:MOST_KINDS]])
        ax.scatter(
            X[rest, 0], X[rest, 1], s=8, color="0.6", label=f"{len(kinds) - MOST_KINDS} more"
        )
    ax.legend(fontsize="small", framealpha=0.6)


def _shade(model: Any, X: np.ndarray, dimensions: tuple[int, int], ax: Any) -> None:
    low, high = X.min(axis=0), X.max(axis=0)
    margin = 0.1 * np.maximum(high - low, 1e-6)
    first = np.linspace(low[0] - margin[0], high[0] + margin[0], GRID)
    second = np.linspace(low[1] - margin[1], high[1] + margin[1], GRID)
    grid = np.tile(model.latent_mean_.mean(axis=0), (GRID * GRID, 1))
    mesh = np.meshgrid(first, second)
    grid[:, dimensions[0]], grid[:, dimensions[1]] = mesh[0].ravel(), mesh[1].ravel()
    spread = _uncertainty(model, grid).reshape(GRID, GRID)
    extent = (first[0], first[-1], second[0], second[-1])
    ax.imshow(
        np.log(spread), extent=extent, origin="lower", aspect="auto", cmap="Greys_r",
        alpha=0.5, interpolation="bilinear", zorder=1,
    )  # fmt: skip
    ax.set(xlim=extent[:2], ylim=extent[2:], autoscale_on=False)


def _uncertainty(model: Any, X: np.ndarray) -> np.ndarray:
    """Predictive std averaged over columns and, relative to its mean, over views."""
    parts = []
    for rows in np.array_split(X, 16):  # wide views: not all at once
        answer = model.inverse_transform(rows, return_std=True)
        answers = answer.values() if isinstance(answer, dict) else [answer]
        parts.append(np.stack([std.mean(axis=1) for _, std in answers]))
    stds = np.concatenate(parts, axis=1)
    return (stds / stds.mean(axis=1, keepdims=True)).mean(axis=0)

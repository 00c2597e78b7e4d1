"""What the page shows of a fitted model: its views, points, dimensions and labels."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from ..errors import DataError, OptionError
from ..fitted.segmentation import ACTIVE_THRESHOLD
from .labels import Labels, colour_labels
from .views import Shapes, views_of

GRID = 40  # cells of the background along each axis
MARGIN = 0.12  # of the samples' range, around them


class Scene:
    """A fitted model as the page wants it.

    Parameters
    ----------
    model : fitted estimator
        `MRD`, `BayesianGPLVM` or `MRDClassifier`.
    shapes : str, Picture or dict by view, optional
        See `manyviews.plot.shapes.choose_picture`.
    labels : sequence or Series by sample, optional
        Classes or numbers that colour the samples; the name of a Series heads the legend.
    """

    def __init__(self, model: Any, shapes: Shapes = None, labels: Any = None):
        model = getattr(model, "model_", model)  # a classifier's
        if not hasattr(type(model), "inverse_transform"):
            raise OptionError(f"a {type(model).__name__} has no latent space to walk in")
        check_is_fitted(model)
        if model.engine_.positions.cluster is not None:
            raise OptionError(
                f"every cluster of a {type(model).__name__} has a latent space of its own: there "
                "is none to walk in"
            )
        self.kind = type(model).__name__
        self.mean, self.std = model.latent_mean_, model.latent_std_
        self.dimensions = model.dimension_labels()
        self.relevance = np.atleast_2d(np.asarray(model.relevance_))
        self.samples: list[Any] = list(getattr(model, "samples_", range(len(self.mean))))
        self.views = views_of(model, shapes)
        self.ranges = _ranges(self.mean)
        self.spread = np.median(self.std, axis=0) ** 2
        self.paths = _paths(model)
        if labels is None and 1 < len(self.paths) <= 10:
            names = [str(model.when_.labels[code]) for code in model.when_.code]
            labels = pd.Series(names, self.samples, name="sequence")
        self.labels: Labels | None = None
        if labels is not None:
            title = getattr(labels, "name", None)
            found = colour_labels(_aligned(labels, self.samples))
            self.labels = replace(found, title="" if title is None else str(title))

    # ------------------------------------------------------------------ once

    def describe(self) -> dict[str, Any]:
        """All that the page asks once, as JSON knows it."""
        groups = self.groups()
        order = [dimension for group in groups for dimension in group["dimensions"]]
        centre = (self.mean - self.mean.mean(axis=0)) / np.maximum(self.mean.std(axis=0), 1e-12)
        return {
            "model": self.kind,
            "samples": [str(sample) for sample in self.samples],
            "views": [view.describe() for view in self.views],
            "dimensions": self.dimensions,
            "relevance": self.relevance.tolist(),
            "threshold": ACTIVE_THRESHOLD,
            "groups": groups,
            "axes": [order[0], order[min(1, len(order) - 1)]],
            "ranges": self.ranges.tolist(),
            "start": int(np.argmin(np.sum(centre**2, axis=1))),
            "labels": None if self.labels is None else self.labels.describe(),
            "paths": self.paths,
            "grid": GRID,
        }

    def groups(self) -> list[dict[str, Any]]:
        """The dimensions by who uses them, the most relevant (to those views) first."""
        used = self.relevance > ACTIVE_THRESHOLD
        count, n_views = used.sum(axis=0), len(self.views)
        everyone = "Shared by all views" if n_views > 1 else "In use"
        parts = [(everyone, count == n_views), ("Shared by some", (count > 1) & (count < n_views))]
        if n_views > 1:
            for view, own in zip(self.views, used, strict=True):
                parts.append((f"Private to {view.name}", own & (count == 1)))
        parts.append(("Off", count == 0))
        logarithms = np.log(np.where(used | (count == 0), self.relevance + 1e-12, 1.0))
        order = np.argsort(-logarithms.sum(axis=0) / np.maximum(count, 1), kind="stable")
        return [
            {"title": title, "dimensions": [int(q) for q in order if chosen[q]]}
            for title, chosen in parts
            if chosen.any()
        ]

    def points(self) -> bytes:
        """Means of all samples, then their std."""
        return np.stack([self.mean, self.std]).astype("<f4").tobytes()

    # ------------------------------------------------------------------ at every move

    def generate(self, position: Float[np.ndarray, " Q"], uncertain: bool) -> bytes:
        """Mean and std of every view, one after the other.

        The position is exact, or as uncertain as that of the typical training sample.
        """
        variance = self.spread if uncertain else np.zeros_like(self.spread)
        parts = [part for view in self.views for part in view.generate(position, variance)]
        return np.concatenate(parts).astype("<f4").tobytes()

    def background(self, position: Float[np.ndarray, " Q"], axes: tuple[int, int]) -> bytes:
        """Std over a plane through the position, from 0 (least) to 255, row by row upwards.

        As in `manyviews.plot.latent_map`: of every view relative to its average, added up.
        """
        grid = np.tile(position, (GRID * GRID, 1))
        across, up = (np.linspace(low, high, GRID) for low, high in self.ranges[list(axes)])
        grid[:, axes[0]], grid[:, axes[1]] = np.tile(across, GRID), np.repeat(up, GRID)
        total = np.zeros(len(grid))
        for view in self.views:
            std = view.generate.uncertainty(grid)
            total += std / std.mean()
        shade = np.log(total)
        shade = (shade - shade.min()) / max(float(np.ptp(shade)), 1e-6)
        return (255.0 * shade).round().astype(np.uint8).tobytes()

    def sample(self, number: int) -> bytes:
        """The data of a training sample, view after view; NaN is missing."""
        return np.concatenate([view.data[number] for view in self.views]).astype("<f4").tobytes()


def _ranges(mean: Float[np.ndarray, "N Q"]) -> Float[np.ndarray, "Q 2"]:
    """Where one may walk: a little beyond the samples; where these do not move, ± 1."""
    low, high = mean.min(axis=0), mean.max(axis=0)
    still = high - low < 1e-3
    margin = np.where(still, 1.0, MARGIN * (high - low))
    return np.stack([low - margin, high + margin], axis=1)


def _paths(model: Any) -> list[dict[str, Any]]:
    """The samples of every sequence in the order of time."""
    when = getattr(model, "when_", None)
    if when is None or when.inputs.shape[1] > 1:
        return []
    order = np.argsort(when.inputs[:, 0], kind="stable")
    paths = []
    for place, label in enumerate(when.labels):
        own = order[when.code[order] == place]
        times = when.inputs[own, 0].tolist()
        name = "all samples" if label is None else str(label)
        paths.append({"name": name, "samples": own.tolist(), "times": times})
    return paths


def _aligned(labels: Any, samples: list[Any]) -> np.ndarray:
    if isinstance(labels, pd.Series) and list(labels.index) != list(range(len(labels))):
        absent = [sample for sample in samples if sample not in labels.index]
        if absent:
            raise DataError(f"the labels lack the sample {absent[0]!r}")
        labels = labels.loc[samples]
    values = np.asarray(labels)
    if values.ndim != 1 or len(values) != len(samples):
        raise DataError(f"there are {len(samples)} samples but labels of shape {values.shape}")
    return values

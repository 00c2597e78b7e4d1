"""The views of a fitted model, each with its picture, its generator and its data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from ..errors import OptionError
from ..plot.drawing import picture_of
from ..plot.shapes import Picture
from ..plot.subject import Subject
from .generator import Generator, generator_of

MOST_BARS = 24
LARGEST = float(np.finfo(np.float32).max)

Shapes = str | Picture | Mapping[str, str | Picture] | None


@dataclass(frozen=True)
class View:
    """One view: how it is drawn and generated, and the samples' own data (NaN missing)."""

    name: str
    picture: Picture
    n_columns: int
    generate: Generator
    data: Float[np.ndarray, "N D"]

    def describe(self) -> dict[str, Any]:
        """What the page must know, the scales among it: they are those of the training data."""
        picture = self.picture
        low, high, centre = (
            part.astype(float).round(6)
            for part in (
                np.nanmin(self.data, axis=0),
                np.nanmax(self.data, axis=0),
                np.nanmean(self.data, axis=0),
            )
        )
        by_column = picture.kind in {"bars", "skeleton"}
        noise = float(np.sqrt(self.generate.noise) * self.generate.scale.min())
        spread = float(np.nanquantile(np.nanstd(self.data, axis=0), 0.98))
        return {
            "name": self.name,
            "kind": picture.kind,
            "shape": picture.shape,
            "names": picture.names,
            "bones": picture.bones,
            "n": len(picture.columns),
            "of": self.n_columns,
            "low": float(low.min()),
            "high": float(high.max()),
            "noise": noise,
            "spread": max(spread, 1.5 * noise),
            "lows": low.tolist() if by_column else [],
            "highs": high.tolist() if by_column else [],
            "centres": centre.tolist() if by_column else [],
        }


def views_of(model: Any, shapes: Shapes) -> list[View]:
    """The views of a fitted model, pictures chosen."""
    subject = Subject(model)
    if not isinstance(shapes, Mapping):
        shapes = {} if shapes is None else dict.fromkeys(subject.names, shapes)
    unknown = [name for name in shapes if name not in subject.tables]
    if unknown:
        raise OptionError(
            f"there is no view {unknown[0]!r} to give a shape: there are {subject.names}"
        )
    return [_view(subject, name, shapes.get(name)) for name in subject.names]


def _view(subject: Subject, name: str, shape: str | Picture | None) -> View:
    table = subject.tables[name]
    try:
        picture = picture_of(subject, name, shape)
    except OptionError as wrong:
        raise OptionError(f"view {name!r}: {wrong}") from wrong
    if picture.kind == "bars" and table.shape[1] > MOST_BARS:
        moved = subject.fitted(name).var(axis=0) / subject.scale(name) ** 2
        most = np.argsort(-moved, kind="stable")[:MOST_BARS]
        names = tuple(picture.names[i] for i in most)
        picture = Picture("bars", (MOST_BARS,), tuple(most.tolist()), names)
    chosen = list(picture.columns)
    data = table.to_numpy()[:, chosen].clip(-LARGEST, LARGEST).astype(np.float32)
    return View(name, picture, table.shape[1], generator_of(subject, name, chosen), data)

"""The views of a fitted model, each with its picture, its generator and its data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from ..data import Scaling
from ..errors import OptionError
from ..expectations import Gaussian
from ..mappings import GPPosterior
from ..models.prediction import moments
from ..plot.shapes import Picture, choose_picture, guess_bones
from .generator import ViewGenerator

MOST_BARS = 24

Shapes = str | Picture | Mapping[str, str | Picture] | None


@dataclass(frozen=True)
class View:
    """One view: how it is drawn and generated, and the samples' own data (NaN missing)."""

    name: str
    picture: Picture
    n_columns: int
    generate: ViewGenerator
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
    if hasattr(model, "view_names_"):
        names, columns, scalings = model.view_names_, model.columns_, model.scalings_
    else:
        given = getattr(model, "feature_names_in_", None)
        own = list(range(model.n_features_in_)) if given is None else list(given)
        names, columns, scalings = ("X",), (own,), (model.scaling_,)
    if not isinstance(shapes, Mapping):
        shapes = {} if shapes is None else dict.fromkeys(names, shapes)
    unknown = [name for name in shapes if name not in names]
    if unknown:
        raise OptionError(
            f"there is no view {unknown[0]!r} to give a shape: there are {list(names)}"
        )
    core, q = model.core_, model.core_.marginals()
    parts = zip(names, columns, scalings, core.posteriors, core.data, strict=True)
    return [
        _view(name, labels, scaling, posterior, q, scaled, shapes.get(name))
        for name, labels, scaling, posterior, scaled in parts
    ]


def _view(
    name: str,
    columns: Sequence[Any],
    scaling: Scaling,
    posterior: GPPosterior,
    q: Gaussian,
    scaled: Float[np.ndarray, "N D"],
    shape: str | Picture | None,
) -> View:
    data = scaling.undo(scaled)
    try:
        picture = choose_picture(len(columns), columns, shape)
    except OptionError as wrong:
        raise OptionError(f"view {name!r}: {wrong}") from wrong
    if picture.kind == "skeleton" and not picture.bones:
        picture = replace(picture, bones=guess_bones(picture.arrange(data)))
    if picture.kind == "bars" and len(columns) > MOST_BARS:
        fitted = moments(posterior, q, want_std=False, want_covariance=False).mean
        most = np.argsort(-fitted.var(axis=0), kind="stable")[:MOST_BARS]
        picture = Picture(
            "bars", (MOST_BARS,), tuple(most.tolist()), tuple(picture.names[i] for i in most)
        )
    chosen = list(picture.columns)
    generate = ViewGenerator(posterior, scaling, chosen)
    return View(name, picture, len(columns), generate, data[:, chosen].astype(np.float32))

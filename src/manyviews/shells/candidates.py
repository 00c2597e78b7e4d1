"""Alternative predictions of one view, in the names and units of the user."""

import warnings
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import OptionError, SegmentationWarning
from ..fitted.candidates import Candidates, find_candidates
from .fitted_model import LARGEST_BLOCK, in_units
from .naming import known_views

if TYPE_CHECKING:
    from .views import NewSamples, ViewsModel


def predict_candidates(
    model: "ViewsModel",
    new: "NewSamples",
    target: str,
    n_candidates: int,
    n_neighbours: int | None,
    blend: bool,
    how: dict[str, Any],
) -> Candidates:
    """See `ViewsModel.predict_candidates`."""
    n_neighbours = n_candidates if n_neighbours is None else n_neighbours
    if n_candidates < 1:
        raise OptionError(f"n_candidates must be at least 1, got {n_candidates}")
    if n_neighbours < n_candidates:
        raise OptionError(
            f"n_neighbours must be at least n_candidates={n_candidates}, got {n_neighbours}"
        )
    if "private" in how:
        raise OptionError(
            "candidates have their private dimensions from training samples: leave 'private' out"
        )
    (place,), known = model._places(target), known_views(new.found)
    if target in known:
        raise OptionError(
            f"{target!r} is known and wanted at once: candidates are for a view of which nothing "
            "is given. predict() completes one that is partly given"
        )
    engine = model._engine
    places = model._places(known)
    if engine.positions.cluster is not None:
        raise OptionError(
            f"every cluster of a {type(model).__name__} has a latent space of its own, so samples "
            "have no common neighbours: predict_modes() tells the clusters' answers apart"
        )
    parts = engine.divided(places, [place])
    if not parts.shared:
        raise OptionError(
            f"{known} and {target!r} share no dimension, so no training sample is near: fit with "
            "init='canonical' or more restarts, or see segment() with a lower threshold"
        )
    q = model._infer(new.scaled, new.when, how=how)
    if not parts.private_b and not blend and q.weights is None:
        warnings.warn(
            f"{target!r} has no dimension of its own besides those of {known}, so all candidates "
            "are alike. If known views fit several places in the dimensions that they share, "
            "n_modes finds them",
            SegmentationWarning,
            stacklevel=3,
        )
    strength = engine.relevance[places].max(axis=0) if blend else None
    scaling = model._scalings[place]
    each = len(q.mean) // len(q) * n_neighbours * len(scaling.scale)
    size = max(1, LARGEST_BLOCK // each)
    blocks = [q.rows(slice(first, first + size)) for first in range(0, len(q), size)]
    found = joined(
        [
            find_candidates(engine, place, part, parts, n_candidates, n_neighbours, strength)
            for part in blocks
        ]
    )
    names = np.asarray(model.samples_, dtype=object if model.labelled_ else None)
    return replace(
        found,
        view=target,
        means=in_units(scaling, found.means, None),
        stds=scaling.undo_std(found.stds),
        neighbours=names[found.neighbours],
        source=names[found.source],
    )


def joined(parts: list[Candidates]) -> Candidates:
    """Of the rows of all parts."""
    arrays = [field.name for field in fields(Candidates) if field.name != "view"]
    together: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in arrays
    }
    return replace(parts[0], **together)

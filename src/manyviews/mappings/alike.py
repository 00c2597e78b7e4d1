"""Gaussian views of nearly as many columns in arrays of one shape: one program conditions them all.

Columns of a posterior depend on their own data alone: columns of zeros change nothing.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import numpy as np

from .base import Mapping
from .collapsed import CollapsedGP
from .outputs import Outputs, PatternedOutputs
from .posterior import GPPosterior

MOST_ADDED = 50  # columns of zeros, which cost less than another program


def for_posteriors(views: Sequence[Mapping], outputs: Sequence[Outputs]) -> list[Outputs]:
    """As much of the data of each view as its posterior needs; see `own_columns()`.

    That is done on the host, where it takes no program.
    """
    found = list(outputs)
    for places in _alike(views, outputs):
        own = [_patterned(outputs[place]) for place in places]
        width = max(data.filled.shape[1] for data in own)
        for place, data in zip(places, own, strict=True):
            n_rows, n_columns = data.filled.shape
            if width - n_columns > MOST_ADDED:
                continue
            added = (0, width - n_columns)
            found[place] = replace(
                data,
                filled=jax.device_put(np.pad(np.asarray(data.filled), ((0, 0), added))),
                group_of_column=jax.device_put(np.pad(np.asarray(data.group_of_column), added)),
                factors=(jax.device_put(np.zeros((n_rows, 0))),) * len(data.factors),
            )
    return found


def own_columns(posterior: Any, outputs: Outputs) -> Any:
    """A posterior without the columns that `for_posteriors()` has added to this data."""
    if not isinstance(posterior, GPPosterior) or not isinstance(outputs, PatternedOutputs):
        return posterior
    n = outputs.filled.shape[1]
    if posterior.weights.shape[1] == n:
        return posterior
    cut = np.asarray(posterior.weights)[:, :n], np.asarray(posterior.group_of_column)[:n]
    return eqx.tree_at(lambda p: (p.weights, p.group_of_column), posterior, jax.device_put(cut))


def _alike(views: Sequence[Mapping], outputs: Sequence[Outputs]) -> list[list[int]]:
    """Places of the views that may be of one shape."""
    found: dict[int, list[int]] = {}
    for place, (view, data) in enumerate(zip(views, outputs, strict=True)):
        if type(view) is CollapsedGP and isinstance(data, PatternedOutputs):
            found.setdefault(len(data.factors), []).append(place)
    return [places for places in found.values() if len(places) > 1]


def _patterned(data: Outputs) -> PatternedOutputs:
    assert isinstance(data, PatternedOutputs)
    return data

"""Which labelled samples are left out together, to calibrate a classifier on the unseen."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from ..data import When


class Fold(NamedTuple):
    """Rows to fit without, and the sequence that they are said to be of (their own if None)."""

    out: Int[np.ndarray, " n"]
    sequence: str | None = None


def label_folds(codes: Float[np.ndarray, "N C"], n_folds: int, when: When | None) -> Iterator[Fold]:
    """Folds of labelled samples, class by class.

    Samples of one sequence resemble each other, so sequences are left out whole. A single one is
    cut into stretches, each left out as if it were a new sequence.
    """
    labelled = ~np.isnan(codes).any(axis=1)
    if when is None:
        known = np.flatnonzero(labelled)
        yield from map(Fold, _dealt(known, codes[known], n_folds))
        return
    sequences = np.unique(when.code[labelled])
    if len(sequences) > 1:
        own = [labelled & (when.code == place) for place in sequences]
        means = np.stack([codes[rows].mean(axis=0) for rows in own])
        for chosen in _dealt(sequences, means, n_folds):
            yield Fold(np.flatnonzero(np.isin(when.code, chosen)))
        return
    rows = np.flatnonzero(when.code == sequences[0])
    rows = rows[np.argsort(when.inputs[rows, 0], kind="stable")]
    for stretch in np.array_split(rows, min(n_folds, labelled.sum())):
        if labelled[stretch].any():
            yield Fold(stretch, f"not {when.labels[sequences[0]]}")


def _dealt(
    names: Int[np.ndarray, " n"], codes: Float[np.ndarray, "n C"], n_folds: int
) -> list[Int[np.ndarray, " _"]]:
    """Names dealt to folds in turn, those of like codes one after the other."""
    n_folds = min(n_folds, len(names))
    draws = np.random.default_rng(0).random(len(names))
    order = names[np.lexsort((draws, *codes.T))]
    return [order[fold::n_folds] for fold in range(n_folds)]

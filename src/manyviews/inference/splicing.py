"""Paths put together from the better stretches of several ends of a search.

What is ambiguous about a sequence is often ambiguous in a few stretches, each by itself. A start
that reads one of them rightly may read another wrongly, and the readings of all stretches
together are too many to start from.
"""

import numpy as np
from jaxtyping import Bool, Float, Int

from ..expectations import Gaussian
from .path_bound import PathBound

APART = 2.0  # standard deviations from which two paths count as different

Sites = Float[np.ndarray, " V"]


def spliced(
    bound: PathBound, ends: list[Sites], order: Int[np.ndarray, " N"], iterations: int
) -> Sites:
    """The first end, with every stretch of another in which that one has more of the bound.

    Every such path is optimised for some iterations and kept if its bound is higher.

    Parameters
    ----------
    order
        Rows sorted by sequence and time.
    """
    best, value = ends[0], bound.shares(ends[0]).sum()
    for other in ends[1:]:
        rows = _better(bound, best, other, order)
        if not rows.any():
            continue
        trial, gains = bound.ascend(bound.exchanged(best, other, rows), iterations)
        if gains.sum() > value:
            best, value = trial, gains.sum()
    return best


def _better(
    bound: PathBound, best: Sites, other: Sites, order: Int[np.ndarray, " N"]
) -> Bool[np.ndarray, " N"]:
    """Rows of the stretches in which two paths differ and the other one has more of the bound."""
    p, q = bound.marginals(best), bound.marginals(other)
    gain = (bound.shares(other) - bound.shares(best))[order]
    differ = _apart(p, q)[order]
    place = bound.place[order]
    begins = np.flatnonzero(
        np.diff(differ, prepend=not differ[0]) | (np.diff(place, prepend=-1) > 0)
    )
    chosen = np.zeros(len(order), bool)
    for stretch in np.split(np.arange(len(order)), begins[1:]):
        if differ[stretch[0]] and gain[stretch].sum() > 0:
            chosen[order[stretch]] = True
    return chosen


def _apart(p: Gaussian, q: Gaussian) -> Bool[np.ndarray, " N"]:
    squares = (np.asarray(p.mean) - np.asarray(q.mean)) ** 2
    spread = np.asarray(p.variance) + np.asarray(q.variance)
    return (squares > APART**2 * spread).any(axis=1)

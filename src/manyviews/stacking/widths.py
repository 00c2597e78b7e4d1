"""Standard deviations made honest: factors learnt from errors of held-out values."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from .mixture import Mixture

PSEUDO_VALUES = 10.0  # by which a column's factor leans on that of the view
LEAST = 1e-3
REACH = 5.0  # standard deviations, calibrated ones: errors beyond count as so large


class Calibrated(NamedTuple):
    """Factors of a member's standard deviations, and log densities with those of other folds.

    Attributes
    ----------
    factors : ndarray of shape (n_columns,)
    honest : ndarray of shape (n_rows, n_columns)
        Those learnt from the other folds than the row's.
    near : ndarray of shape (n_rows, n_columns)
        The held-out values, those beyond five standard deviations moved there: what is learnt from.
    log_density, bounded : ndarray of shape (n_rows, n_columns)
        Of the held-out values, and of those moved.
    """

    factors: Float[np.ndarray, " D"]
    honest: Float[np.ndarray, "N D"]
    near: Float[np.ndarray, "N D"]
    log_density: Float[np.ndarray, "N D"]
    bounded: Float[np.ndarray, "N D"]


def calibrated(
    part: Mixture,
    truth: Float[np.ndarray, "N D"],
    fold: Int[np.ndarray, " N"],
    calibrate: bool = True,
) -> Calibrated:
    """How far off a member is, from values that it was not fitted to.

    A factor is the root mean square of held-out errors in units of their std: one number for
    the view, or one per column that leans by ten values on it. The simplest is taken (none, then
    one, then one per column) unless the next has gained more than one standard error (over
    rows) in the log density of folds that it was not learnt from. Errors beyond five standard
    deviations count as five: the few values of a kind that no training row has shown, of a
    substance that one patient alone has, would make all others' intervals many times too wide.
    """
    near = _within_reach(part, truth)
    z2 = ((near - part.mean) / part.std) ** 2
    kinds = ("view", "column") if calibrate else ()
    best, honest, bounded = "none", np.ones(truth.shape), part.log_density(near)
    for kind in kinds:
        then = np.empty(truth.shape)
        for number in np.unique(fold):
            out = fold == number
            then[out] = _factors(z2[~out], kind)
        then_bounded = part.widened(then).log_density(near)
        gain = np.nanmean(then_bounded - bounded, axis=1)
        if gain.mean() > gain.std() / np.sqrt(len(gain)):
            best, honest, bounded = kind, then, then_bounded
    log_p = part.widened(honest).log_density(truth)
    return Calibrated(_factors(z2, best), honest, near, log_p, bounded)


def _within_reach(part: Mixture, truth: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:
    """Values no further from the mean than five standard deviations, which the errors widen.

    The squares z² that are counted, c² = mean min(z², 25 c²), are found from the largest c down.
    """
    z = (truth - part.mean) / part.std
    squares = np.square(z[~np.isnan(z)])
    widened, before = float(squares.mean()), np.inf
    while widened < (1.0 - 1e-6) * before:
        before = widened
        widened = float(np.minimum(squares, REACH**2 * before).mean())
    reach = REACH * max(1.0, np.sqrt(widened))
    return part.mean + np.clip(z, -reach, reach) * part.std


def _factors(z2: Float[np.ndarray, "N D"], kind: str) -> Float[np.ndarray, " D"]:
    n_columns = z2.shape[1]
    if kind == "none":
        return np.ones(n_columns)
    there = ~np.isnan(z2)
    sums, counts = np.where(there, z2, 0.0).sum(axis=0), there.sum(axis=0)
    overall = sums.sum() / max(int(counts.sum()), 1)
    mean = np.full(n_columns, overall)
    if kind == "column":
        mean = (sums + PSEUDO_VALUES * overall) / (counts + PSEUDO_VALUES)
    return np.sqrt(np.maximum(mean, LEAST**2))

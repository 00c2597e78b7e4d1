"""Standard deviations made honest: factors learnt from errors of held-out values."""

import numpy as np
from jaxtyping import Float, Int

from .mixture import Mixture

PSEUDO_VALUES = 10.0  # by which a column's factor leans on that of the view
LEAST = 1e-3


def calibrated(
    part: Mixture,
    truth: Float[np.ndarray, "N D"],
    fold: Int[np.ndarray, " N"],
    calibrate: bool = True,
) -> tuple[Float[np.ndarray, " D"], Float[np.ndarray, "N D"]]:
    """Factors of a member's standard deviations, and log densities with those of other folds.

    A factor is the root mean square of held-out errors in units of their std: one number for
    the view, or one per column that leans by ten values on it. The simplest is taken (none, then
    one, then one per column) unless the next has gained more than one standard error (over
    rows) in the log density of folds that it was not learnt from.
    """
    z2 = ((truth - part.mean) / part.std) ** 2
    kinds = ("none", "view", "column") if calibrate else ("none",)
    best, log_p = "none", part.log_density(truth)
    for kind in kinds[1:]:
        then = np.empty(truth.shape)
        for number in np.unique(fold):
            out = fold == number
            widened = _rows(part, out).widened(_factors(z2[~out], kind))
            then[out] = widened.log_density(truth[out])
        gain = np.nanmean(then - log_p, axis=1)
        if gain.mean() > gain.std() / np.sqrt(len(gain)):
            best, log_p = kind, then
    return _factors(z2, best), log_p


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


def _rows(part: Mixture, rows: np.ndarray) -> Mixture:
    weights = np.broadcast_to(part.weights, part.means.shape)[:, rows]
    return Mixture(weights, part.means[:, rows], part.stds[:, rows])

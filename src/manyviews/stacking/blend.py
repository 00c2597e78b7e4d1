"""How members are mixed for one question: widths and weights, by densities of held-out values."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from .mixture import Mixture
from .question import Question
from .scores import training_scale
from .weights import stacking_weights
from .widths import calibrated

PSEUDO_COUNTS = 30.0  # held-out values, by which a column's weights lean on those of the view
MOST_VALUES = 200_000  # that weights of a view are learnt from


@dataclass(frozen=True)
class Blend:
    """Weights and widths of the members for one question.

    Attributes
    ----------
    question : Question
        What is predicted from what.
    members : tuple of str
        Names of the members.
    weights : ndarray of shape (n_members, n_columns) or (n_members, 1)
        Weights of the members, by column or for all; they add up to one.
    widths : ndarray of shape (n_members, n_columns)
        Factors of the members' standard deviations.
    scores : ndarray of shape (n_members,)
        Mean log density per held-out value of every member, in standard deviations of the
        columns.
    score : float
        The same of the mixture, with weights learnt from other folds than the value's.
    gap : float
        Nats per value by which other weights could be better on the held-out values, at most.
    """

    question: Question
    members: tuple[str, ...]
    weights: Float[np.ndarray, "M _"]
    widths: Float[np.ndarray, "M D"]
    scores: Float[np.ndarray, " M"]
    score: float
    gap: float

    @property
    def by_column(self) -> bool:
        """Whether columns have weights of their own."""
        return self.weights.shape[1] > 1

    def __call__(self, parts: Sequence[Mixture]) -> Mixture:
        """The mixture of what the members say."""
        pairs = zip(parts, self.widths, strict=True)
        return Mixture.blend([part.widened(width) for part, width in pairs], self.weights)


def learn_blend(
    question: Question,
    members: Sequence[str],
    parts: Sequence[Mixture],
    truth: Float[np.ndarray, "N D"],
    fold: Int[np.ndarray, " N"],
    weighting: str = "auto",
    calibrate: bool = True,
) -> Blend:
    """Weights that give the held-out values the highest density (Yao et al. 2018).

    Values beyond the reach of a member count as in `calibrated()`: its density is that at five
    standard deviations, so that a few strange values decide neither widths nor weights.

    Parameters
    ----------
    parts : sequence of Mixture
        What every member says of rows that it was not fitted to.
    truth, fold
        The values of these rows, NaN where there is none, and their folds.
    weighting : {"auto", "view", "column"}
        One set of weights for all columns, or one for each that leans by thirty values on that
        of all. ``"auto"`` takes the second if it has gained more than one standard error
        (over rows) in folds that the weights were not learnt from.
    calibrate : bool
        Whether standard deviations are made wider or narrower first (`calibrated()`).
    """
    found = [calibrated(part, truth, fold, calibrate) for part in parts]
    widths = np.stack([each.factors for each in found])
    log_p = np.stack([each.log_density for each in found])
    bounded = np.stack([each.bounded for each in found])
    kinds = {"auto": ("view", "column"), "view": ("view",), "column": ("column",)}[weighting]
    kinds = ("view",) if truth.shape[1] == 1 else kinds
    honest = {kind: _by_other_folds(log_p, bounded, fold, kind) for kind in kinds}
    kind = kinds[0]
    if len(kinds) == 2:
        gain = np.nanmean(honest["column"][1] - honest["view"][1], axis=1)
        kind = "column" if gain.mean() > gain.std() / np.sqrt(len(gain)) else "view"
    weights, gap = _weights(bounded, kind)
    unit = np.log(training_scale(truth))
    return Blend(
        question, tuple(members), weights, widths, np.nanmean(log_p + unit, axis=(1, 2)),
        float(np.nanmean(honest[kind][0] + unit)), gap,
    )  # fmt: skip


def _by_other_folds(
    log_p: Float[np.ndarray, "M N D"],
    bounded: Float[np.ndarray, "M N D"],
    fold: Int[np.ndarray, " N"],
    kind: str,
) -> tuple[Float[np.ndarray, "N D"], Float[np.ndarray, "N D"]]:
    """Log densities of the mixture, the weights of every fold being those of the others."""
    mixed = np.empty((2, *log_p.shape[1:]))
    for number in np.unique(fold):
        out = fold == number
        weights, _ = _weights(bounded[:, ~out], kind)
        with np.errstate(divide="ignore", invalid="ignore"):
            for place, each in enumerate((log_p, bounded)):
                parts = each[:, out] + np.log(weights)[:, None, :]
                mixed[place, out] = np.logaddexp.reduce(parts, axis=0)
    return mixed[0], mixed[1]


def _weights(
    log_p: Float[np.ndarray, "M N D"], kind: str
) -> tuple[Float[np.ndarray, "M _"], float]:
    values = log_p.reshape(len(log_p), -1).T
    values = values[~np.isnan(values).any(axis=1)]
    if len(values) > MOST_VALUES:
        values = np.random.RandomState(0).permutation(values)[:MOST_VALUES]
    found = stacking_weights(values[None])
    if kind == "view":
        return found.weights.T, float(found.gap[0])
    prior = PSEUDO_COUNTS * found.weights[0]
    columns = stacking_weights(np.transpose(log_p, (2, 1, 0)), prior)
    return columns.weights.T, float(columns.gap.max())

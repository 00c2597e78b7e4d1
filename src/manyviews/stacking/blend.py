"""How members are mixed for one question: their shares in the mean, and the widths around it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from .mixture import Mixture
from .question import Question
from .scores import training_scale
from .shares import mean_shares
from .weights import stacking_weights
from .widths import calibrated

SCALES = (0.5, 1.0, 2.0)  # of the members' widths: tails as heavy as they are
PSEUDO_COUNTS = 30.0  # held-out values, by which a column's weights lean on those of the view
MOST_VALUES = 200_000  # that weights of a view are learnt from


@dataclass(frozen=True)
class Blend:
    """What the members say for one question, in one distribution.

    Attributes
    ----------
    question : Question
        What is predicted from what.
    members : tuple of str
        Names of the members.
    shares : ndarray of shape (n_members, n_columns) or (n_members, 1)
        Shares of the members in the mean, by column or for all; they add up to one.
    weights : ndarray of shape (n_scales * n_members, n_columns) or (n_scales * n_members, 1)
        Weights of the widths around the mean: those of all members halved, as they are, doubled.
    widths : ndarray of shape (n_members, n_columns)
        Factors of the members' standard deviations.
    scores : ndarray of shape (n_members,)
        Mean log density per held-out value of every member, in standard deviations of the
        columns.
    score : float
        The same of the stack, with weights learnt from other folds than the value's.
    gap : float
        Nats per value by which other weights could be better on the held-out values, at most.
    """

    question: Question
    members: tuple[str, ...]
    shares: Float[np.ndarray, "M _"]
    weights: Float[np.ndarray, "K _"]
    widths: Float[np.ndarray, "M D"]
    scores: Float[np.ndarray, " M"]
    score: float
    gap: float

    @property
    def by_column(self) -> bool:
        """Whether columns have shares and weights of their own."""
        return self.shares.shape[1] > 1

    def centre(self, parts: Sequence[Mixture]) -> Float[np.ndarray, "N D"]:
        """The mean, Σ_m v_m μ_m."""
        return _centre(self.shares, np.stack([part.mean for part in parts]))

    def __call__(self, parts: Sequence[Mixture]) -> Mixture:
        """What the members say, put together."""
        centre = self.centre(parts)
        moved = [
            part.around(centre).widened(scale * width)
            for scale in SCALES
            for part, width in zip(parts, self.widths, strict=True)
        ]
        kept = np.flatnonzero(self.weights.max(axis=1) > 0.0)
        return Mixture.blend([moved[place] for place in kept], self.weights[kept])


def learn_blend(
    question: Question,
    members: Sequence[str],
    parts: Sequence[Mixture],
    truth: Float[np.ndarray, "N D"],
    fold: Int[np.ndarray, " N"],
    weighting: str = "auto",
    calibrate: bool = True,
) -> Blend:
    """Shares by least squares, weights of widths by the log density of held-out values.

    Values beyond the reach of a member count as in `calibrated()`: its density is that at five
    standard deviations, so that a few strange values decide neither widths nor weights.

    Parameters
    ----------
    parts : sequence of Mixture
        What every member says of rows that it was not fitted to.
    truth, fold
        The values of these rows, NaN where there is none, and their folds.
    weighting : {"auto", "view", "column"}
        One set of shares and weights for all columns, or one for each that leans on that of all.
        ``"auto"`` takes the second if it has gained more than one standard error
        (over rows) in folds that nothing was learnt from.
    calibrate : bool
        Whether standard deviations are made wider or narrower first (`calibrated()`).
    """
    kinds = {"auto": ("view", "column"), "view": ("view",), "column": ("column",)}[weighting]
    kinds = ("view",) if truth.shape[1] == 1 else kinds
    found = [_Widths(parts, truth, fold, kind, calibrate) for kind in kinds]
    best = found[0]
    if len(found) == 2:
        gain = np.nanmean(found[1].honest_bounded - best.honest_bounded, axis=1)
        best = found[1] if gain.mean() > gain.std() / np.sqrt(len(gain)) else best
    shares = mean_shares(np.stack([part.mean for part in parts]), truth, best.kind == "column")
    weights, gap = _weights(best.bounded, best.kind)
    unit = np.log(training_scale(truth))
    alone = [calibrated(part, truth, fold, calibrate).log_density for part in parts]
    scores = np.array([np.nanmean(density + unit) for density in alone])
    return Blend(
        question, tuple(members), shares, weights, best.factors, scores,
        float(np.nanmean(best.honest + unit)), gap,
    )  # fmt: skip


class _Widths:
    """Every member's width, in several scales, around a mean that knows other folds alone.

    Attributes
    ----------
    factors : ndarray of shape (n_members, n_columns)
    bounded : ndarray of shape (n_scales * n_members, n_rows, n_columns)
        Log densities of the held-out values, strange ones moved.
    honest, honest_bounded : ndarray of shape (n_rows, n_columns)
        Those of the mixture, the weights of every fold being those of the others.
    """

    def __init__(
        self, parts: Sequence[Mixture], truth: Float[np.ndarray, "N D"],
        fold: Int[np.ndarray, " N"], kind: str, calibrate: bool,
    ):  # fmt: skip
        means, self.kind = np.stack([part.mean for part in parts]), kind
        centre = np.empty(truth.shape)
        for number in np.unique(fold):
            out = fold == number
            shares = mean_shares(means[:, ~out], truth[~out], kind == "column")
            centre[out] = _centre(shares, means[:, out])
        moved = [part.around(centre) for part in parts]
        found = [calibrated(part, truth, fold, calibrate) for part in moved]
        self.factors = np.stack([each.factors for each in found])
        log_p, bounded = [], []
        for scale in SCALES:
            for part, each in zip(moved, found, strict=True):
                widened = part.widened(scale * each.honest)
                log_p.append(widened.log_density(truth))
                bounded.append(widened.log_density(each.near))
        self.bounded = np.stack(bounded)
        self.honest, self.honest_bounded = np.empty(truth.shape), np.empty(truth.shape)
        for number in np.unique(fold):
            out = fold == number
            weights, _ = _weights(self.bounded[:, ~out], kind)
            with np.errstate(divide="ignore", invalid="ignore"):
                logs = np.log(weights)[:, None, :]
                for mixed, densities in ((self.honest, log_p), (self.honest_bounded, bounded)):
                    own = np.stack([density[out] for density in densities])
                    mixed[out] = np.logaddexp.reduce(own + logs, axis=0)


def _centre(
    shares: Float[np.ndarray, "M _"], means: Float[np.ndarray, "M N D"]
) -> Float[np.ndarray, "N D"]:
    return np.sum(shares[:, None, :] * means, axis=0)


def _weights(
    log_p: Float[np.ndarray, "K N D"], kind: str
) -> tuple[Float[np.ndarray, "K _"], float]:
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

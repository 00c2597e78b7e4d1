"""Regularised generalised linear models, as plain references for data of any kind.

All are fitted by L-BFGS with an L2 penalty on the slopes, chosen by inner 3-fold.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import digamma, expit, gammaln, log_softmax, softmax
from sklearn.decomposition import PCA
from sklearn.model_selection import KFold

PENALTIES = np.logspace(-4, 2, 7)
INNER = 3

Loss = Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[float, np.ndarray, np.ndarray]]
"""Of linear predictors, parameters besides and targets: mean loss and its two gradients."""


class Family(NamedTuple):
    """A kind of target: its loss, how many linear predictors it has, and where they start."""

    loss: Loss
    intercept: np.ndarray
    extra: np.ndarray
    free: bool = True
    """Whether the intercept is (ordinal targets have cuts in its place)."""


class Fit(NamedTuple):
    """A fitted linear predictor."""

    intercept: np.ndarray
    slopes: np.ndarray
    extra: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return self.intercept + X @ self.slopes


def inputs(
    train: np.ndarray, new: np.ndarray, wide: int = 100, components: int = 30
) -> tuple[np.ndarray, np.ndarray]:
    """Missing values at training means, standardised; leading components if there are many."""
    centre = np.nan_to_num(np.nanmean(train, axis=0))
    spread = np.nanstd(train, axis=0)
    spread = np.where(np.nan_to_num(spread) > 0, spread, 1.0)

    def filled(X: np.ndarray) -> np.ndarray:
        return np.nan_to_num((X - centre) / spread)

    X, Z = filled(train), filled(new)
    if X.shape[1] > wide:
        pca = PCA(min(components, len(X) - 1), random_state=0).fit(X)
        X, Z = pca.transform(X), pca.transform(Z)
        scale = X.std(axis=0).max()
        X, Z = X / scale, Z / scale
    return X, Z


def chosen(family: Family, X: np.ndarray, y: np.ndarray) -> Fit:
    """A fit with the penalty of the smallest loss in inner folds."""
    folds = list(KFold(INNER, shuffle=True, random_state=0).split(X))
    losses = []
    for penalty in PENALTIES:
        found = []
        for kept, out in folds:
            fit = fitted(family, X[kept], y[kept], penalty)
            found.append(family.loss(fit(X[out]), fit.extra, y[out])[0] * len(out))
        losses.append(sum(found))
    best = float(PENALTIES[int(np.nanargmin(losses))])
    return fitted(family, X, y, best)


def fitted(family: Family, X: np.ndarray, y: np.ndarray, penalty: float) -> Fit:
    """Minimise mean loss + ½ penalty ‖slopes‖²."""
    C, P, E = len(family.intercept), X.shape[1], len(family.extra)

    def split(v: np.ndarray) -> Fit:
        return Fit(v[:C], v[C : C + P * C].reshape(P, C), v[C + P * C :])

    def objective(v: np.ndarray) -> tuple[float, np.ndarray]:
        fit = split(v)
        value, slope, besides = family.loss(fit(X), fit.extra, y)
        value += 0.5 * penalty * float(np.sum(fit.slopes**2))
        first = slope.sum(axis=0) * family.free
        weights = X.T @ slope + penalty * fit.slopes
        return value, np.concatenate([first, weights.ravel(), besides])

    start = np.concatenate([family.intercept, np.zeros(P * C), family.extra])
    assert len(start) == C + P * C + E
    return split(minimize(objective, start, jac=True, method="L-BFGS-B").x)


# ---------------------------------------------------------------------------------- families


def multinomial(shares: np.ndarray) -> Family:
    """Classes 0, 1, … with these shares in the training data; also targets that are shares."""

    def loss(eta: np.ndarray, _: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        target = y if y.ndim == 2 else np.eye(eta.shape[1])[y.astype(int)]
        value = -np.mean(np.sum(target * log_softmax(eta, axis=1), axis=1))
        return float(value), (softmax(eta, axis=1) - target) / len(y), np.empty(0)

    return Family(loss, np.log(shares), np.empty(0))


def ordinal(shares: np.ndarray) -> Family:
    """Proportional odds: P(y ≤ l) = F(c_l - η), for classes 0, 1, …"""
    below = np.clip(np.cumsum(shares)[:-1], 1e-6, 1.0 - 1e-6)
    cuts = np.log(below) - np.log1p(-below)
    extra = np.concatenate([cuts[:1], np.log(np.maximum(np.diff(cuts), 1e-3))])

    def loss(
        eta: np.ndarray, extra: np.ndarray, y: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray]:
        code, gaps = y.astype(int), np.exp(extra[1:])
        inner = np.concatenate([extra[:1], extra[0] + np.cumsum(gaps)])
        ends = np.concatenate([[-np.inf], inner, [np.inf]])
        low, high = expit(ends[code] - eta[:, 0]), expit(ends[code + 1] - eta[:, 0])
        p = np.maximum(high - low, 1e-12)
        d_low, d_high = -low * (1 - low) / p, high * (1 - high) / p  # of log p over the cuts
        n = len(y)
        slope = (d_low + d_high)[:, None] / n
        over_cuts = np.zeros(len(ends))
        np.add.at(over_cuts, code, -d_low / n)
        np.add.at(over_cuts, code + 1, -d_high / n)
        over_cuts = over_cuts[1:-1]
        after = np.cumsum(over_cuts[::-1])[::-1]
        return float(-np.log(p).mean()), slope, np.concatenate([after[:1], gaps * after[1:]])

    return Family(loss, np.zeros(1), extra, free=False)


def ordinal_probabilities(eta: np.ndarray, extra: np.ndarray) -> np.ndarray:
    """P(y = class) of a fitted proportional-odds model."""
    inner = np.concatenate([extra[:1], extra[0] + np.cumsum(np.exp(extra[1:]))])
    below = expit(inner - eta)
    return np.diff(np.pad(below, ((0, 0), (1, 1)), constant_values=((0, 0), (0.0, 1.0))), axis=1)


def negative_binomial(y: np.ndarray) -> Family:
    """Counts with a log link and a size that is learnt (its logarithm is beside the slopes)."""
    mean, variance = max(float(y.mean()), 1e-3), float(y.var())
    size = np.clip(mean**2 / max(variance - mean, 1e-3 * mean), 0.05, 1e3)

    def loss(
        eta: np.ndarray, extra: np.ndarray, y: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray]:
        r, g = np.exp(np.clip(extra[0], -10.0, 12.0)), np.clip(eta[:, 0], -30.0, 30.0)
        total = np.logaddexp(np.log(r), g)
        density = (
            gammaln(y + r) - gammaln(r) - gammaln(y + 1) + r * np.log(r) + y * g - (y + r) * total
        )
        mu = np.exp(g)
        over_eta = -(y - (y + r) * mu / (r + mu))[:, None] / len(y)
        over_r = digamma(y + r) - digamma(r) + np.log(r) + 1 - total - (y + r) / (r + mu)
        return float(-density.mean()), over_eta, np.array([-r * over_r.mean()])

    return Family(loss, np.array([np.log(mean)]), np.array([np.log(size)]))


def exponential(times: np.ndarray, events: np.ndarray) -> Family:
    """Times to an event with a log-linear rate; targets are (time, event)."""
    rate = (events.sum() + 0.5) / times.sum()

    def loss(eta: np.ndarray, _: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        g = np.clip(eta[:, 0], -30.0, 30.0)
        risk = np.exp(g) * y[:, 0]
        return float(np.mean(risk - y[:, 1] * g)), (risk - y[:, 1])[:, None] / len(y), np.empty(0)

    return Family(loss, np.array([np.log(rate)]), np.empty(0))

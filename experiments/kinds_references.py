"""Losses of the marginal and of the regularised GLM, as the collection computes them.

A method gets a problem and a mask of entries to be predicted, and answers with their losses.
"""

import numpy as np
from scipy.special import gammaln, softmax

from .kinds_regression import (
    chosen,
    exponential,
    fitted,
    inputs,
    multinomial,
    negative_binomial,
    ordinal,
    ordinal_probabilities,
)
from .kinds_tasks import CENSORED, COUNTS, ORDINAL, TOTAL, Problem

MIXED_IN = 0.02  # of the marginal, so that no level is impossible
MOST_RATE = 2.0  # times the largest count seen
TOTAL_COMPONENTS, CENSORED_COMPONENTS = 20, 10

Mask = np.ndarray


def marginal(problem: Problem, hidden: Mask) -> np.ndarray:
    """Training frequencies, proportions, negative binomials and rates, whatever is known."""
    return _losses(problem, hidden, np.zeros((len(problem.target), 0)))


def glm(problem: Problem, hidden: Mask) -> np.ndarray:
    """Logistic (proportional odds for ordered levels), softmax, negative binomial, exponential."""
    return _losses(problem, hidden, np.hstack(list(problem.known.values())))


def _losses(problem: Problem, hidden: Mask, X: np.ndarray) -> np.ndarray:
    form = problem.task.form
    if form == TOTAL:
        return _proportions(problem, hidden[:, 0], X)
    each = {COUNTS: _counts, CENSORED: _times}.get(form, _levels)
    found = [each(problem, hidden[:, d], X, d) for d in range(problem.target.shape[1])]
    return np.concatenate(found)


def _divided(
    problem: Problem, hidden: Mask, d: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows to learn from and to answer, and the targets of both."""
    y = problem.target[:, d]
    seen = ~np.isnan(y)
    return seen & ~hidden, seen & hidden, y[seen & ~hidden], y[seen & hidden]


def _levels(problem: Problem, hidden: Mask, X: np.ndarray, d: int) -> np.ndarray:
    train, new, y, truth = _divided(problem, hidden, d)
    levels = problem.levels[d]
    code, true_code = np.searchsorted(levels, y), np.searchsorted(levels, truth)
    counts = np.bincount(code, minlength=len(levels)) + 0.5
    shares = counts / counts.sum()
    p = np.tile(shares, (len(truth), 1))
    if X.shape[1]:
        A, B = inputs(X[train], X[new])
        family = ordinal(shares) if problem.task.form == ORDINAL else multinomial(shares)
        fit = chosen(family, A, code)
        if problem.task.form == ORDINAL:
            found = ordinal_probabilities(fit(B), fit.extra)
        else:
            found = softmax(fit(B), axis=1)
        p = (1.0 - MIXED_IN) * found + MIXED_IN * shares
    return -np.log(p[np.arange(len(truth)), true_code])


def _counts(problem: Problem, hidden: Mask, X: np.ndarray, d: int) -> np.ndarray:
    train, new, y, truth = _divided(problem, hidden, d)
    family = negative_binomial(y)
    A, B = inputs(X[train], X[new]) if X.shape[1] else (X[train], X[new])
    fit = chosen(family, A, y) if X.shape[1] else fitted(family, A, y, 0.0)
    rate = np.minimum(np.exp(np.clip(fit(B)[:, 0], -30, 30)), MOST_RATE * max(y.max(), 1.0))
    r = np.exp(np.clip(fit.extra[0], -10.0, 12.0))
    return -(
        gammaln(truth + r) - gammaln(r) - gammaln(truth + 1)
        + r * np.log(r / (r + rate)) + truth * np.log(rate / (r + rate))
    )  # fmt: skip


def _times(problem: Problem, hidden: Mask, X: np.ndarray, d: int) -> np.ndarray:
    train, new, y, truth = _divided(problem, hidden, d)
    assert problem.events is not None
    events, seen = problem.events[train, d], problem.events[new, d]
    if not X.shape[1]:
        rate = np.full(len(truth), (events.sum() + 0.5) / y.sum())
    else:
        A, B = inputs(X[train], X[new], CENSORED_COMPONENTS, CENSORED_COMPONENTS)
        fit = chosen(exponential(y, events), A, np.stack([y, events], axis=1))
        rate = np.exp(np.clip(fit(B)[:, 0], -30, 30))
    return rate * truth - seen * np.log(rate)


def _proportions(problem: Problem, hidden: Mask, X: np.ndarray) -> np.ndarray:
    """Cross-entropy of every row."""
    Y = problem.target
    Y, X, hidden = (part[Y.sum(axis=1) > 0] for part in (Y, X, hidden))
    shares = Y / Y.sum(axis=1, keepdims=True)
    smoothed = shares[~hidden].mean(axis=0) + 0.5 / Y[~hidden].sum()
    smoothed /= smoothed.sum()
    p = np.tile(smoothed, (int(hidden.sum()), 1))
    if X.shape[1]:
        A, B = inputs(X[~hidden], X[hidden], TOTAL_COMPONENTS, TOTAL_COMPONENTS)
        p = softmax(chosen(multinomial(smoothed), A, shares[~hidden])(B), axis=1)
        p = (1.0 - MIXED_IN) * p + MIXED_IN * smoothed
    return -np.sum(shares[hidden] * np.log(p), axis=1)

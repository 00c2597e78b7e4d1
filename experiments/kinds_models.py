"""Losses of our models: with the likelihood that a view calls for, and as if it were Gaussian."""

import warnings
from collections.abc import Callable

import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm

from manyviews import MRD, Search
from manyviews.likelihoods import (
    Bernoulli,
    Categorical,
    Censored,
    Likelihood,
    NegativeBinomial,
    Ordinal,
)
from manyviews.variational.kind_answers import value_densities

from .kinds_tasks import BINARY, CATEGORICAL, CENSORED, COUNTS, LEVELS, ORDINAL, TOTAL, Problem

TARGET, EVENTS = "target", "events"
LEVEL = 0.9  # of intervals
LEAST_RATE = 1e-3  # of a count whose logarithm was predicted
LEAST_CHANCE = 1e-30
CHANGES = {COUNTS: np.log1p, TOTAL: np.log1p, CENSORED: np.log}
"""Scales on which a target is taken to be Gaussian, if not its own."""

Views = dict[str, np.ndarray]
Answer = tuple[np.ndarray, np.ndarray]
"""Losses, and whether values lie inside their 90 % intervals (empty where none are asked)."""


def likelihood(problem: Problem) -> Likelihood:
    """What the form of a task calls for; levels are those of all data."""
    widest = max((len(levels) for levels in problem.levels), default=2)
    levels = np.full((len(problem.levels), max(widest, 2)), np.nan)
    for row, own in zip(levels, problem.levels, strict=True):
        row[: len(own)] = own
    makers: dict[str, Callable[[], Likelihood]] = {
        BINARY: Bernoulli,
        ORDINAL: lambda: Ordinal(levels=levels),
        CATEGORICAL: lambda: Categorical(levels),
        COUNTS: NegativeBinomial,
        TOTAL: lambda: NegativeBinomial(exposure="total"),
        CENSORED: lambda: Censored(log=True, events=EVENTS),
    }
    return makers[problem.task.form]()


def ours(problem: Problem, hidden: np.ndarray, search: Search | None = None) -> Answer:
    """MRD with the right likelihood for the target; what is known is Gaussian as prepared."""
    target = problem.target
    beside = {} if problem.events is None else {EVENTS: problem.events}
    model = MRD(
        likelihood={TARGET: likelihood(problem)}, search=search, random_state=0, signal_check="off"
    )
    if problem.task.split == "entries":
        _fit(model, {**problem.known, TARGET: np.where(hidden, np.nan, target)})
        place, engine = model.view_names_.index(TARGET), model.engine_
        truth = np.where(hidden, target, np.nan)
        found = value_densities(engine.posteriors[place], engine.marginals, truth)
        return -found[~np.isnan(truth)], np.empty(0)
    train, new = ~hidden[:, 0], hidden[:, 0]
    if problem.task.form == TOTAL:  # a row without counts has no proportions
        train = train & (np.nansum(target, axis=1) > 0)
    known, asked = inputs(problem, train, new)
    views = {**known, TARGET: target[train], **{n: t[train] for n, t in beside.items()}}
    _fit(model, views, _groups(problem, train))
    truth = target[new]
    if problem.task.form == TOTAL:
        return of_proportions(truth, model.predict(asked, TARGET)), np.empty(0)
    rows = {TARGET: truth, **{name: table[new] for name, table in beside.items()}}
    density = model.predict_log_density({**asked, **rows}, TARGET)
    seen, inside = ~np.isnan(truth), np.empty(0)
    if problem.task.form == COUNTS:
        tail = 0.5 - LEVEL / 2
        low, high = model.predict_quantiles(asked, TARGET, (tail, 1.0 - tail))
        inside = ((truth >= low) & (truth <= high))[seen]
    return -density[seen], inside


def as_gaussian(problem: Problem, hidden: np.ndarray, search: Search | None = None) -> Answer:
    """MRD as if the target were Gaussian, on log1p of counts and the logarithm of times.

    Its predictive density is turned into what there is to predict: normalised over the levels,
    integrated from half below to half above a count, or over all times after a censored one.
    """
    target = problem.target
    change = CHANGES.get(problem.task.form, np.asarray)
    model = MRD(search=search, random_state=0, signal_check="off")
    if problem.task.split == "entries":
        _fit(model, {**problem.known, TARGET: np.where(hidden, np.nan, change(target))})
        mean, std = (part[TARGET] for part in model.impute(return_std=True))
        truth, events = np.where(hidden, target, np.nan), problem.events
    else:
        train, new = ~hidden[:, 0], hidden[:, 0]
        known, asked = inputs(problem, train, new)
        _fit(model, {**known, TARGET: change(target[train])}, _groups(problem, train))
        mean, std = model.predict(asked, TARGET, return_std=True)
        truth = target[new]
        events = None if problem.events is None else problem.events[new]
    return gaussian_answer(problem, truth, events, mean, std)


def gaussian_answer(
    problem: Problem,
    truth: np.ndarray,
    events: np.ndarray | None,
    mean: np.ndarray,
    std: np.ndarray,
) -> Answer:
    """Losses of Gaussian predictions on the scales of `as_gaussian`."""
    form, seen = problem.task.form, ~np.isnan(truth)
    std = np.where(seen, std, 1.0)
    if form == TOTAL:
        rates = np.maximum(np.expm1(mean + 0.5 * std**2), LEAST_RATE)
        return of_proportions(truth, rates), np.empty(0)
    if form in LEVELS:
        return _of_levels(problem, truth, mean, std)[seen], np.empty(0)
    if form == COUNTS:
        inside = np.abs(np.log1p(truth) - mean) < norm.ppf(0.5 + LEVEL / 2) * std
        return _of_counts(truth, mean, std)[seen], inside[seen]
    z = (np.log(truth) - mean) / std
    exact = -norm.logpdf(z) + np.log(std) + np.log(truth)
    return np.where(events == 1, exact, -norm.logsf(z))[seen], np.empty(0)


def inputs(problem: Problem, train: np.ndarray, new: np.ndarray) -> tuple[Views, Views]:
    """Known views of training rows and of new ones, the columns that vary in training."""
    kept = {n: np.nan_to_num(np.nanstd(t[train], axis=0)) > 0 for n, t in problem.known.items()}
    return tuple(  # type: ignore[return-value]
        {name: table[rows][:, kept[name]] for name, table in problem.known.items()}
        for rows in (train, new)
    )


def _groups(problem: Problem, train: np.ndarray) -> np.ndarray | None:
    """Those of training rows, where groups stay whole."""
    return None if problem.groups is None else problem.groups[train]


def _fit(model: MRD, views: Views, groups: np.ndarray | None = None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(views, groups=groups)


def of_proportions(counts: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Cross-entropy of every row between observed and predicted proportions."""
    there = counts.sum(axis=1) > 0
    p = rates[there] / rates[there].sum(axis=1, keepdims=True)
    shares = counts[there] / counts[there].sum(axis=1, keepdims=True)
    return -np.sum(shares * np.log(np.maximum(p, 1e-12)), axis=1)


def _of_levels(
    problem: Problem, truth: np.ndarray, mean: np.ndarray, std: np.ndarray
) -> np.ndarray:
    """A Gaussian density at the true level, over its sum over all levels."""
    loss = np.empty_like(truth)
    for d, levels in enumerate(problem.levels):
        every = norm.logpdf(levels[:, None], mean[:, d], std[:, d])
        loss[:, d] = logsumexp(every, axis=0) - norm.logpdf(truth[:, d], mean[:, d], std[:, d])
    return loss


def _of_counts(truth: np.ndarray, mean: np.ndarray, std: np.ndarray) -> np.ndarray:
    """What a Gaussian of log(1 + count) has from half below to half above a count."""
    low = np.where(truth > 0, np.log1p(np.maximum(truth, 1.0) - 0.5), -np.inf)
    a, b = (low - mean) / std, (np.log1p(truth + 0.5) - mean) / std
    a, b = np.where(a > 0, -b, a), np.where(a > 0, -a, b)  # the tail that is known better
    return -np.log(np.maximum(norm.cdf(b) - norm.cdf(a), LEAST_CHANCE))

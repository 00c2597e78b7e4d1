"""Losses of MOFA+ (mofapy2), which knows Gaussian, Bernoulli and Poisson views, and of MOFA-FLEX.

Yes or no is Bernoulli, categories are Bernoulli indicators whose probabilities are normalised, all
counts are Poisson with the rate log(1 + e^f); levels and the logarithms of times are Gaussian, as
in `kinds_models.as_gaussian`. The target's entries that are asked for are missing in one fit of all
rows, which so sees the other views of test rows. Functions are mixtures over MOFA's variational
posterior. Its own ``impute`` rounds, and leaves out the mean of views that are not Gaussian: here
the intercept of every column is the most likely one on the entries that the fit has seen.

MOFA-FLEX has negative binomial counts of the rate max(0, f) times the mean of the row, which is not
known of a row without the view: it answers for proportions, and not for counts themselves.
"""

import subprocess
import tempfile
from pathlib import Path

import numpy as np
from benchmarks.peers import ROOT, PeerError, interpreter
from scipy.optimize import minimize_scalar
from scipy.special import expit
from scipy.stats import poisson

from manyviews.likelihoods.quadrature import hermite

from .kinds_models import CHANGES, LEVEL, Answer, gaussian_answer, of_proportions
from .kinds_tasks import BINARY, CATEGORICAL, COUNTS, TOTAL, Problem

N_COMPONENTS = 10
NODES = 32  # of a function, for the averages over its posterior
FAR = 20.0  # an intercept at most
LEAST_RATE = 1e-4  # as in MOFA
WORKER_LIMIT = 600.0  # seconds
FLEX = "mofaflex"
KINDS = {BINARY: "bernoulli", CATEGORICAL: "bernoulli", COUNTS: "poisson", TOTAL: "poisson"}


def mofa(problem: Problem, hidden: np.ndarray, library: str = "mofa") -> Answer:
    """The losses of the hidden entries, and whether counts lie inside their intervals."""
    form, target = problem.task.form, problem.target
    if library == FLEX and form == COUNTS:
        raise PeerError("rates are relative to means of rows, which are not known")
    kind = KINDS.get(form, "gaussian")
    truth = np.where(hidden, target, np.nan)
    shown = _shown(problem, np.where(hidden, np.nan, target))
    if form == TOTAL:  # a row without counts has no proportions
        shown = np.where(np.nansum(shown, axis=1, keepdims=True) > 0, shown, np.nan)
    if kind == "gaussian":
        centre, spread = np.nanmean(shown, axis=0), np.nanstd(shown, axis=0)
        spread = np.where(spread > 0, spread, 1.0)
        mean, variance, noise = _asked(problem, (shown - centre) / spread, kind, library)
        mean, std = centre + spread * mean, spread * np.sqrt(variance + noise)
        return gaussian_answer(problem, truth, problem.events, mean, std)
    if library == FLEX and form == TOTAL:
        mean, variance, _ = _asked(problem, shown, "negative_binomial", library)
        points, weights = hermite(NODES)
        rate = np.maximum(mean + np.sqrt(variance) * points[:, None, None], LEAST_RATE)
        asked = hidden[:, 0]
        return of_proportions(truth[asked], np.tensordot(weights, rate, axes=1)[asked]), np.empty(0)
    mean, variance, _ = _asked(problem, shown, kind, library)
    mean = mean + _intercepts(shown, mean, kind)
    points, weights = hermite(NODES)
    f = mean + np.sqrt(variance) * points[:, None, None]
    if kind == "bernoulli":
        found = np.tensordot(weights, expit(f), axes=1)
        return _of_levels(problem, truth, found), np.empty(0)
    rate = _rate(f)
    if form == TOTAL:
        asked = hidden[:, 0]
        return of_proportions(truth[asked], np.tensordot(weights, rate, axes=1)[asked]), np.empty(0)
    seen = ~np.isnan(truth)
    y = np.where(seen, truth, 0.0)
    density = np.tensordot(weights, poisson.pmf(y, rate), axes=1)
    below, upto = (np.tensordot(weights, poisson.cdf(c, rate), axes=1) for c in (y - 1, y))
    tail = 0.5 - LEVEL / 2
    inside = (upto >= tail) & (below < 1.0 - tail)
    return -np.log(np.maximum(density, np.finfo(float).tiny))[seen], inside[seen]


def _shown(problem: Problem, target: np.ndarray) -> np.ndarray:
    """What the fit sees of the target: codes, indicators of levels, counts, or a Gaussian scale."""
    form = problem.task.form
    if form not in {BINARY, CATEGORICAL}:
        return target if form in KINDS else CHANGES.get(form, np.asarray)(target)
    kept = (levels[1:] if form == BINARY else levels for levels in problem.levels)
    columns = [
        np.where(np.isnan(column), np.nan, column == level)
        for column, levels in zip(target.T, kept, strict=True)
        for level in levels
    ]
    return np.stack(columns, axis=1).astype(float)


def _of_levels(problem: Problem, truth: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Minus the logarithm of the true level's probability, that of the columns normalised."""
    losses, begin = [], 0
    for column, levels in zip(truth.T, problem.levels, strict=True):
        if problem.task.form == BINARY:
            p = np.stack([1.0 - found[:, begin], found[:, begin]], axis=1)
            begin += 1
        else:
            p = found[:, begin : begin + len(levels)]
            begin += len(levels)
        seen = ~np.isnan(column)
        p = p[seen] / p[seen].sum(axis=1, keepdims=True)
        chosen = p[np.arange(len(p)), np.searchsorted(levels, column[seen])]
        losses.append(-np.log(np.maximum(chosen, np.finfo(float).tiny)))
    return np.concatenate(losses)


def _rate(f: np.ndarray) -> np.ndarray:
    return np.logaddexp(0.0, f) + LEAST_RATE


def _intercepts(shown: np.ndarray, mean: np.ndarray, kind: str) -> np.ndarray:
    """The most likely intercept of every column, its functions at their means."""
    found = []
    for y, f in zip(shown.T, mean.T, strict=True):
        y, f = y[~np.isnan(y)], f[~np.isnan(y)]
        far = FAR if kind == "bernoulli" else FAR + y.max(initial=0.0)

        def loss(b: float, y: np.ndarray = y, f: np.ndarray = f) -> float:
            if kind == "bernoulli":
                return float(np.sum(np.logaddexp(0.0, f + b) - y * (f + b)))
            rate = _rate(f + b)
            return float(np.sum(rate - y * np.log(rate)))

        found.append(minimize_scalar(loss, bounds=(-far, far), method="bounded").x)
    return np.array(found)


def _asked(
    problem: Problem, target: np.ndarray, kind: str, library: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean and variance of the target's functions, and the variance of Gaussian noise."""
    views = [_scaled(table) for table in problem.known.values()]
    width = sum(view.shape[1] for view in views) + target.shape[1]
    python = interpreter(library)
    with tempfile.TemporaryDirectory(prefix="manyviews-mofa-") as folder:
        given, answered = Path(folder) / "problem.npz", Path(folder) / "answer.npz"
        np.savez(
            given, **{f"view_{k}": view for k, view in enumerate([*views, target])},
            likelihoods=np.array(["gaussian"] * len(views) + [kind]), target=len(views),
            n_components=min(N_COMPONENTS, len(target) - 1, width), seed=0,
        )  # fmt: skip
        worker = f"experiments.workers.{library}_kinds"
        command = [python, "-m", worker, str(given), str(answered)]
        try:
            done = subprocess.run(
                command, cwd=ROOT, capture_output=True, text=True, timeout=WORKER_LIMIT
            )
        except subprocess.TimeoutExpired:
            raise PeerError(f"took more than {WORKER_LIMIT:.0f} s") from None
        if done.returncode or not answered.exists():
            lines = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
            raise PeerError(f"failed: {lines[-1][:120]}")
        with np.load(answered) as file:
            return file["mean"], file["variance"], file["noise"]


def _scaled(table: np.ndarray) -> np.ndarray:
    """A view without columns that do not vary, of unit variance in all."""
    kept = table[:, np.nan_to_num(np.nanstd(table, axis=0)) > 0]
    return kept / np.nanstd(kept - np.nanmean(kept, axis=0))

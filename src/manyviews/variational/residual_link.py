"""A direct link from known views to a wanted one, and calibrated intervals.

A latent space of few dimensions carries what moves several views most. Known views may say more
about a wanted one, and a latent posterior that is too certain makes intervals too narrow. Both
show in predictions of training rows that the model is made to forget
(`manyviews.variational.without_rows.keeping_rows`), and both are corrected from them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from .._runtime import single_threaded_blas
from ..fitted import Positions, Tables
from ..fitted.adjustment import Adjustment
from ..fitted.cross_view import known_places
from ..mappings.observations import split_table
from ..mappings.stochastic_posterior import StochasticPosterior
from .engine import VariationalEngine
from .kind_answers import function_moments
from .kind_link import KindLink
from .link_features import LinkFeatures
from .taught import Linked
from .without_rows import keeping_rows, some_views

FOLDS = 5
LEAST_ROWS, MOST_ROWS = 10, 2000  # that a link is learnt from
PENALTIES = (*np.logspace(-4, 4, 17).tolist(), np.inf)  # relative to the power of the features
SHAPES = (0.0, 0.5, 1.0)
PSEUDO_VALUES = 5.0  # by which the width of a column leans on that of all columns
OPTIMISM = 4.0  # few errors of chosen regressions are too small, their squares by 1 + 4/N
MEMORY = 10.0  # and those of a latent model that has known the rows by another 1 + 10 s/N
EXACT = 1e-12  # least mean square of errors, in variances of the columns
REACH = 0.5  # standard deviations that latent means may go beyond the values of a column


@dataclass(frozen=True)
class ResidualLink:
    """E[y_d] = s m_d(x*) + b_d + w_d·φ(a),   var[y_d] = c_d (v_d(x*) / v̄_d)^p.

    m and v are the latent model's mean and variance, the mean kept within reach of the values that
    the column has in training rows; φ are features of the known Gaussian views' values a, straight
    or curved (`LinkFeatures`). Ridge regression of y - s m on φ(a) gives w and b; the features, the
    penalty and the share s ∈ [0, 1] minimise the squared leave-one-out errors, times 1 + 10 s/N,
    since kernels and noise of the latent model have known the rows. c_d is the mean square of the
    errors, times this and 1 + 4/N, and the power p ∈ {0, ½, 1} is the one under which they are
    likeliest. With an infinite penalty and s = 1 the latent model stands as it is.

    Attributes
    ----------
    features : LinkFeatures
        φ.
    share : float
        s.
    penalty : float
    coefficients : ndarray of shape (n_features, n_columns)
    intercept : ndarray of shape (n_columns,)
    low, high : ndarray of shape (n_columns,)
        Limits of m.
    shape : float
        p.
    widths, typical : ndarray of shape (n_columns,)
        c_d, and v̄_d, the geometric mean of v_d over training rows.
    """

    features: LinkFeatures
    share: float
    penalty: float
    coefficients: Float[np.ndarray, "F D"]
    intercept: Float[np.ndarray, " D"]
    low: Float[np.ndarray, " D"]
    high: Float[np.ndarray, " D"]
    shape: float
    widths: Float[np.ndarray, " D"]
    typical: Float[np.ndarray, " D"]

    @classmethod
    def fit(
        cls,
        inputs: Float[np.ndarray, "N P"],
        Y: Float[np.ndarray, "N D"],
        mean: Float[np.ndarray, "N D"],
        variance: Float[np.ndarray, "N D"],
    ) -> "ResidualLink":
        """Learn from rows that were forgotten: their values (NaN: missing) and their moments."""
        seen = ~np.isnan(Y)
        low, high = _limits(Y)
        mean = np.clip(mean, low, high)
        filled = np.where(seen, Y, mean)
        y, m = filled - filled.mean(axis=0), mean - mean.mean(axis=0)
        candidates = [_Regression(each, inputs) for each in LinkFeatures.candidates(inputs)]
        found, regression = min(
            ((each.best(y, m, seen), each) for each in candidates), key=lambda pair: pair[0].error
        )
        coefficients = regression.coefficients(y - found.share * m, found.penalty)
        errors = np.where(seen, found.errors, np.nan)
        typical = np.exp(np.mean(np.log(variance), axis=0))
        relative = variance / typical
        widths = {shape: _mean_squares(errors, relative**shape) for shape in SHAPES}
        density = {
            shape: _log_density(errors, wide * relative**shape) for shape, wide in widths.items()
        }
        shape = max(SHAPES, key=lambda p: density[p])
        start = filled.mean(axis=0) - found.share * mean.mean(axis=0)
        return cls(
            features=regression.features,
            share=found.share,
            penalty=found.penalty,
            coefficients=coefficients,
            intercept=start - regression.centre @ coefficients,
            low=low,
            high=high,
            shape=shape,
            widths=widths[shape] * (1.0 + OPTIMISM / len(Y)) * _memory(found.share, len(Y)),
            typical=typical,
        )

    def adjustment(
        self,
        inputs: Float[np.ndarray, "N P"],
        mean: Float[np.ndarray, "N D"],
        variance: Float[np.ndarray, "N D"],
    ) -> Adjustment:
        """What becomes of the latent model's answers about new rows."""
        latent = self.share * np.clip(mean, self.low, self.high)
        centre = self.intercept + latent + self.features(inputs) @ self.coefficients
        wide = self.widths * (variance / self.typical) ** self.shape
        return Adjustment(mean, centre, np.sqrt(wide / variance))


class _LeftOut(NamedTuple):
    error: float
    penalty: float
    share: float
    errors: Float[np.ndarray, "N D"]


class _Regression:
    """Ridge regressions on some features, for all penalties, by one decomposition ΦΦᵀ = US²Uᵀ."""

    def __init__(self, features: LinkFeatures, inputs: Float[np.ndarray, "N P"]):
        self.features = features
        table = features(inputs)
        self.centre = table.mean(axis=0)
        self.table = table - self.centre
        if self.table.shape[1] < len(table):
            self.U, self.s, _ = np.linalg.svd(self.table, full_matrices=False)
        else:  # the same, in a fraction of the time
            squares, self.U = np.linalg.eigh(self.table @ self.table.T)
            self.s = np.sqrt(np.maximum(squares, 0.0))

    def best(
        self,
        y: Float[np.ndarray, "N D"],
        m: Float[np.ndarray, "N D"],
        seen: Bool[np.ndarray, "N D"],
    ) -> _LeftOut:
        """The penalty of the smallest leave-one-out errors."""
        power = float(np.sum(self.s**2)) / len(y)
        tried = (_left_out(self.U, self.s, y, m, seen, p * power) for p in PENALTIES if power)
        nothing = _left_out(self.U, self.s, y, m, seen, np.inf)
        return min((nothing, *tried), key=lambda found: found.error)

    def coefficients(
        self, target: Float[np.ndarray, "N D"], penalty: float
    ) -> Float[np.ndarray, "F D"]:
        """Φᵀ U (S² + penalty)⁻¹ Uᵀ target."""
        return self.table.T @ (self.U @ ((self.U.T @ target) / (self.s**2 + penalty)[:, None]))


def _limits(Y: Float[np.ndarray, "N D"]) -> tuple[np.ndarray, np.ndarray]:
    """How far latent means may go: the range of every column, and a little beyond."""
    values = np.where(np.isnan(Y).all(axis=0), 0.0, Y)
    beyond = REACH * np.nanstd(values, axis=0)
    return np.nanmin(values, axis=0) - beyond, np.nanmax(values, axis=0) + beyond


def _left_out(
    U: Float[np.ndarray, "N R"],
    s: Float[np.ndarray, " R"],
    y: Float[np.ndarray, "N D"],
    m: Float[np.ndarray, "N D"],
    seen: Bool[np.ndarray, "N D"],
    penalty: float,
) -> _LeftOut:
    """Leave-one-out errors of ridge regression, e_n = (y - Hy)_n / (1 - h_n), at the better share.

    They are linear in what is regressed, so those of y - s m are e(y) - s e(m). The share is the
    best one for them, or zero if that is better once it is counted what the latent model knew.
    """
    kept = np.zeros_like(s) if np.isinf(penalty) else s**2 / (s**2 + penalty)
    leverage = (U**2) @ kept + 1.0 / len(U)
    of_y, of_m = (
        (z - (U * kept) @ (U.T @ z)) / np.maximum(1.0 - leverage, 1e-6)[:, None] for z in (y, m)
    )
    power = float(np.sum(of_m[seen] ** 2))
    best = float(np.clip(np.sum((of_y * of_m)[seen]) / power, 0.0, 1.0)) if power > 0.0 else 0.0
    tried = []
    for share in (0.0, best):
        errors = of_y - share * of_m
        error = float(np.mean(errors[seen] ** 2)) * _memory(share, len(y))
        tried.append(_LeftOut(error, penalty, share, errors))
    return min(tried, key=lambda found: found.error)


def _memory(share: float, n_rows: int) -> float:
    """What squared errors are to be multiplied by, for the latent model has known the rows."""
    return 1.0 + MEMORY * share / n_rows


def _mean_squares(
    errors: Float[np.ndarray, "N D"], relative: Float[np.ndarray, "N D"]
) -> Float[np.ndarray, " D"]:
    """Mean squares of errors by column, relative to a profile, leaning on all columns."""
    seen = ~np.isnan(errors)
    squares = np.where(seen, np.nan_to_num(errors) ** 2 / relative, 0.0).sum(axis=0)
    counts = seen.sum(axis=0)
    overall = max(squares.sum() / counts.sum(), EXACT)
    return (squares + PSEUDO_VALUES * overall) / (counts + PSEUDO_VALUES)


def _log_density(errors: Float[np.ndarray, "N D"], wide: Float[np.ndarray, "N D"]) -> float:
    return float(-0.5 * np.nanmean(errors**2 / wide + np.log(wide)))


# ---------------------------------------------------------------------- of a fitted model


def adjusted(
    engine: VariationalEngine,
    view: int,
    rows: Tables,
    q: Positions,
    wanted: Sequence[int],
    how: Mapping[str, Any],
) -> Adjustment | None:
    """The correction of a view's moments at the positions of new rows.

    None where there is nothing to learn one from, where the view is not Gaussian (see `linked()`),
    or where some of its values are known: these say more than a link from other views.
    """
    link = _link(engine, view, rows, wanted, how)
    if not isinstance(link, ResidualLink):
        return None
    mean, variance = q.mix(*engine.moments(view, q, "variance"))
    assert variance is not None
    return link.adjustment(link_inputs(engine, rows, known_places(rows), q), mean, variance)


def linked(
    engine: VariationalEngine,
    rows: Tables,
    q: Positions,
    wanted: Sequence[int],
    how: Mapping[str, Any],
) -> Positions:
    """Positions of new rows where functions of the views that are not Gaussian are corrected."""
    posteriors = list(engine.posteriors)
    for view in wanted:
        posterior = posteriors[view]
        if not isinstance(posterior, StochasticPosterior):
            continue
        link = _link(engine, view, rows, wanted, how)
        if isinstance(link, KindLink):
            inputs = link_inputs(engine, rows, known_places(rows), q)
            found = link.correction(inputs)
            posteriors[view] = posterior.corrected(found, link.likelihood())
    if all(new is old for new, old in zip(posteriors, engine.posteriors, strict=True)):
        return q
    return Linked.by(q, tuple(posteriors))


def _link(
    engine: VariationalEngine,
    view: int,
    rows: Tables,
    wanted: Sequence[int],
    how: Mapping[str, Any],
) -> ResidualLink | KindLink | None:
    """The link for a question, learnt when it is first asked."""
    known = tuple(known_places(rows))
    if view in known or not known:
        return None
    question = (known, tuple(wanted), tuple(sorted((k, repr(v)) for k, v in how.items())))
    if question not in engine.links:
        with single_threaded_blas():
            engine.links[question] = learn_links(engine, known, wanted, how)
    return engine.links[question].get(view)  # type: ignore[no-any-return]


def learn_links(
    engine: VariationalEngine, known: tuple[int, ...], wanted: Sequence[int], how: Mapping[str, Any]
) -> dict[int, ResidualLink | KindLink]:
    """One link for every wanted view, from training rows predicted by a model without them."""
    informed = _any_value(engine, known)
    usable = np.flatnonzero(informed & _any_value(engine, wanted))
    if len(usable) < LEAST_ROWS:
        return {}
    order = np.random.default_rng(0).permutation(usable)[:MOST_ROWS]
    size = -(-len(order) // FOLDS)
    inputs, moments = [], []
    for first in range(0, len(order), size):
        out = order[first : first + size]
        fold = keeping_rows(engine, np.setdiff1d(np.arange(len(informed)), out))
        rows = some_views([table[out] for table in engine.data], known)
        q = fold.infer(rows, None, wanted, **how)
        inputs.append(link_inputs(fold, rows, known, q))
        moments.append([_moments(fold, view, q) for view in wanted])
    links: dict[int, ResidualLink | KindLink] = {}
    for place, view in enumerate(wanted):
        posterior, given = engine.posteriors[view], None
        Y = engine.data[view][order]
        if isinstance(posterior, StochasticPosterior):
            Y, given = split_table(Y, posterior.likelihood)
        mean = np.concatenate([found[place][0] for found in moments])
        variance = np.concatenate([found[place][1] for found in moments])
        there = ~np.isnan(Y).all(axis=1)
        if there.sum() < LEAST_ROWS:
            continue
        parts = np.concatenate(inputs)[there], Y[there]
        if isinstance(posterior, StochasticPosterior):
            links[view] = KindLink.fit(
                *parts, None if given is None else given[there], mean[there], variance[there],
                posterior.likelihood,
            )  # fmt: skip
        else:
            links[view] = ResidualLink.fit(*parts, mean[there], variance[there])
    return links


def _moments(engine: VariationalEngine, view: int, q: Positions) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of a view's values, or of its functions if it is not Gaussian."""
    posterior = engine.posteriors[view]
    if not isinstance(posterior, StochasticPosterior):
        mean, variance = q.mix(*engine.moments(view, q, "variance"))
        assert variance is not None
        return mean, variance
    shape = posterior.offset.shape
    parts = function_moments(posterior, engine.seen(view, q))
    mean, variance = q.mix(*(part.reshape(len(part), -1) for part in parts))
    assert variance is not None
    return mean.reshape(-1, *shape), variance.reshape(-1, *shape)


def link_inputs(
    engine: VariationalEngine, rows: Tables, known: Sequence[int], q: Positions
) -> Float[np.ndarray, "N P"]:
    """The known Gaussian views side by side; missing values are what the model expects there."""
    filled = [np.empty((len(rows[0]), 0))]
    for view in known:
        if isinstance(engine.posteriors[view], StochasticPosterior):
            continue
        table, missing = rows[view], np.isnan(rows[view])
        if missing.any():
            table = np.where(missing, q.mix(engine.moments(view, q)[0])[0], table)
        filled.append(table)
    return np.concatenate(filled, axis=1)


def _any_value(engine: VariationalEngine, views: Sequence[int]) -> Bool[np.ndarray, " N"]:
    return np.any([~np.isnan(engine.data[view]).all(axis=1) for view in views], axis=0)

"""A direct link from known views to a wanted one, and calibrated intervals.

A latent space of few dimensions carries what moves several views most. Known views may say more
about a wanted one, and a latent posterior that is too certain makes intervals too narrow. Both
show in predictions of training rows that the model is made to forget
(`manyviews.variational.without_rows.keeping_rows`), and both are corrected from them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from .._runtime import single_threaded_blas
from ..fitted import Positions, Tables
from ..fitted.adjustment import Adjustment
from ..fitted.cross_view import known_places
from ..mappings.observations import split_table
from ..mappings.stochastic_posterior import StochasticPosterior
from .engine import VariationalEngine
from .kind_answers import function_moments
from .kind_link import KindLink
from .link_blend import LinkBlend
from .link_features import LinkFeatures
from .link_regression import members_of
from .mixed_link import MixedLink, link_to_kinds
from .taught import Linked
from .widths import Widths, memory, optimism
from .without_rows import keeping_rows, some_views

FOLDS = 5
LEAST_ROWS, MOST_ROWS = 10, 2000  # that a link is learnt from
REACH = 0.5  # standard deviations that means may go beyond the values of a column


@dataclass(frozen=True)
class ResidualLink:
    """E[y_d] = s m_d(x*) + b_d + w_d·φ(a),   var[y_d] = c_d (v_d(x*) / v̄_d)^p.

    m and v are the latent model's mean and variance; m and E[y_d] are kept within reach of the
    values that the column has in training rows; φ are features of the known Gaussian views' values
    a, straight and curved (`LinkFeatures`). Two ridge regressions of y - s m, one on the straight
    features and one on all, give w and b, the second with the weight ω that its leave-one-out
    errors call for (`LinkBlend`). Each is the mean of two, with one penalty, and with one for every
    principal component of what is regressed; the penalties, and whether there is a share
    s ∈ (0, 1] of the latent answer, minimise leave-one-out errors, the first of them and s the mean
    over rows of their root mean squares, these times 1 + 10 s/N, since kernels and noise of the
    latent model have known the rows.
    c_d is the mean square of the errors, times this and 1 + 4/N, and the power
    p ∈ {0, ½, 1} is the one under which they are likeliest. With infinite penalties and s = 1 the
    latent model stands as it is. Where rows come in groups, whole groups are left out in the place
    of rows, and N is the number of groups.

    Attributes
    ----------
    features : LinkFeatures
        φ.
    trust : float
        ω.
    share : float
        s.
    coefficients : ndarray of shape (n_features, n_columns)
    intercept : ndarray of shape (n_columns,)
    low, high : ndarray of shape (n_columns,)
        Limits of m and E[y].
    widths : Widths
        c, v̄ and p.
    """

    features: LinkFeatures
    trust: float
    share: float
    coefficients: Float[np.ndarray, "F D"]
    intercept: Float[np.ndarray, " D"]
    low: Float[np.ndarray, " D"]
    high: Float[np.ndarray, " D"]
    widths: Widths

    @classmethod
    def fit(
        cls,
        inputs: Float[np.ndarray, "N P"],
        Y: Float[np.ndarray, "N D"],
        mean: Float[np.ndarray, "N D"],
        variance: Float[np.ndarray, "N D"],
        groups: Int[np.ndarray, " N"] | None = None,
    ) -> "ResidualLink":
        """Learn from rows that were forgotten: their values (NaN: missing) and their moments."""
        seen, together = ~np.isnan(Y), members_of(groups)
        n_units = len(Y) if together is None else len(together)
        low, high = _limits(Y)
        mean = np.clip(mean, low, high)
        filled = np.where(seen, Y, mean)
        y, m = filled - filled.mean(axis=0), mean - mean.mean(axis=0)
        found = LinkBlend.fit(inputs, y, m, seen, together)
        errors = np.where(seen, found.errors, np.nan)
        factor = optimism(n_units) * memory(found.share, n_units)
        start = filled.mean(axis=0) - found.share * mean.mean(axis=0)
        return cls(
            features=found.features,
            trust=found.trust,
            share=found.share,
            coefficients=found.coefficients,
            intercept=start - found.centre @ found.coefficients,
            low=low,
            high=high,
            widths=Widths.fit(errors, variance, factor),
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
        centre = np.clip(centre, self.low, self.high)
        return Adjustment(mean, centre, lambda: np.sqrt(self.widths(variance) / variance))


def _limits(Y: Float[np.ndarray, "N D"]) -> tuple[np.ndarray, np.ndarray]:
    """How far means may go: the range of every column, and a little beyond."""
    values = np.where(np.isnan(Y).all(axis=0), 0.0, Y)
    beyond = REACH * np.nanstd(values, axis=0)
    return np.nanmin(values, axis=0) - beyond, np.nanmax(values, axis=0) + beyond


# ---------------------------------------------------------------------- of a fitted model

Link = ResidualLink | KindLink | MixedLink


def adjusted(
    engine: VariationalEngine,
    view: int,
    rows: Tables,
    q: Positions,
    wanted: Sequence[int],
    how: Mapping[str, Any],
    groups: Int[np.ndarray, " T"] | None = None,
) -> Adjustment | None:
    """The correction of a view's moments at the positions of new rows.

    None where there is nothing to learn one from, where the view is not Gaussian (see `linked()`),
    or where some of its values are known: these say more than a link from other views.
    """
    link = _link(engine, view, rows, wanted, how, groups)
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
    groups: Int[np.ndarray, " T"] | None = None,
) -> Positions:
    """Positions of new rows where functions of the views that are not Gaussian are corrected."""
    posteriors = list(engine.posteriors)
    for view in wanted:
        posterior = posteriors[view]
        if not isinstance(posterior, StochasticPosterior):
            continue
        link = _link(engine, view, rows, wanted, how, groups)
        if isinstance(link, KindLink | MixedLink):
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
    groups: Int[np.ndarray, " T"] | None,
) -> Link | None:
    """The link for a question, learnt when it is first asked."""
    known = tuple(known_places(rows))
    if view in known or not known:
        return None
    question = (known, tuple(wanted), tuple(sorted((k, repr(v)) for k, v in how.items())))
    if question not in engine.links:
        with single_threaded_blas():
            engine.links[question] = learn_links(engine, known, wanted, how, groups)
    return engine.links[question].get(view)  # type: ignore[no-any-return]


def learn_links(
    engine: VariationalEngine,
    known: tuple[int, ...],
    wanted: Sequence[int],
    how: Mapping[str, Any],
    groups: Int[np.ndarray, " T"] | None = None,
) -> dict[int, Link]:
    """One link for every wanted view, from training rows predicted by a model without them.

    Rows of one group are left out together. There is none where all rows that can tell are of one.
    """
    informed = _any_value(engine, known)
    usable = np.flatnonzero(informed & _any_value(engine, wanted))
    if len(usable) < LEAST_ROWS or (groups is not None and np.ptp(groups[usable]) == 0):
        return {}
    folds = _folds(usable, groups)
    order = np.concatenate(folds)
    inputs, moments = [], []
    for out in folds:
        fold = keeping_rows(engine, np.setdiff1d(np.arange(len(informed)), out))
        rows = some_views([table[out] for table in engine.data], known)
        q = fold.infer(rows, None, wanted, **how)
        inputs.append(link_inputs(fold, rows, known, q))
        moments.append([_moments(fold, view, q) for view in wanted])
    links: dict[int, Link] = {}
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
        own = None if groups is None else groups[order[there]]
        if isinstance(posterior, StochasticPosterior):
            links[view] = link_to_kinds(
                *parts, None if given is None else given[there], mean[there], variance[there],
                posterior.likelihood, own,
            )  # fmt: skip
        else:
            links[view] = ResidualLink.fit(*parts, mean[there], variance[there], own)
    return links


def _folds(
    rows: Int[np.ndarray, " n"], groups: Int[np.ndarray, " N"] | None
) -> list[Int[np.ndarray, " _"]]:
    """Rows, at most two thousand, in five parts that leave groups whole."""
    order = np.random.default_rng(0).permutation(rows)[:MOST_ROWS]
    if groups is None:
        size = -(-len(order) // FOLDS)
        return [order[first : first + size] for first in range(0, len(order), size)]
    from sklearn.model_selection import GroupKFold  # slow to import

    own = groups[order]
    parts = GroupKFold(min(FOLDS, len(np.unique(own))), shuffle=True, random_state=0)
    return [order[out] for _, out in parts.split(order, groups=own)]


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

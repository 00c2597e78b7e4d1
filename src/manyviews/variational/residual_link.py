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

from ..fitted import Positions, Tables
from ..fitted.adjustment import Adjustment
from ..fitted.cross_view import known_places
from ..mappings.stochastic_posterior import StochasticPosterior
from .engine import VariationalEngine
from .without_rows import keeping_rows, some_views

FOLDS = 5
LEAST_ROWS, MOST_ROWS = 10, 2000  # that a link is learnt from
PENALTIES = (*np.logspace(-1, 6, 15).tolist(), np.inf)
SHAPES = (0.0, 0.5, 1.0)
PSEUDO_VALUES = 5.0  # by which the width of a column leans on that of all columns


@dataclass(frozen=True)
class ResidualLink:
    """E[y_d] = s m_d(x*) + b_d + wᵈ·a,   var[y_d] = c_d (v_d(x*) / v̄_d)^p.

    m and v are the latent model's mean and variance, a the standardised values of the known
    Gaussian views.
    Ridge regression of y - s m on a gives w and b; its penalty and the share s ∈ [0, 1] minimise
    the squared leave-one-out errors, c_d is their mean square, and the power p ∈ {0, ½, 1} is the
    one under which they are likeliest. With an infinite penalty and s = 1 the latent model
    stands as it is.

    Attributes
    ----------
    share : float
        s.
    penalty : float
    centre, scale : ndarray of shape (n_inputs,)
        a = (inputs - centre) / scale.
    coefficients : ndarray of shape (n_inputs, n_columns)
    intercept : ndarray of shape (n_columns,)
    shape : float
        p.
    widths, typical : ndarray of shape (n_columns,)
        c_d, and v̄_d, the geometric mean of v_d over training rows.
    """

    share: float
    penalty: float
    centre: Float[np.ndarray, " P"]
    scale: Float[np.ndarray, " P"]
    coefficients: Float[np.ndarray, "P D"]
    intercept: Float[np.ndarray, " D"]
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
        centre, scale = inputs.mean(axis=0), inputs.std(axis=0)
        scale = np.where(scale > 1e-9, scale, 1.0)
        U, s, Vt = np.linalg.svd((inputs - centre) / scale, full_matrices=False)
        filled = np.where(seen, Y, mean)
        y, m = filled - filled.mean(axis=0), mean - mean.mean(axis=0)
        found = min((_left_out(U, s, y, m, seen, p) for p in PENALTIES), key=lambda f: f.error)
        target = y - found.share * m
        shrunk = np.zeros_like(s) if np.isinf(found.penalty) else s / (s**2 + found.penalty)
        errors = np.where(seen, found.errors, np.nan)
        typical = np.exp(np.mean(np.log(variance), axis=0))
        relative = variance / typical
        widths = {shape: _mean_squares(errors, relative**shape) for shape in SHAPES}
        density = {
            shape: _log_density(errors, wide * relative**shape) for shape, wide in widths.items()
        }
        shape = max(SHAPES, key=lambda p: density[p])
        return cls(
            share=found.share,
            penalty=found.penalty,
            centre=centre,
            scale=scale,
            coefficients=Vt.T @ (shrunk[:, None] * (U.T @ target)),
            intercept=filled.mean(axis=0) - found.share * mean.mean(axis=0),
            shape=shape,
            widths=widths[shape],
            typical=typical,
        )

    def adjustment(
        self,
        inputs: Float[np.ndarray, "N P"],
        mean: Float[np.ndarray, "N D"],
        variance: Float[np.ndarray, "N D"],
    ) -> Adjustment:
        """What becomes of the latent model's answers about new rows."""
        direct = (inputs - self.centre) / self.scale @ self.coefficients
        wide = self.widths * (variance / self.typical) ** self.shape
        return Adjustment(
            mean, self.intercept + self.share * mean + direct, np.sqrt(wide / variance)
        )


class _LeftOut(NamedTuple):
    error: float
    penalty: float
    share: float
    errors: Float[np.ndarray, "N D"]


def _left_out(
    U: Float[np.ndarray, "N R"],
    s: Float[np.ndarray, " R"],
    y: Float[np.ndarray, "N D"],
    m: Float[np.ndarray, "N D"],
    seen: Bool[np.ndarray, "N D"],
    penalty: float,
) -> _LeftOut:
    """Leave-one-out errors of ridge regression at the best share, e_n = (y - Hy)_n / (1 - h_n).

    They are linear in what is regressed, so those of y - s m are e(y) - s e(m).
    """
    kept = np.zeros_like(s) if np.isinf(penalty) else s**2 / (s**2 + penalty)
    leverage = (U**2) @ kept + 1.0 / len(U)
    of_y, of_m = (
        (z - (U * kept) @ (U.T @ z)) / np.maximum(1.0 - leverage, 1e-6)[:, None] for z in (y, m)
    )
    power = float(np.sum(of_m[seen] ** 2))
    share = float(np.clip(np.sum((of_y * of_m)[seen]) / power, 0.0, 1.0)) if power > 0.0 else 0.0
    errors = of_y - share * of_m
    return _LeftOut(float(np.mean(errors[seen] ** 2)), penalty, share, errors)


def _mean_squares(
    errors: Float[np.ndarray, "N D"], relative: Float[np.ndarray, "N D"]
) -> Float[np.ndarray, " D"]:
    """Mean squares of errors by column, relative to a profile, leaning on all columns."""
    seen = ~np.isnan(errors)
    squares = np.where(seen, np.nan_to_num(errors) ** 2 / relative, 0.0).sum(axis=0)
    counts = seen.sum(axis=0)
    overall = squares.sum() / counts.sum()
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

    None where there is nothing to learn one from, where the view is not Gaussian, or where some of
    its values are known: these say more than a link from other views.
    """
    known = tuple(known_places(rows))
    if view in known or not known or isinstance(engine.posteriors[view], StochasticPosterior):
        return None
    question = (known, tuple(wanted), tuple(sorted((k, repr(v)) for k, v in how.items())))
    if question not in engine.links:
        engine.links[question] = learn_links(engine, known, wanted, how)
    link = engine.links[question].get(view)
    if link is None:
        return None
    mean, variance = q.mix(*engine.moments(view, q, "variance"))
    assert variance is not None
    return link.adjustment(link_inputs(engine, rows, known, q), mean, variance)


def learn_links(
    engine: VariationalEngine, known: tuple[int, ...], wanted: Sequence[int], how: Mapping[str, Any]
) -> dict[int, ResidualLink]:
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
        moments.append([q.mix(*fold.moments(view, q, "variance")) for view in wanted])
    links = {}
    for place, view in enumerate(wanted):
        if isinstance(engine.posteriors[view], StochasticPosterior):
            continue
        Y = engine.data[view][order]
        mean = np.concatenate([found[place][0] for found in moments])
        variance = np.concatenate([found[place][1] for found in moments])
        there = ~np.isnan(Y).all(axis=1)
        if there.sum() >= LEAST_ROWS:
            links[view] = ResidualLink.fit(
                np.concatenate(inputs)[there], Y[there], mean[there], variance[there]
            )
    return links


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

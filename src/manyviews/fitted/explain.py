"""What latent dimensions do to a view, in numbers that compare across models."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import factorial
from typing import Any

import numpy as np
from jaxtyping import Float

from ..errors import OptionError
from .engine import NUDGE, Engine
from .positions import Positions


def variance_explained(
    engine: Engine, view: int, kind: str
) -> tuple[Float[np.ndarray, " Q"], float]:
    """Share of a view's variance that each dimension explains, and that all of them do.

    Let f_S(x) = ⟨f(x)⟩ with the dimensions outside S unknown, i.e. drawn from their overall
    distribution N(mean, variance) over the samples, and R²(S) = 1 - ‖Y - f_S‖²/‖Y‖² over the
    observed values; for data of other kinds the deviance takes the place of the squared error (see
    `Engine.explained`). ``"lost"`` is R²(all) - R²(all but q): what is
    lost when q is not known. ``"alone"`` is R²({q}): what q tells by itself. For an
    additive map the two agree and add up to the total; where dimensions interact, "lost" counts
    the interaction for each of them and "alone" for none.
    """
    if kind not in {"lost", "alone"}:
        raise OptionError(f"kind must be 'lost' or 'alone', got {kind!r}")
    q = engine.positions
    total = engine.explained(view, q)
    shares = []
    for dimension in range(q.mean.shape[1]):
        alone = np.arange(q.mean.shape[1]) == dimension
        part = engine.explained(view, q.without(~alone if kind == "lost" else alone))
        shares.append(total - part if kind == "lost" else part)
    return np.array(shares), total


def measure(model: Any, view: str | None = None) -> str:
    """What of a view is explained, or of any: its variance, or its deviance if not Gaussian."""
    kinds = getattr(model, "likelihoods_", {})
    names = kinds if view is None else [view]
    other = {kinds.get(name) is not None for name in names}
    if len(other) > 1:
        return "variance or deviance"
    return "deviance" if other == {True} else "variance"


def variance_explained_by(engine: Engine, view: int, dimensions: Sequence[int]) -> float:
    """R²(S) of a set of dimensions, the others being unknown."""
    q = engine.positions
    known = np.isin(np.arange(q.mean.shape[1]), dimensions)
    return engine.explained(view, q.without(known))


def variance_divided(
    engine: Engine, view: int, groups: Mapping[str, Sequence[int]]
) -> dict[str, float]:
    """Shares of a view's variance that groups of dimensions explain, which add up to the total.

    The share of group g is the average gain of R² when g becomes known, over all orders in which
    the groups may become known [Lindeman et al. 1980] (a Shapley value): what groups explain only
    together is divided equally between them. Dimensions in no group count as known throughout.
    Empty groups explain nothing.
    """
    q = engine.positions
    named = [name for name, dimensions in groups.items() if len(dimensions)]
    grouped = {d for name in named for d in groups[name]}
    always = [d for d in range(q.mean.shape[1]) if d not in grouped]
    value = {frozenset[str](): 0.0}
    for size in range(1, len(named) + 1):
        for chosen in combinations(named, size):
            dimensions = always + [d for name in chosen for d in groups[name]]
            value[frozenset(chosen)] = variance_explained_by(engine, view, dimensions)
    n = len(named)
    shares = dict.fromkeys(groups, 0.0)
    for name in named:
        for known in value:
            if name not in known:
                orders = factorial(len(known)) * factorial(n - len(known) - 1) / factorial(n)
                shares[name] += orders * (value[known | {name}] - value[known])
    return shares


def mean_slopes(engine: Engine, view: int) -> Float[np.ndarray, "D Q"]:
    """How far each column moves on average, with its sign, per standard deviation of a dimension.

    The mean of ∂⟨f_d(x)⟩/∂x_q over the training rows, times the spread of x_q; of a linear map the
    loadings. A column that goes up and then down has a mean slope near zero while
    `fitted.Engine.slopes`, the root mean square, is large.
    """
    q = engine.positions
    spread = q.mean.std(axis=0)
    found = []
    for dimension, size in enumerate(spread):
        step = np.zeros(len(spread))
        step[dimension] = NUDGE * max(size, 1e-12)
        ends = [
            engine.moments(view, Positions(q.mean + s, q.spread, q.kind, None, q.cluster))[0]
            for s in (step, -step)
        ]
        found.append(np.mean(ends[0] - ends[1], axis=0) / (2.0 * step[dimension]) * size)
    return np.stack(found, axis=1)

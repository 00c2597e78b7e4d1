"""Dimensions that a fit found, and without which the bound is hardly lower.

Weights of dimensions fall to zero slowly where views have explicit inducing variables: q(U) has
settled on a dimension that is of no use, and each has to wait for the other. So it is tried: a
dimension is taken from all views, or from one of those that share it, at once, q(U) settles anew,
and the bound says whether it was worth having.

The bound of a model F = Σ_n F_n - Σ KL(q(U) ‖ p(U)) has a term for every row. How much a dimension
is worth is not known any better than the differences of these terms tell: the simplest model
within one standard error of the best is taken (Breiman et al. 1984).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ..latent import StandardNormal, marginals
from ..mappings import Observations, Outputs, StochasticGP
from ..mappings.natural import settle
from ..parameters import Parameter, map_parameters
from .bound import Model, dimension_weights
from .stochastic import Batch, Batches, fit_batches

USED = 5e-3  # share of a view's largest weight above which a dimension is used
IDLE = 1e-4  # what is left of the weight, as a share of the largest other one
MOST_ROWS = 1000  # that q(U) settles on
FEWEST_PAIRS, MOST_PAIRS = 4, 1_000_000  # of nodes of a row; of all values of a view together
ENTRIES = {"lengthscale": -0.5, "variances": 1.0}  # how parameters change with a weight


@dataclass(frozen=True)
class Use:
    """A latent dimension in the views that use it, or in one of them."""

    dimension: int
    views: tuple[int, ...]


@dataclass(frozen=True)
class Found:
    """A model with its bound, from some rows, and what each of these adds to it."""

    model: Model
    bound: float
    terms: Float[np.ndarray, " B"]


@dataclass(frozen=True)
class LeavingOut:
    """The search for the simplest model that may be as good.

    The use of least worth goes first, as long as one may go: as long as the bound falls by less
    than N / √B times the standard deviation of the differences of B rows' terms. If it falls by
    more, but by less than a nat for each of the N rows, ``trial`` steps of the fit decide whether
    the other dimensions can make up for it.

    Attributes
    ----------
    outputs : tuple of Outputs
    trial : Batches
        None are tried if there are no steps.
    seed : int
    """

    outputs: tuple[Outputs, ...]
    trial: Batches
    seed: int = 0
    look: Callable[[], None] = lambda: None
    """Called between two attempts: it may raise."""
    rows: Int[Array, " B"] = field(init=False)

    def __post_init__(self) -> None:
        n_rows = self.n_rows
        rng = np.random.default_rng(self.seed)
        some = np.sort(rng.permutation(n_rows)[:MOST_ROWS])
        object.__setattr__(self, "rows", jnp.asarray(some))

    @property
    def n_rows(self) -> int:
        """N."""
        return next(o.values.shape[0] for o in self.outputs if isinstance(o, Observations))

    def __call__(self, model: Model) -> Model:
        now = self._settled(model, range(len(model.views)))
        worth: dict[Use, float] = {}
        while left := list(uses(now.model)):
            best = self._least(now, left, worth)
            if self._is_worse(best, now) and now.bound - best.bound < self.n_rows:
                best = self._tried(best)
            if self._is_worse(best, now):
                break
            now = best
        return now.model

    def _least(self, now: Found, left: list[Use], worth: dict[Use, float]) -> Found:
        """The model without the use of least worth.

        Uses stand in for each other, so that the worth of one does not fall as others go: what it
        was when last tried is enough to see that it is not the least (Minoux 1978).
        """
        tried: dict[Use, Found] = {}
        while True:
            use = min(left, key=lambda each: worth.get(each, -np.inf))
            if use in tried:
                return tried[use]
            tried[use] = self._without(now.model, use)
            worth[use] = now.bound - tried[use].bound

    def _is_worse(self, simple: Found, now: Found) -> bool:
        error = self.n_rows / len(self.rows) ** 0.5 * float(np.std(now.terms - simple.terms))
        return not now.bound - simple.bound <= error

    def _tried(self, found: Found) -> Found:
        """The same after some steps of the fit."""
        if not self.trial.steps:
            return found
        model, _ = fit_batches(found.model, self.outputs, self.trial, self.seed)
        return self._settled(model, range(len(model.views)))

    def _without(self, model: Model, use: Use) -> Found:
        self.look()
        return self._settled(left_out(model, use), use.views)

    def _some(self, o: Observations) -> Observations:
        """The rows looked at; of wide views with fewer nodes of x."""
        size = len(self.rows) * o.values.shape[1]
        return o.rows(self.rows).with_few_nodes(max(FEWEST_PAIRS, MOST_PAIRS // size))

    def _settled(self, model: Model, views: Any) -> Found:
        """The model with q(U) of some views at its optimum."""
        whole, changed = model.whole(), list(model.views)
        q = marginals(whole.latent)
        parts: list[Outputs] = []
        for place, (view, o) in enumerate(zip(whole.views, self.outputs, strict=True)):
            own = self._some(o) if isinstance(o, Observations) else o
            parts.append(own)
            if place not in views or not isinstance(view, StochasticGP):
                continue
            assert isinstance(own, Observations)
            seen = q[self.rows][..., whole.latent.dimensions(place)]
            found = settle(view, seen, own)
            changed[place] = eqx.tree_at(
                _explicit, changed[place], _explicit(found), is_leaf=lambda x: x is None
            )
        settled = eqx.tree_at(lambda m: m.views, model, tuple(changed))
        bound, terms = _bound_by_rows(settled, Batch(self.rows, tuple(parts)))
        return Found(settled, float(bound), np.asarray(terms))


def uses(model: Model) -> Iterator[Use]:
    """All that may be left out: dimensions, and uses of dimensions that views share.

    Every view keeps a dimension.
    """
    weights = dimension_weights(model)
    used = weights > USED * np.maximum(weights.max(axis=1, keepdims=True), 1e-300)
    spare = used.sum(axis=1) > 1
    for dimension in np.flatnonzero(used.any(axis=0)):
        views = tuple(int(k) for k in np.flatnonzero(used[:, dimension]))
        if spare[list(views)].all():
            yield Use(int(dimension), views)
        if len(views) > 1:
            yield from (Use(int(dimension), (k,)) for k in views if spare[k])


def left_out(model: Model, use: Use) -> Model:
    """The model with weights of next to nothing; where no view is left, q(x) is the prior."""
    weights = dimension_weights(model)
    views, latent = list(model.views), model.latent
    for place in use.views:
        own = latent.dimensions(place)
        at = use.dimension - (own.start or 0)
        mine = weights[place, own]
        factor = IDLE * float(np.delete(mine, at).max()) / float(mine[at])
        view: Any = views[place]
        kernel = map_parameters(_scaled(at, len(mine), factor), view.kernel)
        views[place] = eqx.tree_at(lambda v: v.kernel, view, kernel)
    others = np.delete(weights, use.views, axis=0)
    used = others[:, use.dimension] > USED * others.max(axis=1, initial=0.0)
    if isinstance(latent, StandardNormal) and not used.any():
        latent = _unknown(latent, use.dimension)
    return eqx.tree_at(lambda m: (m.latent, m.views), model, (latent, tuple(views)))


def _scaled(at: int, n_dimensions: int, factor: float) -> Any:
    """The change of a kernel's parameters that multiplies the weight of a dimension."""

    def change(name: str, p: Parameter) -> Parameter:
        power = ENTRIES.get(name.split(".")[-1])
        if power is None or p.raw.shape != (n_dimensions,):
            return p
        return p.with_value(p.value * np.where(np.arange(n_dimensions) == at, factor**power, 1.0))

    return change


def _unknown(latent: StandardNormal, dimension: int) -> StandardNormal:
    """One dimension of q(X) as in the prior."""
    mean, variance = np.array(latent.mean.value), np.array(latent.variance.value)
    mean[:, dimension], variance[:, dimension] = 0.0, 1.0
    new = (latent.mean.with_value(mean), latent.variance.with_value(variance))
    return eqx.tree_at(lambda x: (x.mean, x.variance), latent, new)


def _explicit(view: Any) -> list[Any]:
    return [view.mean.raw, view.root.raw]


@eqx.filter_jit
def _bound_by_rows(model: Model, batch: Batch) -> tuple[Float[Array, ""], Float[Array, " B"]]:
    """The bound, estimated from a batch, and what every row of it adds to it by itself.

    What there is of it: collapsed views, and paths over time, do not come apart.
    """
    whole = model.whole()
    everyone, kl = whole.latent.infer()
    total, q = -kl, everyone[batch.rows]
    terms = jnp.zeros(len(batch.rows))
    if isinstance(whole.latent, StandardNormal):
        terms -= q.kl(whole.latent.prior(len(batch.rows)))
    for place, (view, o) in enumerate(zip(whole.views, batch.outputs, strict=True)):
        own = whole.latent.dimensions(place)
        if isinstance(view, StochasticGP) and isinstance(o, Observations):
            found = view.row_terms(q[..., own], o)
            terms += found
            total += o.scale * jnp.sum(found) - view.kl()
        else:
            seen = everyone if own == slice(None) else everyone[..., own]
            total += view.expected_log_likelihood(seen, o).value
    return total, terms

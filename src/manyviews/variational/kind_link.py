"""A direct link from known views to a wanted one that is not Gaussian.

The counterpart of `residual_link` on the scale of the functions: what a latent space of few
dimensions leaves of them is regressed on the known values.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from scipy.special import softmax

from ..likelihoods import Likelihood, predictive_log_density
from ..mappings.correction import Correction
from ..parameters import split_free
from .kind_regression import Problem, Solution, flat_start, solve
from .link_blend import trust
from .link_features import LinkFeatures
from .link_regression import Members, members_of

SHARES = (1.0, 0.5, 0.0)
PENALTIES = tuple(10.0 ** np.arange(3.0, -2.0, -0.5))  # relative; the first allows for nothing
WORSE = 2  # penalties in a row after which smaller ones are not tried
MOST_COMPONENTS, MOST_COEFFICIENTS = 60, 150  # of features, and for every column
BOOTSTRAPS, LEAST_WEIGHT = 200, 0.01
ROWS = 32  # tables are filled up to multiples of these, so that few programs are compiled


@dataclass(frozen=True)
class Components:
    """Leading principal components of features, of mean square one in all."""

    features: LinkFeatures
    centre: Float[np.ndarray, " F"]
    turn: Float[np.ndarray, "F R"]

    @classmethod
    def of(cls, features: LinkFeatures, inputs: Float[np.ndarray, "N P"], n: int) -> Self:
        """The first n components; of fewer, the others are zero."""
        table = features(inputs)
        centre = table.mean(axis=0)
        _, s, Vt = np.linalg.svd(table - centre, full_matrices=False)
        there = s[:n] > 1e-8 * max(s.max(initial=0.0), 1e-300)
        turn = np.zeros((table.shape[1], n))
        turn[:, : len(there)] = Vt[:n].T * there
        power = np.sqrt(np.sum((s[:n] * there) ** 2) / len(table))
        return cls(features, centre, turn / power if power > 0 else turn)

    def __call__(self, inputs: Float[np.ndarray, "N P"]) -> Float[np.ndarray, "N R"]:
        return (self.features(inputs) - self.centre) @ self.turn


@dataclass(frozen=True)
class Member:
    """One regression: f_d = s m_d(x*) + b_d + w_d·φ(a), with the spread s² v_d + φ̃ᵀH_d⁻¹φ̃.

    Attributes
    ----------
    components : Components
        φ.
    share : float
        s.
    penalty : float
        On w and b, in units of the prior precision of the functions.
    solution : Solution
        w, b, H⁻¹ and the likelihood.
    density : ndarray of shape (n_units,)
        Log density of every training row's values, the row left out; or of every group's.
    """

    components: Components
    share: float
    penalty: float
    solution: Solution
    density: Float[np.ndarray, " N"]

    def shift(
        self, inputs: Float[np.ndarray, "N P"]
    ) -> tuple[Float[Array, "N D C"], Float[Array, "N D C"]]:
        """B + w·φ(a) of new rows, and its variance."""
        table = jnp.asarray(self.components(inputs))
        table = jnp.concatenate([jnp.ones((len(table), 1)), table], axis=1)
        B, H = self.solution.coefficients, self.solution.covariance
        D, V, C = B.shape
        inverse = jnp.einsum("drcsc->drsc", H.reshape(D, V, C, V, C))
        wide = jnp.einsum("nr,drsc,ns->ndc", table, inverse, table, optimize=True)
        return jnp.einsum("nr,drc->ndc", table, B), wide


@dataclass(frozen=True)
class KindLink:
    """An average of regressions of a view's functions on the known values and a latent model's.

    m and v in `Member` are the latent model's mean and variance of the functions, φ features
    of the known Gaussian views' values a, straight or curved (`LinkFeatures`). w, b and what a
    likelihood has of its own (cut points, dispersions) are at their mode, H_d is the Hessian there.
    For every share s ∈ {0, ½, 1}, and at the best of them for every kind of features, the penalty
    on w and b has the largest log density of training rows, the latent model made to forget the row
    and the regression to leave it out (`kind_regression`). Functions, spreads and the likelihood's
    parameters are averages over these regressions, with weights by the same densities
    (`averaging_weights()`). In every column this average is trusted as far as it is surely better
    than a constant: it has the weight ω, half of it min(t/2, 1) for the column, half for all
    columns together, where t is the mean gain of training rows in standard errors, at least zero
    (`trust()`); the constant has the rest. Where rows come in groups, whole groups are left out and
    weighed in the place of rows.

    Attributes
    ----------
    members : tuple of Member
    weights : tuple of float
    nothing : Member
        That of the constants.
    trust : ndarray of shape (n_columns,)
        ω.
    """

    members: tuple[Member, ...]
    weights: tuple[float, ...]
    nothing: Member
    trust: Float[np.ndarray, " D"]

    @classmethod
    def fit(
        cls,
        inputs: Float[np.ndarray, "N P"],
        Y: Float[np.ndarray, "N D"],
        given: Float[np.ndarray, "N D"] | None,
        mean: Float[np.ndarray, "N D C"],
        variance: Float[np.ndarray, "N D C"],
        likelihood: Likelihood,
        groups: Int[np.ndarray, " N"] | None = None,
    ) -> "KindLink":
        """Learn from rows that were forgotten: values (NaN: missing), moments of functions."""
        C = mean.shape[2]
        width = min(MOST_COMPONENTS, max(1, MOST_COEFFICIENTS // C), max(len(Y) - 1, 1))
        begun = likelihood.start(Y, given)
        together = members_of(groups)
        problem = _problem(Y, given, mean, variance, likelihood, begun.variance)
        problem = problem._replace(together=_side_by_side(together))
        search = _Search(problem, likelihood, np.asarray(begun.offset.value), len(Y), together)
        straight, *curved = LinkFeatures.candidates(inputs)
        components = Components.of(straight, inputs, width)
        members = [search.path(components, inputs, share, PENALTIES) for share in SHARES]
        best = max(members, key=lambda member: float(member.density.sum()))
        place = PENALTIES.index(best.penalty)
        for each in curved if place else []:  # the first penalty allows for no features
            components = Components.of(each, inputs, width)
            near = PENALTIES[place - 1 : place + 2]
            members.append(search.path(components, inputs, best.share, near))
        weights = averaging_weights(np.stack([member.density for member in members], axis=1))
        kept = np.where(weights < LEAST_WEIGHT, 0.0, weights)
        kept = (kept / kept.sum()).tolist()
        nothing = search.path(members[0].components, inputs, 0.0, PENALTIES[:1])
        found = search.by_unit(search.left_out(members, kept))
        gain = found - search.by_unit(nothing.solution.density)
        pairs = zip(members, kept, strict=True)
        used, shares = zip(*[(m, w) for m, w in pairs if w > 0.0], strict=True)
        alone = np.array([trust(own) for own in gain.T])
        return cls(used, shares, nothing, 0.5 * (alone + trust(gain.sum(axis=1))))

    @property
    def share(self) -> float:
        """s, on average, as far as the average is trusted."""
        return float(sum(w * m.share for m, w in zip(self.members, self.weights, strict=True)))

    def correction(self, inputs: Float[np.ndarray, "N P"]) -> Correction:
        """What becomes of the latent model's functions for new rows."""
        shifts = [member.shift(inputs) for member in self.members]
        own = jnp.asarray(self.trust)[:, None]
        shift, wide = (
            own * sum(w * part for w, part in zip(self.weights, parts, strict=True))
            + (1.0 - own) * constant
            for *parts, constant in zip(*shifts, self.nothing.shift(inputs), strict=True)
        )
        return Correction(own * self.share, shift, wide)

    def likelihood(self) -> Likelihood:
        """That of the corrected functions, averaged on the scales of its free parameters."""
        kinds = averaged(self.members, self.weights), self.nothing.solution.likelihood
        return averaged_likelihood(kinds, np.stack([self.trust, 1.0 - self.trust]))


def averaged(members: Sequence[Member], weights: Sequence[float]) -> Likelihood:
    """The members' likelihood on average."""
    D = members[0].solution.coefficients.shape[0]
    each = np.repeat(np.asarray(weights)[:, None], D, axis=1)
    return averaged_likelihood([member.solution.likelihood for member in members], each)


def averaged_likelihood(
    kinds: Sequence[Likelihood], weights: Float[np.ndarray, "K D"]
) -> Likelihood:
    """An average of free parameters on their scales, with weights for every column."""
    parts = [split_free(kind) for kind in kinds]

    def average(*leaves: Array) -> Array:
        first = leaves[0]
        of_columns = first.ndim > 0 and first.shape[0] == weights.shape[1]
        own = weights if of_columns else weights.mean(axis=1)
        shape = (*own.shape, *[1] * (first.ndim - own.ndim + 1))
        return sum(w * leaf for w, leaf in zip(own.reshape(shape), leaves, strict=True))

    free = jax.tree_util.tree_map(average, *(part for part, _ in parts))
    return eqx.combine(free, parts[0][1])  # type: ignore[no-any-return]


def averaging_weights(density: Float[np.ndarray, "N K"]) -> Float[np.ndarray, " K"]:
    """How much to trust each of K models, by the log densities of rows that they had left out.

    Groups of rows that were left out together count as rows.

    The weights are those of Akaike, w_k ∝ exp Σ_n l_nk, averaged over Bayesian bootstraps of the
    rows (pseudo-BMA+, Yao et al. 2018): which model is better is not known any better than that.
    """
    rows = np.random.default_rng(0).dirichlet(np.ones(len(density)), size=BOOTSTRAPS)
    total = len(density) * rows @ density
    return np.asarray(softmax(total, axis=1).mean(axis=0))


class _Search:
    """Regressions with every penalty, each from where the one before has ended."""

    def __init__(
        self,
        problem: Problem,
        likelihood: Likelihood,
        intercept: Float[np.ndarray, "D C"],
        n_rows: int,
        together: Members | None,
    ):
        self.problem, self.likelihood = problem, likelihood
        self.intercept, self.n_rows, self.together = intercept, n_rows, together

    def path(
        self,
        components: Components,
        inputs: Float[np.ndarray, "N P"],
        share: float,
        penalties: tuple[float, ...],
    ) -> Member:
        """The best of some penalties."""
        whole = self.problem
        table = np.zeros((len(whole.values), components.turn.shape[1]))
        table[: self.n_rows] = components(inputs)
        problem = whole._replace(
            features=jnp.asarray(table),
            offset=share * whole.offset,
            spread=share**2 * whole.spread,
            intercept=jnp.asarray((1.0 - share) * self.intercept),
        )
        start, found, totals = flat_start(problem, self.likelihood), [], []
        for penalty in penalties:
            solution = solve(problem, self.likelihood, jnp.asarray(penalty), start)
            start = solution.flat
            units = self.by_unit(solution.density).sum(axis=1)
            found.append(Member(components, share, penalty, solution, units))
            totals.append(float(found[-1].density.sum()))
            if max(totals) > max(totals[-WORSE:]):
                break
        return found[int(np.argmax(totals))]

    def by_unit(self, density: Float[Array, "N D"]) -> Float[np.ndarray, "G D"]:
        """Log densities of values, added up within groups of rows if there are any."""
        rows = np.where(self.problem.mask > 0, density, 0.0)[: self.n_rows]
        if self.together is None:
            return rows
        return np.stack([rows[own].sum(axis=0) for own in self.together])

    def left_out(self, members: Sequence[Member], weights: Sequence[float]) -> Float[Array, "N D"]:
        """Log density of every value under an average of regressions that had left its row out."""
        mean, spread = (
            sum(w * getattr(m.solution, what) for m, w in zip(members, weights, strict=True))
            for what in ("mean", "spread")
        )
        whole, kind = self.problem, averaged(members, weights)
        return predictive_log_density(kind, whole.values, mean[None], spread[None], whole.given)


def _side_by_side(together: Members | None) -> Int[Array, "G L"] | None:
    """The rows of every group in a table, filled up with -1."""
    if together is None:
        return None
    longest = max(len(rows) for rows in together)
    return jnp.asarray([np.pad(r, (0, longest - len(r)), constant_values=-1) for r in together])


def _problem(
    Y: Float[np.ndarray, "N D"],
    given: Float[np.ndarray, "N D"] | None,
    mean: Float[np.ndarray, "N D C"],
    variance: Float[np.ndarray, "N D C"],
    likelihood: Likelihood,
    typical: float,
) -> Problem:
    """The rows with others of which nothing is known, up to a multiple of so many."""
    more = -len(Y) % ROWS
    seen = np.pad(~np.isnan(Y), ((0, more), (0, 0)))
    filled = np.pad(Y, ((0, more), (0, 0)), constant_values=np.nan)
    wide = ((0, more), (0, 0), (0, 0))
    return Problem(
        features=jnp.zeros((len(filled), 0)),
        values=jnp.asarray(np.where(seen, filled, likelihood.some_value())),
        mask=jnp.asarray(seen, jnp.float64),
        given=None if given is None else jnp.asarray(np.pad(given, ((0, more), (0, 0)))),
        offset=jnp.asarray(np.pad(mean, wide)),
        spread=jnp.asarray(np.pad(variance, wide)),
        intercept=jnp.zeros(mean.shape[1:]),
        variance=jnp.asarray(typical),
    )

"""Penalised regressions of data of any kind, and their answers without the row that is asked.

With coefficients W ~ N(0, 1/λ) and an intercept b ~ N(b_0, 1/λ), a column's functions are
η_n = o_n + b + t_nW for an offset o, and log p(y | η) may have parameters of its own, which
are learnt as well. At the mode, with the Hessian H of minus the log posterior,

    H = Σ_n t̃_nt̃_nᵀ ⊗ V_n + P,   h_n = t̃_nᵀ H⁻¹ t̃_n,
    g_n = ∂log p(y_n)/∂η,   V_n = -∂²log p(y_n)/∂η²,

a row that is left out would be answered by N(η_n - h_n(I - V_nh_n)⁻¹g_n, (I - h_nV_n)⁻¹h_n), which
is exact for Gaussian noise (approximate leave-one-out: Rad and Maleki 2020). Rows G that are left
out together would be answered by the functions of a Newton step without them,

    H_G = H - Σ_m∈G t̃_mt̃_mᵀ ⊗ V_m,   N(η_n - t̃_nᵀ H_G⁻¹ Σ_m∈G t̃_m g_m, t̃_nᵀ H_G⁻¹ t̃_n),

which for a group of one row is the same.
"""

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, Float, Int

from ..inference.many_minima import minimise_rows
from ..likelihoods import Likelihood, predictive_log_density
from ..parameters import split_free

ITERATIONS, TOLERANCE = 30, 2e-2
NEAREST = 1e-3  # least eigenvalue of I - Vh


class Problem(NamedTuple):
    """What is regressed on what: T of N x R features, C functions for each of D columns."""

    features: Float[Array, "N R"]
    values: Float[Array, "N D"]
    mask: Float[Array, "N D"]
    given: Float[Array, "N D"] | None
    offset: Float[Array, "N D C"]
    spread: Float[Array, "N D C"]
    """Variance of the offset."""
    intercept: Float[Array, "D C"]
    variance: Float[Array, ""]
    """Roughly that of the functions: the unit of the penalty."""
    together: Int[Array, "G L"] | None = None
    """Rows that are left out together, filled up with -1; each by itself if None."""


class Solution(NamedTuple):
    """Coefficients, intercepts first, with what is known of them; and how good they are."""

    coefficients: Float[Array, "D R C"]
    covariance: Float[Array, "D V V"]
    likelihood: Likelihood
    flat: Float[Array, "D W"]
    """All that was searched for: where the next penalty may start."""
    density: Float[Array, "N D"]
    """Log density of every value, its own row or group left out."""
    mean: Float[Array, "N D C"]
    spread: Float[Array, "N D C"]
    """Moments of its functions then."""


class _Columns(NamedTuple):
    """A likelihood taken to pieces, one for every column."""

    own: Any
    """Free parameters that every column has for itself."""
    kept: Any
    """Other arrays of which every column has its own."""
    rest: Any

    @classmethod
    def of(cls, likelihood: Likelihood, n_columns: int) -> "_Columns":
        def divided(leaf: Any) -> bool:
            return eqx.is_array(leaf) and leaf.ndim > 0 and leaf.shape[0] == n_columns

        free, fixed = split_free(likelihood)
        own, held = eqx.partition(free, divided)
        kept, rest = eqx.partition(eqx.combine(held, fixed), divided)
        return cls(own, kept, rest)

    def whole(self, own: Any) -> Likelihood:
        """The likelihood of all columns with other parameters."""
        return eqx.combine(own, self.kept, self.rest)  # type: ignore[no-any-return]

    def one(self, own: Any, kept: Any) -> Likelihood:
        """That of one column, given its pieces."""
        single = jax.tree_util.tree_map(lambda leaf: leaf[None], (own, kept))
        return eqx.combine(*single, self.rest)  # type: ignore[no-any-return]


def flat_start(problem: Problem, likelihood: Likelihood) -> Float[Array, "D W"]:
    """Intercepts and the likelihood as they are, and no slopes."""
    (D, C), R = problem.intercept.shape, problem.features.shape[1]
    own = _flattened(_Columns.of(likelihood, D).own, D)
    return jnp.concatenate([problem.intercept, jnp.zeros((D, R * C)), own], axis=1)


@eqx.filter_jit
def solve(
    problem: Problem,
    likelihood: Likelihood,
    penalty: Float[Array, ""],
    start: Float[Array, "D W"],
) -> Solution:
    """The most probable coefficients, and the density of every value without its row."""
    (N, R), (D, C) = problem.features.shape, problem.intercept.shape
    columns = _Columns.of(likelihood, D)
    table = jnp.concatenate([jnp.ones((N, 1)), problem.features], axis=1)
    V = (R + 1) * C
    precision = jnp.full((R + 1, C), penalty / problem.variance)
    template = flat_start(problem, likelihood)

    def split(x: Array) -> tuple[Array, Any]:
        return x[:V].reshape(R + 1, C), _unflattened(x[V:], columns.own)

    def density(own: Any, kept: Any, f: Array, y: Array, given: Array | None) -> Array:
        """Log density of one value."""
        known = None if given is None else given[None]
        found: Array = columns.one(own, kept).log_density(y[None], f[None], known)
        return found[0]

    over_rows = jax.vmap(density, (None, None, 0, 0, None if problem.given is None else 0))
    columnwise = (problem.values.T, problem.mask.T, jnp.swapaxes(problem.offset, 0, 1))
    given = None if problem.given is None else problem.given.T
    axis = None if given is None else 0

    def objective(x: Array, first: Array, kept: Any, data: Any, given: Array | None) -> Array:
        y, mask, offset = data
        B, own = split(x)
        found = over_rows(own, kept, offset + table @ B, y, given)
        apart = B.at[0].add(-first[:C])
        prior = jnp.sum(precision * apart**2) + jnp.sum((x[V:] - first[V:]) ** 2)
        return -jnp.sum(jnp.where(mask > 0, found, 0.0)) + 0.5 * prior

    def bent(x: Array, kept: Any, data: Any, given: Array | None) -> tuple[Array, Array]:
        """Slopes and curvatures of every value's log density."""
        y, mask, offset = data
        B, own = split(x)
        f = offset + table @ B
        rule = (None, None, 0, 0, None if given is None else 0)
        slope = jax.vmap(jax.grad(density, 2), rule)(own, kept, f, y, given)
        curve = -jax.vmap(jax.hessian(density, 2), rule)(own, kept, f, y, given)
        if C == 1:
            curve = jnp.maximum(curve, 0.0)  # tails that are not log-concave
        return mask[:, None] * slope, mask[:, None, None] * curve

    every_bent = jax.vmap(bent, (0, 0, 0, axis))
    every_value = jax.vmap(objective, (0, 0, 0, 0, axis))

    def known(curve: Array) -> tuple[Array, Array]:
        """H⁻¹ and all h_n of one column."""
        H = jnp.einsum("nr,ncd,ns->rcsd", table, curve, table).reshape(V, V)
        H = H + jnp.diag(precision.ravel())
        inverse = cho_solve((jnp.linalg.cholesky(H), True), jnp.eye(V))
        half = jnp.einsum("nr,rcsd->ncsd", table, inverse.reshape(R + 1, C, R + 1, C))
        return inverse, jnp.einsum("ncsd,ns->ncd", half, table)

    def near(curve: Array) -> Array:
        """A root of H⁻¹: in units of it all directions are alike."""
        return jnp.linalg.cholesky(known(curve)[0])

    roots = jax.lax.map(near, every_bent(start, columns.kept, columnwise, given)[1])

    def place(z: Array) -> Array:
        moved = jnp.einsum("dvw,dw->dv", roots, z[:, :V])
        return start + jnp.concatenate([moved, z[:, V:]], axis=1)

    z, _ = minimise_rows(
        lambda z: every_value(place(z), template, columns.kept, columnwise, given),
        jnp.zeros_like(start), jnp.ones_like(start), iterations=ITERATIONS, tolerance=TOLERANCE,
    )  # fmt: skip
    x = place(z)
    slope, curve = every_bent(x, columns.kept, columnwise, given)
    covariance, h = jax.lax.map(known, curve)
    if problem.together is None:
        away, wide = jax.vmap(jax.vmap(_left_out))(h, curve, slope)
    else:
        groups = partial(_groups_left_out, table, precision, problem.together)
        away, wide = jax.lax.map(lambda column: groups(*column), (curve, slope))
    B = x[:, :V].reshape(D, R + 1, C)
    own = _unflattened(x[:, V:], columns.own)
    fitted = columns.whole(own)
    mean = problem.offset + jnp.einsum("nr,drc->ndc", table, B) + jnp.swapaxes(away, 0, 1)
    spread = problem.spread + jnp.swapaxes(wide, 0, 1)
    found = predictive_log_density(fitted, problem.values, mean[None], spread[None], problem.given)
    return Solution(B, covariance, fitted, x, found, mean, spread)


def _left_out(
    h: Float[Array, "C C"], curve: Float[Array, "C C"], slope: Float[Array, " C"]
) -> tuple[Float[Array, " C"], Float[Array, " C"]]:
    """By how much a row's functions would be lower without it, and their variances then."""
    if h.shape[0] == 1:
        rest = jnp.maximum(1.0 - curve * h, NEAREST)
        return -(h / rest)[0] * slope, (h / rest)[0]
    rest = jnp.eye(h.shape[0]) - h @ curve
    wide = jnp.linalg.solve(rest, h)
    return -wide @ slope, jnp.maximum(jnp.diagonal(wide), 0.0)


def _groups_left_out(
    table: Float[Array, "N V"],
    precision: Float[Array, "V C"],
    together: Int[Array, "G L"],
    curve: Float[Array, "N C C"],
    slope: Float[Array, "N C"],
) -> tuple[Float[Array, "N C"], Float[Array, "N C"]]:
    """The same for rows of groups that are left out whole, in one column."""
    (N, V), C = table.shape, slope.shape[1]
    size = V * C
    H = jnp.einsum("nr,ncd,ns->rcsd", table, curve, table, optimize=True)
    H = H.reshape(size, size) + jnp.diag(precision.ravel())

    def one(rows: Int[Array, " L"]) -> tuple[Array, Array]:
        there = (rows >= 0).astype(table.dtype)
        t, V_n = table[rows], there[:, None, None] * curve[rows]
        own = jnp.einsum("nr,ncd,ns->rcsd", t, V_n, t, optimize=True).reshape(size, size)
        push = jnp.einsum("nr,nc->rc", t, there[:, None] * slope[rows]).ravel()
        inverse = jnp.linalg.inv(H - own)
        move = t @ (inverse @ push).reshape(V, C)
        blocks = jnp.einsum("rcsc->crs", inverse.reshape(V, C, V, C))
        wide = jnp.einsum("nr,crs,ns->nc", t, blocks, t, optimize=True)
        return -move, jnp.maximum(wide, 0.0)

    away, wide = jax.lax.map(one, together)
    place = jnp.where(together >= 0, together, N).ravel()  # rows that are none are dropped
    nothing = jnp.zeros((N, C), table.dtype)
    return (
        nothing.at[place].set(away.reshape(-1, C), mode="drop"),
        nothing.at[place].set(wide.reshape(-1, C), mode="drop"),
    )


def _flattened(own: Any, n_columns: int) -> Float[Array, "D E"]:
    leaves = jax.tree_util.tree_leaves(own)
    return jnp.concatenate(
        [jnp.zeros((n_columns, 0)), *(leaf.reshape(n_columns, -1) for leaf in leaves)], axis=1
    )


def _unflattened(flat: Float[Array, "*D E"], own: Any) -> Any:
    """The parameters of all columns, or of one."""
    leaves, structure = jax.tree_util.tree_flatten(own)
    found, begin = [], 0
    for leaf in leaves:
        size = int(np.prod(leaf.shape[1:], dtype=int))
        piece = flat[..., begin : begin + size]
        found.append(piece.reshape(*flat.shape[:-1], *leaf.shape[1:]))
        begin += size
    return jax.tree_util.tree_unflatten(structure, found)

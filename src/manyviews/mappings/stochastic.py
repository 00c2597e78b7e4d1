"""A GP mapping to data of any kind, with explicit inducing variables (Hensman et al. 2013)."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, ArrayLike, Float, Int

from ..expectations import Gaussian, expectation_error, psi0, psi1, psi2
from ..kernels import Kernel
from ..likelihoods import GaussianNoise, Likelihood
from ..linalg import DEFAULT_JITTER, log_determinant, safe_cholesky, whiten
from ..parameters import Parameter, parameter
from .base import Evidence, Mapping
from .observations import Observations
from .stochastic_posterior import StochasticPosterior

BLOCK_ENTRIES = 2_000_000  # numbers in one array of a block of rows


class StochasticGP(Mapping):
    """y_nd ~ p(y | f_d(x_n) + offset_d), f_d ~ GP(0, k), for any likelihood.

    The inducing variables are whitened, u_f = L v_f with K = LLᵀ, and have an explicit posterior
    q(v_f) = N(m_f, S_g), one covariance for every group of functions. With a(x) = L⁻¹k(Z, x)

        f(x) | x ~ N(aᵀm_f + offset, k(x, x) - aᵀa + aᵀS_ga),
        F = Σ_nd ⟨log p(y_nd | f_d(x_n))⟩ - Σ_f KL(q(v_f) ‖ N(0, I)) + ½ Σ_dl log p(l | offset_d).

    The last term is half an observation of each level l of columns of levels: without it, cut
    points and offsets would make levels impossible that the data have by chance not shown.
    Expectations over f are the likelihood's. Those over x are closed (psi statistics) for Gaussian
    noise, and sums over the nodes of `Observations` for other kinds: every row adds to F
    on its own, so that a batch of rows gives an unbiased estimate.

    Parameters
    ----------
    offset
        Constant means of the functions, D x C.
    mean, root
        m, M x F with F = DC functions column by column, and a lower factor of every S.
    group_of_function
        Which S a function has. Default: one for all.
    """

    kernel: Kernel
    inducing: Parameter
    likelihood: Likelihood
    offset: Parameter
    mean: Parameter
    root: Parameter
    group_of_function: Int[Array, " F"]
    used: Float[Array, " F"]
    jitter: float = eqx.field(static=True)

    def __init__(
        self,
        kernel: Kernel,
        inducing: ArrayLike,
        likelihood: Likelihood,
        offset: ArrayLike | Parameter,
        mean: ArrayLike | None = None,
        root: ArrayLike | None = None,
        group_of_function: ArrayLike | None = None,
        jitter: float = DEFAULT_JITTER,
    ):
        self.kernel, self.likelihood, self.jitter = kernel, likelihood, jitter
        self.inducing = parameter(inducing)
        self.offset = offset if isinstance(offset, Parameter) else parameter(offset)
        D, C = self.offset.raw.shape
        M = self.inducing.raw.shape[0]
        group = jnp.zeros(D * C, jnp.int32) if group_of_function is None else group_of_function
        self.group_of_function = jnp.asarray(group, jnp.int32)
        self.used = jnp.asarray(likelihood.used(D).ravel(), jnp.float64)
        self.mean = parameter(jnp.zeros((M, D * C)) if mean is None else mean)
        n_groups = int(self.group_of_function.max()) + 1
        start = jnp.tile(jnp.eye(M), (n_groups, 1, 1)) if root is None else jnp.asarray(root)
        self.root = parameter(packed_root(start))

    # ------------------------------------------------------------------ what a mapping says

    def noise_variance(self) -> Float[Array, ""]:
        return self.likelihood.noise_variance()

    def relevance(self) -> Float[Array, " Q"]:
        return self.kernel.relevance(self.inducing.raw.shape[1])

    def size(self, n_rows: int) -> int:
        return min(n_rows * max(self.mean.raw.shape), BLOCK_ENTRIES)

    def expectation_error(self, q: Gaussian) -> float:
        if isinstance(self.likelihood, GaussianNoise):
            return expectation_error(self.kernel, self.inducing.value, q)
        return 0.0

    def expected_log_likelihood(self, q: Gaussian, outputs: Observations) -> Evidence:
        value, jitter = self.data_term(q, outputs, self.mean.value, self.covariances())
        return Evidence(outputs.scale * value - self.kl(), jitter)

    def posterior(self, q: Gaussian, outputs: Observations | None = None) -> StochasticPosterior:
        Z = self.inducing.value
        L, _ = safe_cholesky(self.kernel.gram(Z), self.jitter)
        inverse = solve_triangular(L, jnp.eye(L.shape[0]), lower=True)
        removed = jnp.eye(L.shape[0]) - self.covariances()
        return StochasticPosterior(
            kernel=self.kernel,
            Z=Z,
            likelihood=self.likelihood,
            offset=self.offset.value,
            weights=inverse.T @ self.mean.value,
            reduction=inverse.T @ removed @ inverse,
            group_of_function=self.group_of_function,
        )

    # ------------------------------------------------------------------ the parts of the bound

    def covariances(self) -> Float[Array, "G M M"]:
        """S_g = RRᵀ."""
        R = unpacked_root(self.root.value)
        return R @ jnp.swapaxes(R, 1, 2)

    def kl(self) -> Float[Array, ""]:
        """½ Σ_f [tr S + mᵀm - M - log|S|] over the functions in use, and what levels cost."""
        R = unpacked_root(self.root.value)
        per_group = jnp.sum(R**2, axis=(1, 2)) - R.shape[1] - jax.vmap(log_determinant)(R)
        squares = jnp.sum(self.mean.value**2, axis=0)
        functions = 0.5 * jnp.sum(self.used * (per_group[self.group_of_function] + squares))
        return functions - self._log_prior()

    def _log_prior(self) -> Float[Array, ""]:
        """½ Σ log p(l | offset) over the levels of all columns; none of other kinds."""
        levels = self.likelihood.level_values()
        if levels is None:
            return jnp.zeros(())
        offset = self.offset.value
        levels = jnp.broadcast_to(levels, (offset.shape[0], levels.shape[1]))
        there = ~jnp.isnan(levels)
        other = jnp.nan_to_num(levels[:, :1], nan=1.0)  # of a column without levels any value
        y, f = (
            jnp.where(there, levels, other).T,
            jnp.broadcast_to(offset, (levels.shape[1], *offset.shape)),
        )
        found = self.likelihood.log_density(y, f, self.likelihood.typical_given(len(offset)))
        return 0.5 * jnp.sum(jnp.where(there.T, found, 0.0))

    def data_term(
        self,
        q: Gaussian,
        outputs: Observations,
        mean: Float[Array, "M F"],
        S: Float[Array, "G M M"],
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Σ ⟨log p(y | f(x))⟩ over the rows there are, for any m and S; and the jitter."""
        L, jitter = safe_cholesky(self.kernel.gram(self.inducing.value), self.jitter)
        if outputs.nodes is None:
            return self._closed_term(L, q, outputs, mean, S), jitter

        def one_block(rows: tuple[Gaussian, Observations]) -> Float[Array, ""]:
            return jnp.sum(self._block_terms(L, *rows, mean, S))

        return _sum_blocks(one_block, q, outputs, max(self.mean.raw.shape)), jitter

    def row_terms(self, q: Gaussian, outputs: Observations) -> Float[Array, " N"]:
        """Σ_d ⟨log p(y_nd | f_d(x_n))⟩ of every row."""
        L, _ = safe_cholesky(self.kernel.gram(self.inducing.value), self.jitter)
        mean, S = self.mean.value, self.covariances()
        rows = jnp.arange(outputs.values.shape[0])

        def one(row: Int[Array, ""]) -> Float[Array, ""]:
            alone = row[None]
            if outputs.nodes is None:
                return self._closed_term(L, q[alone], outputs.rows(alone), mean, S)
            return self._block_terms(L, q[alone], outputs.rows(alone), mean, S)[0]

        if outputs.nodes is None:
            return jax.lax.map(one, rows)
        block = _rows_at_once(outputs, max(self.mean.raw.shape))
        return jax.lax.map(one, rows, batch_size=min(block, len(rows)))

    def _block_terms(
        self,
        L: Float[Array, "M M"],
        q: Gaussian,
        outputs: Observations,
        mean: Float[Array, "M F"],
        S: Float[Array, "G M M"],
    ) -> Float[Array, " N"]:
        """What each of a few rows adds, over its nodes."""
        assert outputs.nodes is not None
        N, K, Q = outputs.nodes.shape
        x = q.mean[:, None] + jnp.sqrt(q.variance)[:, None] * outputs.nodes
        x = x.reshape(N * K, Q)
        a = solve_triangular(L, self.kernel.cross(x, self.inducing.value).T, lower=True)
        rest = self.kernel.diagonal(x) - jnp.sum(a**2, axis=0)
        own = jax.vmap(lambda s: jnp.sum(a * (s @ a), axis=0))(S)
        spread = jnp.maximum(rest + own, 0.0).T[:, self.group_of_function]
        shape = (N, K, *self.offset.raw.shape)
        centre = (a.T @ mean).reshape(shape) + self.offset.value
        given = None if outputs.given is None else outputs.given[:, None]
        y = jnp.broadcast_to(outputs.values[:, None], shape[:-1])
        found = self.likelihood.expected_log_density(y, centre, spread.reshape(shape), given)
        return jnp.sum(outputs.mask * jnp.mean(found, axis=1), axis=1)

    def _closed_term(
        self,
        L: Float[Array, "M M"],
        q: Gaussian,
        outputs: Observations,
        mean: Float[Array, "M F"],
        S: Float[Array, "G M M"],
    ) -> Float[Array, ""]:
        """Gaussian noise: -½ Σ_nd [log 2πσ² + ⟨(y - f)²⟩/σ²] by psi statistics."""
        assert isinstance(self.likelihood, GaussianNoise)
        Z = self.inducing.value
        P = solve_triangular(L, psi1(self.kernel, Z, q).T, lower=True).T  # Ψ1L⁻ᵀ
        A = jax.vmap(lambda s: whiten(L, s))(psi2(self.kernel, Z, q, outputs.patterns))
        pattern, group = outputs.pattern_of_column, self.group_of_function
        rest = outputs.patterns @ psi0(self.kernel, q) - jnp.trace(A, axis1=1, axis2=2)
        own = jnp.einsum("pml,gml->pg", A, S)[pattern, group]
        squares = jnp.sum(mean * jnp.einsum("dml,ld->md", A[pattern], mean), axis=0)
        target = outputs.mask * (outputs.values - self.offset.value[:, 0])
        misfit = (
            jnp.sum(target * (target - 2.0 * (P @ mean)), axis=0) + squares + own + rest[pattern]
        )
        variance = jnp.broadcast_to(self.likelihood.variances(), misfit.shape)
        count = outputs.mask.sum(axis=0)
        return -0.5 * jnp.sum(count * jnp.log(2.0 * jnp.pi * variance) + misfit / variance)


def packed_root(R: Float[Array, "G M M"]) -> Float[Array, "G M M"]:
    """Lower factors with the logarithms of their diagonals: any real numbers."""
    diagonal = jax.vmap(jnp.diag)(jnp.log(jnp.diagonal(R, axis1=1, axis2=2)))
    return jnp.tril(R, -1) + diagonal


def unpacked_root(raw: Float[Array, "G M M"]) -> Float[Array, "G M M"]:
    """Lower factors with positive diagonals."""
    diagonal = jax.vmap(jnp.diag)(jnp.exp(jnp.diagonal(raw, axis1=1, axis2=2)))
    return jnp.tril(raw, -1) + diagonal


def _rows_at_once(outputs: Observations, width: int) -> int:
    """Rows of a block, one array of which has not too many numbers."""
    assert outputs.nodes is not None
    return max(1, BLOCK_ENTRIES // (outputs.nodes.shape[1] * width))


def _sum_blocks(
    function: Callable[[tuple[Gaussian, Observations]], Array],
    q: Gaussian,
    outputs: Observations,
    width: int,
) -> Float[Array, ""]:
    """Add up a function of rows, block by block, with nothing kept of a block for the gradient."""
    N, block = outputs.values.shape[0], _rows_at_once(outputs, width)
    if block >= N:
        return function((q, outputs))
    total = jnp.zeros((), q.mean.dtype)
    whole = N // block
    every = jnp.arange(whole * block).reshape(whole, block)

    @jax.checkpoint
    def add(total: Array, rows: Array) -> tuple[Array, None]:
        return total + function((q[rows], outputs.rows(rows))), None

    total, _ = jax.lax.scan(add, total, every)
    if whole * block < N:
        rest = jnp.arange(whole * block, N)
        total = total + function((q[rest], outputs.rows(rest)))
    return total

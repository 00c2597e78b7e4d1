"""The sparse GP mapping with its inducing variables integrated out
[BGPLVM16, §3.2; MRD21, App. A].
"""

import equinox as eqx
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve, solve_triangular
from jaxtyping import Array, ArrayLike, Float

from ..expectations import Gaussian, expectation_error, psi0, psi1, psi2
from ..expectations.exp_sum import BLOCK_ENTRIES
from ..kernels import Kernel
from ..linalg import DEFAULT_JITTER, log_determinant, safe_cholesky, whiten
from ..parameters import Parameter, on_device, parameter, positive
from .base import Evidence, Mapping
from .outputs import GaussianOutputs, PatternedOutputs, ScatteredOutputs
from .posterior import GPPosterior
from .shared_covariance import column_means, mean_term


class CollapsedGP(Mapping):
    """y_nd = f_d(x_n) + noise, f_d ~ GP(0, k), summarised by M inducing inputs Z.

    With K = k(Z, Z), β = 1/noise and, for every group of columns that share a missing
    pattern, ψ0, Ψ1, Ψ2 over the rows it has seen, the bound is [MRD21, eq. 45]

        F = (ND/2) log(β/2π) + (D/2) log|K| - (D/2) log|K+βΨ2| - (β/2) tr YYᵀ
            + (β²/2) tr(YᵀΨ1(K+βΨ2)⁻¹Ψ1ᵀY) - (βD/2) ψ0 + (βD/2) tr(K⁻¹Ψ2),

    computed from L = chol K, A = L⁻¹Ψ2L⁻ᵀ and chol(I + βA). The noise variance is ``floor`` plus
    a free positive parameter.
    """

    kernel: Kernel
    inducing: Parameter
    noise: Parameter
    floor: Float[Array, ""]
    jitter: float = eqx.field(static=True)

    def __init__(
        self,
        kernel: Kernel,
        inducing: ArrayLike,
        noise: ArrayLike = 0.01,
        jitter: float = DEFAULT_JITTER,
        floor: ArrayLike = 0.0,
    ):
        self.kernel = kernel
        self.inducing = parameter(inducing)
        self.noise = positive(noise)
        self.floor = on_device(floor, self.noise.raw.dtype)
        self.jitter = jitter

    def noise_variance(self) -> Float[Array, ""]:
        return self.noise.value + self.floor

    def relevance(self) -> Float[Array, " Q"]:
        return self.kernel.relevance(self.inducing.raw.shape[1])

    def size(self, n_rows: int) -> int:
        M = self.inducing.raw.shape[0]
        return min(n_rows * M * (M + 1) // 2, BLOCK_ENTRIES)

    def expectation_error(self, q: Gaussian) -> float:
        return expectation_error(self.kernel, self.inducing.value, q)

    def expected_log_likelihood(self, q: Gaussian, outputs: GaussianOutputs) -> Evidence:
        beta = 1.0 / self.noise_variance()
        stats = self._statistics(q, outputs.weights)
        if isinstance(outputs, ScatteredOutputs):
            return Evidence(_scattered_bound(stats, beta, outputs), stats.jitter)
        return Evidence(_patterned_bound(stats, beta, outputs), stats.jitter)

    def posterior(self, q: Gaussian, outputs: GaussianOutputs) -> GPPosterior:
        beta = 1.0 / self.noise_variance()
        stats = self._statistics(q, outputs.weights)
        if isinstance(outputs, ScatteredOutputs):
            inner = stats.inner_factor(0, beta)[None]
            means = column_means(stats, beta, outputs)
            group = jnp.zeros(outputs.filled.shape[1], jnp.int32)
        else:
            n_groups = outputs.weights.shape[0]
            inner = jnp.stack([stats.inner_factor(g, beta) for g in range(n_groups)])
            group = outputs.group_of_column
            projected = solve_triangular(stats.L, stats.psi1.T @ outputs.filled, lower=True)
            means = jnp.zeros_like(projected)
            for g in range(n_groups):
                solved = beta * cho_solve((inner[g], True), projected)
                means = jnp.where(group == g, solved, means)
        return GPPosterior(
            kernel=self.kernel,
            Z=self.inducing.value,
            noise=self.noise_variance(),
            L=stats.L,
            inner=inner,
            weights=solve_triangular(stats.L, means, lower=True, trans="T"),
            group_of_column=group,
            exact=isinstance(outputs, PatternedOutputs),
        )

    def _statistics(self, q: Gaussian, row_weights: Float[Array, "G N"]) -> "Statistics":
        Z = self.inducing.value
        L, jitter = safe_cholesky(self.kernel.gram(Z), self.jitter)
        return Statistics(
            L=L,
            jitter=jitter,
            psi0=row_weights @ psi0(self.kernel, q),
            psi1=psi1(self.kernel, Z, q),
            psi2=psi2(self.kernel, Z, q, row_weights),
        )


class Statistics(eqx.Module):
    """The statistics that a bound is made of, with chol K; one ψ0 and Ψ2 per row weighting."""

    L: Float[Array, "M M"]
    jitter: Float[Array, ""]
    psi0: Float[Array, " G"]
    psi1: Float[Array, "N M"]
    psi2: Float[Array, "G M M"]

    def whitened(self, g: int) -> Float[Array, "M M"]:
        """A = L⁻¹Ψ2L⁻ᵀ."""
        return whiten(self.L, self.psi2[g])

    def inner_factor(self, g: int, beta: Float[Array, ""]) -> Float[Array, "M M"]:
        """chol(I + βA)."""
        return inner_cholesky(self.whitened(g), beta)


def inner_cholesky(A: Float[Array, "M M"], beta: Float[Array, ""]) -> Float[Array, "M M"]:
    """chol(I + βA), which needs no jitter."""
    return jnp.linalg.cholesky(jnp.eye(A.shape[0], dtype=A.dtype) + beta * A)


def _patterned_bound(
    stats: Statistics, beta: Float[Array, ""], outputs: PatternedOutputs
) -> Float[Array, ""]:
    total = jnp.zeros((), beta.dtype)
    for g, factor in enumerate(outputs.factors):
        A = stats.whitened(g)
        inner = inner_cholesky(A, beta)
        projected = solve_triangular(stats.L, stats.psi1.T @ factor, lower=True)
        explained = jnp.sum(solve_triangular(inner, projected, lower=True) ** 2)
        total += column_terms(
            A, inner, beta, stats.psi0[g], outputs.weights[g].sum(), outputs.n_columns[g]
        )
        total += 0.5 * beta * (beta * explained - outputs.sum_squares[g])
    return total


def _scattered_bound(
    stats: Statistics, beta: Float[Array, ""], outputs: ScatteredOutputs
) -> Float[Array, ""]:
    A = stats.whitened(0)
    n_columns = outputs.filled.shape[1]
    columns = column_terms(
        A, inner_cholesky(A, beta), beta, stats.psi0[0], outputs.weights[0].sum(), n_columns
    )
    return columns + mean_term(stats, beta, outputs) - 0.5 * beta * outputs.sum_squares


def column_terms(
    A: Float[Array, "M M"],
    inner: Float[Array, "M M"],
    beta: Float[Array, ""],
    psi0: Float[Array, ""],
    n_rows: Float[Array, ""],
    n_columns: Float[Array, ""] | int,
) -> Float[Array, ""]:
    """The part of the bound that each column repeats: D·[(N/2)log(β/2π) - ½log|I+βA| - …]."""
    likelihood = 0.5 * n_rows * jnp.log(beta / (2.0 * jnp.pi))
    return n_columns * (
        likelihood - 0.5 * log_determinant(inner) - 0.5 * beta * (psi0 - jnp.trace(A))
    )

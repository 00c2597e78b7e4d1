"""The Dirichlet process mixture of PCCA: its variables, log joint density and prior draws.

For view i and component k ([Leen08, §5.4.3], with the corrections that the documentation lists), in
densities 𝒲(v, S) and 𝒢(a, b) of mean S and b:

    μ_ik ~ N(λ_i, R_i⁻¹),    λ_i ~ N(μ_yi, Σ_yi),    R_i ~ 𝒲(m_i, Σ_yi⁻¹)
    A_ik = Ψ_ik⁻¹ ~ 𝒲(β_i, C_i⁻¹),    C_i ~ 𝒲(m_i, Σ_yi),    (β_i - m_i + 1)⁻¹ ~ 𝒢(1, 1)
    rows of W_ik ~ N(γ_ij, v_i⁻¹ I),    v_i ~ 𝒢(1, 1),    γ_ij ~ N(0, τ⁻¹ I)
    c | α₀ ~ Chinese restaurant process,    α₀ ~ 𝒢(1, 1),    x_n ~ N(0, I)
    y_in | c_n = k ~ N(W_ik x_n + μ_ik, Ψ_ik)

Where the columns of a view share one noise variance (PPCA), A_ik = a_ik I, and a_ik has the prior
of a view of one column: m_i is 1 for a_ik, C_i and β_i, and σ_y², the mean variance, stands for
Σ_yi. Such a view is known by the shape of C.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jax.scipy.special import gammaln
from jaxtyping import Array, Float, Int

from ..data.patterns import mean_filled
from ..inference.conditional_gaussian import LOG_2PI
from .draws import (
    bartlett,
    chi_square_shapes,
    log_chi_square,
    log_gamma,
    wishart_factor,
)
from .numbers import Tape, normals, split

Tables = tuple[Float[Array, "N _"], ...]


class ViewPrior(eqx.Module):
    """The constants of one view: mean and covariance of its data, and Σ_y⁻¹.

    ``noise`` and ``noise_precision`` are the same for full noise, and [[σ_y²]] and [[σ_y⁻²]] for
    noise of one variance.
    """

    mean: Float[Array, " m"]
    covariance: Float[Array, "m m"]
    precision: Float[Array, "m m"]
    noise: Float[Array, "d d"]
    noise_precision: Float[Array, "d d"]


class Prior(eqx.Module):
    """The constants of all views, and τ, which the thesis leaves open."""

    views: tuple[ViewPrior, ...]
    tau: Float[Array, ""]


class Components(NamedTuple):
    """One view's parameters of every component: A_k = F_k F_kᵀ."""

    mu: Float[Array, "K m"]
    factor: Float[Array, "K m m"]
    log_det: Float[Array, " K"]
    W: Float[Array, "K m q"]

    def precision(self) -> Float[Array, "K m m"]:
        """A_k = Ψ_k⁻¹."""
        return self.factor @ jnp.swapaxes(self.factor, -1, -2)


class Hyper(NamedTuple):
    """One view's hyperparameters: those of the means, of the noise, of the loadings."""

    lam: Float[Array, " m"]
    R: Float[Array, "m m"]
    C: Float[Array, "d d"]
    beta: Float[Array, ""]
    v: Float[Array, ""]
    gamma: Float[Array, "m q"]

    def copies(self) -> int:
        """Columns for every row of C: one, or all where they share one noise variance."""
        return len(self.lam) // len(self.C)


class State(NamedTuple):
    """Everything a sweep updates. Components that no sample has are place holders."""

    components: tuple[Components, ...]
    hyper: tuple[Hyper, ...]
    x: Float[Array, "N q"]
    c: Int[Array, " N"]
    alpha: Float[Array, ""]

    def counts(self) -> Int[Array, " K"]:
        """Samples per component."""
        return jnp.zeros(self.components[0].mu.shape[0], self.c.dtype).at[self.c].add(1)


def make_prior(
    Y: list[Float[np.ndarray, "N _"]], tau: float, ridge: float, shared_variance: bool = False
) -> Prior:
    """The sample moments of every view, with a ridge that keeps Σ_y regular."""
    views = []
    for table in Y:
        filled = mean_filled(table)
        covariance = np.atleast_2d(np.cov(filled.T)) + ridge * np.eye(table.shape[1])
        views.append(view_prior(filled.mean(axis=0), covariance, shared_variance))
    return Prior(tuple(views), jnp.asarray(float(tau)))


def view_prior(
    mean: Float[np.ndarray, " m"],
    covariance: Float[np.ndarray, "m m"],
    shared_variance: bool = False,
) -> ViewPrior:
    """The constants of a view from its moments; ``shared_variance`` for noise a I."""
    precision = np.linalg.inv(covariance)
    noise = (covariance, precision)
    if shared_variance:
        variance = np.full((1, 1), np.trace(covariance) / len(covariance))
        noise = (variance, 1.0 / variance)
    return ViewPrior(*(jnp.asarray(array) for array in (mean, covariance, precision, *noise)))


# ---------------------------------------------------------------------- noise of one variance


def pooled(S: Float[Array, "m m"], copies: int) -> Float[Array, "d d"]:
    """What a sum of squares says of the noise: itself, or the trace for one variance."""
    return S if copies == 1 else jnp.trace(S)[None, None]


def repeated(
    factor: Float[Array, "*n d d"], log_det: Float[Array, "*n"], copies: int
) -> tuple[Float[Array, "*n m m"], Float[Array, "*n"]]:
    """The factor and log determinant of A from those of its free part."""
    return factor * jnp.eye(copies), copies * log_det


# ---------------------------------------------------------------------- log joint


def log_joint(prior: Prior, state: State, Y: Tables) -> Float[Array, ""]:
    """Log p(Y, c, X, all parameters and hyperparameters)."""
    total = log_prior(prior, state)
    total += -0.5 * jnp.sum(state.x**2) - 0.5 * state.x.size * LOG_2PI
    for own, table in zip(state.components, Y, strict=True):
        residual = table - own.mu[state.c] - jnp.einsum("nmq,nq->nm", own.W[state.c], state.x)
        white = jnp.einsum("nm,nml->nl", residual, own.factor[state.c])
        total += 0.5 * jnp.sum(own.log_det[state.c]) - 0.5 * jnp.sum(white**2)
        total -= 0.5 * table.size * LOG_2PI
    return total


def log_prior(prior: Prior, state: State) -> Float[Array, ""]:
    """Log p(c, all parameters and hyperparameters)."""
    counts = state.counts()
    total = log_partition(counts, state.alpha) + log_gamma_density(state.alpha, 0.5, 0.5)
    for constants, own, hyper in zip(prior.views, state.components, state.hyper, strict=True):
        total += log_hyper(constants, hyper, prior.tau)
        total += jnp.sum(jnp.where(counts > 0, log_components(own, hyper), 0.0))
    return total


def log_partition(counts: Int[Array, " K"], alpha: Float[Array, ""]) -> Float[Array, ""]:
    """Log p(c | α₀) = K log α₀ + Σ_k log (N_k - 1)! + log Γ(α₀) - log Γ(α₀ + N)."""
    active = counts > 0
    tables = jnp.where(active, jnp.log(alpha) + gammaln(jnp.maximum(counts, 1)), 0.0)
    return jnp.sum(tables) + gammaln(alpha) - gammaln(alpha + jnp.sum(counts))


def log_hyper(constants: ViewPrior, hyper: Hyper, tau: Float[Array, ""]) -> Float[Array, ""]:
    """Log prior density of one view's hyperparameters."""
    m = len(constants.mean)
    apart = hyper.lam - constants.mean
    total = -0.5 * apart @ constants.precision @ apart - 0.5 * m * LOG_2PI
    total -= 0.5 * jnp.linalg.slogdet(constants.covariance)[1]
    total += log_wishart(hyper.R, jnp.asarray(float(m)), m * constants.covariance)
    d = len(hyper.C)
    total += log_wishart(hyper.C, jnp.asarray(float(d)), d * constants.noise_precision)
    total += log_beta_prior(hyper.beta, d) + log_gamma_density(hyper.v, 0.5, 0.5)
    total += 0.5 * hyper.gamma.size * jnp.log(tau / (2.0 * np.pi))
    return total - 0.5 * tau * jnp.sum(hyper.gamma**2)


def log_components(own: Components, hyper: Hyper) -> Float[Array, " K"]:
    """Log prior density of every component's μ, A and W, given the hyperparameters."""
    m, q = own.W.shape[1:]
    d = len(hyper.C)
    apart = own.mu - hyper.lam
    total = -0.5 * jnp.einsum("km,ml,kl->k", apart, hyper.R, apart)
    total += 0.5 * jnp.linalg.slogdet(hyper.R)[1] - 0.5 * m * LOG_2PI
    B = hyper.beta * hyper.C
    total += 0.5 * (hyper.beta - d - 1.0) * own.log_det / hyper.copies()
    total -= 0.5 * jnp.einsum("ml,klm->k", B, own.precision()[:, :d, :d])
    total += log_wishart_constant(hyper.beta, d) + 0.5 * hyper.beta * jnp.linalg.slogdet(B)[1]
    spread = jnp.sum((own.W - hyper.gamma) ** 2, axis=(1, 2))
    return total + 0.5 * m * q * jnp.log(hyper.v / (2.0 * np.pi)) - 0.5 * hyper.v * spread


def log_wishart(
    X: Float[Array, "m m"], df: Float[Array, ""], inverse_scale: Float[Array, "m m"]
) -> Float[Array, ""]:
    """Log density ∝ |X|^{(df-m-1)/2} exp(-½ tr BX): 𝒲(v, S) with v = df, B = v S⁻¹."""
    m = X.shape[0]
    kernel = 0.5 * (df - m - 1.0) * jnp.linalg.slogdet(X)[1] - 0.5 * jnp.sum(inverse_scale * X)
    return kernel + 0.5 * df * jnp.linalg.slogdet(inverse_scale)[1] + log_wishart_constant(df, m)


def log_wishart_constant(df: Float[Array, ""], m: int) -> Float[Array, ""]:
    """-log of 2^{df m / 2} Γ_m(df / 2)."""
    halves = 0.5 * (df - jnp.arange(m))
    return -0.5 * df * m * np.log(2.0) - 0.25 * m * (m - 1) * np.log(np.pi) - gammaln(halves).sum()


def log_beta_prior(beta: Float[Array, ""], m: int) -> Float[Array, ""]:
    """Log density of β where (β - m + 1)⁻¹ ~ Gamma(½, rate ½)."""
    excess = beta - m + 1.0
    return log_gamma_density(1.0 / excess, 0.5, 0.5) - 2.0 * jnp.log(excess)


def log_gamma_density(value: Float[Array, ""], shape: float, rate: float) -> Float[Array, ""]:
    """Log density of Gamma(shape, rate)."""
    constant = shape * np.log(rate) - gammaln(shape)
    return constant + (shape - 1.0) * jnp.log(value) - rate * value


# ---------------------------------------------------------------------- prior draws


def draw_hyper(
    seed: Array, constants: ViewPrior, tau: Float[Array, ""], n_components: int
) -> Hyper:
    """Hyperparameters of one view from their prior."""
    m, d = len(constants.mean), len(constants.noise)
    seeds = split(seed, 2)
    tape = Tape(normals(seeds[0], m + m * m + d * d + m * n_components))
    lam = constants.mean + jnp.linalg.cholesky(constants.covariance) @ tape.take(m)
    shapes = [chi_square_shapes(jnp.asarray(float(size)), size) for size in (m, d)]
    gammas = log_gamma(seeds[1], jnp.concatenate([*shapes, jnp.full(2, 0.5)]))
    chi = log_chi_square(gammas[: m + d])
    R, _ = wishart_factor(bartlett(tape.take(m, m), chi[:m]), m * constants.covariance)
    C, _ = wishart_factor(bartlett(tape.take(d, d), chi[m:]), d * constants.noise_precision)
    inverse, v = 2.0 * jnp.exp(gammas[m + d :])
    gamma = tape.take(m, n_components) / jnp.sqrt(tau)
    return Hyper(lam, R @ R.T, C @ C.T, d - 1.0 + 1.0 / inverse, v, gamma)


def n_normals(hyper: Hyper) -> int:
    """Normal numbers that a draw of one component takes."""
    m, q = hyper.gamma.shape
    return m + len(hyper.C) ** 2 + m * q


def draw_components(tape: Tape, log_chi_square: Float[Array, "n d"], hyper: Hyper) -> Components:
    """Components of one view from the base measure p(θ | hyperparameters)."""
    m, q = hyper.gamma.shape
    n, d = log_chi_square.shape
    spread = jnp.linalg.cholesky(hyper.R)
    mu = hyper.lam + tape.take(n, m) @ solve_triangular(spread, jnp.eye(m), lower=True)
    T = bartlett(tape.take(n, d, d), log_chi_square)
    G = jnp.linalg.cholesky(hyper.beta * hyper.C)
    inverse = solve_triangular(G, jnp.eye(d), lower=True)
    log_det = jnp.sum(log_chi_square, axis=1) - 2.0 * jnp.sum(jnp.log(jnp.diagonal(G)))
    W = hyper.gamma + tape.take(n, m, q) / jnp.sqrt(hyper.v)
    A = repeated(jnp.einsum("lm,nlk->nmk", inverse, T), log_det, hyper.copies())
    return Components(mu, *A, W)

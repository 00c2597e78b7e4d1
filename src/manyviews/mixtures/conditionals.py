"""Full conditionals of the hierarchy, as the parameters of their distributions.

A Gaussian is its precision P and linear term b (mean P⁻¹b), a Wishart its degrees of freedom and
inverse scale B (density ∝ |X|^{(df-m-1)/2} exp(-½ tr BX)), a Gamma its shape and rate. The tests
compare every one with ratios of the log joint density.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax.scipy.special import gammaln
from jaxtyping import Array, Bool, Float

from .draws import log_gamma
from .hierarchy import Components, Hyper, Prior, ViewPrior, pooled
from .numbers import split, uniforms


class Gaussian(NamedTuple):
    """N(P⁻¹ b, P⁻¹)."""

    precision: Float[Array, "m m"]
    linear: Float[Array, " m"]


class Wishart(NamedTuple):
    """Density ∝ |X|^{(df-d-1)/2} exp(-½ tr BX)."""

    df: Float[Array, ""]
    inverse_scale: Float[Array, "d d"]


class Gamma(NamedTuple):
    """Density ∝ x^{shape-1} exp(-rate x)."""

    shape: Float[Array, ""]
    rate: Float[Array, ""]


class Sums(NamedTuple):
    """What one view of the samples of one component adds up to."""

    n: Float[Array, ""]
    y: Float[Array, " m"]
    x: Float[Array, " q"]
    yy: Float[Array, "m m"]
    yx: Float[Array, "m q"]
    xx: Float[Array, "q q"]


# ---------------------------------------------------------------------- one component


def mean_given_rest(
    sums: Sums, A: Float[Array, "m m"], W: Float[Array, "m q"], hyper: Hyper
) -> Gaussian:
    """μ_k: P = N_k A + R, b = A Σ(y - Wx) + Rλ [Leen08, eq. 5.44]."""
    return Gaussian(sums.n * A + hyper.R, A @ (sums.y - W @ sums.x) + hyper.R @ hyper.lam)


def noise_given_rest(
    sums: Sums, mu: Float[Array, " m"], W: Float[Array, "m q"], hyper: Hyper
) -> Wishart:
    """A_k = Ψ_k⁻¹: df = N_k + β, B = S + βC, S the sum of squared residuals (5.66 has N_k S).

    Of A_k = a_k I, a_k: df = N_k m + β, B = tr S + βC.
    """
    cross = sums.yx @ W.T
    shift = jnp.outer(sums.y - W @ sums.x, mu)
    S = sums.yy - cross - cross.T + W @ sums.xx @ W.T
    S = S - shift - shift.T + sums.n * jnp.outer(mu, mu)
    S, copies = 0.5 * (S + S.T), hyper.copies()
    return Wishart(copies * sums.n + hyper.beta, pooled(S, copies) + hyper.beta * hyper.C)


class RotatedGaussian(NamedTuple):
    """W = V Z Uᵀ with independent Z_ji ~ N(mean_ji, 1 / precision_ji)."""

    left: Float[Array, "m m"]
    right: Float[Array, "q q"]
    mean: Float[Array, "m q"]
    precision: Float[Array, "m q"]

    def draw(self, normal: Float[Array, "m q"]) -> Float[Array, "m q"]:
        """A draw from standard normal numbers."""
        return self.left @ (self.mean + normal / jnp.sqrt(self.precision)) @ self.right.T


def loadings_given_rest(
    sums: Sums, mu: Float[Array, " m"], A: Float[Array, "m m"], hyper: Hyper
) -> RotatedGaussian:
    """W_k, all of it: vec W has precision XᵀX ⊗ A + vI, b = A Ỹᵀ X + vΓ.

    The thesis replaces Ψ by its diagonal; with A = V a Vᵀ and XᵀX = U d Uᵀ the exact precision is
    diagonal in V and U: a_j d_i + v.
    """
    a, V = jnp.linalg.eigh(A)
    d, U = jnp.linalg.eigh(sums.xx)
    precision = jnp.maximum(a, 0.0)[:, None] * jnp.maximum(d, 0.0)[None, :] + hyper.v
    linear = A @ (sums.yx - jnp.outer(mu, sums.x)) + hyper.v * hyper.gamma
    return RotatedGaussian(V, U, (V.T @ linear @ U) / precision, precision)


# ---------------------------------------------------------------------- hyperparameters


def lambda_given_rest(
    mu: Float[Array, "K m"], active: Bool[Array, " K"], hyper: Hyper, constants: ViewPrior
) -> Gaussian:
    """λ: P = KR + Σ_y⁻¹, b = R Σ_k μ_k + Σ_y⁻¹ μ_y [Leen08, eq. 5.53]."""
    total = jnp.sum(jnp.where(active[:, None], mu, 0.0), axis=0)
    precision = jnp.sum(active) * hyper.R + constants.precision
    return Gaussian(precision, hyper.R @ total + constants.precision @ constants.mean)


def spread_given_rest(
    mu: Float[Array, "K m"], active: Bool[Array, " K"], hyper: Hyper, constants: ViewPrior
) -> Wishart:
    """R: df = m + K, B = Σ_k (μ_k - λ)(μ_k - λ)ᵀ + mΣ_y [Leen08, eq. 5.59]."""
    apart = jnp.where(active[:, None], mu - hyper.lam, 0.0)
    m = len(constants.mean)
    return Wishart(m + jnp.sum(active) * 1.0, apart.T @ apart + m * constants.covariance)


def noise_scale_given_rest(
    A: Float[Array, "K m m"], active: Bool[Array, " K"], hyper: Hyper, constants: ViewPrior
) -> Wishart:
    """C: df = βK + m, B = mΣ_y⁻¹ + β Σ_k A_k [Leen08, eq. 5.76]; m is 1 for A_k = a_k I."""
    d = len(hyper.C)
    total = jnp.sum(jnp.where(active[:, None, None], A[:, :d, :d], 0.0), axis=0)
    B = d * constants.noise_precision + hyper.beta * total
    return Wishart(hyper.beta * jnp.sum(active) + d, B)


class NoiseSums(NamedTuple):
    """What the density of β takes from one view: K, m, Σ log|A_k|, Σ tr C A_k, log|C|."""

    n_active: Float[Array, ""]
    width: Float[Array, ""]
    log_det: Float[Array, ""]
    trace: Float[Array, ""]
    log_det_scale: Float[Array, ""]


def noise_sums(
    own: Components, active: Bool[Array, " K"], C: Float[Array, "d d"], log_det: Float[Array, ""]
) -> NoiseSums:
    """The sums over the components that have samples."""
    d, m = len(C), own.mu.shape[1]
    A = jnp.sum(jnp.where(active[:, None, None], own.precision()[:, :d, :d], 0.0), axis=0)
    return NoiseSums(
        jnp.sum(active) * 1.0,
        jnp.asarray(float(d)),
        jnp.sum(jnp.where(active, own.log_det / (m // d), 0.0)),
        jnp.sum(C * A),
        log_det,
    )


def log_beta_given_rest(u: Float[Array, ""], sums: NoiseSums, widest: int) -> Float[Array, ""]:
    """Log density of u = log(β - m + 1), up to a constant: the Jacobian is u [Leen08, eq. 5.78].

    Widths m are numbers here, not shapes, so that all views go through one compiled sampler.
    """
    m, i = sums.width, jnp.arange(widest)
    excess = jnp.exp(u)
    beta = excess + m - 1.0
    log_gammas = gammaln(jnp.where(i < m, 0.5 * (beta - i), 1.0))
    each = 0.5 * beta * (sums.log_det_scale + m * jnp.log(0.5 * beta)) - jnp.sum(log_gammas)
    data = 0.5 * (beta - m - 1.0) * sums.log_det - 0.5 * beta * sums.trace
    return data + sums.n_active * each - 1.5 * u - 0.5 / excess + u


def loading_precision_given_rest(
    W: Float[Array, "K m q"], active: Bool[Array, " K"], hyper: Hyper
) -> Gamma:
    """v: Gamma((mKq + 1)/2, (1 + Σ‖w - γ‖²)/2); the text forgets q."""
    spread = jnp.where(active[:, None, None], W - hyper.gamma, 0.0)
    size = hyper.gamma.size * jnp.sum(active)
    return Gamma(0.5 * (size + 1.0), 0.5 * (1.0 + jnp.sum(spread**2)))


def loading_mean_given_rest(
    W: Float[Array, "K m q"], active: Bool[Array, " K"], v: Float[Array, ""], prior: Prior
) -> tuple[Float[Array, "m q"], Float[Array, ""]]:
    """γ: mean v Σ_k W_k / (Kv + τ), and the precision Kv + τ of every entry."""
    precision = jnp.sum(active) * v + prior.tau
    return v * jnp.sum(jnp.where(active[:, None, None], W, 0.0), axis=0) / precision, precision


# ---------------------------------------------------------------------- samples


def latent_given_rest(
    components: tuple[Components, ...],
) -> tuple[Float[Array, "K q q"], tuple[Float[Array, "K m q"], ...]]:
    """x: precision I + Σ_i W_iᵀ A_i W_i, linear term Σ_i (A_i W_i)ᵀ (y_i - μ_i), per component."""
    q = components[0].W.shape[2]
    precision = jnp.eye(q)[None]
    gains = []
    for own in components:
        half = jnp.swapaxes(own.factor, 1, 2) @ own.W
        precision = precision + jnp.swapaxes(half, 1, 2) @ half
        gains.append(own.factor @ half)
    return precision, tuple(gains)


def concentration_given_rest(
    seed: Array, alpha: Float[Array, ""], n_active: Array, n: int
) -> Float[Array, ""]:
    """α₀ by Escobar and West (1995), exact for its prior Gamma(½, ½) [Leen08, eq. 5.27].

    η ~ Beta(α₀ + 1, N), then Gamma(K ± ½, ½ - log η): the larger shape is the smaller plus an
    exponential number.
    """
    first, second = split(seed)
    shapes = jnp.stack([alpha + 1.0, jnp.asarray(float(n)), n_active - 0.5])
    gammas = log_gamma(first, shapes)
    rate = 0.5 - (gammas[0] - jnp.logaddexp(gammas[0], gammas[1]))
    uniform = uniforms(second, 2)
    up = uniform[0] < (n_active - 0.5) / (n_active - 0.5 + n * rate)
    return (jnp.exp(gammas[2]) - jnp.where(up, jnp.log(uniform[1]), 0.0)) / rate

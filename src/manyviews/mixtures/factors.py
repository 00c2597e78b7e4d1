"""Factors of the variational posterior: their moments, entropies and updates, in NumPy.

Every factor is the conditional of `manyviews.mixtures.conditionals` with expectations in
place of values; only β has no standard form, and lives on a grid.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import digamma, gammaln, multigammaln
from scipy.stats import wishart

from ..inference.conditional_gaussian import LOG_2PI

GRID = np.linspace(-3.0, 14.0, 500)  # of u = log(β - m + 1)


@dataclass
class WishartFactor:
    """q(A) ∝ |A|^{(df-d-1)/2} exp(-½ tr BA), or for A = a I that density of a.

    ``copies`` is the size of I: how many columns share a. Moments are those of A.
    """

    df: float
    B: Float[np.ndarray, "d d"]
    copies: int = 1

    def __post_init__(self) -> None:
        d = len(self.B)
        self.mean = self.df * np.linalg.inv(self.B) * np.eye(self.copies)
        self.log_det_B = np.linalg.slogdet(self.B)[1]
        places = 0.5 * (self.df - np.arange(d))
        free = float(digamma(places).sum()) + d * np.log(2.0) - self.log_det_B
        self.log_det = self.copies * free

    def draw_inverse(self, rng: np.random.RandomState) -> Float[np.ndarray, "m m"]:
        """One A⁻¹ = R G⁻¹ Rᵀ, G ~ Wishart(df, I) and B = RRᵀ, for which B need not be inverted."""
        d = len(self.B)
        R = np.linalg.cholesky(self.B[::-1, ::-1])[::-1, ::-1]  # upper triangular
        G = np.reshape(wishart.rvs(self.df, np.eye(d), random_state=rng), (d, d))
        return R @ np.linalg.inv(G) @ R.T * np.eye(self.copies)

    def entropy(self) -> float:
        """-E log q."""
        d = len(self.B)
        return -wishart_log(self.df, self.log_det_B, self.log_det / self.copies, self.df * d, d)


def wishart_log(df: float, log_det_B: float, log_det: float, trace: float, m: int) -> float:
    """Log Wishart density from log|B|, log|A| and tr BA (or their expectations)."""
    constant = 0.5 * df * log_det_B - 0.5 * df * m * np.log(2.0) - multigammaln(0.5 * df, m)
    return float(constant + 0.5 * (df - m - 1.0) * log_det - 0.5 * trace)


@dataclass
class GaussianFactor:
    """q = N(P⁻¹ b, P⁻¹)."""

    mean: Float[np.ndarray, " m"]
    covariance: Float[np.ndarray, "m m"]

    @classmethod
    def of(cls, P: Float[np.ndarray, "m m"], b: Float[np.ndarray, " m"]) -> "GaussianFactor":
        """From precision and linear term."""
        covariance = np.linalg.inv(P)
        return cls(covariance @ b, covariance)

    def entropy(self) -> float:
        """-E log q."""
        m = len(self.mean)
        return 0.5 * (m * (1.0 + LOG_2PI) + np.linalg.slogdet(self.covariance)[1])


@dataclass
class LoadingFactor:
    """q(W): W = V Z Uᵀ, the entries of Z independent."""

    V: Float[np.ndarray, "m m"]
    U: Float[np.ndarray, "q q"]
    mean: Float[np.ndarray, "m q"]
    variance: Float[np.ndarray, "m q"]

    @classmethod
    def of(
        cls,
        A: Float[np.ndarray, "m m"],
        xx: Float[np.ndarray, "q q"],
        v: float,
        linear: Float[np.ndarray, "m q"],
    ) -> "LoadingFactor":
        """Vec W of precision xx ⊗ A + vI, and its linear term."""
        a, V = np.linalg.eigh(A)
        d, U = np.linalg.eigh(xx)
        variance = 1.0 / (np.maximum(a, 0.0)[:, None] * np.maximum(d, 0.0)[None, :] + v)
        return cls(V, U, V @ ((V.T @ linear @ U) * variance) @ U.T, variance)

    def inner(self, A: Float[np.ndarray, "m m"]) -> Float[np.ndarray, "q q"]:
        """E[WᵀAW]."""
        spread = np.diag(self.V.T @ A @ self.V) @ self.variance
        return self.mean.T @ A @ self.mean + (self.U * spread) @ self.U.T

    def outer(self, xx: Float[np.ndarray, "q q"]) -> Float[np.ndarray, "m m"]:
        """E[W xx Wᵀ]."""
        spread = self.variance @ np.diag(self.U.T @ xx @ self.U)
        return self.mean @ xx @ self.mean.T + (self.V * spread) @ self.V.T

    def entropy(self) -> float:
        """-E log q."""
        return 0.5 * float(np.sum(1.0 + LOG_2PI + np.log(self.variance)))

    def draw(self, rng: np.random.RandomState) -> Float[np.ndarray, "m q"]:
        """One W."""
        noise = np.sqrt(self.variance) * rng.standard_normal(self.variance.shape)
        return self.mean + self.V @ noise @ self.U.T


@dataclass
class GammaFactor:
    """q = Gamma(shape, rate)."""

    shape: float
    rate: float

    @property
    def mean(self) -> float:
        """E x."""
        return self.shape / self.rate

    @property
    def log(self) -> float:
        """E log x."""
        return float(digamma(self.shape) - np.log(self.rate))

    def gain(self) -> float:
        """E log p - E log q, for the prior Gamma(½, ½)."""
        prior = 0.5 * np.log(0.5) - gammaln(0.5) - 0.5 * self.log - 0.5 * self.mean
        own = self.shape * np.log(self.rate) - gammaln(self.shape)
        own += (self.shape - 1.0) * self.log - self.rate * self.mean
        return float(prior - own)


class GridFactor:
    """q(β) on a grid of u = log(β - m + 1), with the prior as masses of the grid points."""

    def __init__(self, m: int):
        excess = np.exp(GRID)
        self.beta = excess + m - 1.0
        log_prior = -0.5 * GRID - 0.5 / excess
        self.log_prior = log_prior - np.logaddexp.reduce(log_prior)
        halves = 0.5 * (self.beta[:, None] - np.arange(m))
        self.m, self.log_multigamma = m, gammaln(halves).sum(axis=1)
        self.log_multigamma += 0.25 * m * (m - 1) * np.log(np.pi)
        self.weights = np.exp(self.log_prior)

    def _log_components(
        self, n: int, log_det: float, trace: float, log_det_C: float
    ) -> Float[np.ndarray, " G"]:
        """Σ_k E log p(A_k | β, C) at every grid point."""
        beta, m = self.beta, self.m
        each = 0.5 * beta * (log_det_C + m * np.log(0.5 * beta)) - self.log_multigamma
        return n * each + 0.5 * (beta - m - 1.0) * log_det - 0.5 * beta * trace

    def update(self, n: int, log_det: float, trace: float, log_det_C: float) -> None:
        """q(β) ∝ p(β) exp Σ_k E log p(A_k | β, C)."""
        log_q = self.log_prior + self._log_components(n, log_det, trace, log_det_C)
        self.weights = np.exp(log_q - np.logaddexp.reduce(log_q))

    def gain(self, n: int, log_det: float, trace: float, log_det_C: float) -> float:
        """E [log p(β) + Σ_k log p(A_k | β, C) - log q(β)]."""
        some = self.weights > 0
        inner = self.log_prior + self._log_components(n, log_det, trace, log_det_C)
        return float(self.weights[some] @ (inner[some] - np.log(self.weights[some])))

    @property
    def mean(self) -> float:
        """E β."""
        return float(self.weights @ self.beta)

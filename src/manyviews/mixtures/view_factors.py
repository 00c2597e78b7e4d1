"""The variational factors of one view: its components and its hyperparameters."""

from typing import Any

import numpy as np
from jaxtyping import Float

from ..inference.conditional_gaussian import LOG_2PI
from .factors import (
    GammaFactor,
    GaussianFactor,
    GridFactor,
    LoadingFactor,
    WishartFactor,
    wishart_log,
)
from .hierarchy import ViewPrior

UNUSED_SPREAD = 0.1  # of the first loadings of sticks that no sample has


ROUNDING = 1e-6
"""Share of a view's mean variance that values are taken to be uncertain by, as if rounded. Without
it, A has no limit in directions in which a view does not vary at all."""


class ViewFactors:
    """q(μ_t), q(A_t), q(W_t) of every stick, and q of λ, R, C, β, v, γ."""

    def __init__(
        self,
        constants: ViewPrior,
        tau: float,
        n_sticks: int,
        sources: list[int | None],
        means: Float[np.ndarray, "K m"],
        loadings: Float[np.ndarray, "K m q"],
        noise: Float[np.ndarray, "K m m"],
        rng: np.random.RandomState,
    ):
        self.mean_y, self.cov_y = np.array(constants.mean), np.array(constants.covariance)
        self.precision_y, self.tau, self.n = np.array(constants.precision), tau, n_sticks
        self.noise_precision_y = np.array(constants.noise_precision)
        m, q = loadings.shape[1:]
        d = len(constants.noise)
        self.m, self.q, self.d, self.copies = m, q, d, m // d
        self.rounding = ROUNDING * float(np.trace(self.cov_y)) / m
        noise = noise[:, :d, :d]
        typical = noise.mean(axis=0)
        self.mu, self.A, self.W = [], [], []
        for source in sources:
            used = source is not None
            psi = noise[source] if used else typical
            start = loadings[source] if used else UNUSED_SPREAD * rng.standard_normal((m, q))
            self.mu.append(
                GaussianFactor(means[source] if used else self.mean_y, 0.01 * self.cov_y)
            )
            self.A.append(WishartFactor(d + 2.0, (d + 2.0) * psi, self.copies))
            small = np.full((m, q), 1e-4)
            self.W.append(LoadingFactor(np.eye(m), np.eye(q), start, small))
        self.lam = GaussianFactor(self.mean_y, 0.01 * self.cov_y)
        self.R = WishartFactor(float(m + n_sticks), (m + n_sticks) * self.cov_y)
        self.C = WishartFactor(float(d), d * np.linalg.inv(typical))
        self.beta, self.v = GridFactor(d), GammaFactor(1.0, 1.0)
        self.beta.weights = np.eye(len(self.beta.beta))[np.argmin(np.abs(self.beta.beta - d - 1))]
        self.gamma_mean, self.gamma_variance = np.zeros((m, q)), 1.0 / tau

    # ------------------------------------------------------------------ updates

    def evidence(self, t: int, Y: Float[np.ndarray, "N m"]) -> tuple[Any, Any, Any]:
        """E[WᵀAW], E[WᵀA(y - μ)], and E log N(y | μ, Ψ) without the terms in x."""
        A = self.A[t].mean
        apart = Y - self.mu[t].mean
        scaled = apart @ A
        quadratic = np.sum(scaled * apart, axis=1) + np.sum(A * self.mu[t].covariance)
        quadratic += self.rounding * np.trace(A)
        log_density = 0.5 * (self.A[t].log_det - self.m * LOG_2PI - quadratic)
        return self.W[t].inner(A), scaled @ self.W[t].mean, log_density

    def update_components(
        self,
        Y: Float[np.ndarray, "N m"],
        r: Float[np.ndarray, "N T"],
        x: Float[np.ndarray, "N T q"],
        x_covariance: Float[np.ndarray, "T q q"],
    ) -> None:
        """W, then μ, then A of every stick."""
        R, lam, v = self.R.mean, self.lam.mean, self.v.mean
        beta, C = self.beta.mean, self.C.mean
        for t in range(self.n):
            n = r[:, t].sum()
            weighted_y, weighted_x = Y * r[:, t, None], x[:, t] * r[:, t, None]
            y_sum, x_sum = weighted_y.sum(axis=0), weighted_x.sum(axis=0)
            yx, yy = weighted_y.T @ x[:, t], weighted_y.T @ Y
            xx = weighted_x.T @ x[:, t] + n * x_covariance[t]
            A, mu = self.A[t].mean, self.mu[t].mean
            linear = A @ (yx - np.outer(mu, x_sum)) + v * self.gamma_mean
            self.W[t] = W = LoadingFactor.of(A, xx, v, linear)
            left = y_sum - W.mean @ x_sum
            self.mu[t] = own = GaussianFactor.of(n * A + R, A @ left + R @ lam)
            cross, shift = yx @ W.mean.T, np.outer(left, own.mean)
            S = yy - cross - cross.T + W.outer(xx) - shift - shift.T
            S += n * (np.outer(own.mean, own.mean) + own.covariance)
            S += n * self.rounding * np.eye(self.m)
            S = 0.5 * (S + S.T)
            S = S if self.copies == 1 else np.trace(S)[None, None]
            self.A[t] = WishartFactor(self.copies * n + beta, S + beta * C, self.copies)

    def update_hyper(self) -> None:
        """λ, R, C, β, γ, v."""
        means = np.stack([factor.mean for factor in self.mu])
        P = self.n * self.R.mean + self.precision_y
        b = self.R.mean @ means.sum(axis=0) + self.precision_y @ self.mean_y
        self.lam = GaussianFactor.of(P, b)
        self.R = WishartFactor(float(self.m + self.n), self._mean_spread() + self.m * self.cov_y)
        beta, B = self.beta.mean, self.d * self.noise_precision_y
        self.C = WishartFactor(beta * self.n + self.d, B + beta * self._total_precision())
        self.beta.update(*self._noise_sums())
        self.gamma_variance = 1.0 / (self.n * self.v.mean + self.tau)
        loadings = np.sum([factor.mean for factor in self.W], axis=0)
        self.gamma_mean = self.v.mean * self.gamma_variance * loadings
        self.v = GammaFactor(
            0.5 * (self.m * self.n * self.q + 1.0), 0.5 * (1.0 + self._loading_spread())
        )

    # ------------------------------------------------------------------ bound

    def gain(self) -> float:
        """E log p - E log q of everything in this view but the data."""
        m, q, n = self.m, self.q, self.n
        total = 0.5 * n * (self.R.log_det - m * LOG_2PI)
        total -= 0.5 * np.sum(self.R.mean * self._mean_spread())
        total += sum(factor.entropy() for factor in self.mu)
        total += self.beta.gain(*self._noise_sums()) + sum(f.entropy() for f in self.A)
        total += 0.5 * m * q * n * (self.v.log - LOG_2PI)
        total -= 0.5 * self.v.mean * self._loading_spread()
        total += sum(factor.entropy() for factor in self.W)
        apart = self.lam.mean - self.mean_y
        spread = np.outer(apart, apart) + self.lam.covariance
        total += -0.5 * np.sum(self.precision_y * spread) - 0.5 * m * LOG_2PI
        total += -0.5 * np.linalg.slogdet(self.cov_y)[1] + self.lam.entropy()
        scales = (self.R, m * self.cov_y), (self.C, self.d * self.noise_precision_y)
        for factor, B in scales:
            size, trace = len(B), float(np.sum(B * factor.mean))
            total += wishart_log(float(size), np.linalg.slogdet(B)[1], factor.log_det, trace, size)
            total += factor.entropy()
        square = np.sum(self.gamma_mean**2) + m * q * self.gamma_variance
        total += 0.5 * m * q * (np.log(self.tau) - LOG_2PI) - 0.5 * self.tau * square
        total += 0.5 * m * q * (1.0 + LOG_2PI + np.log(self.gamma_variance))
        return float(total) + self.v.gain()

    def draw(self, t: int, rng: np.random.RandomState) -> tuple[Any, Any, Any]:
        """μ, W and Ψ of one stick from their factors."""
        mu = rng.multivariate_normal(self.mu[t].mean, self.mu[t].covariance)
        noise = self.A[t].draw_inverse(rng)
        return mu, self.W[t].draw(rng), noise

    def _mean_spread(self) -> Float[np.ndarray, "m m"]:
        apart = np.stack([factor.mean for factor in self.mu]) - self.lam.mean
        inner = sum(factor.covariance for factor in self.mu)
        return apart.T @ apart + inner + self.n * self.lam.covariance

    def _loading_spread(self) -> float:
        total = sum(np.sum((f.mean - self.gamma_mean) ** 2) + f.variance.sum() for f in self.W)
        return float(total) + self.n * self.m * self.q * self.gamma_variance

    def _noise_sums(self) -> tuple[int, float, float, float]:
        log_det = float(sum(factor.log_det for factor in self.A)) / self.copies
        trace = float(np.sum(self.C.mean * self._total_precision()))
        return self.n, log_det, trace, self.C.log_det

    def _total_precision(self) -> Float[np.ndarray, "d d"]:
        """Σ_t E A_t, or Σ_t E a_t."""
        return np.sum([factor.mean[: self.d, : self.d] for factor in self.A], axis=0)

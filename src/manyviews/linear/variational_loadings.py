"""Uncertain loadings of one view, their relevances and its noise ([MRD21, §2]; Klami 2015)."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import digamma, gammaln, polygamma

from ..fitted import Positions
from .emission import IndependentNoise

SHAPE, RATE = 1e-6, 1e-6
"""Gamma prior of precisions: flat, on data scaled to about unit variance."""

LEAST_NOISE = 1e-3
"""Share of a view's variance below which its columns' prior noise does not go: a column with
few values can be fitted exactly, and its likelihood is then without limit."""

MOST_ALIKE = 1e4  # largest shape of the prior that the columns' noise precisions share
CHUNK = 512  # small matrices that fit into cache together


@dataclass
class Loadings:
    """q(W, μ), q(α) and q(τ) of one view; the mean μ is the loading on a constant one."""

    observed: Float[np.ndarray, "N D"]  # one or zero
    values: Float[np.ndarray, "N D"]
    shared_noise: bool
    mean: Float[np.ndarray, "D Q1"]
    covariance: Float[np.ndarray, "D Q1 Q1"]
    alpha_rate: Float[np.ndarray, " Q1"]
    half_counts: Float[np.ndarray, " D"]
    tau_shape: Float[np.ndarray, " D"]
    tau_rate: Float[np.ndarray, " D"]
    tau_prior: tuple[float, float] = (SHAPE, RATE)
    log_volume: float = 0.0  # Σ_d log|Σ_d|

    @classmethod
    def start(
        cls, Y: Float[np.ndarray, "N D"], n_components: int, shared_noise: bool
    ) -> "Loadings":
        """Loadings that say nothing, noise of half the variance."""
        observed = ~np.isnan(Y)
        D, Q1 = Y.shape[1], n_components + 1
        counts = observed.sum(axis=0).astype(float)
        half = 0.5 * (np.full(D, counts.sum()) if shared_noise else counts)
        variance = max(float(np.nanvar(Y)), 1e-12)
        return cls(
            observed.astype(float), np.where(observed, Y, 0.0), shared_noise, np.zeros((D, Q1)),
            np.zeros((D, Q1, Q1)), np.full(Q1, (SHAPE + 0.5 * D) * variance), half,
            SHAPE + half, 0.5 * (SHAPE + half) * variance,
        )  # fmt: skip

    @property
    def alpha(self) -> Float[np.ndarray, " Q1"]:
        """⟨α⟩, the precision of every factor's loadings."""
        return (SHAPE + 0.5 * len(self.mean)) / self.alpha_rate

    def update(self, q: Positions, moments: Float[np.ndarray, "N M"]) -> None:
        """q(W, μ), then q(τ), then q(α)."""
        D, Q1 = self.mean.shape
        tau = self.tau_shape / self.tau_rate
        cross = self.values.T @ np.hstack([q.mean, np.ones((len(q.mean), 1))])
        if self.observed.all():
            T = moments.sum(axis=0).reshape(1, Q1, Q1)
            root = 1.0 / np.sqrt(self.alpha)
            values, vectors = np.linalg.eigh(root[:, None] * T[0] * root)
            shrunk = 1.0 / (1.0 + tau[:, None] * np.maximum(values, 0.0))
            axes = root[:, None] * vectors
            squares = (axes[:, None, :] * axes[None, :, :]).reshape(-1, Q1)
            self.covariance = (shrunk @ squares.T).reshape(D, Q1, Q1)
            self.log_volume = float(np.log(shrunk).sum() - D * np.log(self.alpha).sum())
        else:
            T = (self.observed.T @ moments).reshape(D, Q1, Q1)
            precision = tau[:, None, None] * T
            precision[:, np.arange(Q1), np.arange(Q1)] += self.alpha
            self.covariance, volumes = small_inverses(precision)
            self.log_volume = -float(volumes.sum())
        self.mean = tau[:, None] * np.einsum("dqr,dr->dq", self.covariance, cross)
        fitted = self.covariance + self.mean[:, :, None] * self.mean[:, None, :]
        misfit = np.sum(self.values**2, axis=0) - 2.0 * np.sum(self.mean * cross, axis=1)
        misfit = np.maximum(misfit + np.sum(fitted * T, axis=(1, 2)), 0.0)
        if self.shared_noise:
            misfit = np.full(D, misfit.sum())
        self.tau_shape = self.tau_prior[0] + self.half_counts
        self.tau_rate = self.tau_prior[1] + 0.5 * misfit
        if not self.shared_noise:
            log_tau = digamma(self.tau_shape) - np.log(self.tau_rate)
            floor = LEAST_NOISE * float(np.sum(self.values**2) / self.observed.sum())
            self.tau_prior = fitted_gamma(self.tau_shape / self.tau_rate, log_tau, floor)
        self.update_alpha()

    def update_alpha(self) -> None:
        """q(α) given q(W)."""
        self.alpha_rate = RATE + 0.5 * np.diagonal(self.power())

    def power(self) -> Float[np.ndarray, "Q1 Q1"]:
        """⟨WᵀW⟩, μ as the last column of W."""
        return self.mean.T @ self.mean + self.covariance.sum(axis=0)

    def transform(self, R: Float[np.ndarray, "Q Q2"]) -> None:
        """W' = W R, or fewer factors if R is not square."""
        full = np.eye(R.shape[0] + 1, R.shape[1] + 1)
        full[:-1, :-1], full[-1, :], full[:, -1] = R, 0.0, 0.0
        full[-1, -1] = 1.0
        self.mean = self.mean @ full
        self.covariance = full.T @ self.covariance @ full
        if R.shape[0] == R.shape[1]:
            self.log_volume += 2.0 * len(self.mean) * float(np.linalg.slogdet(R)[1])
        else:
            self.log_volume = float(np.linalg.slogdet(self.covariance)[1].sum())
        self.update_alpha()

    def emission(self) -> IndependentNoise:
        """The view as the core wants it."""
        log_tau = digamma(self.tau_shape) - np.log(self.tau_rate)
        return IndependentNoise(
            self.mean[:, :-1],
            self.mean[:, -1],
            self.tau_rate / self.tau_shape,
            -log_tau,
            self.covariance,
        )

    def divergence(self) -> float:
        """KL of q(W, μ), q(α) and q(τ) from their priors."""
        D, Q1 = self.mean.shape
        shape = np.full(Q1, SHAPE + 0.5 * D)
        log_alpha = digamma(shape) - np.log(self.alpha_rate)
        weights = 0.5 * float(np.diagonal(self.power()) @ self.alpha)
        weights += -0.5 * D * float(log_alpha.sum()) - 0.5 * D * Q1 - 0.5 * self.log_volume
        noise = gamma_divergence(self.tau_shape, self.tau_rate, self.tau_prior)
        noise = noise[:1] if self.shared_noise else noise
        return weights + float(
            gamma_divergence(shape, self.alpha_rate, (SHAPE, RATE)).sum() + noise.sum()
        )


def gamma_divergence(
    shape: Float[np.ndarray, " M"], rate: Float[np.ndarray, " M"], prior: tuple[float, float]
) -> Float[np.ndarray, " M"]:
    """KL(Gamma(shape, rate) ‖ Gamma(prior))."""
    a, b = prior
    return (
        (shape - a) * digamma(shape)
        - gammaln(shape)
        + gammaln(a)
        + a * (np.log(rate) - np.log(b))
        + shape * (b - rate) / rate
    )


def fitted_gamma(
    mean: Float[np.ndarray, " D"], mean_log: Float[np.ndarray, " D"], floor: float
) -> tuple[float, float]:
    """The Gamma (a, b) that maximises Σ_d ⟨log p(τ_d)⟩: log a - ψ(a) = log⟨τ⟩ - ⟨log τ⟩.

    The noise variance b/a has a floor.
    """
    gap = max(float(np.log(mean.mean()) - mean_log.mean()), 0.5 / MOST_ALIKE)
    a = (3.0 - gap + np.sqrt((gap - 3.0) ** 2 + 24.0 * gap)) / (12.0 * gap)
    for _ in range(4):  # Newton, from Minka's approximation
        slope = 1.0 / a - polygamma(1, a)
        a = 1.0 / (1.0 / a + (gap - np.log(a) + digamma(a)) / (a**2 * -slope))
    a = float(np.clip(a, SHAPE, MOST_ALIKE))
    return a, a * max(1.0 / float(mean.mean()), floor)


def small_inverses(
    A: Float[np.ndarray, "D M M"],
) -> tuple[Float[np.ndarray, "D M M"], Float[np.ndarray, " D"]]:
    """All inverses and log determinants, by elimination of all matrices at once.

    LAPACK, called one small matrix at a time, spends its time on being called.
    """
    D, M, _ = A.shape
    inverses, volumes = np.empty_like(A), np.zeros(D)
    for begin in range(0, D, CHUNK):
        here = slice(begin, begin + CHUNK)
        B = A[here].transpose(1, 2, 0).copy()
        for k in range(M):
            pivot = B[k, k].copy()
            volumes[here] += np.log(pivot)
            row, column = B[k] / pivot, B[:, k].copy()
            B -= column[:, None] * row[None]
            B[k], B[:, k] = row, -column / pivot
            B[k, k] = 1.0 / pivot
        inverses[here] = B.transpose(2, 0, 1)
    return inverses, volumes

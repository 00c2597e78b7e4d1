"""Variational factor analysis with a relevance for every view and factor (000 §2; Klami 2015)."""

import time
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float
from scipy.special import digamma, gammaln, polygamma

from .._runtime import single_threaded_blas
from ..data.patterns import find_patterns
from ..fitted import Positions, Tables
from ..inference.diagnostics import settled
from .em import PATIENCE
from .emission import IndependentNoise, second_moments
from .gaussian import LinearGaussian, column_signs
from .rotation import best_rotation
from .small_inverses import small_inverses

SHAPE, RATE = 1e-6, 1e-6
"""Gamma prior of precisions: flat, on data scaled to about unit variance."""

LEAST_NOISE = 1e-3
"""Share of a view's variance below which its columns' prior noise does not go: a column with
few values can be fitted exactly, and its likelihood is then without limit."""

MOST_ALIKE = 1e4  # largest shape of the prior that the columns' noise precisions share

ROTATED_EVERY = 5  # iterations, after the first few
NEGLIGIBLE = 1e-7  # share of a view's variance below which a factor is dropped


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


@dataclass
class VariationalResult:
    """The model, and what happened: the bound after every iteration."""

    model: LinearGaussian
    bounds: list[float] = field(default_factory=list)
    converged: bool = False
    seconds: float = 0.0


@single_threaded_blas()
def variational_factors(
    tables: Tables,
    start: Float[np.ndarray, "N Q"],
    *,
    shared_noise: bool = False,
    max_iter: int = 1000,
    tol: float = 1e-5,
    prune: bool = True,
    rotate: bool = True,
) -> VariationalResult:
    """Maximise the bound of y_k = W_k x + μ_k + e_k over q(x) q(W, μ) q(α) q(τ).

        x_n ~ N(0, I),   w_dq ~ N(0, 1/α_kq),   α_kq, τ ~ Gamma,   e_nd ~ N(0, 1/τ_d).

    A factor that view k does not need gets a large α_kq, and its loadings vanish there: it is
    shared by the views that keep it. The noise precisions of a view's columns have a Gamma
    prior in common whose parameters are learnt, so that few rows suffice. Every update is
    exact coordinate ascent; in between, factors are rotated to where the bound is highest,
    without which they stay mixed for thousands of iterations. Missing values and views drop
    out of the sums.

    Parameters
    ----------
    start
        Initial means of x.
    shared_noise
        One precision τ for all columns of a view (as in Bayesian PCA).
    tol
        Converged when five iterations in turn gain less than this many nats per observed value.
    """
    began = time.perf_counter()
    N, Q = start.shape
    patterns = find_patterns(tables)
    n_values = sum(int((~np.isnan(Y)).sum()) for Y in tables)
    views = [Loadings.start(Y, Q, shared_noise) for Y in tables]
    q = Positions(start, 0.1 * np.eye(Q)[None], np.zeros(N, int))
    result = VariationalResult(LinearGaussian(()))
    gains: list[float] = []
    for iteration in range(max_iter + 1):
        moments = second_moments(q)
        for view in views:
            view.update(q, moments)
        dropped = prune and _drop(views, q)
        if rotate and (iteration < 10 or iteration % ROTATED_EVERY == 0):
            _rotate(views, q, N)
        result.model = LinearGaussian(tuple(view.emission() for view in views))
        q, density = result.model.infer(tables, patterns)
        bound = float(density.sum()) - sum(view.divergence() for view in views)
        result.bounds.append(bound)
        if iteration and not dropped:
            gains.append(bound - result.bounds[-2])
        if settled(gains, tol * n_values, PATIENCE):
            result.converged = True
            break
    result.model = _sorted(result.model)
    result.seconds = time.perf_counter() - began
    return result


def _rotate(views: list[Loadings], q: Positions, n_samples: int) -> None:
    """Rotate the loadings; q(x), which follows from them, is inferred next."""
    Q = q.mean.shape[1]
    if views[0].mean.shape[1] != Q + 1:
        return  # factors have just been dropped: q(x) has them still
    counts = np.bincount(q.kind, minlength=len(q.covariance))
    spread = q.mean.T @ q.mean + np.tensordot(counts.astype(float), q.covariance, axes=1)
    powers = [view.power()[:Q, :Q] for view in views]
    sizes = [len(view.mean) for view in views]
    R = best_rotation(spread, powers, sizes, n_samples, (SHAPE, RATE))
    for view in views:
        view.transform(R)


def _drop(views: list[Loadings], q: Positions) -> bool:
    """Leave out factors that no view has a use for; one always stays."""
    scale = np.mean(q.mean**2, axis=0)
    shares = np.stack(
        [
            scale * np.sum(v.mean[:, :-1] ** 2, axis=0) / max(float(np.sum(v.values**2)), 1e-300)
            * len(v.values)
            for v in views
        ]
    ).max(axis=0)  # fmt: skip
    keep = shares > NEGLIGIBLE
    if not keep.any():
        keep[np.argmax(shares)] = True
    if keep.all():
        return False
    for view in views:
        view.transform(np.eye(len(keep))[:, keep])
    return True


def _sorted(model: LinearGaussian) -> LinearGaussian:
    """Factors by the variance they explain, the largest loading positive."""
    shares = sum(
        np.sum(v.loadings**2, axis=0) / np.sum(v.loadings**2 + v.variance[:, None]).clip(1e-300)
        for v in model.views
    )
    order = np.argsort(-shares, kind="stable")
    stacked = np.vstack([v.loadings for v in model.views])[:, order]
    sign = np.append(column_signs(stacked), 1.0)
    full = np.append(order, len(order))
    views = []
    for v in model.views:
        assert isinstance(v, IndependentNoise)
        assert v.spread is not None
        spread = v.spread[:, full][:, :, full] * sign[:, None] * sign
        views.append(
            IndependentNoise(
                v.loadings[:, order] * sign[:-1], v.mean, v.variance, v.log_variance, spread
            )
        )
    return LinearGaussian(tuple(views))


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

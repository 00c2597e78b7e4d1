"""Mean-field inference for the Dirichlet process mixture of PCCA (Blei and Jordan 2006).

The hierarchy of `manyviews.mixtures.hierarchy` with truncated stick-breaking weights,

    q = Π_n q(c_n) q(x_n | c_n) · Π_t q(stick_t) · q(α₀) · Π_it q(μ_it) q(A_it) q(W_it)
        · Π_i q(λ_i) q(R_i) q(C_i) q(β_i) q(v_i) q(γ_i),

optimised factor by factor; every step raises the bound. The thesis names it as future work.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.special import betaln, digamma, logsumexp

from ..inference.diagnostics import settled
from ..linear.closed_form import spans
from .factors import GammaFactor
from .hierarchy import Prior
from .joint import JointMixture, average, from_views
from .mixture_em import Solve, kmeans_labels, local_models
from .view_factors import ViewFactors

PREDICTIVE_DRAWS = 30
SMALLEST_WEIGHT = 1e-4
RIDGE = 1e-6


@dataclass(frozen=True)
class Found:
    """The result: predictive and plug-in mixtures, labels, and the bound per iteration."""

    predictive: JointMixture
    clusters: JointMixture
    labels: Int[np.ndarray, " N"]
    bounds: list[float]
    converged: bool


class Posterior:
    """All factors, and the responsibilities r with the latent means x they imply."""

    def __init__(
        self,
        Y: list[Float[np.ndarray, "N _"]],
        prior: Prior,
        labels: Int[np.ndarray, " N"],
        local: JointMixture,
        n_sticks: int,
        rng: np.random.RandomState,
    ):
        self.Y, self.n_sticks = Y, n_sticks
        counts = np.bincount(labels, minlength=n_sticks)
        order = np.argsort(-counts, kind="stable")
        place = np.argsort(order)
        self.r = np.eye(n_sticks)[place[labels]]
        self.alpha = GammaFactor(1.0, 1.0)
        spread = spans([table.shape[1] for table in Y])
        self.views = []
        for view, part in enumerate(spread):
            self.views.append(
                ViewFactors(
                    prior.views[view], float(prior.tau), n_sticks,
                    [int(k) if k < len(local.means) else None for k in order],
                    local.means[:, part], local.loadings[:, part], local.noise[:, part, part], rng,
                )
            )  # fmt: skip
        self.update_sticks()
        self.update_samples(keep=True)

    def iterate(self) -> float:
        """Update every factor once; return the bound."""
        for table, view in zip(self.Y, self.views, strict=True):
            view.update_components(table, self.r, self.x, self.x_covariance)
            view.update_hyper()
        self.update_sticks()
        return self.update_samples()

    def update_sticks(self) -> None:
        """Beta factors of the sticks, then q(α₀)."""
        counts = self.r.sum(axis=0)
        after = counts.sum() - np.cumsum(counts)
        self.stick = np.stack([1.0 + counts[:-1], self.alpha.mean + after[:-1]])
        self.log_rest = digamma(self.stick[1]) - digamma(self.stick.sum(axis=0))
        self.log_stick = digamma(self.stick[0]) - digamma(self.stick.sum(axis=0))
        self.alpha = GammaFactor(0.5 + self.n_sticks - 1, 0.5 - self.log_rest.sum())

    def log_weights(self) -> Float[np.ndarray, " T"]:
        """E log π_t."""
        rest = np.concatenate([[0.0], np.cumsum(self.log_rest)])
        return rest + np.append(self.log_stick, 0.0)

    def mean_weights(self) -> Float[np.ndarray, " T"]:
        """E π_t."""
        share = self.stick[0] / self.stick.sum(axis=0)
        return np.append(share, 1.0) * np.concatenate([[1.0], np.cumprod(1.0 - share)])

    def update_samples(self, keep: bool = False) -> float:
        """q(x | c), then q(c); the bound then is Σ_n log Σ_t ρ_nt less the parameters' KL."""
        n = len(self.Y[0])
        q = self.views[0].W[0].mean.shape[1]
        log_rho = np.tile(self.log_weights(), (n, 1))
        self.x = np.zeros((n, self.n_sticks, q))
        self.x_covariance = np.zeros((self.n_sticks, q, q))
        for t in range(self.n_sticks):
            P, b = np.eye(q), np.zeros((n, q))
            for table, view in zip(self.Y, self.views, strict=True):
                inner, linear, log_density = view.evidence(t, table)
                P, b = P + inner, b + linear
                log_rho[:, t] += log_density
            self.x_covariance[t] = np.linalg.inv(P)
            self.x[:, t] = b @ self.x_covariance[t]
            log_rho[:, t] += 0.5 * np.sum(b * self.x[:, t], axis=1)
            log_rho[:, t] -= 0.5 * np.linalg.slogdet(P)[1]
        total = logsumexp(log_rho, axis=1)
        if not keep:
            self.r = np.exp(log_rho - total[:, None])
        return float(total.sum()) + self._sticks_gain() + sum(view.gain() for view in self.views)

    def _sticks_gain(self) -> float:
        """E log p - E log q of the sticks and of α₀."""
        a, b = self.stick
        prior = self.alpha.log + (self.alpha.mean - 1.0) * self.log_rest
        own = -betaln(a, b) + (a - 1.0) * self.log_stick + (b - 1.0) * self.log_rest
        return float(np.sum(prior - own)) + self.alpha.gain()


def fit_variational(
    Y: list[Float[np.ndarray, "N _"]],
    prior: Prior,
    solve: Solve,
    n_sticks: int,
    *,
    n_restarts: int,
    max_iter: int,
    tol: float,
    rng: np.random.RandomState,
) -> Found:
    """The best of several runs from k-means clusterings of different sizes."""
    joined = np.concatenate(Y, axis=1)
    best, best_bounds, best_converged = None, [-np.inf], False
    for run in range(n_restarts):
        start = max(1, n_sticks // (run + 1))
        labels = kmeans_labels(joined, start, rng)
        local = local_models(joined, labels, solve, RIDGE)
        posterior = Posterior(Y, prior, labels, local, n_sticks, rng)
        bounds: list[float] = []
        converged = False
        while len(bounds) < max_iter and not converged:
            bounds.append(posterior.iterate())
            converged = settled(np.diff(bounds[-2:]), tol * len(joined))
        if bounds[-1] > best_bounds[-1]:
            best, best_bounds, best_converged = posterior, bounds, converged
    assert best is not None
    used = np.flatnonzero(best.r.sum(axis=0) > 0.5)
    labels = best.r[:, used].argmax(axis=1)
    return Found(_predictive(best, rng), _plug_in(best, used), labels, best_bounds, best_converged)


def _plug_in(posterior: Posterior, used: Int[np.ndarray, " u"]) -> JointMixture:
    views = [
        _stacked([(v.mu[t].mean, v.W[t].mean, np.linalg.inv(v.A[t].mean)) for t in used])
        for v in posterior.views
    ]
    weights = posterior.mean_weights()[used]
    return from_views(weights / weights.sum(), views)


def _predictive(posterior: Posterior, rng: np.random.RandomState) -> JointMixture:
    """The mean over draws of the parameters from q; tiny sticks are left out."""
    weights = posterior.mean_weights()
    used = np.flatnonzero(weights > SMALLEST_WEIGHT)
    weights = weights[used] / weights[used].sum()
    drawn = []
    for _ in range(PREDICTIVE_DRAWS):
        views = [_stacked([view.draw(int(t), rng) for t in used]) for view in posterior.views]
        drawn.append(from_views(weights, views))
    return average(drawn)


def _stacked(sticks: list[tuple]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """μ, W and Ψ of several sticks."""
    mu, W, noise = zip(*sticks, strict=True)
    return np.stack(mu), np.stack(W), np.stack(noise)

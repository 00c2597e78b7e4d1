"""Mixtures of PCCA and PPCA by expectation-maximisation [Leen08, §5.2], and where they start."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import logsumexp
from sklearn.cluster import KMeans

from ..data.patterns import mean_filled
from ..inference.conditional_gaussian import given_observed
from ..inference.diagnostics import settled
from .joint import JointMixture

EMPTY = 1e-8  # samples; a component with fewer keeps its parameters
OWN_WEIGHT = 0.9  # of a cluster's covariance beside that of all samples, which keeps it regular

Fitted = tuple[Float[np.ndarray, "D Q"], Float[np.ndarray, "D D"]]  # W and Ψ
Solve = Callable[[Float[np.ndarray, "D D"]], Fitted]
"""The local model of a covariance."""
Step = Callable[[Float[np.ndarray, "D D"], Float[np.ndarray, "D Q"], Float[np.ndarray, "D D"]],
                Fitted]  # fmt: skip
"""A better local model of a covariance than the given W and Ψ."""


@dataclass(frozen=True)
class Moments:
    """Expected sufficient statistics: Σ_n r_kn, Σ_n r_kn ⟨y⟩, Σ_n r_kn ⟨yyᵀ⟩."""

    log_likelihood: float
    counts: Float[np.ndarray, " K"]
    first: Float[np.ndarray, "K D"]
    second: Float[np.ndarray, "K D D"]


def fit_em(
    Y: Float[np.ndarray, "N D"],
    mixture: JointMixture,
    step: Step,
    *,
    regularisation: float,
    max_iter: int,
    tol: float,
) -> tuple[JointMixture, list[float], bool]:
    """Iterate to a (local) maximum of log p(Y) - ½ ε Σ_k tr C_k⁻¹, C_k = W_k W_kᵀ + Ψ_k.

    The penalty is what keeps the likelihood's singularities out: no component can shrink
    onto a few points. ε = 0 is plain maximum likelihood.

    Returns
    -------
    mixture, trace, converged
        The trace holds the objective before every iteration, and after the last.
    """
    trace: list[float] = []
    for _ in range(max_iter + 1):
        moments = expected_moments(mixture, Y)
        penalty = 0.5 * regularisation * _trace_of_inverses(mixture) if regularisation else 0.0
        trace.append(moments.log_likelihood - penalty)
        if settled(np.diff(trace[-2:]), tol * len(Y)):
            return mixture, trace, True
        if len(trace) <= max_iter:
            mixture = maximise(moments, mixture, step, regularisation)
    return mixture, trace, False


def expected_moments(mixture: JointMixture, Y: Float[np.ndarray, "N D"]) -> Moments:
    """The E-step: responsibilities, and missing values by their conditional moments."""
    weighted = mixture.log_weights + mixture.log_densities(Y)
    total = logsumexp(weighted, axis=1)
    share = np.exp(weighted - total[:, None])
    n_clusters, n_columns = mixture.means.shape
    first = np.zeros((n_clusters, n_columns))
    second = np.zeros((n_clusters, n_columns, n_columns))
    observed = ~np.isnan(Y)
    whole = observed.all(axis=1)
    first += share[whole].T @ Y[whole]
    second += np.einsum("nk,nd,ne->kde", share[whole], Y[whole], Y[whole], optimize=True)
    for part in given_observed(mixture.covariances, observed):
        for k in range(n_clusters):
            weights, filled, mean = share[part.rows, k], Y[part.rows], mixture.means[k]
            apart = filled[:, part.seen] - mean[part.seen]
            filled[:, part.lost] = mean[part.lost] + apart @ part.gain[k].T
            first[k] += weights @ filled
            second[k] += (filled * weights[:, None]).T @ filled
            second[k][np.ix_(part.lost, part.lost)] += weights.sum() * part.covariance[k]
    return Moments(float(total.sum()), share.sum(axis=0), first, second)


def maximise(
    moments: Moments, mixture: JointMixture, step: Step, regularisation: float
) -> JointMixture:
    """The M-step: weights and means, then W and Ψ of every component from its covariance S."""
    means, loadings, noise = mixture.means.copy(), mixture.loadings.copy(), mixture.noise.copy()
    identity = np.eye(means.shape[1])
    for k in np.flatnonzero(moments.counts > EMPTY):
        count = moments.counts[k]
        means[k] = moments.first[k] / count
        S = moments.second[k] / count - np.outer(means[k], means[k])
        S += regularisation / count * identity
        loadings[k], noise[k] = step(S, loadings[k], noise[k])
    weights = np.maximum(moments.counts / moments.counts.sum(), 1e-300)
    return JointMixture(np.log(weights), means, loadings, noise)


def em_step(
    S: Float[np.ndarray, "D D"],
    W: Float[np.ndarray, "D Q"],
    noise: Float[np.ndarray, "D D"],
    blocks: Bool[np.ndarray, "D D"],
) -> Fitted:
    """One step for W and Ψ with x as missing data: raises -½ (log|C| + tr C⁻¹S).

    M = (I + WᵀΨ⁻¹W)⁻¹ (the text has a minus), B = MWᵀΨ⁻¹;
    W' = SBᵀ (M + BSBᵀ)⁻¹, Ψ' = blocks of S - SBᵀW'ᵀ.
    """
    scaled = np.linalg.solve(noise, W)
    M = np.linalg.inv(np.eye(W.shape[1]) + W.T @ scaled)
    B = M @ scaled.T
    cross = S @ B.T
    new = np.linalg.solve(M + B @ cross, cross.T).T
    residual = S - cross @ new.T
    return new, np.where(blocks, 0.5 * (residual + residual.T), 0.0)


def _trace_of_inverses(mixture: JointMixture) -> float:
    return float(np.trace(np.linalg.inv(mixture.covariances), axis1=1, axis2=2).sum())


def kmeans_labels(
    Y: Float[np.ndarray, "N D"], n_clusters: int, rng: np.random.RandomState
) -> Int[np.ndarray, " N"]:
    """One run of k-means on all columns, missing values at their column's mean."""
    if n_clusters == 1:
        return np.zeros(len(Y), dtype=int)
    return KMeans(n_clusters, n_init=1, random_state=rng).fit_predict(mean_filled(Y))


def local_models(
    Y: Float[np.ndarray, "N D"], labels: Int[np.ndarray, " N"], solve: Solve, ridge: float
) -> JointMixture:
    """One PCCA, or PPCA, per cluster of the labels."""
    filled = mean_filled(Y)
    overall = np.cov(filled.T, bias=True)
    overall = np.atleast_2d(overall) + ridge * np.eye(Y.shape[1])
    n_clusters = int(labels.max()) + 1
    means, loadings, noise = [], [], []
    for k in range(n_clusters):
        own = filled[labels == k]
        mean = own.mean(axis=0)
        spread = (own - mean).T @ (own - mean) / len(own)
        S = overall if n_clusters == 1 else OWN_WEIGHT * spread + (1 - OWN_WEIGHT) * overall
        W, psi = solve(S)
        means.append(mean)
        loadings.append(W)
        noise.append(psi)
    counts = np.bincount(labels, minlength=n_clusters)
    return JointMixture(
        np.log(counts / counts.sum()), np.stack(means), np.stack(loadings), np.stack(noise)
    )

"""Maximum likelihood for a mixture of PCCA by expectation-maximisation (001 §5.2)."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import logsumexp

from ..inference.conditional_gaussian import given_observed
from ..inference.diagnostics import settled
from ..linear.closed_form import canonical_pcca, same_view
from .joint import JointMixture

EMPTY = 1e-8  # samples; a component with fewer keeps its parameters


@dataclass(frozen=True)
class Moments:
    """Expected sufficient statistics: Σ_n r_kn, Σ_n r_kn ⟨y⟩, Σ_n r_kn ⟨yyᵀ⟩."""

    log_likelihood: float
    counts: Float[np.ndarray, " K"]
    first: Float[np.ndarray, "K D"]
    second: Float[np.ndarray, "K D D"]


def fit_em(
    Y: Float[np.ndarray, "N D"],
    sizes: tuple[int, ...],
    mixture: JointMixture,
    *,
    closed_form: bool,
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
    blocks = same_view(sizes)
    trace: list[float] = []
    for _ in range(max_iter + 1):
        moments = expected_moments(mixture, Y)
        penalty = 0.5 * regularisation * _trace_of_inverses(mixture) if regularisation else 0.0
        trace.append(moments.log_likelihood - penalty)
        if settled(np.diff(trace[-2:]), tol * len(Y)):
            return mixture, trace, True
        if len(trace) <= max_iter:
            mixture = maximise(moments, mixture, sizes, blocks, closed_form, regularisation)
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
    moments: Moments,
    mixture: JointMixture,
    sizes: tuple[int, ...],
    blocks: Bool[np.ndarray, "D D"],
    closed_form: bool,
    regularisation: float,
) -> JointMixture:
    """The M-step: weights and means, then W and Ψ of every component from its covariance S."""
    means, loadings, noise = mixture.means.copy(), mixture.loadings.copy(), mixture.noise.copy()
    identity = np.eye(means.shape[1])
    for k in np.flatnonzero(moments.counts > EMPTY):
        count = moments.counts[k]
        means[k] = moments.first[k] / count
        S = moments.second[k] / count - np.outer(means[k], means[k])
        S += regularisation / count * identity
        if closed_form:
            loadings[k], noise[k] = canonical_pcca(S, sizes, loadings.shape[2])
        else:
            loadings[k], noise[k] = em_step(S, loadings[k], noise[k], blocks)
    weights = np.maximum(moments.counts / moments.counts.sum(), 1e-300)
    return JointMixture(np.log(weights), means, loadings, noise)


def em_step(
    S: Float[np.ndarray, "D D"],
    W: Float[np.ndarray, "D Q"],
    noise: Float[np.ndarray, "D D"],
    blocks: Bool[np.ndarray, "D D"],
) -> tuple[Float[np.ndarray, "D Q"], Float[np.ndarray, "D D"]]:
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

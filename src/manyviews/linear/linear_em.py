"""Maximum likelihood by EM: any mask, noise of one number, one per column, or a full matrix."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float

from .._runtime import single_threaded_blas
from ..data.patterns import find_patterns
from ..fitted import Positions, Tables
from ..inference.diagnostics import settled
from .emission import CorrelatedNoise, Emission, IndependentNoise, second_moments
from .linear_gaussian import LinearGaussian, independent

PATIENCE = 5  # iterations whose gains must all be small


@dataclass
class EMResult:
    """The model, and what happened: the objective after every iteration."""

    model: LinearGaussian
    trace: list[float] = field(default_factory=list)
    converged: bool = False
    seconds: float = 0.0


@single_threaded_blas()
def expectation_maximisation(
    tables: Tables,
    start: LinearGaussian,
    *,
    shared_variance: bool = False,
    floor: float = 0.0,
    ridges: Sequence[float] | None = None,
    max_iter: int = 1000,
    tol: float = 1e-8,
) -> EMResult:
    """Climb from a model of the wanted kind of noise, views and values missing at will.

    M-step of a view with independent noise: every column's regression on ⟨x⟩ over the rows
    that have it; of one with correlated noise: the regression on completed rows. Latent mean
    and covariance are free in the M-step and then absorbed by μ and W (parameter expansion,
    Liu, Rubin & Wu 1998), which takes far fewer iterations and is monotone as well.

    A ridge r_k for correlated noise maximises log p - ½ Σ_k N_k r_k tr (C⁻¹)_kk, which for
    complete data is the likelihood of covariances Σ_kk + r_k I.

    Parameters
    ----------
    shared_variance
        One noise variance for all columns of a view (PPCA).
    floor
        Smallest noise variance, on the scale of the data.
    tol
        Converged when five iterations in turn gain less than this per observed value.
    """
    began = time.perf_counter()
    patterns = find_patterns(tables)
    n_values = sum(int((~np.isnan(Y)).sum()) for Y in tables)
    rows = [np.flatnonzero(~np.isnan(Y).all(axis=1)) for Y in tables]
    weights = [len(r) * ridge for r, ridge in zip(rows, ridges or [0.0] * len(rows), strict=True)]
    result = EMResult(start)
    for _ in range(max_iter + 1):
        model = result.model
        q, density = model.infer(tables, patterns)
        objective = float(density.sum()) - 0.5 * _penalty(model, weights)
        result.trace.append(objective)
        if settled(np.diff(result.trace[-PATIENCE - 1 :]), tol * n_values, PATIENCE):
            result.converged = True
            break
        result.model = _maximise(tables, model, q, rows, weights, shared_variance, floor)
    result.seconds = time.perf_counter() - began
    return result


def _maximise(
    tables: Tables,
    model: LinearGaussian,
    q: Positions,
    rows: Sequence[np.ndarray],
    weights: Sequence[float],
    shared_variance: bool,
    floor: float,
) -> LinearGaussian:
    N, Q = q.mean.shape
    moments = second_moments(q)
    # ridge rows: Σ over views of r_k e_d, d = 1 … D_k, at which x has the mean V WᵀΨ⁻¹ e_d
    V = np.zeros((Q, Q))
    pull = [np.zeros_like(v.loadings) for v in model.views]
    extra = np.zeros((Q, Q))
    if any(weights):
        forms, V = _forms(model)
        pull = [w * f @ V for w, f in zip(weights, forms, strict=True)]
        extra = V @ sum(w * f.T @ f for w, f in zip(weights, forms, strict=True)) @ V
    views: list[Emission] = []
    for k, view in enumerate(model.views):
        if isinstance(view, IndependentNoise):
            views.append(_independent_step(tables[k], q, moments, shared_variance, floor))
        else:
            step = (tables[k], view, q, moments, rows[k], weights[k], pull[k], extra)
            views.append(_correlated_step(*step, floor))
    total = moments.sum(axis=0).reshape(Q + 1, Q + 1)
    centre = total[:Q, Q] / N
    L = np.linalg.cholesky((total[:Q, :Q] + extra) / N - np.outer(centre, centre))
    return LinearGaussian(tuple(_absorb(v, centre, L) for v in views))


def _absorb(view: Emission, centre: np.ndarray, L: np.ndarray) -> Emission:
    """X ~ N(centre, LLᵀ) made standard."""
    W = view.loadings
    return replace(view, loadings=W @ L, mean=view.mean + W @ centre)


def _independent_step(
    Y: Float[np.ndarray, "N D"],
    q: Positions,
    moments: Float[np.ndarray, "N M"],
    shared_variance: bool,
    floor: float,
) -> IndependentNoise:
    N, D = Y.shape
    Q = q.mean.shape[1]
    observed = ~np.isnan(Y)
    values = np.where(observed, Y, 0.0)
    counts = observed.sum(axis=0)
    X = np.hstack([q.mean, np.ones((N, 1))])
    cross = values.T @ X
    if observed.all():
        W = np.linalg.solve(moments.sum(axis=0).reshape(Q + 1, Q + 1), cross.T).T
    else:
        T = (observed.T.astype(float) @ moments).reshape(D, Q + 1, Q + 1)
        W = np.linalg.solve(T, cross[:, :, None])[:, :, 0]
    left = np.maximum(np.sum(values**2, axis=0) - np.sum(W * cross, axis=1), 0.0)
    variance = np.full(D, left.sum() / counts.sum()) if shared_variance else left / counts
    return independent(W[:, :Q], W[:, Q], np.maximum(variance, floor))


def _correlated_step(
    Y: Float[np.ndarray, "N D"],
    view: CorrelatedNoise,
    q: Positions,
    moments: Float[np.ndarray, "N M"],
    rows: np.ndarray,
    weight: float,
    pull: Float[np.ndarray, "D Q"],
    extra: Float[np.ndarray, "Q Q"],
    floor: float,
) -> CorrelatedNoise:
    D, Q = view.loadings.shape
    filled = Y[rows].copy()
    X = np.hstack([q.mean[rows], np.ones((len(rows), 1))])
    own = np.zeros((D, Q + 1))
    squares = weight * np.eye(D)
    for part, G in view.conditionals(filled):
        places, lost = part.rows, part.lost
        apart = filled[part.there] - view.mean[part.seen]
        filled[part.gone] = view.mean[lost] + apart @ part.gain.T + X[places, :Q] @ G.T
        V = q.covariance[q.kind[rows[places]]].sum(axis=0)
        own[lost, :Q] += G @ V
        squares[np.ix_(lost, lost)] += G @ V @ G.T + len(places) * part.covariance
    T = moments[rows].sum(axis=0).reshape(Q + 1, Q + 1)
    T[:Q, :Q] += extra
    own += filled.T @ X
    own[:, :Q] += pull
    squares += filled.T @ filled
    W = np.linalg.solve(T, own.T).T
    covariance = (squares - W @ own.T) / len(rows)
    covariance = 0.5 * (covariance + covariance.T)
    return CorrelatedNoise(W[:, :Q], W[:, Q], _floored(covariance, floor))


def _floored(covariance: Float[np.ndarray, "D D"], floor: float) -> Float[np.ndarray, "D D"]:
    """No direction with less variance than the floor."""
    values, vectors = np.linalg.eigh(covariance)
    if values[0] >= floor:
        return covariance
    return vectors * np.maximum(values, floor) @ vectors.T


def _penalty(model: LinearGaussian, weights: Sequence[float]) -> float:
    """Σ_k w_k tr (C⁻¹)_kk = Σ_k w_k [tr Ψ_k⁻¹ - tr V WᵀΨ_k⁻²W]."""
    if not any(weights):
        return 0.0
    forms, V = _forms(model)
    total = 0.0
    for view, form, weight in zip(model.views, forms, weights, strict=True):
        if isinstance(view, CorrelatedNoise):
            total += weight * float(np.trace(np.linalg.inv(view.covariance)))
            total -= weight * float(np.sum((form @ V) * form))
    return total


def _forms(model: LinearGaussian) -> tuple[list[np.ndarray], Float[np.ndarray, "Q Q"]]:
    """Ψ_k⁻¹W_k of every view, and V = (I + Σ_k W_kᵀΨ_k⁻¹W_k)⁻¹."""
    forms = [view.precision_form() for view in model.views]
    J = sum(view.loadings.T @ form for view, form in zip(model.views, forms, strict=True))
    return forms, np.linalg.inv(np.eye(model.n_components) + J)

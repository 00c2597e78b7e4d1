"""Variational factor analysis with a relevance for every view and factor
([MRD21, §2]; Klami 2015).
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize
from sklearn.utils.extmath import randomized_svd

from .._runtime import single_threaded_blas
from ..data.patterns import find_patterns
from ..fitted import Positions, Tables
from ..inference.diagnostics import settled
from .emission import IndependentNoise, second_moments
from .linear_em import PATIENCE
from .linear_gaussian import LinearGaussian, column_signs
from .variational_loadings import RATE, SHAPE, Loadings

ROTATED_EVERY = 5  # iterations, after the first few
NEGLIGIBLE = 1e-7  # share of a view's variance below which a factor is dropped


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


def starting_positions(
    tables: Tables, n_components: int, restart: int, rng: np.random.Generator
) -> Float[np.ndarray, "N Q"]:
    """Principal components of all views side by side, each of unit weight; later ones random.

    Missing values are taken at their column's mean.
    """
    n_samples = len(tables[0])
    random = rng.standard_normal((n_samples, n_components))
    if restart:
        return random
    parts = []
    for Y in tables:
        centred = np.where(np.isnan(Y), 0.0, Y - np.nanmean(Y, axis=0))
        parts.append(centred / max(float(np.linalg.norm(centred)), 1e-12))
    joint = np.hstack(parts)
    kept = min(n_components, n_samples - 1, joint.shape[1])
    seed = int(rng.integers(2**31 - 1))
    U = randomized_svd(joint, kept, random_state=seed)[0]
    start = 0.1 * random
    start[:, :kept] = U * np.sqrt(n_samples)
    return start


def best_rotation(
    spread: Float[np.ndarray, "Q Q"],
    powers: Sequence[Float[np.ndarray, "Q Q"]],
    sizes: Sequence[int],
    n_samples: int,
    prior: tuple[float, float],
) -> Float[np.ndarray, "Q Q"]:
    """R of W' = W R, x' = R⁻¹ x, which leaves the fit as it is and raises the bound.

    After Virtanen et al. (2012). The bound depends on R through the priors alone,

        -½ tr R⁻¹CR⁻ᵀ + (D - N) log|R| - Σ_k (a + D_k/2) Σ_q log(b + ½ r_qᵀ G_k r_q),

    C = Σ_n ⟨x xᵀ⟩, G_k = ⟨W_kᵀW_k⟩, with the precisions α at their optimum for R.
    """
    Q = len(spread)
    a, b = prior
    free = sum(sizes) - n_samples

    def negative(flat: np.ndarray) -> tuple[float, np.ndarray]:
        R = flat.reshape(Q, Q)
        sign, volume = np.linalg.slogdet(R)
        if sign <= 0:
            return np.inf, np.zeros_like(flat)
        inverse = np.linalg.inv(R)
        inner = inverse @ spread @ inverse.T
        value = -0.5 * np.trace(inner) + free * volume
        gradient = inverse.T @ (inner + free * np.eye(Q))
        for G, D in zip(powers, sizes, strict=True):
            moved = G @ R
            power = b + 0.5 * np.sum(R * moved, axis=0)
            value -= (a + 0.5 * D) * np.sum(np.log(power))
            gradient -= (a + 0.5 * D) * moved / power
        return -value, -gradient.ravel()

    found = minimize(
        negative, np.eye(Q).ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 50}
    )
    R = found.x.reshape(Q, Q)
    return R if np.isfinite(found.fun) and np.linalg.cond(R) < 1e8 else np.eye(Q)


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
        views.append(replace(v, loadings=v.loadings[:, order] * sign[:-1], spread=spread))
    return LinearGaussian(tuple(views))

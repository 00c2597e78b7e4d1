"""Weights of a mixture of predictive densities that give held-out values the highest density."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

SHRINK = 10.0  # by which the barrier falls from one round to the next
MOST_STEPS = 30  # of Newton's method in a round
NEGLIGIBLE = 1e-6  # weights below are taken as zero
NEAR = 1e-8  # promised gain per value below which a full step of Newton's is safe
LEAST_SLOPE = 1e-4  # of the promised gain that a step has to keep


@dataclass(frozen=True)
class Stacked:
    """Weights, and how far they may be from the best.

    Attributes
    ----------
    weights : ndarray of shape (n_problems, n_members)
        Weights of the members; of each problem they add up to one.
    gap : ndarray of shape (n_problems,)
        Upper limit of what other weights could gain, in nats per value.
    """

    weights: Float[np.ndarray, "B M"]
    gap: Float[np.ndarray, " B"]


def stacking_weights(
    log_density: Float[np.ndarray, "B n M"],
    prior: Float[np.ndarray, "B M"] | Float[np.ndarray, " M"] | float = 0.0,
    tol: float = 1e-6,
) -> Stacked:
    """Maximise Σ_i log Σ_m w_m p_im + Σ_m c_m log w_m over the simplex, for B problems at once.

    The first sum is the log score of Yao et al. (2018); c_m are the
    pseudo-counts of a Dirichlet prior, if any. The problem is concave. Because the first sum
    grows by n log t when w grows by t, the constraint Σ w = 1 may be replaced by a price,
    -(n + Σ c) Σ w (Kim et al. 2020), and w ≥ 0 by a barrier μ Σ log w, which is another c: a
    Newton method on the positive orthant, μ falling. With g the gradient,
    f* - f(w) ≤ max_m g_m - (n + Σ c), which is the gap that is returned, per value.

    Parameters
    ----------
    log_density : ndarray of shape (n_problems, n_values, n_members)
        Log p_im of held-out values; rows with NaN are left out.
    prior : ndarray or float, default=0.0
        Pseudo-counts.
    tol : float, default=1e-6
        The gap, in nats per value, at which to stop.

    Examples
    --------
    >>> import numpy as np
    >>> from manyviews.stacking import stacking_weights
    >>> found = stacking_weights(np.log([[[0.9, 0.2], [0.8, 0.1], [0.2, 0.3]]]))
    >>> found.weights.round(3)
    array([[1., 0.]])
    """
    top = np.max(log_density, axis=2, keepdims=True)
    there = np.isfinite(top[..., 0])
    P = np.exp(
        np.where(there[..., None], log_density, -np.inf) - np.where(there[..., None], top, 0)
    )
    n_problems, _, n_members = P.shape
    counts = there.sum(axis=1).astype(np.float64)
    c = np.broadcast_to(np.asarray(prior, dtype=np.float64), (n_problems, n_members))
    mass = np.maximum(counts + c.sum(axis=1), 1.0)
    w = np.full((n_problems, n_members), 1.0 / n_members)
    barrier = 0.1 * mass[:, None] / n_members
    while True:
        w = _newton(P, there, c + barrier, w)
        w = w / w.sum(axis=1, keepdims=True)
        sparse = _without_negligible(w, c)
        gap, bare = _gap(P, there, c, w, mass), _gap(P, there, c, sparse, mass)
        clean = bare <= np.maximum(gap, tol)
        best, gap = np.where(clean[:, None], sparse, w), np.where(clean, bare, gap)
        if (gap <= tol).all() or (barrier < 1e-12 * mass[:, None]).all():
            return Stacked(best, gap)
        barrier = barrier / SHRINK


def _newton(
    P: Float[np.ndarray, "B n M"],
    there: np.ndarray,
    c: Float[np.ndarray, "B M"],
    w: Float[np.ndarray, "B M"],
) -> Float[np.ndarray, "B M"]:
    """Maximise Σ_i log p_i·w + Σ_m c_m log w_m - (n + Σ c) Σ w over w > 0."""
    price = (there.sum(axis=1) + c.sum(axis=1))[:, None]

    def value(w: Float[np.ndarray, "B M"]) -> Float[np.ndarray, " B"]:
        mixed = np.where(there, np.einsum("bnm,bm->bn", P, w), 1.0)
        return np.log(mixed).sum(axis=1) + np.sum(c * np.log(w) - price * w, axis=1)

    now = value(w)
    for _ in range(MOST_STEPS):
        mixed = np.where(there, np.einsum("bnm,bm->bn", P, w), 1.0)
        share = P / mixed[..., None]
        gradient = share.sum(axis=1) + c / w - price
        curvature = np.swapaxes(share, 1, 2) @ share
        curvature[:, range(w.shape[1]), range(w.shape[1])] += c / w**2
        step = np.linalg.solve(curvature, gradient[..., None])[..., 0]
        promise = np.sum(gradient * step, axis=1)
        near = promise < NEAR * price[:, 0]  # where differences of the sum are rounding errors
        if (promise < NEAR**2 * price[:, 0]).all():
            break
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.min(np.where(step < 0, -w / step, np.inf), axis=1)
        size = np.minimum(1.0, 0.95 * room)
        for _ in range(40):
            then = value(w + size[:, None] * step)
            short = (then < now + LEAST_SLOPE * size * promise) & ~near
            if not short.any():
                break
            size = np.where(short, 0.5 * size, size)
        size = np.where(near | (then >= now), size, 0.0)
        w = w + size[:, None] * step
        now = np.maximum(now, then)
    return w


def _without_negligible(w: Float[np.ndarray, "B M"], c: Float[np.ndarray, "B M"]) -> np.ndarray:
    w = np.where((w < NEGLIGIBLE) & (c == 0), 0.0, w)
    return w / w.sum(axis=1, keepdims=True)


def _gap(
    P: Float[np.ndarray, "B n M"],
    there: np.ndarray,
    c: Float[np.ndarray, "B M"],
    w: Float[np.ndarray, "B M"],
    mass: Float[np.ndarray, " B"],
) -> Float[np.ndarray, " B"]:
    mixed = np.where(there, np.einsum("bnm,bm->bn", P, w), 1.0)
    gradient = np.einsum("bnm,bn->bm", P, 1.0 / np.maximum(mixed, 1e-300))
    gradient = gradient + np.where(c > 0, c / np.maximum(w, 1e-300), 0.0)
    return np.maximum(gradient.max(axis=1) / mass - 1.0, 0.0)

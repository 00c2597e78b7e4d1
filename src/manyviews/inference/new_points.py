"""Latent positions of new rows, all at once (002 §4.1).

q(X) and q(U) of the training data stay fixed. Every new row starts from the latent points
of its nearest training rows; the starts are screened by their bound, the best few are
optimised together in one compiled program, and the best end is kept.
"""

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from .._runtime import single_threaded_blas
from ..expectations import Gaussian
from ..mappings import Posterior
from ..mappings.rows import PreparedRows, row_evidence
from .batching import map_alike
from .many_minima import minimise_rows

Ends = tuple[int, int] | None  # of a slice, which Python cannot hash; None is everything

ROW_BUCKETS = (8, 64, 256, 1024)  # rows compiled for; fewer rows are padded


class NewPoints(NamedTuple):
    """q(x*) of new rows and the bound each row reached (its own KL included)."""

    q: Gaussian
    bound: Float[np.ndarray, " N"]
    ends: Gaussian
    """All ends of the optimisation, rows x starts x Q, the best first: the modes."""
    end_bounds: Float[np.ndarray, "N S"]


def infer_new_points(
    prior: Gaussian,
    train: Gaussian,
    posteriors: tuple[Posterior, ...],
    rows: tuple[Float[np.ndarray, "N _"], ...],
    starts: Int[np.ndarray, "N S"],
    *,
    parts: Sequence[slice] | None = None,
    powers: Sequence[float] | None = None,
    n_optimised: int | None = None,
    iterations: int = 200,
    tolerance: float = 1e-6,
) -> NewPoints:
    """Infer q(x*) from new rows of any views (NaN = missing; all-NaN = view absent).

    Parameters
    ----------
    prior
        p(x*) of every new row.
    train
        q(x) of the training rows.
    starts
        For every row the training points to start from (see :func:`nearest_rows`).
    parts
        The latent dimensions that each view sees. Default: all.
    powers
        Exponent of each view's evidence: below one where it is to count for less.
    n_optimised
        How many of the starts, the best by their bound, are optimised. Default: two where
        every value is observed, five otherwise (less evidence, more local optima).
    """
    present = [k for k, Y in enumerate(rows) if not np.isnan(Y).all()]
    powers = [1.0 if powers is None else powers[k] for k in present]
    seen = tuple(None if parts is None else _ends(parts[k]) for k in present)
    posteriors, rows = tuple(posteriors[k] for k in present), tuple(rows[k] for k in present)
    if n_optimised is None:
        n_optimised = 5 if any(np.isnan(Y).any() for Y in rows) else 2
    n_rows = rows[0].shape[0]
    means, variances, bounds = [], [], []
    with single_threaded_blas():
        for begin in range(0, n_rows, ROW_BUCKETS[-1]):
            here = np.arange(begin, min(begin + ROW_BUCKETS[-1], n_rows))
            size = next(size for size in ROW_BUCKETS if size >= here.size)
            padded = np.resize(here, size)
            evidences = tuple(
                row_evidence(p, np.nan_to_num(Y[padded]), ~np.isnan(Y[padded]), power)
                for p, Y, power in zip(posteriors, rows, powers, strict=True)
            )
            starting = train[jnp.asarray(starts[padded])]
            keep = min(n_optimised, starts.shape[1])
            known = prior[jnp.asarray(padded)]
            q, bound = _infer(known, evidences, seen, starting, keep, iterations, tolerance)
            means.append(np.asarray(q.mean)[: here.size])
            variances.append(np.asarray(q.variance)[: here.size])
            bounds.append(np.asarray(bound)[: here.size])
    ends = Gaussian(jnp.asarray(np.concatenate(means)), jnp.asarray(np.concatenate(variances)))
    end_bounds = np.concatenate(bounds)
    return NewPoints(ends[:, 0], end_bounds[:, 0], ends, end_bounds)


def _ends(part: slice) -> Ends:
    return None if part == slice(None) else (part.start, part.stop)


@eqx.filter_jit
def _infer(
    prior: Gaussian,
    evidences: tuple[PreparedRows, ...],
    seen: tuple[Ends, ...],
    starting: Gaussian,
    keep: int,
    iterations: int,
    tolerance: float,
) -> tuple[Gaussian, Float[Array, "N S"]]:
    n_rows, _, Q = starting.mean.shape

    def negative_bound(
        q: Gaussian, prior: Gaussian, parts: tuple[PreparedRows, ...]
    ) -> Float[Array, " n"]:
        n, M = q.mean.shape[0], max(part.n_inducing for part in parts)
        own = [None if ends is None else q[..., slice(*ends)] for ends in seen]
        gains = map_alike(
            lambda part, x: part(q if x is None else x), parts, own, entries=n * M * (M + 1) // 2
        )
        return q.kl(prior) - sum(gains)

    by_start = jax.tree_util.tree_map(lambda a: jnp.swapaxes(a, 0, 1), starting)
    screened = jax.lax.map(lambda q: negative_bound(q, prior, evidences), by_start)
    screened = jnp.where(jnp.isfinite(screened), screened, jnp.inf)
    chosen = jnp.argsort(screened, axis=0, stable=True)[:keep].T  # rows x keep
    row = jnp.repeat(jnp.arange(n_rows), keep)
    mean = starting.mean[row, chosen.ravel()]
    variance = starting.variance[row, chosen.ravel()]
    repeated = tuple(evidence.take(row) for evidence in evidences)

    def function(x: Float[Array, "n V"]) -> Float[Array, " n"]:
        q = Gaussian(x[:, :Q], jnp.exp(jnp.clip(x[:, Q:], -40, 40)))
        return negative_bound(q, prior[row], repeated)

    start = jnp.concatenate([mean, jnp.log(variance)], axis=1)
    scale = jnp.concatenate([variance, jnp.full_like(variance, 2.0)], axis=1)
    x, value = minimise_rows(function, start, scale, iterations=iterations, tolerance=tolerance)
    value = jnp.where(jnp.isfinite(value), value, jnp.inf).reshape(n_rows, keep)
    order = jnp.argsort(value, axis=1, stable=True)
    x = jnp.take_along_axis(x.reshape(n_rows, keep, 2 * Q), order[:, :, None], axis=1)
    value = jnp.take_along_axis(value, order, axis=1)
    return Gaussian(x[..., :Q], jnp.exp(x[..., Q:])), -value

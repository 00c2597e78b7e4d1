"""Latent positions of new rows, all at once [BGPLVM16, §4.1].

q(X) and q(U) of the training data stay fixed. Every new row starts from the latent points
of its nearest training rows; the starts are screened by their bound, the best few are
optimised together in one compiled program, and the best end is kept.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Float, Int

from .._runtime import single_threaded_blas
from ..devices import row_mesh, spec
from ..expectations import Gaussian
from ..mappings import Posterior
from ..mappings.rows import PreparedRows, row_evidence
from .batching import map_alike
from .compiling import LongRunning
from .many_minima import in_buckets, search_rows

Ends = tuple[int, int] | None  # of a slice, which Python cannot hash; None is everything

ROW_BUCKETS = (8, 64, 256, 1024)  # rows compiled for; fewer rows are padded
CHEAP_ENTRIES = 100_000  # of one start: an evaluation of a millisecond
LARGEST = ROW_BUCKETS[-1]


class NewPoints(NamedTuple):
    """q(x*) of new rows and the bound each row reached (its own KL included)."""

    q: Gaussian
    bound: Float[np.ndarray, " N"]
    ends: Gaussian
    """All ends of the optimisation, rows x starts x Q, the best first: the modes."""
    end_bounds: Float[np.ndarray, "N S"]
    taught: tuple[Posterior, ...] | None = None
    """The posteriors of the maps, where the rows revised these; see `inference.augmented`."""


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
        For every row the training points to start from (see `nearest_rows()`).
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
    keep = min(n_optimised, starts.shape[1])
    mesh = row_mesh(len(rows[0]), LARGEST, everywhere=False)
    means, variances, bounds = [], [], []
    buckets = _buckets(posteriors)
    train, prior = jax.device_get((train, prior))
    with single_threaded_blas():
        for here, padded in in_buckets(np.arange(len(rows[0])), buckets):
            evidences = tuple(
                row_evidence(p, np.nan_to_num(Y[padded]), ~np.isnan(Y[padded]), power)
                for p, Y, power in zip(posteriors, rows, powers, strict=True)
            )
            starting, known = train.rows(starts[padded]), prior.rows(padded)
            q, bound = _infer(known, evidences, seen, starting, keep, iterations, tolerance, mesh)
            means.append(np.asarray(q.mean)[: here.size])
            variances.append(np.asarray(q.variance)[: here.size])
            bounds.append(np.asarray(bound)[: here.size])
    mean, variance = np.concatenate(means), np.concatenate(variances)
    end_bounds = np.concatenate(bounds)
    best = Gaussian(*jax.device_put((mean[:, 0], variance[:, 0])))
    ends = Gaussian(*jax.device_put((mean, variance)))
    return NewPoints(best, end_bounds[:, 0], ends, end_bounds)


def _buckets(posteriors: tuple[Posterior, ...]) -> tuple[int, ...]:
    """Sizes to compile for: the smallest is left out where the next is cheap, too."""
    n_inducing = max((len(posterior.weights) for posterior in posteriors), default=0)
    entries = ROW_BUCKETS[1] * n_inducing * (n_inducing + 1) // 2
    return ROW_BUCKETS[entries <= CHEAP_ENTRIES :]


def _ends(part: slice) -> Ends:
    return None if part == slice(None) else (part.start, part.stop)


@LongRunning
def _infer(
    prior: Gaussian,
    evidences: tuple[PreparedRows, ...],
    seen: tuple[Ends, ...],
    starting: Gaussian,
    keep: int,
    iterations: int,
    tolerance: float,
    mesh: Mesh | None,
) -> tuple[Gaussian, Float[Array, "N S"]]:
    n_rows = starting.mean.shape[0]
    if mesh is None or n_rows % mesh.size:
        return _search(prior, evidences, seen, starting, keep, iterations, tolerance)
    data = (prior, evidences, starting)
    arrays, static = eqx.partition(data, eqx.is_array)
    one_more = jnp.zeros(n_rows + 1, int)
    longer = eqx.filter_eval_shape(
        lambda: (prior[one_more], tuple(e.take(one_more) for e in evidences), starting[one_more])
    )
    by_row = jax.tree.map(
        lambda a, b: spec(None if a.shape == b.shape else 0), arrays, eqx.filter(longer, _is_shape)
    )

    def own(arrays: Any) -> tuple[Gaussian, Array]:
        prior, evidences, starting = eqx.combine(arrays, static)
        return _search(prior, evidences, seen, starting, keep, iterations, tolerance)

    return jax.shard_map(  # type: ignore[no-any-return]
        own, mesh=mesh, in_specs=(by_row,), out_specs=spec(0), check_vma=False
    )(arrays)


def _is_shape(leaf: Any) -> bool:
    return isinstance(leaf, jax.ShapeDtypeStruct)


def _search(
    prior: Gaussian,
    evidences: tuple[PreparedRows, ...],
    seen: tuple[Ends, ...],
    starting: Gaussian,
    keep: int,
    iterations: int,
    tolerance: float,
) -> tuple[Gaussian, Float[Array, "N S"]]:
    Q = starting.mean.shape[2]

    def make(rows: Int[Array, " n"] | None) -> Callable[[Array], Array]:
        own = evidences if rows is None else tuple(part.take(rows) for part in evidences)
        known = prior if rows is None else prior[rows]

        def negative_bound(x: Float[Array, "n V"]) -> Float[Array, " n"]:
            q = Gaussian(x[:, :Q], jnp.exp(jnp.clip(x[:, Q:], -40, 40)))
            n, M = q.mean.shape[0], max(part.n_inducing for part in own)
            parts = [None if ends is None else q[..., slice(*ends)] for ends in seen]
            gains = map_alike(
                lambda part, x: part(q if x is None else x), own, parts,
                entries=n * M * (M + 1) // 2,
            )  # fmt: skip
            return q.kl(known) - sum(gains)

        return negative_bound

    def scale(x: Float[Array, "n V"], _: Array) -> Float[Array, "n V"]:
        return jnp.concatenate([jnp.exp(x[:, Q:]), jnp.full_like(x[:, Q:], 2.0)], axis=1)

    starts = jnp.concatenate([starting.mean, jnp.log(starting.variance)], axis=2)
    x, value = search_rows(make, starts, scale, keep, iterations=iterations, tolerance=tolerance)
    return Gaussian(x[..., :Q], jnp.exp(x[..., Q:])), -value

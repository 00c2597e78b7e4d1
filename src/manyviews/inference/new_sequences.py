"""Latent paths of new rows of a temporal model, inferred jointly (002 §4.2).

New rows of a sequence depend on each other, and on the training rows of the sequence if it is
one of those. With q(U) fixed, the bound over the sites of all these rows is maximised from
several starting paths; what stays ambiguous is ambiguous over whole paths.
"""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from .._runtime import single_threaded_blas
from ..expectations import Gaussian
from ..latent import Temporal
from ..mappings import GPPosterior
from ..mappings.rows import RowEvidence, row_evidence
from .lbfgs import lbfgs
from .neighbours import nearest_rows
from .new_points import NewPoints, infer_new_points
from .paths import nearest_segment, smoothest_path

ROWS_AT_ONCE = 512
SCREENING, POLISHING = 30, 300  # iterations for every start, and for those kept
TOLERANCE = 1e-6  # nats per row that thirty iterations must gain


def infer_sequences(
    latent: Temporal,
    posteriors: tuple[GPPosterior, ...],
    data: tuple[Float[np.ndarray, "T _"], ...],
    rows: tuple[Float[np.ndarray, "N _"], ...],
    inputs: Float[np.ndarray, "N P"],
    code: Int[np.ndarray, " N"],
    *,
    powers: Sequence[float] | None = None,
    n_optimised: int | None = None,
    coupled: bool = True,
    n_neighbours: int = 10,
) -> NewPoints:
    """Infer q(X*) of new rows at given inputs, in new sequences or in those trained on.

    Parameters
    ----------
    data, rows
        Training rows and new rows of every view; NaN is missing, also throughout.
    coupled
        False treats rows as independent given the training rows: faster, less exact.
    """
    touched = np.isin(np.asarray(latent.sequences.code), code)
    old = np.flatnonzero(touched)
    joint = latent.extended(inputs, code, old)
    places = np.concatenate([np.asarray(latent.sequences.code)[old], code])
    prior = _marginals(joint)[np.arange(len(old), len(places))]
    train = _marginals(latent)
    present = [k for k, Y in enumerate(rows) if not np.isnan(Y).all()]
    if not present:
        nothing = np.zeros(len(code))
        return NewPoints(prior, nothing, prior[:, None], nothing[:, None])
    starts = nearest_rows(rows, data, n_neighbours)
    blank = np.asarray(np.isnan(np.concatenate(rows, axis=1)).all(axis=1))
    alone = infer_new_points(
        prior, train, posteriors, rows, starts, powers=powers, n_optimised=n_optimised
    )
    if not coupled:
        return alone
    power = [1.0 if powers is None else powers[k] for k in range(len(rows))]
    evidences = [
        _evidence_in_chunks(posteriors[k], np.concatenate([data[k][old], rows[k]]), power[k])
        for k in present
    ]
    problem = _Problem(joint, tuple(evidences), places)
    candidates = _starting_paths(latent, train, alone, prior, starts, rows, data, inputs, code)
    typical = np.median(np.asarray(latent.precision.value), axis=0)
    begun = []
    with single_threaded_blas():
        for target, precision in candidates:
            precision = np.where(blank[:, None], 1e-3, 1.0) * (
                typical if precision is None else precision
            )
            begun.append(problem.ascend(problem.start(target, precision), SCREENING))
        kept = sorted(begun, key=lambda end: -end[1].sum())[: max(2, n_optimised or 1)]
        ends = [problem.ascend(x, POLISHING) for x, _ in kept]
        base = problem.without_new_rows(len(old))
    values = np.stack([value for _, value in ends]) - base  # starts x sequences
    order = np.argsort(-values, axis=0, kind="stable")
    found = [problem.marginals(x) for x, _ in ends]
    names, where = np.unique(places, return_inverse=True)
    where = where[len(old) :]
    counts = np.bincount(where, minlength=len(names))
    new = np.arange(len(old), len(places))
    mean = np.stack([np.asarray(q.mean)[new] for q in found])
    variance = np.stack([np.asarray(q.variance)[new] for q in found])
    pick, here = order[:, where], np.arange(len(new))
    bounds = np.take_along_axis(values, order, axis=0)[:, where].T
    by_row = Gaussian(
        jnp.asarray(np.swapaxes(mean[pick, here], 0, 1)),
        jnp.asarray(np.swapaxes(variance[pick, here], 0, 1)),
    )
    return NewPoints(by_row[:, 0], bounds[:, 0] / counts[where], by_row, bounds)


class _Problem:
    """The bound of a joint set of rows as a function of their sites."""

    def __init__(
        self, latent: Temporal, evidences: tuple[tuple[RowEvidence, ...], ...], places: np.ndarray
    ):
        self.latent, self.evidences = latent, evidences
        self.shape = latent.target.raw.shape
        self.segments = jnp.asarray(np.unique(places, return_inverse=True)[1])
        self.n_sequences = len(np.unique(places))

    def start(
        self, target: Float[np.ndarray, "n Q"], precision: Float[np.ndarray, "n Q"]
    ) -> np.ndarray:
        """The training rows' sites as they are, the new ones as given."""
        m, lam = np.array(self.latent.target.value), np.array(self.latent.precision.value)
        m[len(m) - len(target) :] = target
        lam[len(m) - len(target) :] = precision
        return np.concatenate([m.ravel(), np.log(lam).ravel()])

    def ascend(self, x: np.ndarray, iterations: int) -> tuple[np.ndarray, Float[np.ndarray, " S"]]:
        """Maximise for some iterations; return the sites and each sequence's bound."""
        values: list[float] = []

        def function(x: np.ndarray) -> tuple[float, np.ndarray]:
            found, slopes = _value_and_slope(jnp.asarray(x), self.latent, self.evidences)
            value, slope = float(found), np.asarray(slopes)
            finite = np.isfinite(value) and np.isfinite(slope).all()
            return (value, slope) if finite else (np.inf, np.zeros_like(slope))

        def report(value: float, _: np.ndarray) -> bool:
            values.append(value)
            old = min(values[:-30], default=np.inf)
            return len(values) > 30 and old - min(values) < TOLERANCE * self.shape[0]

        x = lbfgs(function, x, iterations, report).x
        shares = _shares(jnp.asarray(x), self.latent, self.evidences)
        return x, np.asarray(jax.ops.segment_sum(shares, self.segments, self.n_sequences))

    def without_new_rows(self, n_old: int) -> Float[np.ndarray, " S"]:
        """The bound of the training rows alone, to be subtracted."""
        if not n_old:
            return np.zeros(self.n_sequences)
        shares = _shares(_flat(self.latent), self.latent, self.evidences, evidence_rows=n_old)
        return np.asarray(jax.ops.segment_sum(shares, self.segments, self.n_sequences))

    def marginals(self, x: np.ndarray) -> Gaussian:
        """q(x) of all rows."""
        return _marginals(_with_sites(self.latent, jnp.asarray(x)))


@eqx.filter_jit
def _marginals(latent: Temporal) -> Gaussian:
    return latent.marginals()


def _flat(latent: Temporal) -> Float[Array, " V"]:
    sites = (latent.target.value, jnp.log(latent.precision.value))
    return jnp.concatenate([site.ravel() for site in sites])


def _with_sites(latent: Temporal, x: Float[Array, " V"]) -> Temporal:
    N, Q = latent.target.raw.shape
    target, log_precision = x[: N * Q].reshape(N, Q), x[N * Q :].reshape(N, Q)
    precision = jnp.exp(jnp.clip(log_precision, -40.0, 40.0))
    return eqx.tree_at(
        lambda t: (t.target, t.precision),
        latent,
        (latent.target.with_value(target), latent.precision.with_value(precision)),
    )


@eqx.filter_jit
def _shares(
    x: Float[Array, " V"],
    latent: Temporal,
    evidences: tuple[tuple[RowEvidence, ...], ...],
    evidence_rows: int | None = None,
) -> Float[Array, " N"]:
    """Every row's evidence minus its share of the KL."""
    found = _with_sites(latent, x).smooth()
    q = Gaussian(found.mean, found.variance)
    total = -jnp.sum(found.kl, axis=1)
    counted = jnp.arange(total.shape[0]) < (evidence_rows or total.shape[0])
    for chunks in evidences:
        begin, parts = 0, []
        for chunk in chunks:
            size = chunk.linear.shape[0]
            parts.append(chunk(q[begin : begin + size]))
            begin += size
        total += jnp.where(counted, jnp.concatenate(parts), 0.0)
    return total


@eqx.filter_jit
def _value_and_slope(
    x: Float[Array, " V"], latent: Temporal, evidences: tuple[tuple[RowEvidence, ...], ...]
) -> tuple[Array, Array]:
    return jax.value_and_grad(lambda x: -jnp.sum(_shares(x, latent, evidences)))(x)


def _evidence_in_chunks(
    posterior: GPPosterior, Y: Float[np.ndarray, "N D"], power: float
) -> tuple[RowEvidence, ...]:
    """Row by row a long series would need an N x M² array at once."""
    pieces = [Y[begin : begin + ROWS_AT_ONCE] for begin in range(0, len(Y), ROWS_AT_ONCE)]
    return tuple(
        row_evidence(posterior, np.nan_to_num(piece), ~np.isnan(piece), power) for piece in pieces
    )


def _starting_paths(
    latent: Temporal,
    train: Gaussian,
    alone: NewPoints,
    prior: Gaussian,
    starts: Int[np.ndarray, "N S"],
    rows: tuple[Float[np.ndarray, "N _"], ...],
    data: tuple[Float[np.ndarray, "T _"], ...],
    inputs: Float[np.ndarray, "N P"],
    code: Int[np.ndarray, " N"],
) -> list[tuple[np.ndarray, np.ndarray | None]]:
    """Targets (and precisions) to start from, each for all new rows."""
    means = np.asarray(train.mean)
    own = 1.0 / np.asarray(alone.q.variance) - 1.0 / np.asarray(prior.variance)
    candidates: list[tuple[np.ndarray, np.ndarray | None]] = [
        (np.asarray(alone.q.mean), np.maximum(own, 1e-3)),
        (means[starts[:, 0]], None),
        (means[smoothest_path(means, starts, rows, data, inputs, code)], None),
    ]
    segment = nearest_segment(latent.sequences, rows, data, inputs, code)
    if segment is not None:
        candidates.append((means[segment], None))
    return candidates

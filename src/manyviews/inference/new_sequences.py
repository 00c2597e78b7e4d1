"""Latent paths of new rows of a temporal model, inferred jointly [BGPLVM16, §4.2].

New rows of a sequence depend on each other, and on the training rows of the sequence if it is
one of those (on the nearest of them, where it is long). With q(U) fixed, the bound over the
sites of all these rows is maximised from several starting paths; what stays ambiguous is
ambiguous over whole paths.
"""

import itertools
from collections.abc import Sequence

import jax
import numpy as np
from jaxtyping import Float, Int
from scipy.spatial import KDTree

from .._runtime import single_threaded_blas
from ..expectations import Gaussian
from ..latent import Paths, everything, marginals
from ..latent.paths import NOTHING
from ..mappings import Posterior
from .augmented import teach_paths
from .flow import training_flow
from .following import followed_path
from .neighbours import nearest_rows
from .new_points import NewPoints, infer_new_points
from .path_bound import PathBound, in_chunks
from .paths import nearest_segment, smoothest_path
from .splicing import spliced

SCREENING, POLISHING = 30, 300  # iterations for every start, and for those kept
KEPT = 5
LONG = 5000  # new rows from which there are fewer starts: each costs seconds
CONTEXT = 1000  # training rows of a sequence that are inferred again with new ones
TRUSTS, MOMENTA = (1.0, 3.0, 10.0), (0.0, 4.0, 8.0)  # of paths that follow training sequences
UNSEEN = 1e-3  # relative precision of the first sites of rows of which nothing was seen

End = tuple[Float[np.ndarray, " V"], Float[np.ndarray, " S"]]  # sites, bound of every sequence
Tables = tuple[Float[np.ndarray, "_ _"], ...]


def infer_sequences(
    latent: Paths,
    posteriors: tuple[Posterior, ...],
    data: Tables,
    rows: Tables,
    inputs: Float[np.ndarray, "N P"],
    code: Int[np.ndarray, " N"],
    *,
    powers: Sequence[float] | None = None,
    n_optimised: int | None = None,
    coupled: bool = True,
    n_neighbours: int = 10,
    flow_weight: float = 0.0,
    looks: tuple[Tables, Tables] | None = None,
    augmented: bool = False,
) -> NewPoints:
    """Infer q(X*) of new rows at given inputs, in new sequences or in those trained on.

    Parameters
    ----------
    data, rows
        Training rows and new rows of every view; NaN is missing, also throughout.
    coupled
        False treats rows as independent given the training rows: faster, less exact.
    flow_weight
        How much it counts, besides the prior over time, how training sequences moved on.
    looks
        New and training rows on scales on which they can be compared. Default: as they are.
    augmented
        Whether the best paths go on with q(U) at its optimum for all rows; see `teach_paths()`.
    """
    trained = np.asarray(latent.sequences.code)
    touched = np.flatnonzero(np.isin(trained, code))
    future, last = latent.extended(inputs, code, touched), np.arange(-len(code), 0)
    present = [k for k, Y in enumerate(rows) if not np.isnan(Y).all()]
    parts = [latent.dimensions(k) for k in range(len(rows))]
    if not present:
        prior = everything(future).rows(last)
        nothing = np.zeros(len(code))
        return NewPoints(prior, nothing, prior[:, None], nothing[:, None])
    prior = marginals(future).rows(last)
    powers = [1.0] * len(rows) if powers is None else powers
    new_look, old_look = (rows, data) if looks is None else looks
    starts, train = nearest_rows(new_look, old_look, n_neighbours), marginals(latent)
    alone = infer_new_points(
        prior, train, posteriors, rows, starts,
        parts=parts, powers=powers, n_optimised=n_optimised,
    )  # fmt: skip
    if not coupled:
        return alone
    old = _context(latent, touched, inputs, code)
    joint = latent.extended(inputs, code, old)
    new = np.arange(len(old), len(old) + len(code))
    _, place = np.unique(np.concatenate([trained[old], code]), return_inverse=True)
    evidences = tuple(
        in_chunks(posteriors[k], np.concatenate([data[k][old], rows[k]]), powers[k])
        for k in present
    )
    trained_on = latent if len(old) else latent.only(tuple(present))
    flow = training_flow(trained_on, joint.sequences, flow_weight) if flow_weight else None
    bound = PathBound(joint, evidences, tuple(present), place, alone=not len(old), flow=flow)
    weights = _trust(rows, parts, latent.target.raw.shape[1])
    with single_threaded_blas():
        begun = [
            bound.ascend(
                bound.start(target, weights * np.broadcast_to(precision, target.shape)), SCREENING
            )
            for target, precision in _starting_paths(
                latent, train, alone, prior, starts, new_look, old_look, inputs, code
            )
        ]
        kept = _best(begun, max(KEPT if len(code) < LONG else 2, n_optimised or 1))
        ends = _best([bound.ascend(x, POLISHING) for x, _ in kept], len(kept))
        order = np.lexsort((np.asarray(joint.sequences.inputs)[:, 0], place))
        whole = spliced(bound, [x for x, _ in ends], order, SCREENING)
        if whole is not ends[0][0]:
            ends.insert(0, bound.ascend(whole, POLISHING))
        ends = _best(ends, max(2, n_optimised or 1))
        if augmented:
            return teach_paths(bound, ends[0][0], train, old, posteriors, data, rows, powers)
        gains = np.stack([value for _, value in ends]) - bound.of_first(len(old))
        found = [bound.marginals(x)[new] for x, _ in ends]
    return _by_row(found, gains, place[new])


def _best(ends: list[End], count: int) -> list[End]:
    """Those of the highest bound, best first."""
    return sorted(ends, key=lambda end: -end[1].sum())[:count]


def _trust(rows: Tables, parts: list[slice], n_dimensions: int) -> Float[np.ndarray, "N Q"]:
    """How much to make of the first sites of a row, by what was seen of what each informs."""
    informed = np.zeros((len(rows[0]), n_dimensions), bool)
    hopeless = np.ones(n_dimensions, bool)
    for Y, part in zip(rows, parts, strict=True):
        seen = np.asarray(~np.isnan(Y).all(axis=1))
        informed[:, part] |= seen[:, None]
        hopeless[part] &= bool(np.isnan(Y).all())
    return np.where(hopeless, NOTHING, np.where(informed, 1.0, UNSEEN))


def _context(
    latent: Paths,
    touched: Int[np.ndarray, " T"],
    inputs: Float[np.ndarray, "N P"],
    code: Int[np.ndarray, " N"],
) -> Int[np.ndarray, " C"]:
    """The training rows that new rows are inferred with: of long sequences, the nearest."""
    trained, places = np.asarray(latent.sequences.code), np.asarray(latent.sequences.inputs)
    kept = []
    for name in np.unique(trained[touched]):
        rows = touched[trained[touched] == name]
        if len(rows) > CONTEXT:
            apart, _ = KDTree(inputs[code == name]).query(places[rows])
            rows = np.sort(rows[np.argsort(apart, kind="stable")[:CONTEXT]])
        kept.append(rows)
    return np.concatenate(kept) if kept else touched


def _by_row(
    found: list[Gaussian], gains: Float[np.ndarray, "E S"], place: Int[np.ndarray, " N"]
) -> NewPoints:
    """All ends for every row, those of the best path of its sequence first."""
    order = np.argsort(-gains, axis=0, kind="stable")
    best, here = order[:, place], np.arange(len(place))
    mean = np.stack([np.asarray(q.mean) for q in found])[best, here]  # ends x rows x Q
    variance = np.stack([np.asarray(q.variance) for q in found])[best, here]
    ends = Gaussian(*jax.device_put((np.swapaxes(mean, 0, 1), np.swapaxes(variance, 0, 1))))
    bounds = np.take_along_axis(gains, order, axis=0)[:, place].T
    counts = np.bincount(place)[place]
    return NewPoints(ends[:, 0], bounds[:, 0] / counts, ends, bounds)


def _starting_paths(
    latent: Paths,
    train: Gaussian,
    alone: NewPoints,
    prior: Gaussian,
    starts: Int[np.ndarray, "N S"],
    rows: Tables,
    data: Tables,
    inputs: Float[np.ndarray, "N P"],
    code: Int[np.ndarray, " N"],
) -> list[tuple[Float[np.ndarray, "N Q"], Float[np.ndarray, "..."]]]:
    """Targets and precisions to start from: row by row, and along several paths."""
    means = np.asarray(train.mean)
    typical = np.median(np.asarray(latent.precision.value), axis=0)
    own = 1.0 / np.asarray(alone.q.variance) - 1.0 / np.asarray(prior.variance)
    paths: list[Int[np.ndarray, " N"] | None] = [starts[:, 0]]
    if len(np.unique(code)) < len(code):
        paths.append(smoothest_path(means, starts, rows, data, inputs, code))
        paths.append(nearest_segment(latent.sequences, rows, data, inputs, code))
    along = [(means[path], typical) for path in paths if path is not None]
    if len(np.unique(code)) < len(code) and inputs.shape[1] == 1:
        sequences = latent.sequences
        ways = itertools.product(TRUSTS, MOMENTA) if len(code) < LONG else [(1.0, 4.0)]
        along += [
            (followed_path(means, sequences, rows, data, inputs, code, *how), typical)
            for how in ways
        ]
    return [(np.asarray(alone.q.mean), np.maximum(own, 1e-3)), *along]

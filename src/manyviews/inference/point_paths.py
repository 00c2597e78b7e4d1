"""Latent points of new rows of sequences: the most probable paths."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from .._runtime import single_threaded_blas
from ..expectations import Gaussian
from ..latent import TimedPoints
from ..mappings import PointPosterior
from .descent import descend
from .neighbours import nearest_rows
from .point_rows import PointRows, RowDensity, locate_rows, row_density

ITERATIONS = 300
TOLERANCE = 1e-6  # nats per row that thirty iterations must gain together


def locate_paths(
    latent: TimedPoints,
    posterior: PointPosterior,
    data: Float[np.ndarray, "T D"],
    rows: Float[np.ndarray, "N D"],
    inputs: Float[np.ndarray, "N P"],
    code: Int[np.ndarray, " N"],
    *,
    coupled: bool,
    n_neighbours: int,
) -> PointRows:
    """Maximise log p(Y* | X*) + log p(X* | X) over all new rows together (NaN = missing).

    First row by row, given the training points; then, where ``coupled``, together, from there
    and from the expected path. Densities and covariances are those of the rows one by one.
    """
    prior, train = latent.at(inputs, code), np.asarray(latent.position)
    expected = np.asarray(prior.mean)
    if np.isnan(rows).all():
        return PointRows(expected, np.zeros(len(rows)), _diagonal(prior))
    starts = nearest_rows((rows,), (data,), n_neighbours)
    alone = locate_rows(prior, train, [posterior], [rows], starts, extra_start=expected)
    unseen = np.isnan(rows).all(axis=1)
    x = np.where(unseen[:, None], expected, alone.x)
    density = np.where(unseen, 0.0, alone.log_density)
    covariance = np.where(unseen[:, None, None], _diagonal(prior), alone.covariance)
    if not coupled or len(rows) == 1:
        return PointRows(x, density, covariance)
    joint, evidence = latent.joined(inputs, code, expected), row_density(posterior, rows)
    with single_threaded_blas():
        ends = [_ascend(start, joint, evidence) for start in (x, expected)]
    return PointRows(min(ends, key=lambda end: end[1])[0], density, covariance)


def _diagonal(prior: Gaussian) -> Float[np.ndarray, "N Q Q"]:
    variance = np.asarray(prior.variance)
    return variance[:, :, None] * np.eye(variance.shape[1])


def _ascend(
    start: Float[np.ndarray, "N Q"], joint: TimedPoints, evidence: RowDensity
) -> tuple[Float[np.ndarray, "N Q"], float]:
    gain = TOLERANCE * len(start)
    end = descend(_negative_log_joint, jnp.asarray(start), (joint, evidence), ITERATIONS, gain)
    return np.array(end.x), float(end.value)


def _negative_log_joint(
    x: Float[Array, "N Q"], context: tuple[TimedPoints, RowDensity]
) -> tuple[Float[Array, ""], tuple[()]]:
    joint, evidence = context
    whole = joint.position.at[-len(x) :].set(x)
    return -jnp.sum(evidence(x)) - jnp.sum(joint.moved(whole).log_density()), ()

"""Latent points of new rows of sequences: the most probable paths."""

from collections.abc import Sequence

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
    posteriors: Sequence[PointPosterior],
    data: Sequence[Float[np.ndarray, "T _"]],
    rows: Sequence[Float[np.ndarray, "N _"]],
    inputs: Float[np.ndarray, "N P"],
    code: Int[np.ndarray, " N"],
    *,
    coupled: bool,
    n_neighbours: int,
) -> PointRows:
    """Maximise Σ_k log p(Y*_k | X*) + log p(X* | X) over all new rows together (NaN = missing).

    First row by row, given the training points; then, where ``coupled``, together, from there
    and from the expected path. Densities and covariances are those of the rows one by one.
    """
    prior, train = latent.at(inputs, code), np.asarray(latent.position)
    expected = np.asarray(prior.mean)
    unseen = np.all([np.isnan(Y).all(axis=1) for Y in rows], axis=0)
    if unseen.all():
        return PointRows(expected, np.zeros(len(code)), _diagonal(prior))
    starts = nearest_rows(tuple(rows), tuple(data), n_neighbours)
    alone = locate_rows(prior, train, posteriors, rows, starts, extra_start=expected)
    x = np.where(unseen[:, None], expected, alone.x)
    density = np.where(unseen, 0.0, alone.log_density)
    covariance = np.where(unseen[:, None, None], _diagonal(prior), alone.covariance)
    if not coupled or len(code) == 1:
        return PointRows(x, density, covariance)
    joint = latent.joined(inputs, code, expected)
    evidence = tuple(
        row_density(posterior, Y)
        for posterior, Y in zip(posteriors, rows, strict=True)
        if not np.isnan(Y).all()
    )
    with single_threaded_blas():
        ends = [_ascend(start, joint, evidence) for start in (x, expected)]
    return PointRows(min(ends, key=lambda end: end[1])[0], density, covariance)


def _diagonal(prior: Gaussian) -> Float[np.ndarray, "N Q Q"]:
    variance = np.asarray(prior.variance)
    return variance[:, :, None] * np.eye(variance.shape[1])


def _ascend(
    start: Float[np.ndarray, "N Q"], joint: TimedPoints, evidence: tuple[RowDensity, ...]
) -> tuple[Float[np.ndarray, "N Q"], float]:
    gain = TOLERANCE * len(start)
    end = descend(_negative_log_joint, jnp.asarray(start), (joint, evidence), ITERATIONS, gain)
    return np.array(end.x), float(end.value)


def _negative_log_joint(
    x: Float[Array, "N Q"], context: tuple[TimedPoints, tuple[RowDensity, ...]]
) -> tuple[Float[Array, ""], tuple[()]]:
    joint, evidence = context
    whole = joint.position.at[-len(x) :].set(x)
    prior = jnp.sum(joint.moved(whole).log_density())
    return -sum([jnp.sum(density(x)) for density in evidence], prior), ()

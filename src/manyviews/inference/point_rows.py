"""Latent points of new rows: the most probable x* given whatever views they have [Leen08, §3.4.3].

The mapping stays as trained. Every row starts from the points of its nearest training rows;
the starts are screened, the best few are optimised together, and the best end is kept.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from scipy.linalg import solve_triangular

from .._runtime import single_threaded_blas
from ..data.patterns import by_pattern
from ..expectations import Gaussian
from ..mappings import PointPosterior
from .compiling import LongRunning
from .many_minima import in_buckets, search_rows

ROW_BUCKETS = (1, 8, 64, 256)


class PointRows(NamedTuple):
    """Latent points of new rows, and Laplace's approximation of what is around them.

    The covariance of p(x* | y*), and each row's log density.
    """

    x: Float[np.ndarray, "N Q"]
    log_density: Float[np.ndarray, " N"]
    covariance: Float[np.ndarray, "N Q Q"]


class RowDensity(eqx.Module):
    """log p(y* | x*) = log N(y | B k(Z, x), s(x) I) of new rows, as a function of x* alone.

    A view with Ψ is whitened first, over the columns that a row has, so that it is of this form.
    """

    posterior: PointPosterior
    targets: Float[Array, "N D"]
    seen: Float[Array, "N D"]
    constant: Float[Array, " N"]

    def __call__(self, x: Float[Array, "N Q"]) -> Float[Array, " N"]:
        mean, variance = self.posterior.at(x)
        s = variance[:, self.posterior.group_of_column]
        terms = (self.targets - mean) ** 2 / s + jnp.log(2.0 * jnp.pi * s)
        return self.constant - 0.5 * jnp.sum(self.seen * terms, axis=1)

    def curvature(self, x: Float[Array, "N Q"]) -> Float[Array, "N Q"]:
        """Diagonal of the Gauss-Newton Hessian, Σ_d (∂μ_d/∂x_q)² / s."""
        s = self.posterior.at(x)[1][:, self.posterior.group_of_column]

        def along(direction: Float[Array, " Q"]) -> Float[Array, " N"]:
            push = jnp.broadcast_to(direction, x.shape)
            slope = jax.jvp(lambda x: self.posterior.at(x)[0], (x,), (push,))[1]
            return jnp.sum(self.seen * slope**2 / s, axis=1)

        return jax.lax.map(along, jnp.eye(x.shape[1])).T

    def take(self, rows: Int[Array, " n"]) -> "RowDensity":
        """The densities of some rows, in the given order."""
        parts = (self.targets[rows], self.seen[rows], self.constant[rows])
        return eqx.tree_at(lambda e: (e.targets, e.seen, e.constant), self, parts)


def locate_rows(
    prior: Gaussian,
    train: Float[np.ndarray, "T Q"],
    posteriors: Sequence[PointPosterior],
    rows: Sequence[Float[np.ndarray, "N _"]],
    starts: Int[np.ndarray, "N S"],
    *,
    extra_start: Float[np.ndarray, "N Q"] | None = None,
    n_optimised: int = 5,
    iterations: int = 200,
    tolerance: float = 1e-6,
) -> PointRows:
    """Maximise log p(y* | x*) + log p(x*) for every row (NaN = missing).

    Parameters
    ----------
    prior
        p(x*) of every row, or of one, the same for all.
    starts
        For every row the training points to start from.
    extra_start
        One more start for every row.
    """
    present = [k for k, Y in enumerate(rows) if not np.isnan(Y).all()]
    posteriors, rows = [posteriors[k] for k in present], [rows[k] for k in present]
    starting = train[starts]
    if extra_start is not None:
        starting = np.concatenate([extra_start[:, None], starting], axis=1)
    keep = min(n_optimised, starting.shape[1])
    n_rows, Q = len(starting), train.shape[1]
    centre, scale = (
        np.broadcast_to(np.asarray(a), (n_rows, Q)) for a in (prior.mean, prior.variance)
    )
    x, density, covariance = np.empty((n_rows, Q)), np.empty(n_rows), np.empty((n_rows, Q, Q))
    with single_threaded_blas():
        for group in _groups(posteriors, rows):
            for here, padded in in_buckets(group, ROW_BUCKETS):
                densities = tuple(
                    row_density(posterior, Y[padded])
                    for posterior, Y in zip(posteriors, rows, strict=True)
                )
                found, value, hessian = _locate(
                    Gaussian(jnp.asarray(centre[padded]), jnp.asarray(scale[padded])),
                    densities, jnp.asarray(starting[padded]), keep, iterations, tolerance,
                )  # fmt: skip
                x[here] = np.asarray(found)[: here.size]
                log_joint = np.asarray(value)[: here.size]
                density[here], covariance[here] = _laplace(
                    log_joint, np.asarray(hessian)[: here.size], scale[here].max(axis=1)
                )
    return PointRows(x, density, covariance)


def row_density(posterior: PointPosterior, Y: Float[np.ndarray, "N D"]) -> RowDensity:
    """Prepare rows; those of a view with Ψ must lack the same columns."""
    seen = ~np.isnan(Y)
    if posterior.columns is None:
        return RowDensity(
            posterior, jnp.asarray(np.nan_to_num(Y)), jnp.asarray(seen, jnp.float64),
            jnp.zeros(len(Y)),
        )  # fmt: skip
    there = np.flatnonzero(seen[0])
    D = Y.shape[1]
    C = np.linalg.cholesky(np.asarray(posterior.columns)[np.ix_(there, there)])
    turn = np.zeros((D, D))
    turn[there, : there.size] = solve_triangular(C, np.eye(there.size), lower=True).T
    white = eqx.tree_at(lambda p: p.weights, posterior, posterior.weights @ jnp.asarray(turn))
    counted = np.tile(np.arange(D) < there.size, (len(Y), 1))
    return RowDensity(
        posterior=white,
        targets=jnp.asarray(np.nan_to_num(Y) @ turn),
        seen=jnp.asarray(counted, jnp.float64),
        constant=jnp.full(len(Y), -np.sum(np.log(np.diagonal(C)))),
    )


def _groups(
    posteriors: Sequence[PointPosterior], rows: Sequence[Float[np.ndarray, "N _"]]
) -> list[Int[np.ndarray, " n"]]:
    """Rows that lack the same columns of the views with Ψ; all together where none has one."""
    tied = [~np.isnan(Y) for p, Y in zip(posteriors, rows, strict=True) if p.columns is not None]
    if not tied:
        return [np.arange(len(rows[0]))]
    return [group for _, group in by_pattern(np.concatenate(tied, axis=1))]


@LongRunning
def _locate(
    prior: Gaussian,
    densities: tuple[RowDensity, ...],
    starting: Float[Array, "N S Q"],
    keep: int,
    iterations: int,
    tolerance: float,
) -> tuple[Float[Array, "N Q"], Float[Array, " N"], Float[Array, "N Q Q"]]:
    Q = starting.shape[2]

    def log_joint(x: Array, parts: tuple[RowDensity, ...], prior: Gaussian) -> Float[Array, " n"]:
        terms = (x - prior.mean) ** 2 / prior.variance + jnp.log(2.0 * jnp.pi * prior.variance)
        return sum([part(x) for part in parts], -0.5 * jnp.sum(terms, axis=1))

    def make(rows: Int[Array, " n"] | None) -> Callable[[Array], Array]:
        own, known = densities, prior
        if rows is not None:
            own, known = tuple(density.take(rows) for density in densities), prior[rows]
        return lambda x: -log_joint(x, own, known)

    def scale(x: Float[Array, "n Q"], rows: Int[Array, " n"]) -> Float[Array, "n Q"]:
        curvatures = [density.take(rows).curvature(x) for density in densities]
        return 1.0 / sum(curvatures, 1.0 / prior[rows].variance)

    ends, values = search_rows(
        make, starting, scale, keep, iterations=iterations, tolerance=tolerance
    )
    x, value = ends[:, 0], -values[:, 0]

    def gradient(x: Array) -> Array:
        return jax.grad(lambda x: jnp.sum(log_joint(x, densities, prior)))(x)

    def along(direction: Array) -> Array:
        return jax.jvp(gradient, (x,), (jnp.broadcast_to(direction, x.shape),))[1]

    hessian = jnp.swapaxes(jax.lax.map(along, jnp.eye(Q)), 0, 1)
    return x, value, hessian


def _laplace(
    log_joint: Float[np.ndarray, " N"],
    hessian: Float[np.ndarray, "N Q Q"],
    widest: Float[np.ndarray, " N"],
) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, "N Q Q"]]:
    """Log p(y) ≈ log p(y, x̂) + (Q/2) log 2π - ½ log|-H|, and (-H)⁻¹, no wider than the prior."""
    values, vectors = np.linalg.eigh(-0.5 * (hessian + np.swapaxes(hessian, 1, 2)))
    curvature = np.maximum(values, 1.0 / widest[:, None])
    volume = 0.5 * (np.log(2 * np.pi) - np.log(curvature)).sum(axis=1)
    return log_joint + volume, np.einsum("nij,nj,nkj->nik", vectors, 1.0 / curvature, vectors)

"""One view at one latent position, fast enough to follow a pointer."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from ..data import Scaling
from ..expectations import Gaussian, psi1
from ..mappings import GPPosterior
from ..plot.subject import Subject

LEFT_OUT = 0.01
"""Largest part of a variance that may be left out: half a percent of a standard deviation."""


class PlainGenerator:
    """A view by the model's own ``inverse_transform``: of any model."""

    def __init__(self, subject: Subject, view: str, columns: list[int]):
        self.subject, self.view, self.columns = subject, view, columns
        _, std = subject.generate(subject.centre()[None], view)
        self.scale = np.ones(len(columns), np.float32)
        self.noise = float(np.min(std)) ** 2

    def __call__(
        self, position: Float[np.ndarray, " Q"], variance: Float[np.ndarray, " Q"]
    ) -> tuple[Float[np.ndarray, " D"], Float[np.ndarray, " D"]]:
        """Mean and std at an input N(position, diag variance)."""
        mean, std = self.subject.generate(position[None], self.view, np.sqrt(variance)[None])
        return mean[0, self.columns], std[0, self.columns]

    def uncertainty(self, positions: Float[np.ndarray, "N Q"]) -> Float[np.ndarray, " N"]:
        """Std at exactly known positions, the average over all columns of the view."""
        parts = np.array_split(positions, 16)
        return np.concatenate([self.subject.generate(x, self.view)[1].mean(axis=1) for x in parts])


class ViewGenerator:
    """Mean and std of some columns of a view, in the units of the data, noise included.

    What ``inverse_transform`` gives, to single precision. With K = LLᵀ the mean is a·W with
    a = L⁻¹Ψ1ᵀ and W = LᵀB [BGPLVM16, eq. 40], both of moderate size, where B itself is large and
    cancels. The part of the variance that comes from an uncertain position [BGPLVM16, eq. 41] is
    Σ_r λ_r (v_r·W)² over eigenpairs of L⁻¹(Ψ2 - Ψ1ᵀΨ1)L⁻ᵀ, of which few matter, so that all
    is one product of a few rows with W.
    """

    def __init__(self, posterior: GPPosterior, scaling: Scaling, columns: ArrayLike):
        chosen = np.asarray(columns)
        weights = np.asarray(posterior.L).T @ np.asarray(posterior.weights)[:, chosen]
        self.weights = weights.astype(np.float32)
        self.largest = float(np.max(np.sum(weights**2, axis=0)))
        self.centre = scaling.centre[chosen].astype(np.float32)
        self.scale = scaling.scale[chosen].astype(np.float32)
        self.group = np.asarray(posterior.group_of_column)[chosen]
        self.noise = float(posterior.noise)
        # only what a position needs, so that views of many sizes share one compiled program
        self.core = eqx.tree_at(
            lambda p: (p.weights, p.group_of_column),
            posterior,
            (jnp.zeros((posterior.L.shape[0], 0)), jnp.zeros(0, posterior.group_of_column.dtype)),
        )
        self.reduction = _reduction(posterior)
        groups = len(posterior.inner)
        totals = np.bincount(np.asarray(posterior.group_of_column), scaling.scale, groups)
        self.mean_scale = totals / scaling.scale.size

    def __call__(
        self, position: Float[np.ndarray, " Q"], variance: Float[np.ndarray, " Q"]
    ) -> tuple[Float[np.ndarray, " D"], Float[np.ndarray, " D"]]:
        """Mean and std at an input N(position, diag variance)."""
        where = Gaussian(jnp.asarray(position), jnp.asarray(variance))
        first, values, vectors, own = (
            np.asarray(part) for part in _coefficients(self.core, self.reduction, where)
        )
        known = self.noise + own
        kept = values * self.largest > LEFT_OUT * known.min()
        rows = np.vstack([first, (vectors[:, kept] * np.sqrt(values[kept])).T])
        products = rows.astype(np.float32) @ self.weights
        moved = np.einsum("rd,rd->d", products[1:], products[1:])
        std = np.sqrt(known.astype(np.float32)[self.group] + moved)
        return products[0] * self.scale + self.centre, std * self.scale

    def uncertainty(self, positions: Float[np.ndarray, "N Q"]) -> Float[np.ndarray, " N"]:
        """Std at exactly known positions, the average over all columns of the view."""
        own = np.asarray(_own_variance(self.core, self.reduction, jnp.asarray(positions)))
        return np.sqrt(own + self.noise) @ self.mean_scale


Generator = PlainGenerator | ViewGenerator


def generator_of(subject: Subject, view: str, columns: list[int]) -> Generator:
    """The fast generator of a sparse GP, or for any other model what it says itself."""
    model, place = subject.model, subject.names.index(view)
    posteriors = getattr(model.engine_, "posteriors", None)
    if posteriors is None or not isinstance(posteriors[place], GPPosterior):
        return PlainGenerator(subject, view, columns)
    scaling = model.scaling_ if subject.single else model.scalings_[place]
    return ViewGenerator(posteriors[place], scaling, columns)


@eqx.filter_jit
def _reduction(posterior: GPPosterior) -> Float[Array, "G M M"]:
    return posterior.reduction()


@eqx.filter_jit
def _coefficients(
    posterior: GPPosterior, reduction: Float[Array, "G M M"], where: Gaussian
) -> tuple[Array, Array, Array, Array]:
    """The row of the mean, the eigenpairs of the spread, and the variance given x, per group."""
    own, spread = posterior.row_moments(where, reduction)
    one = Gaussian(where.mean[None], where.variance[None])
    first = solve_triangular(posterior.L, psi1(posterior.kernel, posterior.Z, one)[0], lower=True)
    half = solve_triangular(posterior.L, spread, lower=True)
    whitened = solve_triangular(posterior.L, half.T, lower=True)
    values, vectors = jnp.linalg.eigh(whitened)
    return first, jnp.maximum(values, 0.0), vectors, own


@eqx.filter_jit
def _own_variance(
    posterior: GPPosterior, reduction: Float[Array, "G M M"], x: Float[Array, "N Q"]
) -> Float[Array, "N G"]:
    k = posterior.kernel.cross(x, posterior.Z)
    removed = jnp.einsum("nm,gml,nl->ng", k, reduction, k)
    return jnp.maximum(posterior.kernel.diagonal(x)[:, None] - removed, 0.0)

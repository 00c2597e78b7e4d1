"""The engine of models with latent points; new rows by Laplace's approximation."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._runtime import single_threaded_blas
from ..data import When
from ..expectations import Gaussian
from ..fitted import Engine, Positions, Tables
from ..fitted.cross_view import check_treatment, cross_view
from ..fitted.engine import Spread, normalised
from ..inference.bound import Model
from ..inference.conditional_gaussian import given_observed
from ..inference.neighbours import nearest_rows
from ..inference.point_paths import locate_paths
from ..inference.point_rows import PointRows, locate_rows
from ..io import register_record
from ..latent import BackConstrained, TimedPoints, everything, marginals
from ..latent.timed_points import WANDER
from ..mappings import PointPosterior
from ..mappings.sensitivity import sensitivity
from .back import BackMap

FORECAST_DRAWS = 200  # of a position, for the spread of a forecast


@register_record
@dataclass(frozen=True)
class PointEngine(Engine):
    """A fitted model with what prediction needs of the training data (scaled, NaN missing).

    ``back`` is the map from the data to the points, where these are back-constrained.
    """

    model: Model
    posteriors: tuple[PointPosterior, ...]
    data: tuple[np.ndarray, ...]
    back: BackMap | None = None

    @cached_property
    def positions(self) -> Positions:
        return Positions.known(np.array(marginals(self.model.latent).mean))

    @cached_property
    def relevance(self) -> Float[np.ndarray, "K Q"]:
        return normalised(np.stack([np.array(view.relevance()) for view in self.model.views]))

    # ------------------------------------------------------------------ new rows

    def infer(
        self,
        rows: Tables,
        when: When | None = None,
        wanted: Sequence[int] = (),
        *,
        private: str = "posterior",
        coupled: bool = True,
        n_starts: int = 10,
    ) -> Positions:
        """Most probable points, and what is private to the wanted views.

        Parameters
        ----------
        private
            Where the dimensions come from that the known views do not inform; see
            `manyviews.fitted.cross_view.fill_private()`.
        coupled
            Whether rows of a sequence are located jointly.
        """
        if rows is self.data:
            return self.positions
        check_treatment(private)
        found = self._found(rows, when, coupled, n_starts)
        return cross_view(self, rows, wanted, found, private) if wanted else found

    def _found(self, rows: Tables, when: When | None, coupled: bool, n_starts: int) -> Positions:
        """By the back-constraints' map where a row has what that needs, or by a search."""
        if self.back is None or when is not None:
            found = self.locate(rows, when, coupled, n_starts)
            return Positions(found.x, found.covariance, np.arange(len(found.x)))
        latent, table = self.model.latent, self.back.joined(rows)
        assert isinstance(latent, BackConstrained)
        complete = np.asarray(~np.isnan(table).any(axis=1))
        Q = self.positions.mean.shape[1]
        x, spread = np.empty((len(complete), Q)), np.zeros((len(complete), Q, Q))
        x[complete] = self.back.features(table[complete]) @ np.asarray(latent.weights.value)
        if not complete.all():
            found = self.locate([Y[~complete] for Y in rows], None, coupled, n_starts)
            x[~complete], spread[~complete] = found.x, found.covariance
        return Positions(x, spread, np.arange(len(x)))

    def locate(
        self, rows: Tables, when: When | None = None, coupled: bool = True, n_starts: int = 10
    ) -> PointRows:
        """The points of rows, what is around them, and the rows' densities."""
        rows = tuple(rows)
        if when is None:
            return locate_rows(
                self.model.latent.prior(1), self.positions.mean, self.posteriors, rows,
                nearest_rows(rows, self.data, n_starts),
            )  # fmt: skip
        latent = self.model.latent
        assert isinstance(latent, TimedPoints)
        return locate_paths(
            latent, self.posteriors, self.data, rows, when.inputs, when.code,
            coupled=coupled, n_neighbours=n_starts,
        )  # fmt: skip

    def log_density(
        self, rows: Tables, when: When | None = None, *, n_starts: int = 10
    ) -> Float[np.ndarray, " N"]:
        """Laplace's approximation; with time stamps of every row by itself, given the path."""
        return self.locate(rows, when, coupled=False, n_starts=n_starts).log_density

    # ------------------------------------------------------------------ outputs

    def moments(
        self, view: int, q: Positions, spread: Spread = None
    ) -> tuple[Float[np.ndarray, "R D"], np.ndarray | None]:
        """At points; what their spread adds to the variance, by the delta method."""
        posterior = self.posteriors[view]
        mean, variance = self.at(view, q.mean)
        if q.spread.ndim == 2 and not q.exact:
            with single_threaded_blas():
                inputs = Gaussian(jnp.asarray(q.mean), jnp.asarray(q.variance))
                mean = np.array(_mean(posterior, inputs))
        if spread is None:
            return mean, None
        moves = self._moves(view, q)
        if spread == "variance":
            own = variance * np.asarray(posterior.column_variances())
            return mean, own + np.sum(moves**2, axis=0)
        root = np.sqrt(variance)
        covariance = root[:, :, None] * root[:, None, :] * self.columns(view)
        return mean, covariance + np.einsum("qnd,qne->nde", moves, moves)

    def at(
        self, view: int, x: Float[np.ndarray, "N Q"]
    ) -> tuple[Float[np.ndarray, "N D"], Float[np.ndarray, "N D"]]:
        """Means, and s(x) of every column (before Ψ)."""
        posterior = self.posteriors[view]
        with single_threaded_blas():
            mean, variance = _at(posterior, jnp.asarray(x))
        return np.array(mean), np.array(variance)[:, np.asarray(posterior.group_of_column)]

    def columns(self, view: int) -> Float[np.ndarray, "D D"]:
        """Ψ of a view."""
        posterior = self.posteriors[view]
        if posterior.columns is None:
            return np.eye(posterior.weights.shape[1])
        return np.asarray(posterior.columns)

    def _moves(self, view: int, q: Positions) -> Float[np.ndarray, "R N D"]:
        """How far the mean moves along the spread of the points, J R with RRᵀ their covariance.

        Its square adds the variance that uncertain points give to a prediction (delta method).
        """
        if q.exact:
            return np.zeros((0, len(q.mean), self.posteriors[view].weights.shape[1]))
        with single_threaded_blas():
            directions = jnp.moveaxis(jnp.asarray(q.roots()[q.kind]), 2, 0)
            return np.array(_along(self.posteriors[view], jnp.asarray(q.mean), directions))

    def fill(
        self, view: int, rows: Tables, q: Positions
    ) -> tuple[Float[np.ndarray, "N D"], Float[np.ndarray, "N D"]]:
        """Given x and the row's other values.

        With Ψ: μ_M + Ψ_MO Ψ_OO⁻¹ (y_O - μ_O), variance s(x) (Ψ_MM - Ψ_MO Ψ_OO⁻¹ Ψ_OM)
        [Leen08, §3.6.5].
        """
        mean, variance = self.at(view, q.mean)
        moves, psi = self._moves(view, q), self.posteriors[view].columns
        if psi is None:
            return mean, variance + np.sum(moves**2, axis=0)
        Psi = np.asarray(psi)
        Y, spread = rows[view], np.tile(np.diagonal(Psi), (len(mean), 1))
        for part in given_observed(Psi, ~np.isnan(Y)):
            there, gone = part.there, part.gone
            mean[gone] += (Y[there] - mean[there]) @ part.gain.T
            spread[gone] = np.diagonal(part.covariance)
            moves[:, *gone] -= moves[:, *there] @ part.gain.T
        return mean, variance * np.maximum(spread, 0.0) + np.sum(moves**2, axis=0)

    def draw_at(
        self, view: int, at: Positions, rng: np.random.RandomState
    ) -> Float[np.ndarray, "R D"]:
        mean, variance = self.at(view, at.mean)
        noise = rng.standard_normal(mean.shape)
        if self.posteriors[view].columns is not None:
            noise = noise @ np.linalg.cholesky(self.columns(view)).T
        return mean + np.sqrt(variance) * noise

    def slopes(self, view: int) -> Float[np.ndarray, "D Q"]:
        x = jnp.asarray(self.positions.mean)
        with single_threaded_blas():
            return sensitivity(self.posteriors[view], Gaussian(x, jnp.zeros_like(x)))

    def prior(self, n_rows: int) -> Positions:
        found = self.model.latent.prior(n_rows)
        return Positions.independent(found.mean, found.variance)

    # ------------------------------------------------------------------ over time

    def ahead(self, when: When) -> Positions:
        found = everything(self._path(when))[jnp.arange(-len(when.code), 0)]
        return Positions.independent(found.mean, found.variance)

    def paths(
        self, when: When, n_paths: int, rng: np.random.RandomState
    ) -> Float[np.ndarray, "S N Q"]:
        """Paths, and how far points are from them."""
        key = jax.random.key(rng.randint(2**31 - 1))
        x = np.asarray(_paths(self._path(when), key, n_paths))[:, -len(when.code) :]
        return x + np.sqrt(WANDER) * rng.standard_normal(x.shape)

    def forecast(
        self, view: int, when: When, spread: Spread, rng: np.random.RandomState
    ) -> tuple[Float[np.ndarray, "N D"], np.ndarray | None]:
        """At the expected points; the spread of the points enters the variance, from draws."""
        mean = self.at(view, self.ahead(when).mean)[0]
        if spread is None:
            return mean, None
        x = self.paths(when, FORECAST_DRAWS, rng)
        means, variances = self.at(view, x.reshape(-1, x.shape[-1]))
        own = variances.reshape(*x.shape[:2], -1).mean(axis=0)
        return mean, own + means.reshape(*x.shape[:2], -1).var(axis=0)

    def _path(self, when: When) -> Any:
        """The prior over time, given the training points, with rows at other times added last."""
        latent = self.model.latent
        assert isinstance(latent, TimedPoints)
        path = latent.placed
        own = np.flatnonzero(np.isin(np.asarray(path.sequences.code), when.code))
        return path.extended(when.inputs, when.code, own)


@eqx.filter_jit
def _mean(posterior: PointPosterior, q: Gaussian) -> Array:
    return posterior.mean(q)


@eqx.filter_jit
def _at(posterior: PointPosterior, x: Array) -> tuple[Array, Array]:
    return posterior.at(x)


@eqx.filter_jit
def _along(
    posterior: PointPosterior, x: Float[Array, "N Q"], directions: Float[Array, "R N Q"]
) -> Float[Array, "R N D"]:
    """∂mean/∂x along directions."""

    def move(direction: Array) -> Array:
        return jax.jvp(lambda x: posterior.at(x)[0], (x,), (direction,))[1]

    return jax.lax.map(move, directions)


@eqx.filter_jit
def _paths(latent: Any, key: Any, n_paths: int) -> Array:
    return latent.sample(key, n_paths)

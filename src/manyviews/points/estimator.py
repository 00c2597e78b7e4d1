"""What the estimators around latent points share."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from .._runtime import single_threaded_blas
from ..data import Scaling
from ..errors import OptionError
from ..expectations import Gaussian
from ..inference.diagnostics import FitInfo
from ..inference.neighbours import nearest_rows
from ..inference.point_rows import PointRows, locate_rows
from ..inference.stages import Stage
from ..mappings import PointPosterior
from ..models.explain import Fitted, sensitivity
from ..models.fitted import ACTIVE_THRESHOLD, FittedModel
from .core import PointCore, PointOptions
from .positions import Positions

NOISE_FLOOR = 1e-6  # of a view's variance
LARGEST_COVARIANCE = 5_000  # columns; beyond, one row's covariance takes 200 MB


class PointEstimator(FittedModel):
    """An estimator around one :class:`PointCore` and one scaling per view."""

    _parameter_constraints: dict[str, list[Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "ard": ["boolean"],
        "n_restarts": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_starts": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }
    core_: PointCore
    fit_info_: FitInfo
    n_restarts: int
    max_iter: int
    tol: float
    n_starts: int

    if TYPE_CHECKING:  # what the edge provides

        @property
        def _scalings(self) -> tuple[Scaling, ...]: ...

    def _options(self) -> PointOptions:
        return PointOptions(
            n_restarts=int(self.n_restarts),
            stages=(Stage("lbfgs", int(self.max_iter)),),
            tolerance=float(self.tol),
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
        )

    def _publish(self, core: PointCore, info: FitInfo) -> Float[np.ndarray, "K Q"]:
        """Set the fitted attributes that every model has; return the normalised relevance."""
        self.core_, self.fit_info_ = core, info
        self.latent_mean_ = core.positions()
        self.latent_std_ = np.zeros_like(self.latent_mean_)
        relevance = np.stack([np.array(view.relevance()) for view in core.model.views])
        relevance = relevance / np.maximum(relevance.max(axis=1, keepdims=True), 1e-300)
        self.n_active_ = int((relevance > ACTIVE_THRESHOLD).any(axis=0).sum())
        info.n_active = self.n_active_
        pairs = zip(self._scalings, core.data, strict=True)
        jacobian = sum(float(scaling.log_jacobian(Y).sum()) for scaling, Y in pairs)
        self.lower_bound_ = max(info.restart_bounds) - jacobian
        self.n_iter_ = max(1, len(info.bound_trace))
        return relevance

    def _fitted(self, place: int) -> Fitted:
        posterior = self.core_.posteriors[place]

        def mean(q: Gaussian) -> Float[np.ndarray, "N D"]:
            with single_threaded_blas():
                return np.array(_mean(posterior, q))

        return mean

    def _slopes(self, place: int) -> Float[np.ndarray, "D Q"]:
        with single_threaded_blas():
            return sensitivity(self.core_.posteriors[place], self._latent())

    # ------------------------------------------------------------------ new rows

    def _locate(self, scaled: Sequence[Float[np.ndarray, "N _"]]) -> PointRows:
        rows, core = tuple(scaled), self.core_
        return locate_rows(
            core.model.latent.prior(1),
            self.latent_mean_,
            core.posteriors,
            rows,
            nearest_rows(rows, core.data, self.n_starts),
        )

    def _infer(self, scaled: Sequence[Float[np.ndarray, "N _"]]) -> Positions:
        """Most probable points; training tables have theirs."""
        if all(new is old for new, old in zip(scaled, self.core_.data, strict=True)):
            return Positions(self.latent_mean_)
        found = self._locate(scaled)
        return Positions(found.x, found.covariance)

    def _score_rows(self, scaled: Sequence[Float[np.ndarray, "N _"]]) -> Float[np.ndarray, " N"]:
        """Laplace's approximation of every row's log density, in the units of the data."""
        density = self._locate(scaled).log_density
        for scaling, rows in zip(self._scalings, scaled, strict=True):
            density = density - scaling.log_jacobian(rows)
        return density

    # ------------------------------------------------------------------ outputs

    def _outputs(
        self, view: int, q: Positions, std: bool, cov: bool, n_samples: int | None, seed: Any
    ) -> Any:
        """Mean, (mean, std), (mean, covariance) or draws of one view at points."""
        posterior, scaling = self.core_.posteriors[view], self._scalings[view]
        if n_samples is not None:
            if std or cov:
                raise OptionError("ask for samples or for moments, not for both")
            rng = self._rng(seed)
            return self._draw_at(view, q.draw(n_samples, rng), rng)
        D = posterior.weights.shape[1]
        if cov and D > LARGEST_COVARIANCE:
            raise OptionError(
                f"the full covariance of {D} columns does not fit into memory; ask for "
                "return_std or for samples"
            )
        mean, variance = self._moments(view, q.mean)
        if not (std or cov):
            return scaling.undo(mean)
        moves = self._moves(view, q)
        if cov:
            root = np.sqrt(variance)
            covariance = root[:, :, None] * root[:, None, :] * self._columns_of(view)
            covariance += np.einsum("qnd,qne->nde", moves, moves)
            return scaling.undo(mean), scaling.undo_covariance(covariance)
        total = variance * np.asarray(posterior.column_variances()) + np.sum(moves**2, axis=0)
        return scaling.undo(mean), scaling.undo_std(np.sqrt(total))

    def _moves(self, view: int, q: Positions) -> Float[np.ndarray, "R N D"]:
        """How far the mean moves along the spread of the points, J R with RRᵀ their covariance.

        Its square adds the variance that uncertain points give to a prediction (delta method).
        """
        root = q.root
        if root is None:
            return np.zeros((0, len(q.mean), self.core_.posteriors[view].weights.shape[1]))
        with single_threaded_blas():
            directions = jnp.moveaxis(jnp.asarray(root), 2, 0)
            return np.array(_along(self.core_.posteriors[view], jnp.asarray(q.mean), directions))

    def _moments(
        self, view: int, x: Float[np.ndarray, "N Q"]
    ) -> tuple[Float[np.ndarray, "N D"], Float[np.ndarray, "N D"]]:
        """Scaled means, and s(x) of every column (before Ψ)."""
        posterior = self.core_.posteriors[view]
        with single_threaded_blas():
            mean, variance = _at(posterior, jnp.asarray(x))
        return np.array(mean), np.array(variance)[:, np.asarray(posterior.group_of_column)]

    def _columns_of(self, view: int) -> Float[np.ndarray, "D D"]:
        """Ψ of a view."""
        posterior = self.core_.posteriors[view]
        if posterior.columns is None:
            return np.eye(posterior.weights.shape[1])
        return np.asarray(posterior.columns)

    def _fill(
        self, view: int, rows: Float[np.ndarray, "N D"], q: Positions
    ) -> tuple[Float[np.ndarray, "N D"], Float[np.ndarray, "N D"]]:
        """Mean and std of the values a view lacks, given x and the others of the row.

        With Ψ: μ_M + Ψ_MO Ψ_OO⁻¹ (y_O - μ_O), variance s(x) (Ψ_MM - Ψ_MO Ψ_OO⁻¹ Ψ_OM) (001 §3.6.5).
        """
        mean, variance = self._moments(view, q.mean)
        scaling, psi = self._scalings[view], self.core_.posteriors[view].columns
        moves = self._moves(view, q)
        if psi is None:
            total = variance + np.sum(moves**2, axis=0)
            return scaling.undo(mean), scaling.undo_std(np.sqrt(total))
        Psi = np.asarray(psi)
        spread = np.tile(np.diagonal(Psi), (len(rows), 1))
        for n, row in enumerate(rows):
            gone, there = np.flatnonzero(np.isnan(row)), np.flatnonzero(~np.isnan(row))
            if gone.size and there.size:
                gain = np.linalg.solve(Psi[np.ix_(there, there)], Psi[np.ix_(there, gone)])
                mean[n, gone] += (row - mean[n])[there] @ gain
                spread[n, gone] -= np.sum(Psi[np.ix_(there, gone)] * gain, axis=0)
                moves[:, n, gone] -= moves[:, n, there] @ gain
        std = np.sqrt(variance * np.maximum(spread, 0.0) + np.sum(moves**2, axis=0))
        return scaling.undo(mean), scaling.undo_std(std)

    def _draw_at(
        self, view: int, x: Float[np.ndarray, "S N Q"], rng: np.random.RandomState
    ) -> Float[np.ndarray, "S N D"]:
        mean, variance = self._moments(view, x.reshape(-1, x.shape[-1]))
        noise = rng.standard_normal(mean.shape)
        if self.core_.posteriors[view].columns is not None:
            noise = noise @ np.linalg.cholesky(self._columns_of(view)).T
        values = mean + np.sqrt(variance) * noise
        return self._scalings[view].undo(values).reshape(*x.shape[:2], -1)

    def _positions(self, X: Any, latent_std: Any = None) -> Positions:
        if latent_std is not None:
            raise OptionError(
                "latent points have no uncertainty: leave latent_std out, or use MRD or "
                "BayesianGPLVM"
            )
        return Positions(self._checked_positions(X))

    def _draw_positions(
        self, n_samples: int, latent: str, rng: np.random.RandomState
    ) -> Float[np.ndarray, "S Q"]:
        """Positions drawn from the prior, or from the training points."""
        if latent not in {"prior", "posterior"}:
            raise OptionError(f"latent must be 'prior' or 'posterior', got {latent!r}")
        if latent == "posterior":
            return self.latent_mean_[rng.randint(len(self.latent_mean_), size=n_samples)]
        prior = self.core_.model.latent.prior(n_samples)
        noise = rng.standard_normal((n_samples, self.latent_mean_.shape[1]))
        return np.asarray(prior.mean) + np.sqrt(np.asarray(prior.variance)) * noise


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

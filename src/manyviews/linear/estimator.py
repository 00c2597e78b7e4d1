"""What the estimators around a linear-Gaussian model share."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float

from ..data import Scaling
from ..errors import ConvergenceWarning, OptionError
from ..inference.diagnostics import FitInfo
from ..io import register_record
from ..models.explain import Fitted
from ..models.fitted import ACTIVE_THRESHOLD, FittedModel
from .emission import Latent, known_positions
from .gaussian import LinearGaussian
from .patterns import Tables

NOISE_FLOOR = 1e-6  # of a view's variance
LARGEST_COVARIANCE = 5_000  # columns; beyond, one row's covariance takes 200 MB


@register_record
@dataclass(frozen=True)
class LinearCore:
    """A fitted model and the training data (scaled, NaN missing)."""

    model: LinearGaussian
    data: tuple[np.ndarray, ...]


class LinearEstimator(FittedModel):
    """An estimator around one :class:`LinearGaussian` and one scaling per view.

    Inference and prediction are exact given the parameters, so there is nothing to compile or
    to optimise for new rows: NumPy answers at once where a compiled program would start late.
    """

    core_: LinearCore
    fit_info_: FitInfo

    if TYPE_CHECKING:  # what the edge provides

        @property
        def _scalings(self) -> tuple[Scaling, ...]: ...

    def _publish(
        self,
        model: LinearGaussian,
        data: Tables,
        info: FitInfo,
        warn: bool = True,
        rows: Bool[np.ndarray, " N"] | slice = slice(None),
    ) -> Float[np.ndarray, "K Q"]:
        """Set the fitted attributes that every model has; return the normalised relevance.

        Relevance is the mean square of a view's loadings on a dimension, the largest being one.
        The bound is that of some rows.
        """
        self.core_, self.fit_info_ = LinearCore(model, tuple(data)), info
        q = model.infer(data)[0]
        self.latent_mean_, self.latent_std_ = q.mean, np.sqrt(q.variance)
        relevance = np.stack([np.mean(view.loadings**2, axis=0) for view in model.views])
        relevance = relevance / np.maximum(relevance.max(axis=1, keepdims=True), 1e-300)
        self.n_active_ = int((relevance > ACTIVE_THRESHOLD).any(axis=0).sum())
        noise = [float(np.mean(view.variance)) for view in model.views]
        info.n_active = self.n_active_
        info.signal_to_noise = np.array(
            [np.nanvar(Y) / variance for Y, variance in zip(data, noise, strict=True)]
        )
        pairs = zip(self._scalings, data, strict=True)
        jacobian = sum(float(scaling.log_jacobian(Y[rows]).sum()) for scaling, Y in pairs)
        self.lower_bound_ = float(info.bound_trace[-1]) - jacobian
        self.n_iter_ = max(1, len(info.bound_trace) - 1)
        if warn and not info.converged:
            warn_unconverged(self)
        return relevance

    def _fitted(self, place: int) -> Fitted:
        emission = self.core_.model.views[place]
        return lambda q: np.asarray(q.mean) @ emission.loadings.T + emission.mean

    def _slopes(self, place: int) -> Float[np.ndarray, "D Q"]:
        loadings = self.core_.model.views[place].loadings
        return np.abs(loadings) * self.latent_mean_.std(axis=0)

    # ------------------------------------------------------------------ new rows

    def _infer(self, scaled: Tables) -> Latent:
        return self.core_.model.infer(scaled, powers=self._powers())[0]

    def _powers(self) -> Sequence[float] | None:
        """The exponents of the views' evidence on latent positions, if not one."""
        return None

    def _score_rows(self, scaled: Tables) -> Float[np.ndarray, " N"]:
        """Log density of every row's observed values, in the units of the data."""
        density = self.core_.model.infer(scaled)[1]
        for scaling, rows in zip(self._scalings, scaled, strict=True):
            density = density - scaling.log_jacobian(rows)
        return density

    # ------------------------------------------------------------------ outputs

    def _outputs(
        self, view: int, q: Latent, std: bool, cov: bool, n_samples: int | None, seed: Any
    ) -> Any:
        """Mean, (mean, std), (mean, covariance) or draws of one view at Gaussian positions."""
        emission, scaling = self.core_.model.views[view], self._scalings[view]
        if n_samples is not None:
            if std or cov:
                raise OptionError("ask for samples or for moments, not for both")
            rng = self._rng(seed)
            return self._draw_at(view, q.draw(n_samples, rng), rng)
        if cov:
            refuse_large_covariance(len(emission.mean))
        mean = scaling.undo(emission.expected(q))
        if cov:
            return mean, scaling.undo_covariance(emission.covariances(q))
        return (mean, scaling.undo_std(np.sqrt(emission.variances(q)))) if std else mean

    def _fill(
        self, view: int, rows: Float[np.ndarray, "N D"], q: Latent
    ) -> tuple[Float[np.ndarray, "N D"], Float[np.ndarray, "N D"]]:
        """Mean and std of the values a view lacks, given all others of the row."""
        mean, variance = self.core_.model.views[view].fill(rows, q)
        scaling = self._scalings[view]
        return scaling.undo(mean), scaling.undo_std(np.sqrt(variance))

    def _draw_at(
        self, view: int, x: Float[np.ndarray, "S N Q"], rng: np.random.RandomState
    ) -> Float[np.ndarray, "S N D"]:
        emission = self.core_.model.views[view]
        flat = x.reshape(-1, x.shape[-1])
        values = flat @ emission.loadings.T + emission.mean + emission.noise_at(flat, rng)
        return self._scalings[view].undo(values).reshape(*x.shape[:2], -1)

    def _positions(self, X: Any, latent_std: Any = None) -> Latent:
        return known_positions(self._checked_positions(X), latent_std)

    def _draw_positions(
        self, n_samples: int, latent: str, rng: np.random.RandomState
    ) -> Float[np.ndarray, "S Q"]:
        """Positions drawn from the prior, or from the posteriors of training samples."""
        if latent not in {"prior", "posterior"}:
            raise OptionError(f"latent must be 'prior' or 'posterior', got {latent!r}")
        if latent == "prior":
            return self.core_.model.prior(n_samples).draw(1, rng)[0]
        q = self._infer(self.core_.data)
        rows = rng.randint(len(q.mean), size=n_samples)
        return Latent(q.mean[rows], q.covariance, q.pattern[rows]).draw(1, rng)[0]


def refuse_large_covariance(n_columns: int) -> None:
    """One row's covariance has to fit into memory."""
    if n_columns > LARGEST_COVARIANCE:
        raise OptionError(
            f"the full covariance of {n_columns} columns does not fit into memory; ask for "
            "return_std or for samples"
        )


def warn_unconverged(model: Any) -> None:
    """Say that iterations ran out."""
    warnings.warn(
        f"{type(model).__name__} stopped after max_iter={model.max_iter} iterations before it "
        "converged: raise max_iter or tol",
        ConvergenceWarning,
        stacklevel=4,
    )


def refuse_thin_columns(
    Y: Float[np.ndarray, "N D"], n_components: int, view: str, columns: Sequence[Any], option: str
) -> None:
    """A column of no more values than loadings can be fitted exactly: its noise has no bound."""
    counts = (~np.isnan(Y)).sum(axis=0)
    thin = int(np.argmin(counts))
    if counts[thin] <= n_components + 1:
        raise OptionError(
            f"column {columns[thin]!r} of view {view!r} has {counts[thin]} values, too few for a "
            f"noise variance of its own beside {n_components} factors: use noise={option!r} or "
            "fewer components"
        )


def fit_info(
    trace: Sequence[float],
    seconds: float,
    converged: bool,
    restart_bounds: Sequence[float] | None = None,
) -> FitInfo:
    """The record of a fit."""
    return FitInfo(
        bound_trace=np.array(trace, dtype=float),
        seconds=seconds,
        converged=converged,
        n_evaluations=len(trace),
        restart_bounds=[float(b) for b in restart_bounds or trace[-1:]],
    )

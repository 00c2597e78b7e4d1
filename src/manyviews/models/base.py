"""What the variational estimators share: options, inference of new rows, outputs."""

import os
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from ..data import Scaling, When
from ..errors import OptionError
from ..expectations import Gaussian
from ..inference.diagnostics import FitInfo
from ..inference.independence import independent_share
from ..inference.neighbours import nearest_rows
from ..inference.new_points import NewPoints, infer_new_points
from ..inference.new_sequences import infer_sequences
from ..inference.stages import Stage
from ..kernels import Kernel
from ..latent import Paths
from ..mappings import GPPosterior
from ..mappings.rows import augmented_evidence
from .core import FitOptions, FittedCore, resolve_stages
from .dynamics import Dynamics
from .explain import Fitted, sensitivity
from .fitted import ACTIVE_THRESHOLD, FittedModel
from .prediction import draw, moments

DEFAULT_NOISE_FLOOR = 1e-6  # of a view's variance
LARGEST_COVARIANCE = 5_000  # columns; beyond, one row's covariance takes 200 MB


class VariationalEstimator(Dynamics, FittedModel):
    """An estimator around one :class:`FittedCore` and one scaling per view."""

    _parameter_constraints: dict[str, list[Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "inducing": [StrOptions({"kmeans", "subset"})],
        "missing": [StrOptions({"auto", "exact", "shared"})],
        "n_restarts": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "stages": ["array-like", None],
        "positive": [StrOptions({"log", "softplus"})],
        "signal_check": [StrOptions({"auto", "error", "warn", "off"})],
        "jitter": [Interval(Real, 0, 0.1, closed="both")],
        "n_starts": [Interval(Integral, 1, None, closed="left")],
        "time_kernel": [str, Kernel, list, tuple],
        "flow_weight": [Interval(Real, 0, None, closed="left")],
        "checkpoint": [str, os.PathLike, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    core_: FittedCore
    fit_info_: FitInfo
    flow_weight: float = 0.0  # of models whose files are older than the option

    @property
    def _scalings(self) -> tuple[Scaling, ...]:
        raise NotImplementedError

    def _fit_options(
        self,
        scaled: Sequence[Float[np.ndarray, "N _"]],
        kernels: Sequence[str | Kernel],
        n_inducing: Sequence[int | None],
        noise_floors: Sequence[float],
        max_components: int,
        when: When | None,
        n_local: Sequence[int] = (),
        plans: tuple[tuple[Stage, ...], ...] | None = None,
    ) -> FitOptions:
        """The estimator's parameters as the core wants them, defaults filled in."""
        n_samples = scaled[0].shape[0]
        counts = [min(50, n_samples) if m is None else int(m) for m in n_inducing]
        if max(counts) > n_samples:
            raise OptionError(
                f"n_inducing={max(counts)} is more than the {n_samples} samples there are"
            )
        n_components = (
            min(10, max_components, n_samples - 1)
            if self.n_components is None
            else int(self.n_components)
        )
        return FitOptions(
            n_components=n_components,
            n_inducing=tuple(counts),
            kernels=tuple(kernels),
            noise_floors=tuple(float(floor) for floor in noise_floors),
            init=self.init,
            inducing=self.inducing,
            missing=self.missing,
            n_restarts=int(self.n_restarts),
            plans=plans
            if plans is not None and self.stages is None
            else resolve_stages(self.stages, int(self.max_iter), scaled, n_components),
            tolerance=float(self.tol),
            positive=self.positive,
            jitter=float(self.jitter),
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
            verbose=int(self.verbose),
            checkpoint=None if self.checkpoint is None else os.fspath(self.checkpoint),
            when=when,
            time_kernel=self.time_kernel,
            n_local=tuple(n_local),
        )

    def _fitted(self, place: int) -> Fitted:
        posterior, core = self.core_.posteriors[place], self.core_
        return lambda q: (
            moments(posterior, core.seen(place, q), want_std=False, want_covariance=False).mean
        )

    def _slopes(self, place: int) -> Float[np.ndarray, "D Q"]:
        q = self.core_.marginals()
        slopes = sensitivity(self.core_.posteriors[place], self.core_.seen(place, q))
        return self.core_.spread_out(place, slopes, q.mean.shape[1])

    def _publish_core(self) -> Float[np.ndarray, "K Q"]:
        """Set the fitted attributes that every model has; return the normalised relevance."""
        q = self.core_.marginals()
        self.latent_mean_ = np.array(q.mean)
        self.latent_std_ = np.sqrt(np.array(q.variance))
        views, Q = self.core_.model.views, q.mean.shape[1]
        relevance = np.stack(
            [self.core_.spread_out(k, np.array(v.relevance()), Q) for k, v in enumerate(views)]
        )
        relevance /= np.maximum(relevance.max(axis=1, keepdims=True), 1e-300)
        self.n_active_ = int((relevance > ACTIVE_THRESHOLD).any(axis=0).sum())
        self.fit_info_.n_active = self.n_active_
        bound = max(self.fit_info_.restart_bounds)
        for scaling, scaled in zip(self._scalings, self.core_.data, strict=True):
            bound -= float(scaling.log_jacobian(scaled).sum())
        self.lower_bound_ = bound
        self.n_iter_ = max(1, len(self.fit_info_.bound_trace))
        return relevance

    # ------------------------------------------------------------------ new rows

    def _infer(
        self,
        scaled: Sequence[Float[np.ndarray, "N _"]],
        n_modes: int | None = None,
        powers: Sequence[float] | None = None,
        when: When | None = None,
        coupled: bool = True,
        flow_weight: float = 0.0,
    ) -> NewPoints:
        rows = tuple(scaled)
        core, n_starts = self.core_, max(self.n_starts, n_modes or 1)
        if when is not None:
            assert isinstance(core.model.latent, Paths)
            if flow_weight and when.inputs.shape[1] > 1:
                raise OptionError(
                    "flow_weight needs times: there are several inputs in their place"
                )
            return infer_sequences(
                core.model.latent, core.posteriors, core.data, rows, when.inputs, when.code,
                powers=powers, n_optimised=n_modes, coupled=coupled, n_neighbours=n_starts,
                flow_weight=flow_weight,
            )  # fmt: skip
        starts = nearest_rows(rows, core.data, n_starts)
        prior = core.model.latent.prior(len(rows[0]))
        return infer_new_points(
            prior, core.marginals(), core.posteriors, rows, starts,
            powers=powers, n_optimised=n_modes,
        )  # fmt: skip

    def _powers(self, asked: Sequence[Any], timed: bool) -> list[float]:
        """The exponent of each view's evidence; ``"auto"`` reads it off the training residuals."""
        latent = self.core_.model.latent
        sequences = latent.sequences if timed and isinstance(latent, Paths) else None
        powers = []
        for view, power in enumerate(asked):
            if power == "auto":
                fitted = self._fitted(view)(self.core_.marginals())
                power = independent_share(self.core_.data[view] - fitted, sequences)
            elif isinstance(power, str) or not 0.0 < power <= 1.0:
                raise OptionError(f"evidence_power must be 'auto' or lie in (0, 1], got {power!r}")
            powers.append(float(power))
        return powers

    def _score_rows(
        self, scaled: Sequence[Float[np.ndarray, "N _"]], method: str, when: When | None = None
    ) -> Float[np.ndarray, " N"]:
        """F(Y, y*) - F(Y) of every row, in the units of the data (002 eq. 36).

        Rows with time stamps each get an equal share of their sequence's.
        """
        if method not in {"auto", "augmented", "fixed"}:
            raise OptionError(f"method must be 'auto', 'augmented' or 'fixed', got {method!r}")
        found, posteriors = self._infer(scaled, when=when), self.core_.posteriors
        bound = found.bound
        if when is not None:
            if method == "augmented":
                raise OptionError("with time stamps only method='fixed' is there")
        elif method == "augmented" or (method == "auto" and all(p.exact for p in posteriors)):
            if not all(isinstance(posterior, GPPosterior) for posterior in posteriors):
                raise OptionError("with collaborative mappings only method='fixed' is there")
            bound = -np.array(found.q.kl(self.core_.model.latent.prior(len(scaled[0]))))
            for posterior, rows in zip(posteriors, scaled, strict=True):
                if np.isnan(rows).all():
                    continue
                filled = jnp.asarray(np.nan_to_num(rows))
                observed = jnp.asarray(~np.isnan(rows), jnp.float64)
                assert isinstance(posterior, GPPosterior)
                bound = bound + np.array(augmented_evidence(posterior, found.q, filled, observed))
        for scaling, rows in zip(self._scalings, scaled, strict=True):
            bound = bound - scaling.log_jacobian(rows)
        return bound

    # ------------------------------------------------------------------ outputs

    def _outputs(
        self, view: int, q: Gaussian, std: bool, cov: bool, n_samples: int | None, seed: Any
    ) -> Any:
        """Mean, (mean, std), (mean, covariance) or draws of one view at Gaussian inputs."""
        posterior, scaling = self.core_.posteriors[view], self._scalings[view]
        q = self.core_.seen(view, q)
        if n_samples is not None:
            if std or cov:
                raise OptionError("ask for samples or for moments, not for both")
            key = jax.random.key(self._rng(seed).randint(2**31 - 1))
            return scaling.undo(draw(posterior, q, n_samples, key))
        if cov and posterior.weights.shape[1] > LARGEST_COVARIANCE:
            raise OptionError(
                f"the full covariance of {posterior.weights.shape[1]} columns does not fit into "
                "memory; ask for return_std or for samples"
            )
        result = moments(posterior, q, want_std=std, want_covariance=cov)
        mean = scaling.undo(result.mean)
        if cov:
            return mean, scaling.undo_covariance(result.covariance)
        return (mean, scaling.undo_std(result.std)) if std else mean

    def _forecast(
        self, views: Sequence[int], times: Any, sequence: Any, std: bool, n_samples: int | None,
        seed: Any,
    ) -> list[Any]:  # fmt: skip
        """Views at other times of a training sequence: moments, or trajectories."""
        if n_samples is None:
            q = self._latent_at(times, sequence)
            return [self._outputs(view, q, std, False, None, None) for view in views]
        if std:
            raise OptionError("ask for samples or for moments, not for both")
        rng = self._rng(seed)
        x = self._paths_at(times, sequence, n_samples, rng)
        return [self._draw_at(view, x, rng) for view in views]

    def _draw_at(
        self, view: int, x: Float[np.ndarray, "S N Q"], rng: np.random.RandomState
    ) -> Float[np.ndarray, "S N D"]:
        """One draw of a view at each of many latent positions."""
        q = self._positions(x.reshape(-1, x.shape[-1]))
        return self._outputs(view, q, False, False, 1, rng)[0].reshape(*x.shape[:2], -1)

    def _positions(self, X: Any, latent_std: Any = None) -> Gaussian:
        """Latent positions given by the user, checked."""
        mean = self._checked_positions(X)
        variance = np.zeros_like(mean)
        if latent_std is not None:
            variance = np.broadcast_to(np.asarray(latent_std, dtype=np.float64), mean.shape) ** 2
        return Gaussian(jnp.asarray(mean), jnp.asarray(variance))

    def _draw_latent(self, n_samples: int, latent: str, rng: Any) -> Gaussian:
        """Where new rows come from: the prior, or the posterior of training points."""
        if latent not in {"prior", "posterior"}:
            raise OptionError(f"latent must be 'prior' or 'posterior', got {latent!r}")
        if latent == "prior":
            return self.core_.model.latent.prior(n_samples)
        return self.core_.marginals()[rng.randint(len(self.latent_mean_), size=n_samples)]

"""Gaussian process regression on noisy and partly missing inputs [BGPLVM16, §6]."""

import os
from typing import Any, Self

import jax.numpy as jnp
import numpy as np
import pandas as pd
from jaxtyping import Float
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from ..data import Scaling, check_training_columns, check_values, numbers_only
from ..errors import DataError
from ..expectations import Gaussian
from ..fitted import Positions
from ..fitted.segmentation import ACTIVE_THRESHOLD
from ..inference.driver import plan_fit
from ..inference.input_gaussian import InputGaussian
from ..inference.new_points import infer_new_points
from ..inference.search import Search, Stage, with_fields, without_fields
from ..io import register_record, write
from ..kernels import Kernel
from ..latent.uncertain import PINNED
from ..options import NONE, check_options, count, instance_of, number, one_of
from ..shells.fitted_model import MIN_SAMPLES, in_units, refuse_both, refuse_large_covariance
from .engine import VariationalEngine
from .fit import FitOptions
from .options import DEFAULT_NOISE_FLOOR, FITTING, inducing_count
from .regression import (
    ENOUGH_COMPLETE,
    FEWEST_COMPLETE,
    SeenInputs,
    fit_regression,
    joint_plans,
    regression_plan,
)

INITIAL_INPUT_STD = 0.1  # of a column's, where the noise is to be learnt
LEARNT_SHAPES = {"shared": (0, 1), "column": (0,), "row": (1,)}
CENTRED = "centred"


@register_record
class UncertainGPRegressor(RegressorMixin, BaseEstimator):
    """Sparse variational GP regression whose inputs may be noisy or missing.

        y_nd = f_d(x_n) + noise,   f_d ~ GP(0, k),   x_n observed as z_n.

    A value of z is exact, or x plus noise of known or unknown variance, or missing (NaN); a missing
    x is Gaussian given the row's other values. The fit maximises a lower bound on log p(y | z) over
    q(X) = Π N(μ, S), which is fixed where z is exact [BGPLVM16, Algorithm 1].

    Parameters
    ----------
    n_inducing : int, optional
        Number of inducing inputs: more are slower and more exact. Default: 50, or the number of
        samples.
    kernel : str or Kernel, default="rbf"
        As for `BayesianGPLVM`.
    input_noise : {"known", "shared", "column", "row", "centred"}, default="known"
        Noise of the inputs: ``X_std`` of `fit()` (none by default), or learnt, with one
        variance for all standardised inputs, one per column, or one per row. ``"centred"`` has no
        noise to learn: q(x) keeps its mean at the value that was seen, with a variance of its own
        for each, under a standard normal prior of the inputs [BGPLVM16, §6.1].
    missing_inputs : {"gaussian", "independent"}, default="gaussian"
        Prior of missing inputs: a Gaussian given the row's other inputs, fitted to all rows, or
        each column's mean and variance alone, as in [BGPLVM16].
    learn_from : {"auto", "complete", "all"}, default="auto"
        Rows from which kernel, noise and inducing inputs are learnt if inputs are missing. The
        other rows inform the function in either case, but during training free inputs can be moved
        to explain the noise of the outputs. ``"auto"`` is ``"complete"`` from 30 complete rows on;
        [BGPLVM16] uses ``"all"``.
    scaling : {"column", "view", "none"}, default="column"
        How outputs are scaled; inputs are always standardised by column.
    noise_floor : float, default=1e-6
        Smallest noise variance of the outputs, as a share of their variance.
    search, random_state, verbose
        As for `BayesianGPLVM`.

    Attributes
    ----------
    input_mean_, input_std_ : ndarray of shape (n_samples, n_features)
        Posterior of the training inputs, denoised and completed. Rows without any input take no
        part in the fit and keep the prior.
    input_noise_std_ : ndarray
        Standard deviation of the noise of the inputs, given or learnt; zero where exact. With
        ``"centred"``, that of q(x).
    relevance_ : ndarray of shape (n_features,)
        Normalised relevance of each input.
    n_active_ : int
        Inputs with a relevance above 0.005.
    noise_variance_ : ndarray of shape (n_targets,)
        Noise variance of every output, in the units of y.
    lower_bound_ : float
        Lower bound on log p(y | z), in the units of y.
    kernel_, fit_info_
        As for `BayesianGPLVM`.

    Examples
    --------
    >>> import numpy as np
    >>> from manyviews import UncertainGPRegressor
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-3, 3, size=(60, 2))
    >>> y = np.sin(x[:, 0]) + x[:, 1]
    >>> x[rng.random(x.shape) < 0.1] = np.nan
    >>> model = UncertainGPRegressor(20, random_state=0).fit(x, y)
    >>> mean, std = model.predict([[0.0, 1.0], [np.nan, 1.0]], return_std=True)
    >>> bool(std[1] > std[0])
    True
    """

    _options = {
        **FITTING,
        "n_inducing": (count(), NONE),
        "kernel": (instance_of(str, Kernel),),
        "input_noise": (one_of("known", *LEARNT_SHAPES, CENTRED),),
        "missing_inputs": (one_of("gaussian", "independent"),),
        "learn_from": (one_of("auto", "complete", "all"),),
        "scaling": (one_of("view", "column", "none"),),
        "noise_floor": (number(0, 1, "left"),),
    }
    engine_: VariationalEngine
    scaling_: Scaling
    input_scaling_: Scaling
    input_gaussian_: InputGaussian

    def __init__(
        self,
        n_inducing: int | None = None,
        *,
        kernel: str | Kernel = "rbf",
        input_noise: str = "known",
        missing_inputs: str = "gaussian",
        learn_from: str = "auto",
        scaling: str = "column",
        noise_floor: float = DEFAULT_NOISE_FLOOR,
        search: Search | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_inducing = n_inducing
        self.kernel = kernel
        self.input_noise = input_noise
        self.missing_inputs = missing_inputs
        self.learn_from = learn_from
        self.scaling = scaling
        self.noise_floor = noise_floor
        self.search = search
        self.random_state = random_state
        self.verbose = verbose

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; with ``deep``, those of the search as ``search__max_iter``, …"""
        params = super().get_params(deep=deep)
        return with_fields(params) if deep else params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, also those of the search."""
        return super().set_params(**without_fields(self, params))

    # ------------------------------------------------------------------ fitting

    def fit(self, X: Any, y: Any, X_std: Any = None) -> Self:
        """Fit to inputs and outputs, in both of which NaN is missing.

        Parameters
        ----------
        X_std : float or array-like, optional
            Standard deviation of the noise of the inputs: one number, one per column, or one
            per row and column; zero where exact. Where the noise is learnt, where to start.
        """
        check_options(self, self._options)
        Z, Y = self._check_training(X, y)
        usable = ~np.isnan(Z).all(axis=1) & ~np.isnan(Y).all(axis=1)
        if np.isnan(Y[usable]).all(axis=0).any():
            raise DataError("an output has no value in any row that has inputs: leave it out")
        self.input_scaling_ = Scaling.fit(Z, "column")
        self.scaling_ = Scaling.fit(Y[usable], self.scaling)  # type: ignore[arg-type]
        values, outputs = self.input_scaling_.apply(Z), self.scaling_.apply(Y)
        told = InputGaussian.fit if self.missing_inputs == "gaussian" else InputGaussian.independent
        self.input_gaussian_ = told(values)
        noise = self._training_noise(Z.shape, X_std)
        learnt, centred = self.input_noise in LEARNT_SHAPES, self.input_noise == CENTRED
        seen = SeenInputs(values, noise, learnt, self.input_gaussian_, centred).rows(usable)
        options = self._fit_options(seen)
        self.engine_, self.fit_info_ = fit_regression(seen, outputs[usable], options)
        self.relevance_ = self.engine_.relevance[0]
        self.n_active_ = int((self.relevance_ > ACTIVE_THRESHOLD).sum())
        self.fit_info_.n_active = self.n_active_
        jacobian = float(self.scaling_.log_jacobian(self.engine_.data[0]).sum())
        self.lower_bound_ = max(self.fit_info_.restart_bounds) - jacobian
        self.n_iter_ = max(1, len(self.fit_info_.bound_trace))
        self._publish_inputs(values, usable, noise)
        view = self.engine_.model.views[0]
        self.noise_variance_ = float(view.noise_variance()) * self.scaling_.scale**2
        self.kernel_ = view.kernel  # type: ignore[attr-defined]
        return self

    def _check_training(
        self, X: Any, y: Any
    ) -> tuple[Float[np.ndarray, "N Q"], Float[np.ndarray, "N D"]]:
        if y is None:
            raise DataError("requires y to be passed, but the target y is None")
        Z = self._check(X, reset=True)
        self.target_names_ = list(y.columns) if isinstance(y, pd.DataFrame) else None
        with numbers_only(y, "y"):
            Y = check_array(
                y, dtype=np.float64, ensure_2d=False, ensure_all_finite="allow-nan", input_name="y"
            )
        check_consistent_length(Z, Y)
        self.single_target_ = Y.ndim == 1
        Y = Y.reshape(len(Y), -1)
        check_training_columns(Z, "X", getattr(self, "feature_names_in_", None))
        check_values(Y, "y", self.target_names_, empty_rows=True)
        return Z, Y

    def _training_noise(
        self, shape: tuple[int, int], X_std: Any
    ) -> Float[np.ndarray, "..."]:  # fmt: skip
        """Variances in the model's scale: rows x columns if known, else of the learnt shape."""
        if self.input_noise == "known":
            return self._noise_of(shape, X_std)
        start = np.full(shape, INITIAL_INPUT_STD**2)
        if X_std is not None:
            start = np.maximum(self._noise_of(shape, X_std), 1e-6)
        if self.input_noise == CENTRED:
            return start
        return start.mean(axis=LEARNT_SHAPES[self.input_noise], keepdims=True)

    def _noise_of(self, shape: tuple[int, int], X_std: Any) -> Float[np.ndarray, "N Q"]:
        if X_std is None:
            return np.zeros(shape)
        given = np.asarray(X_std, dtype=np.float64)
        try:
            std = np.broadcast_to(given, shape)
        except ValueError:
            raise DataError(
                f"X_std of shape {given.shape} does not fit inputs of shape {shape}: give one "
                "number, one per column, or one per row and column"
            ) from None
        if not np.isfinite(std).all() or (std < 0).any():
            raise DataError("X_std holds negative, infinite or NaN values")
        return (std / self.input_scaling_.scale) ** 2

    def _fit_options(self, seen: SeenInputs) -> FitOptions:
        n_samples = len(seen.values)
        if n_samples < MIN_SAMPLES:
            raise DataError(f"{n_samples} rows have both inputs and outputs: too few to fit")

        def plans(search: Search) -> tuple[tuple[Stage, ...], ...]:
            if np.isnan(seen.values).any():
                return joint_plans(int(search.max_iter), self._learn_from(seen))
            return (regression_plan(int(search.max_iter)),)

        return FitOptions(
            n_components=seen.values.shape[1],
            n_inducing=(inducing_count(self.n_inducing, n_samples),),
            kernels=(self.kernel,),
            noise_floors=(float(self.noise_floor),),
            init="given",
            missing="auto",
            plan=plan_fit(self.search, plans, self.random_state, self.verbose),
        )

    def _learn_from(self, seen: SeenInputs) -> str:
        n_complete = int((~np.isnan(seen.values).any(axis=1)).sum())
        if self.learn_from == "auto":
            return "complete" if n_complete >= ENOUGH_COMPLETE else "all"
        if self.learn_from == "complete" and n_complete < FEWEST_COMPLETE:
            raise DataError(
                f"learn_from='complete' needs {FEWEST_COMPLETE} rows without missing inputs, "
                f"there are {n_complete}: use 'all'"
            )
        return self.learn_from

    def _publish_inputs(
        self, values: Float[np.ndarray, "N Q"], usable: np.ndarray, noise: np.ndarray
    ) -> None:
        known = self.input_gaussian_.complete(values)
        mean, std = known.filled, np.sqrt(known.variance)
        trained = self.engine_.positions
        mean[usable], std[usable] = trained.mean, trained.std
        self.input_mean_ = self.input_scaling_.undo(mean)
        self.input_std_ = self.input_scaling_.undo_std(np.where(std**2 <= PINNED, 0.0, std))
        variance = noise
        if self.input_noise in LEARNT_SHAPES:
            variance = np.array(self.engine_.model.latent.noise.value)  # type: ignore[attr-defined]
        elif self.input_noise == CENTRED:
            variance = std**2
        self.input_noise_std_ = np.sqrt(variance) * self.input_scaling_.scale

    # ------------------------------------------------------------------ prediction

    def predict(
        self,
        X: Any,
        X_std: Any = None,
        *,
        return_std: bool = False,
        return_cov: bool = False,
        n_samples: int | None = None,
        random_state: Any = None,
    ) -> Any:
        """Predict outputs at new inputs, which may be uncertain or missing.

        Returns the mean; ``(mean, std)`` or ``(mean, covariance across outputs)`` on request; or
        draws of shape (n_samples, n_rows[, n_targets]). The noise of the outputs is included. The
        moments are exact for Gaussian inputs [BGPLVM16, eq. 40-41] with independent coordinates.

        Parameters
        ----------
        X_std : float or array-like, optional
            As for `fit()`; by default the learnt noise, if it was learnt, or none.
        """
        q = self._seen(X, X_std)
        if n_samples is not None:
            refuse_both(return_std, return_cov)
            rng = check_random_state(self.random_state if random_state is None else random_state)
            drawn = self.engine_.draw([0], q, n_samples, rng)[0]
            return self._like(X, self.scaling_.undo(drawn))
        if return_cov:
            refuse_large_covariance(len(self.scaling_.scale))
            found = in_units(self.scaling_, *self.engine_.moments(0, q, "covariance"))
            return self._like(X, found[0]), found[1]
        moments = self.engine_.moments(0, q, "variance" if return_std else None)
        return self._like(X, in_units(self.scaling_, *moments))

    def infer_inputs(
        self, X: Any = None, y: Any = None, X_std: Any = None, *, return_std: bool = False
    ) -> Any:
        """Infer inputs from what was observed of them and, if known, from the outputs.

        Without arguments, the inputs of the training rows. For new rows q(U) stays fixed
        [BGPLVM16, §4.1].
        """
        check_is_fitted(self)
        if X is None:
            mean, std = self.input_mean_, self.input_std_
        else:
            q = self._seen(X, X_std)
            known = q.variance <= PINNED
            if y is not None:
                q = self._given_outputs(q, y)
            std = self.input_scaling_.undo_std(np.where(known, 0.0, q.std))
            mean = self.input_scaling_.undo(q.mean)
        if isinstance(X, pd.DataFrame):
            frames = [pd.DataFrame(part, index=X.index, columns=X.columns) for part in (mean, std)]
            return tuple(frames) if return_std else frames[0]
        return (mean, std) if return_std else mean

    def _seen(self, X: Any, X_std: Any) -> Positions:
        """Distribution of new inputs given what was observed of them, without outputs."""
        check_is_fitted(self)
        values = self.input_scaling_.apply(self._check(X, reset=False))
        done = self.input_gaussian_.complete(values)
        noise = self._noise_of(values.shape, X_std)
        if X_std is None and self.input_noise in LEARNT_SHAPES:
            learnt = np.array(self.engine_.model.latent.noise.value)  # type: ignore[attr-defined]
            noise = np.broadcast_to(learnt.mean(axis=0), values.shape)
        variance = np.where(np.isnan(values), done.variance, np.maximum(noise, PINNED))
        return Positions.independent(done.filled, variance)

    def _given_outputs(self, q: Positions, y: Any) -> Positions:
        Y = check_array(
            y, dtype=np.float64, ensure_2d=False, ensure_all_finite="allow-nan", input_name="y"
        )
        Y = Y.reshape(len(Y), -1)
        if Y.shape != (len(q), self.scaling_.centre.size):
            raise DataError(
                f"y has shape {Y.shape}, expected {(len(q), self.scaling_.centre.size)}"
            )
        if np.isnan(Y).all():
            return q
        own = np.arange(len(Y))[:, None]
        rows = (self.scaling_.apply(Y),)
        prior = Gaussian(jnp.asarray(q.mean), jnp.asarray(q.variance))
        found = infer_new_points(prior, prior, self.engine_.posteriors, rows, own).q
        return Positions.independent(found.mean, found.variance)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file; see `manyviews.load`."""
        check_is_fitted(self)
        write(path, self)

    # ------------------------------------------------------------------ edges

    def _check(self, X: Any, reset: bool) -> Float[np.ndarray, "N Q"]:
        with numbers_only(X, "X"):
            values = validate_data(
                self, X, reset=reset, dtype=np.float64, ensure_all_finite=False,
                ensure_min_samples=MIN_SAMPLES if reset else 1,
            )  # fmt: skip
        rows = X.index if isinstance(X, pd.DataFrame) else None
        names = getattr(self, "feature_names_in_", None)
        check_values(values, "X", names, rows, empty_rows=True)
        return values

    def _like(self, X: Any, result: Any) -> Any:
        """One column of outputs as they came; DataFrames where inputs and outputs were."""
        if isinstance(result, tuple):
            return tuple(self._like(X, part) for part in result)
        if self.single_target_:
            return result[..., 0]
        if isinstance(X, pd.DataFrame) and self.target_names_ is not None and result.ndim == 2:
            return pd.DataFrame(result, index=X.index, columns=self.target_names_)
        return result

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        tags.target_tags.single_output = False
        tags.target_tags.multi_output = True
        return tags

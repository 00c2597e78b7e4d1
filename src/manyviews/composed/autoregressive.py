"""Forecasting by iterating a Gaussian process regression on its own past [BGPLVM16, §6.1]."""

import os
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from jaxtyping import Array, Float
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from .._runtime import single_threaded_blas
from ..data import Scaling, check_spread, check_values, numbers_only
from ..errors import DataError, OptionError
from ..expectations import Gaussian
from ..inference.rollout import Frame, propagate, simulate
from ..io import register_record, write
from ..mappings import GPPosterior
from ..variational.uncertain_gp import UncertainGPRegressor

PROPAGATIONS = ("sampled", "augmented", "girard", "naive")
N_PATHS = 500  # trajectories behind sampled moments


@register_record
class AutoregressiveGP(BaseEstimator):
    """Gaussian process autoregression of a series with one or more columns.

        y_t = f(y_{t-τ}, …, y_{t-1}, u_t) + noise,   f ~ GP(0, k).

    Forecasts iterate the model. ``propagation`` chooses how the uncertainty of a prediction enters
    the next steps:

    - ``"sampled"``: moments of trajectories, each of which follows one function drawn from the
      posterior; the number of draws is the only approximation;
    - ``"naive"``: the next inputs are taken as certain;
    - ``"girard"``: the next inputs are Gaussian with the variances of the predictions (Girard et
      al. 2003). Correlations between lags are neglected, so that variances can explode with a
      linear kernel;
    - ``"augmented"``: in addition, each predicted value joins the training set with its uncertain
      input [BGPLVM16, §6.1]. It then counts as observed, and variances are too small.

    Parameters
    ----------
    window : int, default=10
        The number τ of past values that a value depends on.
    block : int, default=1
        The number k of values that are predicted at once, y_t, …, y_{t+k-1} from one window. A
        forecast then takes fewer steps, each of which has more to learn.
    estimator : UncertainGPRegressor, optional
        The regression. Its options are set as ``estimator__n_inducing`` and so on. Default:
        ``UncertainGPRegressor(kernel="rbf + linear")``.
    propagation : {"sampled", "augmented", "girard", "naive"}, default="sampled"
        How uncertainty enters the next steps; see above.

    Attributes
    ----------
    model_ : UncertainGPRegressor
        The fitted regression, on the standardised series.
    n_features_in_ : int
        Columns of the series.

    Examples
    --------
    >>> import numpy as np
    >>> from manyviews import AutoregressiveGP
    >>> wave = np.sin(np.arange(80) / 4)
    >>> model = AutoregressiveGP(6).fit(wave)
    >>> mean, std = model.forecast(20, return_std=True)
    >>> bool(np.abs(mean - np.sin(np.arange(80, 100) / 4)).max() < 0.1)
    True
    """

    def __init__(
        self,
        window: int = 10,
        estimator: UncertainGPRegressor | None = None,
        *,
        block: int = 1,
        propagation: str = "sampled",
    ):
        self.window = window
        self.block = block
        self.estimator = estimator
        self.propagation = propagation

    # ------------------------------------------------------------------ fitting

    def fit(self, Y: Any, exogenous: Any = None, *, sequences: Any = None) -> Self:
        """Fit to a series whose rows are in order of time at equal steps; NaN is missing.

        Parameters
        ----------
        exogenous : array-like, optional
            Inputs known in advance, one row per time; those at time t help to predict y_t.
        sequences : array-like, optional
            The independent series that each row belongs to. Windows do not cross series.
        """
        for option, size in (("window", self.window), ("block", self.block)):
            if isinstance(size, bool) or not isinstance(size, int) or size < 1:
                raise OptionError(f"{option} must be a positive whole number, got {size!r}")
        if self.block > 1 and exogenous is not None:
            raise OptionError("exogenous inputs belong to one time: leave block at 1")
        self._check_propagation(self.propagation)
        series = self._series(Y)
        self.single_column_, self.n_features_in_ = np.ndim(Y) == 1, series.shape[1]
        self.columns_ = list(Y.columns) if isinstance(Y, pd.DataFrame) else None
        self.scaling_ = Scaling.fit(series, "column")
        values = self.scaling_.apply(series)
        extra = self._exogenous(exogenous, len(values))
        self.n_exogenous_ = extra.shape[1]
        labels = np.zeros(len(values), int) if sequences is None else np.asarray(sequences)
        if labels.shape != (len(values),):
            raise DataError(f"there are {len(values)} rows but sequences has shape {labels.shape}")
        ends = [np.flatnonzero(labels == label) for label in pd.unique(labels)]
        self.sequences_ = None if sequences is None else pd.unique(labels)
        self.ends_ = [values[rows[-self.window :]] for rows in ends]
        pairs = [self._pairs(values[rows], extra[rows]) for rows in ends]
        inputs, targets = (np.concatenate(part) for part in zip(*pairs, strict=True))
        if not len(inputs):
            raise DataError(
                f"no series is longer than the window of {self.window}"
                + (f" and a block of {self.block}" if self.block > 1 else "")
                + ": take a shorter one"
            )
        default = UncertainGPRegressor(kernel="rbf + linear")
        model = default if self.estimator is None else clone(self.estimator)
        self.model_ = model.fit(inputs, targets)
        return self

    def _pairs(
        self, values: Float[np.ndarray, "T D"], extra: Float[np.ndarray, "T E"]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Windows with exogenous inputs, and the block that follows each [BGPLVM16, §6.1]."""
        count = max(len(values) - self.window - self.block + 1, 0)
        inputs = self._windows(values, extra)[:count]
        ends = range(self.window, self.window + count)
        blocks = [values[i : i + self.block].ravel() for i in ends]
        return inputs, np.array(blocks).reshape(count, self.block * values.shape[1])

    def _windows(
        self, values: Float[np.ndarray, "T D"], extra: Float[np.ndarray, "T E"]
    ) -> Float[np.ndarray, "_ Q"]:
        """What each value from the ``window``-th on is predicted from."""
        count = max(len(values) - self.window, 0)
        windows = [values[i : i + self.window].ravel() for i in range(count)]
        inputs = np.array(windows).reshape(count, self.window * values.shape[1])
        return np.concatenate([inputs, extra[self.window :][:count]], axis=1)

    # ------------------------------------------------------------------ prediction

    def forecast(
        self,
        n_steps: int,
        exogenous: Any = None,
        *,
        history: Any = None,
        sequence: Any = None,
        propagation: str | None = None,
        return_std: bool = False,
        n_samples: int | None = None,
        random_state: Any = None,
    ) -> Any:
        """Forecast the next values of a series.

        Parameters
        ----------
        n_steps : int
            Number of steps ahead.
        exogenous : array-like of shape (n_steps, n_exogenous), optional
            Required if the model was fitted with exogenous inputs.
        history : array-like, optional
            The series to continue, with at least ``window`` rows. Default: a training series.
        sequence : label, optional
            The training series to continue, if there were several.
        propagation : str, optional
            Overrides the option of the estimator.
        return_std : bool, default=False
            Whether to return standard deviations as well.
        n_samples : int, optional
            Return this many trajectories instead, of shape (n_samples, n_steps[, n_columns]).
        random_state : int, RandomState or None, default=None
            Seed of the draws.

        Returns
        -------
        ndarray, DataFrame or tuple
            Mean, (mean, std) or trajectories.
        """
        check_is_fitted(self)
        chosen = self._check_propagation(self.propagation if propagation is None else propagation)
        if n_steps < 1:
            raise OptionError(f"n_steps must be positive, got {n_steps!r}")
        posterior = self.model_.engine_.posteriors[0]
        given = self._exogenous(exogenous, n_steps, self.n_exogenous_)
        extra = jnp.asarray(given[: -(-n_steps // self.block)])  # a row for each block
        window = self._start(history, sequence)
        with single_threaded_blas():
            if n_samples is not None:
                if return_std:
                    raise OptionError("ask for samples or for moments, not for both")
                paths = self._paths(window, extra, int(n_samples), random_state)
                return self._like(paths[:, :n_steps])
            if chosen == "sampled":
                paths = self._paths(
                    window, extra, N_PATHS, 0 if random_state is None else random_state
                )[:, :n_steps]
                mean, std = self._like(paths.mean(axis=0)), self._like(paths.std(axis=0))
                return (mean, std) if return_std else mean
            if chosen == "augmented" and not posterior.exact:
                raise OptionError(
                    "with scattered missing values nothing can join the training set exactly: use "
                    "propagation='girard'"
                )
            found = propagate(posterior, self._frame(), window, extra, chosen)  # type: ignore[arg-type]
        mean, variance = (np.array(part)[:n_steps] for part in (found.mean, found.variance))
        mean = self._like(self.scaling_.undo(mean))
        std = self._like(self.scaling_.undo_std(np.sqrt(variance)))
        return (mean, std) if return_std else mean

    def _paths(
        self, window: Gaussian, extra: Float[Array, "T E"], count: int, seed: Any
    ) -> Float[np.ndarray, "S _ D"]:
        seed = self.model_.random_state if seed is None else seed
        key = jax.random.key(check_random_state(seed).randint(2**31 - 1))
        posterior = self.model_.engine_.posteriors[0]
        assert isinstance(posterior, GPPosterior)
        drawn = simulate(posterior, self._frame(), window, extra, count, key)
        return self.scaling_.undo(np.array(drawn))

    def predict(self, Y: Any, exogenous: Any = None, *, return_std: bool = False) -> Any:
        """One-step-ahead predictions of the rows of a series, from the ``window``-th on."""
        check_is_fitted(self)
        values = self.scaling_.apply(self._series(Y, self.n_features_in_))
        extra = self._exogenous(exogenous, len(values), self.n_exogenous_)
        inputs = self._windows(values, extra)
        if not len(inputs):
            raise DataError(f"the series is not longer than the window of {self.window}")
        first = slice(self.n_features_in_)  # of a block
        mean, std = self.model_.predict(inputs, return_std=True)
        mean = self.scaling_.undo(mean[:, first])
        std = self.scaling_.undo_std(std[:, first])
        return (self._like(mean), self._like(std)) if return_std else self._like(mean)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file; see `manyviews.load`."""
        check_is_fitted(self)
        write(path, self)

    def _frame(self) -> Frame:
        """The regression's scales of its inputs and outputs."""
        inputs, outputs = self.model_.input_scaling_, self.model_.scaling_
        parts = (inputs.centre, inputs.scale, outputs.centre, outputs.scale)
        return Frame(*(jnp.asarray(part) for part in parts))

    def _start(self, history: Any, sequence: Any) -> Gaussian:
        """The window to begin with; its missing values as the other ones suggest."""
        if history is not None:
            values = self.scaling_.apply(self._series(history, self.n_features_in_))
            values = values[-self.window :]
        else:
            values = self.ends_[self._place(sequence)]
        if len(values) < self.window:
            raise DataError(f"{len(values)} values are fewer than the window of {self.window}")
        row = np.concatenate([values.ravel(), np.full(self.n_exogenous_, np.nan)])
        q = self.model_._seen(row[None], None)
        scaling, width = self.model_.input_scaling_, values.size
        mean = scaling.undo(q.mean)[0, :width].reshape(values.shape)
        std = scaling.undo_std(q.std)[0, :width].reshape(values.shape)
        known = ~np.isnan(values)
        return Gaussian(
            jnp.asarray(np.where(known, values, mean)), jnp.asarray(np.where(known, 0.0, std**2))
        )

    def _place(self, sequence: Any) -> int:
        if self.sequences_ is None:
            if sequence is not None:
                raise OptionError("the model was fitted to one series without a name")
            return 0
        if sequence is None and len(self.sequences_) == 1:
            return 0
        found = np.flatnonzero(self.sequences_ == sequence)
        if not found.size:
            raise OptionError(f"sequence must be one of {list(self.sequences_)}, got {sequence!r}")
        return int(found[0])

    # ------------------------------------------------------------------ edges

    def _series(self, Y: Any, n_columns: int | None = None) -> Float[np.ndarray, "T D"]:
        with numbers_only(Y, "the series"):
            values = check_array(
                Y, dtype=np.float64, ensure_2d=False, ensure_all_finite="allow-nan", input_name="Y"
            )
        values = values.reshape(len(values), -1)
        check_values(values, "Y", empty_rows=True)
        if n_columns is not None and values.shape[1] != n_columns:
            raise DataError(f"the series has {values.shape[1]} columns, the model {n_columns}")
        empty = np.flatnonzero(np.isnan(values).all(axis=0))
        if n_columns is None and empty.size:
            raise DataError(f"column {empty[0]} of the series has no value at all")
        if n_columns is None:
            check_spread(values, "Y")
        return values

    def _exogenous(
        self, given: Any, n_rows: int, n_columns: int | None = None
    ) -> Float[np.ndarray, "T E"]:
        if given is None:
            if n_columns:
                raise DataError(
                    f"the model needs its {n_columns} exogenous inputs at {n_rows} times"
                )
            return np.zeros((n_rows, 0))
        values = check_array(given, dtype=np.float64, ensure_2d=False, input_name="exogenous")
        values = values.reshape(len(values), -1)
        if len(values) != n_rows or (n_columns is not None and values.shape[1] != n_columns):
            wanted = (n_rows, values.shape[1] if n_columns is None else n_columns)
            raise DataError(f"exogenous has shape {values.shape}, expected {wanted}")
        return values

    def _check_propagation(self, choice: str) -> str:
        if choice not in PROPAGATIONS:
            raise OptionError(f"propagation must be one of {PROPAGATIONS}, got {choice!r}")
        return choice

    def _like(self, result: np.ndarray) -> Any:
        """One column as it came; a DataFrame where the series was one."""
        if self.single_column_:
            return result[..., 0]
        if self.columns_ is not None and result.ndim == 2:
            return pd.DataFrame(result, columns=self.columns_)
        return result

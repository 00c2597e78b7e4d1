"""The shell for one table: scikit-learn's habits around an engine of one view."""

from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ..data import (
    Scaling,
    When,
    as_when,
    check_scaled,
    check_training_columns,
    check_values,
    numbers_only,
)
from ..data.alignment import unmasked
from ..fitted import Positions, Tables
from ..fitted.explain import mean_slopes, variance_explained
from .fitted_model import MIN_SAMPLES, FittedModel, refuse_both


class TableModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FittedModel):
    """A model of one table; its engine has one view, with one scaling."""

    scaling: str
    scaling_: Scaling
    samples_: list[Any]

    def fit(self, X: Any, y: Any = None) -> Any:
        """Fit the model; NaN in ``X`` is missing."""
        raise NotImplementedError

    def fit_transform(self, X: Any, y: Any = None, **times: Any) -> Any:
        """Fit the model and return the latent means of the training rows."""
        return self.fit(X, y, **times).latent_mean_

    # ------------------------------------------------------- what the model has found

    @property
    def relevance_(self) -> Float[np.ndarray, " Q"]:
        """Relevance of each dimension, the largest being one."""
        check_is_fitted(self)
        return self.engine_.relevance[0]

    def training_data(self) -> pd.DataFrame:
        """The table the model was fitted to, NaN where a value was missing."""
        check_is_fitted(self)
        table = self.scaling_.undo(self.engine_.data[0])
        return pd.DataFrame(table, index=self.samples_, columns=self._columns())

    def variance_explained(self, kind: str = "lost") -> pd.Series:
        """Share of variance by dimension, and in total; see `MRD.variance_explained`."""
        check_is_fitted(self)
        shares, total = variance_explained(self._engine, 0, kind)
        return pd.Series([*shares, total], index=[*range(len(shares)), "total"])

    def sensitivity(self, signed: bool = False) -> pd.DataFrame:
        """Columns x dimensions: how far a column moves per standard deviation of a dimension.

        With ``signed``, on average and with its sign; see `MRD.sensitivity`.
        """
        check_is_fitted(self)
        moves = mean_slopes(self._engine, 0) if signed else self._engine.slopes(0)
        return pd.DataFrame(moves * self.scaling_.scale[:, None], index=self._columns())

    # ------------------------------------------------------------------ new rows

    def transform(
        self, X: Any, *, times: Any = None, sequences: Any = None, return_std: bool = False,
        **how: Any,
    ) -> Any:  # fmt: skip
        """Posterior means of the latent positions of new rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            New rows; NaN is missing.
        times, sequences : array-like, optional
            For models fitted with time stamps, those of the new rows. Rows of one sequence are
            inferred jointly, together with the training rows if it is a training sequence. Without
            ``sequences``, rows continue the training sequence if there was only one, without a
            name; otherwise they are a new one. Rows without any value are allowed.
        return_std : bool, default=False
            Whether to return standard deviations as well.
        coupled : bool, default=True
            For models with time stamps: False infers rows one by one, given the training rows,
            which is faster and less exact.
        flow_weight : float, default=0.0
            For variational models with time stamps: weight of the expectation that new rows move as
            training sequences did, in addition to the prior over time, which does not know a
            direction. One counts every step as one observation.
        augmented : bool, default=False
            For variational models: whether new rows teach the map [BGPLVM16, §4.1]. The bound of
            training and new rows together is maximised over the positions of all new rows, the
            inducing variables being at their optimum for both, instead of held as the training
            rows left them. Answers then depend on which rows are asked about together, and
            take up to 500 iterations, each as long as one of a fit to as many rows.
        """
        scaled, when = self._new(X, times, sequences)
        q = self._infer([scaled], when, how=how).likeliest()
        return (q.mean, q.std) if return_std else q.mean

    def predict(
        self,
        X: Any,
        *,
        times: Any = None,
        sequences: Any = None,
        return_std: bool = False,
        return_cov: bool = False,
        n_samples: int | None = None,
        random_state: Any = None,
        **how: Any,
    ) -> Any:
        """Predict complete rows from partly observed ones.

        Latent positions are inferred from the observed values, and every column is predicted from
        them. Observation noise is included.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            New rows; NaN is missing.
        times, sequences : array-like, optional
            See `transform()`.
        coupled : bool, default=True
            See `transform()`.
        flow_weight : float, default=0.0
            See `transform()`.
        augmented : bool, default=False
            See `transform()`.
        return_std, return_cov : bool, default=False
            Whether to return standard deviations, or the covariance of each row's values, as well.
        n_samples : int, optional
            Return this many draws instead, of shape (n_samples, n_rows, n_features).
        random_state : int, RandomState or None, default=None
            Seed of the draws.

        Returns
        -------
        ndarray, DataFrame or tuple
            Mean, (mean, std), (mean, covariance) or draws; a DataFrame where X is one.
        """
        scaled, when = self._new(X, times, sequences)
        q = self._predictive([scaled], when, how)
        return self._like(X, self._outputs(q, return_std, return_cov, n_samples, random_state))

    def inverse_transform(
        self,
        X: Any,
        latent_std: Any = None,
        *,
        return_std: bool = False,
        return_cov: bool = False,
        n_samples: int | None = None,
        random_state: Any = None,
    ) -> Any:
        """Predict rows at given latent positions.

        ``latent_std`` adds the uncertainty of the positions. Other options are those of
        `predict()`.
        """
        q = self._at(X, latent_std)
        return self._outputs(q, return_std, return_cov, n_samples, random_state)

    def score_samples(
        self, X: Any, *, times: Any = None, sequences: Any = None, **how: Any
    ) -> Float[np.ndarray, " N"]:
        """Log density of every row's observed values, in the units of the data.

        Parameters
        ----------
        method : {"auto", "augmented", "fixed"}
            For variational models, whose density is F(Y, y*) - F(Y) [BGPLVM16, eq. 36].
            ``"augmented"`` lets the new row revise q(U), as in the equation; ``"fixed"`` keeps q(U)
            of the training data and gives a lower number. ``"auto"`` is ``"augmented"`` unless
            scattered missing training values rule it out. Rows with time stamps are scored by
            sequence (``"fixed"``), each with an equal share.
        """
        scaled, when = self._new(X, times, sequences)
        return self._densities([scaled], when, how)

    def score(self, X: Any, y: Any = None, *, times: Any = None, sequences: Any = None) -> float:
        """Mean of `score_samples()`: higher is better."""
        return float(np.mean(self.score_samples(X, times=times, sequences=sequences)))

    def impute(
        self, X: Any = None, *, times: Any = None, sequences: Any = None,
        return_std: bool = False, **how: Any,
    ) -> Any:  # fmt: skip
        """Fill missing values of the training data (``X=None``) or of new data.

        Observed values are returned as they are, with a std of zero. Variational models of rows
        without times have calibrated intervals: see
        `manyviews.variational.forgetting.imputation_widths`.
        """
        check_is_fitted(self)
        if X is None:
            scaled, q = self.engine_.data[0], self._trained()
        else:
            scaled, when = self._new(X, times, sequences)
            q = self._infer([scaled], when, how=how)
        mean, std = self._filled(0, [scaled], q, return_std)
        missing = np.isnan(scaled)
        given = self.scaling_.undo(scaled)
        if isinstance(X, pd.DataFrame):
            given = X.to_numpy(dtype=np.float64, na_value=np.nan)
        elif X is not None:
            given = np.asarray(X, dtype=np.float64)
        filled = np.where(missing, mean, given)
        if std is None:
            return self._like(X, filled)
        return self._like(X, (filled, np.where(missing, std, 0.0)))

    def sample(
        self, n_samples: int = 1, *, latent: str = "prior", random_state: Any = None
    ) -> Float[np.ndarray, "K D"]:
        """Draw new rows at latent positions from the prior, or from training posteriors."""
        check_is_fitted(self)
        rng = self._rng(random_state)
        return self._draws([0], self._source(n_samples, latent, rng), 1, rng)[0][0]

    def forecast(
        self,
        times: Any,
        sequence: Any = None,
        *,
        return_std: bool = False,
        n_samples: int | None = None,
        random_state: Any = None,
    ) -> Any:
        """Predict rows at other times of a training sequence, from time stamps [BGPLVM16, §4.2].

        Times may be before, between or after those of the training rows. ``n_samples`` returns
        trajectories of shape (n_samples, n_times, n_features), with latent paths drawn jointly.
        """
        return self._forecast([0], times, sequence, return_std, n_samples, random_state)[0]

    # ------------------------------------------------------------------ edges

    @property
    def _scalings(self) -> tuple[Scaling, ...]:
        return (self.scaling_,)

    def _columns(self) -> list[Any]:
        names = getattr(self, "feature_names_in_", None)
        return list(range(len(self.scaling_.scale))) if names is None else list(names)

    def _prepare(self, X: Any, times: Any = None, sequences: Any = None) -> np.ndarray:
        """Check the options and the training table; return it scaled."""
        self._check_options()
        timed = times is not None or sequences is not None
        Y = self._check(X, reset=True, empty_rows=timed)
        self.samples_ = row_names(X, len(Y))
        self.when_ = as_when(times, sequences, self.samples_) if timed else None
        check_training_columns(Y, "X", getattr(self, "feature_names_in_", None))
        self.scaling_ = Scaling.fit(Y, self.scaling)  # type: ignore[arg-type]
        return self._scaled(Y, X, training=True)

    def _new(
        self, X: Any, times: Any, sequences: Any
    ) -> tuple[Float[np.ndarray, "N D"], When | None]:
        """New rows, scaled, and when they were seen."""
        check_is_fitted(self)
        timed = times is not None or sequences is not None
        Y = self._check(X, reset=False, empty_rows=timed)
        return self._scaled(Y, X), self._when(times, sequences, row_names(X, len(Y)))

    def _scaled(self, Y: np.ndarray, X: Any, training: bool = False) -> np.ndarray:
        scaled = self.scaling_.apply(Y)
        check_scaled(scaled, "X", self._columns(), row_names(X, len(Y)), training=training)
        return scaled

    def _predictive(self, rows: Tables, when: When | None, how: dict[str, Any]) -> Positions:
        """The latent positions that rows are predicted from."""
        return self._infer(rows, when, how=how)

    def _check(self, X: Any, reset: bool, empty_rows: bool) -> Float[np.ndarray, "N D"]:
        with numbers_only(X, "X"):
            Y = validate_data(
                self, unmasked(X), reset=reset, dtype=np.float64, ensure_all_finite=False,
                ensure_min_samples=MIN_SAMPLES if reset else 1,
            )  # fmt: skip
        rows = X.index if isinstance(X, pd.DataFrame) else None
        check_values(Y, "X", getattr(self, "feature_names_in_", None), rows, empty_rows=empty_rows)
        return Y

    def _outputs(self, q: Any, std: bool, cov: bool, n_samples: int | None, seed: Any) -> Any:
        if n_samples is None:
            return self._moments(0, q, std, cov)
        refuse_both(std, cov)
        return self._draws([0], q, n_samples, self._rng(seed))[0]

    def _like(self, X: Any, result: Any) -> Any:
        """Two-dimensional results come back as DataFrames where the input was one."""
        if isinstance(result, tuple):
            return tuple(self._like(X, part) for part in result)
        if isinstance(X, pd.DataFrame) and result.ndim == 2:
            return pd.DataFrame(result, index=X.index, columns=X.columns)
        return result

    @property
    def _n_features_out(self) -> int:
        return self.latent_mean_.shape[1]


def row_names(X: Any, n_rows: int) -> list[Any]:
    """The index of a DataFrame, or the numbers of the rows."""
    return X.index.tolist() if isinstance(X, pd.DataFrame) else list(range(n_rows))

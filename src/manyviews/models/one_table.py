"""Scikit-learn's habits for models of one table: checks, names of features and of rows."""

from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ..data import Scaling, check_values
from .explain import variance_explained
from .fitted import MIN_SAMPLES, FittedModel


class OneTable(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FittedModel):
    """A model of one table with one scaling, linear or not."""

    scaling_: Scaling
    samples_: list[Any]

    # ------------------------------------------------------- what the model has found

    def training_data(self) -> pd.DataFrame:
        """The table the model was fitted to, NaN where a value was missing."""
        check_is_fitted(self)
        table = self.scaling_.undo(self.core_.data[0])
        return pd.DataFrame(table, index=self.samples_, columns=self._columns())

    def variance_explained(self, kind: str = "lost") -> pd.Series:
        """Share of the variance per dimension, and in total; see :meth:`MRD.variance_explained`."""
        check_is_fitted(self)
        shares, total = variance_explained(
            self._fitted(0), self._latent(), self.core_.data[0], kind
        )
        return pd.Series([*shares, total], index=[*range(len(shares)), "total"])

    def sensitivity(self) -> pd.DataFrame:
        """Columns x dimensions: how far a column moves per standard deviation of a dimension."""
        check_is_fitted(self)
        moves = self._slopes(0) * self.scaling_.scale[:, None]
        return pd.DataFrame(moves, index=self._columns())

    def _columns(self) -> list[Any]:
        names = getattr(self, "feature_names_in_", None)
        return list(range(len(self.scaling_.scale))) if names is None else list(names)

    # ------------------------------------------------------------------ edges

    def _check(self, X: Any, reset: bool, empty_rows: bool = False) -> Float[np.ndarray, "N D"]:
        Y = validate_data(
            self,
            X,
            reset=reset,
            dtype=np.float64,
            ensure_all_finite=False,
            ensure_min_samples=MIN_SAMPLES if reset else 1,
        )
        rows = X.index if isinstance(X, pd.DataFrame) else None
        names = getattr(self, "feature_names_in_", None)
        check_values(Y, "X", names, rows, empty_rows=empty_rows)
        return Y

    def _filled(
        self,
        X: Any,
        scaled: Float[np.ndarray, "N D"],
        mean: Float[np.ndarray, "N D"],
        std: Float[np.ndarray, "N D"],
        return_std: bool,
    ) -> Any:
        """The table with its holes filled by predictions, observed values as they were given."""
        missing = np.isnan(scaled)
        filled = np.where(missing, mean, self.scaling_.undo(scaled))
        if X is not None and not isinstance(X, pd.DataFrame):
            filled = np.where(missing, mean, np.asarray(X, dtype=np.float64))
        return self._like(X, (filled, np.where(missing, std, 0.0)) if return_std else filled)

    @property
    def _scalings(self) -> tuple[Scaling, ...]:
        return (self.scaling_,)

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def row_names(X: Any, n_rows: int) -> list[Any]:
    """The index of a DataFrame, or the numbers of the rows."""
    return X.index.tolist() if isinstance(X, pd.DataFrame) else list(range(n_rows))

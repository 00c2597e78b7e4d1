"""Which view uses which latent dimension: what all models with a latent space can tell."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from jaxtyping import Float
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from ..data import Views
from ..errors import DataError, OptionError
from .explain import variance_explained, variance_explained_by
from .fitted import ACTIVE_THRESHOLD
from .named_tables import NamedTables, Names, listed
from .segmentation import Segmentation, segment


class NamedViews(NamedTables):
    """Several named views that share a latent space, linear or not."""

    relevance_values_: Float[np.ndarray, "K Q"]

    # ------------------------------------------------------------------ who uses what

    @property
    def relevance_(self) -> pd.DataFrame:
        """Views x dimensions, normalised to a maximum of one per view."""
        check_is_fitted(self)
        return pd.DataFrame(self.relevance_values_, index=list(self.view_names_))

    def training_data(self) -> dict[str, pd.DataFrame]:
        """The views the model was fitted to, NaN where a value was missing."""
        check_is_fitted(self)
        found = self._training_views()
        parts = zip(found.names, found.tables, found.columns, strict=True)
        return {
            name: pd.DataFrame(table, index=found.samples, columns=columns)
            for name, table, columns in parts
        }

    def latent_posterior(self) -> pd.DataFrame:
        """Mean and std of every training sample's latent position."""
        check_is_fitted(self)
        parts = {"mean": self.latent_mean_, "std": self.latent_std_}
        frames = {name: pd.DataFrame(part, index=self.samples_) for name, part in parts.items()}
        return pd.concat(frames, axis=1, names=["moment", "dimension"])

    def segment(self, a: Names, b: Names, threshold: float = ACTIVE_THRESHOLD) -> Segmentation:
        """Divide the dimensions between two sets of views: shared, private to each, off."""
        check_is_fitted(self)
        return segment(self.relevance_values_, self._places(a), self._places(b), threshold)

    def shared(self, *views: str, threshold: float = ACTIVE_THRESHOLD) -> list[int]:
        """Dimensions that all the named views use (all views of the model, if none is named)."""
        check_is_fitted(self)
        places = self._places(views or self.view_names_)
        return np.flatnonzero((self.relevance_values_[places] > threshold).all(axis=0)).tolist()

    def private(self, view: Names, threshold: float = ACTIVE_THRESHOLD) -> list[int]:
        """Dimensions that a view (or a set of views) uses and no other does."""
        others = [name for name in self.view_names_ if name not in listed(view)]
        return self.segment(view, others, threshold).private_a

    def variance_explained(self, kind: str = "lost") -> pd.DataFrame:
        """Share of each view's variance per dimension, and in total.

        ``kind="lost"``: what is lost when the dimension is not known, all others being known;
        ``"alone"``: what it explains by itself. See
        :func:`manyviews.models.explain.variance_explained` for the definition.
        """
        check_is_fitted(self)
        q, rows = self._latent(), []
        for place, Y in enumerate(self.core_.data):
            shares, total = variance_explained(self._fitted(place), q, Y, kind)
            rows.append([*shares, total])
        columns = [*range(self.latent_mean_.shape[1]), "total"]
        return pd.DataFrame(rows, index=list(self.view_names_), columns=columns)

    def variance_explained_by(self, dimensions: Sequence[int]) -> pd.Series:
        """Share of each view's variance that a set of dimensions explains by itself."""
        check_is_fitted(self)
        q, chosen = self._latent(), [self._dimension(d) for d in dimensions]
        shares = [
            variance_explained_by(self._fitted(place), q, Y, chosen)
            for place, Y in enumerate(self.core_.data)
        ]
        return pd.Series(shares, index=list(self.view_names_))

    def sensitivity(self, view: str) -> pd.DataFrame:
        """Columns x dimensions: how far a column moves per standard deviation of a dimension.

        In the units of the data. For a linear map these are absolute loadings.
        """
        check_is_fitted(self)
        (place,) = self._places(view)
        scaled = self._slopes(place) * self.scalings_[place].scale[:, None]
        return pd.DataFrame(scaled, index=self.columns_[place])

    # ------------------------------------------------------------------ outputs

    def _training_views(self) -> Views:
        """The training views as they came, from what is kept of them."""
        tables = tuple(s.undo(Y) for s, Y in zip(self.scalings_, self.core_.data, strict=True))
        return Views(self.view_names_, tables, self.columns_, self.samples_, bool(self.labelled_))

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what ``transform`` returns, as in scikit-learn: "pandas" or "default"."""
        if transform not in {None, "default", "pandas"}:
            raise OptionError(f"transform must be 'default' or 'pandas', got {transform!r}")
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        return self

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the latent dimensions."""
        check_is_fitted(self)
        prefix = type(self).__name__.lower()
        return np.asarray([f"{prefix}{d}" for d in range(self.latent_mean_.shape[1])], dtype=object)

    def _named_output(self, mean: np.ndarray, std: np.ndarray, found: Views) -> tuple[Any, Any]:
        """Latent moments as arrays, or as DataFrames if the user has asked for them."""
        if _get_output_config("transform", self)["dense"] != "pandas":
            return mean, std
        names: Any = {"index": found.samples, "columns": self.get_feature_names_out()}
        return pd.DataFrame(mean, **names), pd.DataFrame(std, **names)

    # ------------------------------------------------------------------ names

    def _targets(self, target: Names | None, found: Views) -> list[str]:
        if target is not None:
            self._places(target)
            return listed(target)
        known = self._known(found)
        return [name for name in found.names if name not in known] or list(found.names)

    def _place_of(self, at: Any) -> Float[np.ndarray, " Q"]:
        """The latent position of a sample's name, of the central sample, or as given."""
        check_is_fitted(self)
        X = self.latent_mean_
        if at is None:
            spread = np.maximum(X.std(axis=0), 1e-12)
            return X[np.argmin(np.sum(((X - X.mean(axis=0)) / spread) ** 2, axis=1))]
        if np.ndim(at) == 0:
            if at not in self.samples_:
                raise DataError(f"there is no training sample {at!r}")
            return X[self.samples_.index(at)]
        return self._checked_positions(np.asarray(at, dtype=np.float64)[None])[0]

    def _dimension(self, dimension: int) -> int:
        if not 0 <= dimension < self.latent_mean_.shape[1]:
            raise OptionError(
                f"dimension must be from 0 to {self.latent_mean_.shape[1] - 1}, got {dimension}"
            )
        return dimension

"""The protocol of all models of several views: names, relevance, new samples, imputation."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from jaxtyping import Float
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from ..data import Scaling, Views, When, check_values, match_views
from ..errors import DataError, OptionError
from ..inference.new_points import NewPoints
from .base import ACTIVE_THRESHOLD, VariationalEstimator
from .explain import sensitivity, variance_explained, variance_explained_by
from .segmentation import Segmentation, segment

Names = str | Sequence[str]


class NewSamples(NamedTuple):
    """Views of new samples, the same scaled, and when they were seen (if that is known)."""

    found: Views
    scaled: list[Float[np.ndarray, "N _"]]
    when: When | None


class MultiViewEstimator(VariationalEstimator):
    """A fitted core with a name, columns and a scaling for every view."""

    view_names_: tuple[str, ...]
    columns_: tuple[list[Any], ...]
    samples_: list[Any]
    relevance_values_: Float[np.ndarray, "K Q"]
    evidence_power: float | str | dict[str, float | str]

    # ------------------------------------------------------------------ who uses what

    @property
    def relevance_(self) -> pd.DataFrame:
        """Views x dimensions, normalised to a maximum of one per view."""
        check_is_fitted(self)
        return pd.DataFrame(self.relevance_values_, index=list(self.view_names_))

    def training_data(self) -> dict[str, pd.DataFrame]:
        """The views the model was fitted to, NaN where a value was missing."""
        check_is_fitted(self)
        parts = zip(self.view_names_, self.scalings_, self.core_.data, self.columns_, strict=True)
        return {
            name: pd.DataFrame(scaling.undo(Y), index=self.samples_, columns=columns)
            for name, scaling, Y, columns in parts
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
        rows = []
        for posterior, Y in zip(self.core_.posteriors, self.core_.data, strict=True):
            shares, total = variance_explained(posterior, self.core_.marginals(), Y, kind)
            rows.append([*shares, total])
        columns = [*range(self.latent_mean_.shape[1]), "total"]
        return pd.DataFrame(rows, index=list(self.view_names_), columns=columns)

    def variance_explained_by(self, dimensions: Sequence[int]) -> pd.Series:
        """Share of each view's variance that a set of dimensions explains by itself."""
        check_is_fitted(self)
        chosen = [self._dimension(d) for d in dimensions]
        q = self.core_.marginals()
        pairs = zip(self.core_.posteriors, self.core_.data, strict=True)
        shares = [variance_explained_by(posterior, q, Y, chosen) for posterior, Y in pairs]
        return pd.Series(shares, index=list(self.view_names_))

    def sensitivity(self, view: str) -> pd.DataFrame:
        """Columns x dimensions: how far a column moves per standard deviation of a dimension.

        In the units of the data. For a linear kernel these are absolute loadings.
        """
        check_is_fitted(self)
        (place,) = self._places(view)
        slopes = sensitivity(self.core_.posteriors[place], self.core_.marginals())
        scaled = slopes * self.scalings_[place].scale[:, None]
        return pd.DataFrame(scaled, index=self.columns_[place])

    # ------------------------------------------------------------------ new samples

    def transform(
        self,
        views: Any,
        *,
        times: Any = None,
        sequences: Any = None,
        coupled: bool = True,
        return_std: bool = False,
    ) -> Any:
        """Latent means (and std) of new samples from whatever views they have.

        For ``times``, ``sequences`` and ``coupled`` see :meth:`BayesianGPLVM.transform`.
        """
        new = self._new(views, times, sequences)
        q = self._locate(new, coupled=coupled).q
        mean, std = self._named_output(np.array(q.mean), np.sqrt(np.array(q.variance)), new.found)
        return (mean, std) if return_std else mean

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

    def score_samples(
        self, views: Any, *, times: Any = None, sequences: Any = None, method: str = "auto"
    ) -> Float[np.ndarray, " N"]:
        """Approximate log density of each new sample's observed values (002 eq. 36)."""
        new = self._new(views, times, sequences)
        return self._score_rows(new.scaled, method, new.when)

    def score(
        self, views: Any, y: Any = None, *, times: Any = None, sequences: Any = None
    ) -> float:
        """Mean of :meth:`score_samples`: higher is better."""
        return float(np.mean(self.score_samples(views, times=times, sequences=sequences)))

    def impute(
        self,
        views: Any = None,
        *,
        times: Any = None,
        sequences: Any = None,
        coupled: bool = True,
        return_std: bool = False,
    ) -> Any:
        """All views with their holes filled, of the training samples or of new ones.

        Observed values are returned as they are, with a std of zero.
        """
        check_is_fitted(self)
        if views is None:
            tables = tuple(table.to_numpy() for table in self.training_data().values())
            found = Views(
                self.view_names_, tables, self.columns_, self.samples_, bool(self.labelled_)
            )
            q = self.core_.marginals()
        else:
            new = self._new(views, times, sequences)
            found, q = new.found, self._locate(new, coupled=coupled).q
        filled, stds = {}, {}
        for place, (name, table) in enumerate(zip(found.names, found.tables, strict=True)):
            mean, std = self._outputs(place, q, True, False, None, None)
            missing = np.isnan(table)
            filled[name] = self._like(found, name, np.where(missing, mean, table))
            stds[name] = self._like(found, name, np.where(missing, std, 0.0))
        return (filled, stds) if return_std else filled

    # ------------------------------------------------------------------ edges

    @property
    def _scalings(self) -> tuple[Scaling, ...]:
        return self.scalings_

    def _scaled(self, found: Views) -> list[Float[np.ndarray, "N _"]]:
        pairs = zip(self.scalings_, found.tables, strict=True)
        return [scaling.apply(table) for scaling, table in pairs]

    def _by_view(self, option: Any, name: str, default: Any) -> list[Any]:
        """An option for every view: one for all, or a dict by name with a default."""
        if not isinstance(option, dict):
            return [option] * len(self.view_names_)
        unknown = [view for view in option if view not in self.view_names_]
        if unknown:
            raise OptionError(
                f"{name} names the view {unknown[0]!r}; the views are {list(self.view_names_)}"
            )
        return [option.get(view, default) for view in self.view_names_]

    def _new(self, views: Any, times: Any = None, sequences: Any = None) -> NewSamples:
        check_is_fitted(self)
        found = match_views(views, self.given_names_, self.given_columns_, self.align)
        found = found.one_per_column() if self.split_columns else found
        when = self._new_times(times, sequences, found.samples)
        check_views(found, empty_rows=when is not None)
        return NewSamples(found, self._scaled(found), when)

    def _locate(
        self, new: NewSamples, n_modes: int | None = None, coupled: bool = True
    ) -> NewPoints:
        """q(x*), each view's evidence at the power the user gave it."""
        asked = self._by_view(self.evidence_power, "evidence_power", 1.0)
        powers = self._powers(asked, new.when is not None)
        return self._infer(new.scaled, n_modes, powers, new.when, coupled)

    def _places(self, names: Names) -> list[int]:
        for name in listed(names):
            if name not in self.view_names_:
                raise OptionError(f"there is no view {name!r}: there are {list(self.view_names_)}")
        return [self.view_names_.index(name) for name in listed(names)]

    def _known(self, found: Views) -> list[str]:
        pairs = zip(found.names, found.tables, strict=True)
        return [name for name, table in pairs if not np.isnan(table).all()]

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
        return np.array(self._positions(np.asarray(at, dtype=np.float64)[None]).mean[0])

    def _dimension(self, dimension: int) -> int:
        if not 0 <= dimension < self.latent_mean_.shape[1]:
            raise OptionError(
                f"dimension must be from 0 to {self.latent_mean_.shape[1] - 1}, got {dimension}"
            )
        return dimension

    def _like(self, found: Views, name: str, answer: Any) -> Any:
        """Tables come back as DataFrames where rows came with names."""
        if isinstance(answer, tuple):
            return tuple(self._like(found, name, part) for part in answer)
        if found.labelled and answer.ndim == 2:
            columns = self.columns_[self.view_names_.index(name)]
            return pd.DataFrame(answer, index=found.samples, columns=columns)
        return answer

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def check_views(found: Views, empty_rows: bool = False) -> None:
    """Refuse infinities, and samples of which no view knows anything (unless allowed)."""
    for name, table, columns in zip(found.names, found.tables, found.columns, strict=True):
        check_values(table, name, columns, found.samples, empty_rows=True)
    observed = np.stack([~np.isnan(table).all(axis=1) for table in found.tables]).any(axis=0)
    if not observed.any() or not (observed.all() or empty_rows):
        empty = found.samples[int(np.flatnonzero(~observed)[0])]
        raise DataError(
            f"sample {empty!r} has no value in any view ({int((~observed).sum())} such samples): "
            "leave it out"
        )


def listed(names: Names | None) -> list[str]:
    """One name or several, as a list."""
    if names is None:
        return []
    return [names] if isinstance(names, str) else list(names)

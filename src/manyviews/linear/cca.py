"""Canonical correlation analysis of two or more views, regularised if need be [Leen08, §2.5.3]."""

import time
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from ..errors import DataError
from ..inference.diagnostics import FitInfo
from ..io import register_record
from ..shells import ViewsModel
from .canonical_engine import CanonicalEngine, Projection
from .closed_form import canonical_directions, ridge_of
from .estimators import REGULARISATION, VIEWS
from .pcca import shared_components


class CanonicalModel(ViewsModel):
    """Canonical variates of every view, without a density; complete data only."""

    engine_: CanonicalEngine

    def variates(self, views: Any) -> dict[str, Float[np.ndarray, "N Q"]]:
        """Return the canonical variates of every view that is given."""
        new = self._new(views)
        return {
            name: self.engine_.projection.variates(place, table)
            for place, (name, table) in enumerate(zip(self.view_names_, new.scaled, strict=True))
            if not np.isnan(table).all()
        }

    def score(self, views: Any, y: Any = None) -> float:  # type: ignore[override]
        """Mean correlation of the variates over dimensions and pairs of views, on new samples."""
        found = list(self.variates(views).values())
        if len(found) < 2:
            raise DataError("a correlation needs two views")
        pairs = [(a, b) for k, a in enumerate(found) for b in found[k + 1 :]]
        return float(np.mean([correlations(a, b).mean() for a, b in pairs]))

    # ------------------------------------------------------------------ edges

    def _prepare(
        self, views: Any, times: Any = None, sequences: Any = None, y: Any = None
    ) -> list[np.ndarray]:
        self._began = time.perf_counter()
        tables = super()._prepare(views, y=y)
        if len(tables) < 2:
            raise DataError("CCA needs two views or more; for one there is PPCA")
        self._refuse_holes(tables, "fit")
        return tables

    def _take(self, tables: list[np.ndarray], projection: Projection) -> Any:
        info = FitInfo(converged=True, seconds=time.perf_counter() - self._began)
        return self._adopt(CanonicalEngine(tuple(tables), projection), info)

    def _new(self, views: Any, times: Any = None, sequences: Any = None) -> Any:
        new = super()._new(views, times, sequences)
        self._refuse_holes(new.scaled, "answer for")
        return new

    def _refuse_holes(self, tables: list[np.ndarray], what: str) -> None:
        """A view is there for all samples or, except in training, for none."""
        for name, table in zip(self.view_names_, tables, strict=True):
            missing = np.isnan(table)
            if missing.any() and (what == "fit" or not missing.all()):
                raise DataError(
                    f"view {name!r} has missing values, which {type(self).__name__} cannot {what}; "
                    "ProbabilisticCCA and GroupFactorAnalysis can"
                )


@register_record
@dataclass(frozen=True)
class LinearProjection(Projection):
    """z_k = y_k U_k."""

    directions: tuple[np.ndarray, ...]

    def variates(self, view: int, rows: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N Q"]:
        return rows @ self.directions[view]


@register_record
class CCA(CanonicalModel):
    """Canonical correlation analysis of two or more complete views.

    For two views, directions come from the SVD of Σ₁₁^-½ Σ₁₂ Σ₂₂^-½; for more, they have the
    largest sum of correlations over all pairs (MAXVAR, Kettenring 1971).

    Parameters
    ----------
    n_components : int, optional
        Number of pairs of variates. Default: the columns of the narrowest view, at most ten.
    regularisation : float, "auto" or dict by view, default=0.0
        Added to the diagonal of every view's covariance, as a share of its mean variance;
        ``"auto"`` is Ledoit and Wolf's amount. Required if a view has about as many columns as
        there are samples, since all correlations are one otherwise.
    scaling : {"view", "column", "none"} or dict by view, default="view"
        Affects the regularisation only.
    align : {"union", "intersection"}, default="union"
        Whether to keep all samples of DataFrames, or those that all views have.
    random_state : int, RandomState or None, default=None
        Seed of draws.

    Attributes
    ----------
    canonical_correlations_ : ndarray of shape (n_components,)
        Correlations of the training samples; for more than two views the mean over pairs. With
        regularisation, those of the regularised problem, which are smaller.
    directions_ : tuple of ndarray
        Columns x components of every view (scaled), of unit variance.
    latent_mean_ : ndarray of shape (n_samples, n_components)
        Mean of the views' variates.
    relevance_, n_active_
        As in `MRD`.

    Examples
    --------
    >>> import numpy as np
    >>> from manyviews.linear import CCA
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(500, 1))
    >>> views = {"a": x + rng.normal(size=(500, 3)), "b": x + rng.normal(size=(500, 2))}
    >>> CCA(1).fit(views).canonical_correlations_.round(1)
    array([0.7])
    """

    _options = {**VIEWS, "regularisation": REGULARISATION}

    def __init__(
        self,
        n_components: int | None = None,
        *,
        regularisation: float | str | dict[str, float | str] = 0.0,
        scaling: str | dict[str, str] = "view",
        align: str = "union",
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.regularisation = regularisation
        self.scaling = scaling
        self.align = align
        self.random_state = random_state

    def fit(self, views: Any, y: Any = None) -> Self:
        """Fit to a dict or list of complete tables, or a MuData object."""
        tables = self._prepare(views, y=y)
        n_components = shared_components(self.n_components, tables, self.view_names_)
        choices = self._by_view(self.regularisation, "regularisation", 0.0)
        ridges = [ridge_of(Y, choice) for Y, choice in zip(tables, choices, strict=True)]
        found = canonical_directions(tables, n_components, ridges, self.view_names_)
        self.canonical_correlations_ = found.correlations
        return self._take(tables, LinearProjection(tuple(found.directions)))

    @property
    def directions_(self) -> tuple[Float[np.ndarray, "D Q"], ...]:
        """Columns x components of every view (scaled), of unit variance."""
        check_is_fitted(self)
        projection = self.engine_.projection
        assert isinstance(projection, LinearProjection)
        return projection.directions


def correlations(
    a: Float[np.ndarray, "N Q"], b: Float[np.ndarray, "N Q"]
) -> Float[np.ndarray, " Q"]:
    """Correlation of every column of one table with the same column of another."""
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    scale = np.linalg.norm(a, axis=0) * np.linalg.norm(b, axis=0)
    return np.sum(a * b, axis=0) / np.maximum(scale, 1e-300)

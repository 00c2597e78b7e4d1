"""What CCA and kernel CCA share: complete views in, variates and correlations out."""

import time
from typing import Any

import numpy as np
from jaxtyping import Float

from ..errors import DataError
from ..inference.diagnostics import FitInfo
from ..shells import ViewsModel
from .canonical_engine import CanonicalEngine, Projection


class CanonicalModel(ViewsModel):
    """Canonical variates of every view, without a density; complete data only."""

    engine_: CanonicalEngine

    def variates(self, views: Any) -> dict[str, Float[np.ndarray, "N Q"]]:
        """The canonical variates of every view that is given."""
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

    def _prepare(self, views: Any, times: Any = None, sequences: Any = None) -> list[np.ndarray]:
        self._began = time.perf_counter()
        tables = super()._prepare(views)
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


def correlations(
    a: Float[np.ndarray, "N Q"], b: Float[np.ndarray, "N Q"]
) -> Float[np.ndarray, " Q"]:
    """Correlation of every column of one table with the same column of another."""
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    scale = np.linalg.norm(a, axis=0) * np.linalg.norm(b, axis=0)
    return np.sum(a * b, axis=0) / np.maximum(scale, 1e-300)

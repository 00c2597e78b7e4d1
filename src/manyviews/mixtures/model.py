"""Methods of both mixture models: clusters, and densities of one view given others."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from sklearn.utils.validation import check_is_fitted

from ..data import Aligned
from ..errors import DataError, OptionError
from ..linear.estimators import ITERATIONS, VIEWS
from ..options import Options, count, one_of
from ..shells import ViewsModel
from ..shells.naming import Names, known_views
from .joint import JointMixture
from .mixture_engine import MixtureEngine

OPTIONS: Options = {
    **VIEWS,
    **ITERATIONS,
    "n_components": (count(),),
    "scaling": (one_of("view", "column", "none"),),
    "n_restarts": (count(),),
}


class MixtureModel(ViewsModel):
    """A mixture model of the scaled columns of named views.

    Every cluster has a latent space of its own, so compare positions (`transform()`) only
    among samples of one cluster (`predict_cluster()`). A prediction is a Gaussian mixture per
    sample. Mean, standard deviation and covariance are those of the mixture; where it has several
    modes use `predict_modes()`, `predictive_density()` or draws. Values of the predicted
    views themselves are not used; `impute()` fills holes of a view.
    """

    engine_: MixtureEngine
    n_components: int

    @property
    def mixture_(self) -> JointMixture:
        """The density of the scaled columns, all views side by side."""
        check_is_fitted(self)
        return self.engine_.mixture

    @property
    def ranges_(self) -> tuple[Float[np.ndarray, "2 D"], ...]:
        """Smallest and largest training value of every column."""
        tables = self._training_views().tables
        return tuple(np.stack([np.nanmin(Y, axis=0), np.nanmax(Y, axis=0)]) for Y in tables)

    def responsibilities(self, views: Any) -> Any:
        """Probabilities of the clusters given what is known, samples x clusters."""
        new = self._new(views)
        share = self.engine_.told.responsibilities(np.hstack(new.scaled))
        return pd.DataFrame(share, index=new.found.samples) if new.found.labelled else share

    def predict_cluster(self, views: Any) -> Int[np.ndarray, " N"]:
        """The most probable cluster of every sample."""
        return np.asarray(self.responsibilities(views)).argmax(axis=1)

    def predictive_density(
        self, views: Any, target: str, points: Any, columns: Sequence[Any] | None = None
    ) -> Float[np.ndarray, "N P"]:
        """Density of a view at given points, given what is known of each sample.

        Parameters
        ----------
        views : dict, list with None for what is wanted, MuData; or None
            What is known. None: nothing; the answer has one row, the marginal density.
        target : str
            The view wanted; its own values, if given, are not used.
        points : array-like of shape (n_points, n_columns)
        columns : sequence, optional
            Columns of the view that the points are about; the others are integrated out.
        """
        check_is_fitted(self)
        (place,) = self._places(target)
        labels = self.columns_[place]
        chosen = list(labels) if columns is None else list(columns)
        unknown = [label for label in chosen if label not in labels]
        if unknown:
            raise OptionError(f"view {target!r} has no column {unknown[0]!r}")
        within = np.array([labels.index(label) for label in chosen])
        wanted = self.engine_.span(place)[within]
        grid = np.asarray(points, dtype=np.float64)
        if grid.ndim != 2 or grid.shape[1] != len(wanted):
            raise DataError(f"points must have shape (n, {len(wanted)}), got {grid.shape}")
        scaling = self.scalings_[place]
        scaled = (grid - scaling.centre[within]) / scaling.scale[within]
        jacobian = float(np.sum(np.log(scaling.scale[within])))
        known = np.full((1, sum(self._sizes())), np.nan)
        if views is not None:
            new = self._new(views)
            self._targets(target, new.found)
            known = np.hstack(new.scaled)
            known[:, self.engine_.span(place)] = np.nan
        answer = np.zeros((len(known), len(grid)))
        for part in self.mixture_.condition(known, wanted):
            for row, weights, means in zip(part.rows, part.weights, part.means, strict=True):
                kept = weights > 1e-12 * weights.max()
                empty = np.zeros((int(kept.sum()), len(wanted), 0))
                local = JointMixture(
                    np.log(weights[kept]), means[kept], empty, part.covariances[kept]
                )
                answer[row] = np.exp(local.log_density(scaled) - jacobian)
        return answer

    # ------------------------------------------------------------------ edges

    def _read(self, views: Any, y: Any = None) -> list[Float[np.ndarray, "N _"]]:
        """Check the training views and return them scaled."""
        tables = self._prepare(views, y=y)
        if len(tables) < 2:
            raise DataError("a mixture of PCCA needs at least two views, got one")
        widths = sorted(self._sizes(), reverse=True)
        if self.n_components > widths[1]:
            raise OptionError(
                f"n_components={self.n_components}, but no more than {widths[1]} latent "
                f"dimensions can be shared by views of {self._sizes()} columns"
            )
        return tables

    def _sizes(self) -> tuple[int, ...]:
        return tuple(len(columns) for columns in self.columns_)

    def _targets(self, target: Names | None, found: Aligned) -> list[str]:
        """The views wanted, of samples that have something outside of them."""
        if target is None and len(known_views(found)) == len(found.names):
            raise OptionError("all views are given: name the one to predict from the others")
        targets = super()._targets(target, found)
        pairs = zip(found.names, found.tables, strict=True)
        others = [~np.isnan(table).all(axis=1) for name, table in pairs if name not in targets]
        informed = np.any(others, axis=0) if others else np.zeros(len(found.samples), bool)
        if not informed.all():
            empty = found.samples[int(np.flatnonzero(~informed)[0])]
            raise DataError(
                f"sample {empty!r} has no value outside of {targets}: there is nothing to "
                "predict from"
            )
        return targets

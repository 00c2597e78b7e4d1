"""Methods of both mixture models of one table."""

from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from sklearn.utils.validation import check_is_fitted

from ..data import When
from ..errors import OptionError
from ..fitted import Positions, Tables
from ..linear.estimators import TABLE
from ..options import Options, count
from ..shells import TableModel
from .joint import JointMixture
from .mixture_engine import MixtureEngine

TABLE_OPTIONS: Options = {**TABLE, "n_components": (count(),), "n_restarts": (count(),)}


class MixtureTable(TableModel):
    """A mixture model of the scaled columns of one table.

    Every cluster has a latent space of its own, so compare positions (`transform()`) only
    among rows of one cluster (`predict_cluster()`). Predictions, imputed values and densities are
    those of the whole mixture.
    """

    engine_: MixtureEngine
    n_components: int

    @property
    def mixture_(self) -> JointMixture:
        """The density of the scaled columns."""
        check_is_fitted(self)
        return self.engine_.mixture

    def responsibilities(self, X: Any) -> Any:
        """Probabilities of the clusters given the values of every row, rows x clusters."""
        scaled, _ = self._new(X, None, None)
        share = self.engine_.told.responsibilities(scaled)
        return pd.DataFrame(share, index=X.index) if isinstance(X, pd.DataFrame) else share

    def predict_cluster(self, X: Any) -> Int[np.ndarray, " N"]:
        """The most probable cluster of every row."""
        return np.asarray(self.responsibilities(X)).argmax(axis=1)

    def _read(self, X: Any) -> Float[np.ndarray, "N D"]:
        """Check the training table and return it scaled."""
        Y = self._prepare(X)
        if self.n_components > Y.shape[1]:
            raise OptionError(
                f"n_components={self.n_components} is more than the {Y.shape[1]} columns"
            )
        return Y

    def _predictive(self, rows: Tables, when: When | None, how: dict[str, Any]) -> Positions:
        told = super()._predictive(rows, when, how)
        return told if self.engine_.clusters is None else self.engine_.averaged(rows)

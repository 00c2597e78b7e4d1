"""What linear models of one table have besides: loadings, and a noise variance by column."""

import numpy as np
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from ..errors import OptionError
from ..shells import TableModel
from .engine import LinearEngine


class LinearTable(TableModel):
    """A linear-Gaussian model of one table."""

    engine_: LinearEngine
    n_components: int | None

    def _components(self, scaled: Float[np.ndarray, "N D"]) -> int:
        """The number asked for, or as many as make sense, up to ten."""
        N, D = scaled.shape
        if self.n_components is None:
            return max(1, min(10, D - 1, N - 1))
        if self.n_components > D:
            raise OptionError(f"n_components={self.n_components} is more than the {D} columns")
        return int(self.n_components)

    @property
    def noise_variance_(self) -> Float[np.ndarray, " D"]:
        """Noise variance of every column, in the units of the data."""
        check_is_fitted(self)
        return self.engine_.model.views[0].variance * self.scaling_.scale**2

    @property
    def loadings_(self) -> Float[np.ndarray, "D Q"]:
        """Columns x dimensions, in the units of the data."""
        check_is_fitted(self)
        return self.engine_.model.views[0].loadings * self.scaling_.scale[:, None]

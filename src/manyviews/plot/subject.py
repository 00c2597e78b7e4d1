"""One way to look at any fitted model, of one view or of several."""

from typing import Any, Self

import numpy as np
import pandas as pd
from jaxtyping import Float

from ..errors import OptionError
from ..fitted.segmentation import ACTIVE_THRESHOLD as USED


class Subject:
    """What pictures and reports ask of a model, the same for one table and for many.

    Attributes
    ----------
    tables : dict of DataFrame by view
        The training data, NaN where missing.
    relevance : DataFrame of shape (n_views, n_dimensions)
    """

    @classmethod
    def of(cls, model: Any) -> Self:
        """The subject of a model; a subject is its own."""
        return model if isinstance(model, cls) else cls(model)

    def __init__(self, model: Any):
        if not hasattr(model, "latent_mean_"):
            fitted = any(name.endswith("_") and name[0] != "_" for name in vars(model))
            raise OptionError(
                f"{type(model).__name__} has no latent space to look at"
                + ("" if fitted else ": is it fitted?")
            )
        self.model = model
        data = model.training_data()
        self.single = not isinstance(data, dict)
        self.tables: dict[str, pd.DataFrame] = {"X": data} if self.single else data
        relevance = model.relevance_
        self.relevance = (
            relevance
            if isinstance(relevance, pd.DataFrame)
            else pd.DataFrame(np.atleast_2d(relevance), index=["X"])
        )
        self._sensitivities: dict[tuple[str, bool], pd.DataFrame] = {}

    @property
    def labels(self) -> list[str]:
        """The numbers of the dimensions, with their names."""
        return self.model.dimension_labels()

    @property
    def walkable(self) -> bool:
        """Whether there is one latent space, and not one for every cluster."""
        return self.model.engine_.positions.cluster is None

    @property
    def names(self) -> list[str]:
        """The names of the views."""
        return list(self.tables)

    @property
    def latent(self) -> Float[np.ndarray, "N Q"]:
        """Latent means of the training samples."""
        return self.model.latent_mean_

    def check_view(self, view: str | None) -> str:
        """The view of that name; a single view needs none."""
        if view is None and len(self.tables) == 1:
            return self.names[0]
        if view not in self.tables:
            raise OptionError(f"there is no view {view!r}: there are {self.names}")
        return str(view)

    def gaussian(self, view: str) -> bool:
        """Whether a view's noise is Gaussian, so that its values may be centred and scaled."""
        return getattr(self.model, "likelihoods_", {}).get(view) is None

    def users(self, dimension: int) -> list[str]:
        """The views that use a dimension."""
        weights = self.relevance.iloc[:, dimension]
        return [str(name) for name in weights.index[weights > USED]]

    def active(self, view: str | None = None) -> list[int]:
        """Dimensions that a view (or any view) uses, the most relevant first."""
        table = self.relevance if view is None else self.relevance.loc[[view]]
        weights = table.to_numpy().max(axis=0)
        order = np.argsort(-weights, kind="stable")
        return [int(d) for d in order if weights[d] > USED]

    def shared(self) -> list[int]:
        """Dimensions that all views use."""
        return np.flatnonzero((self.relevance.to_numpy() > USED).all(axis=0)).tolist()

    def explained(self, kind: str = "lost") -> pd.DataFrame:
        """Variance explained, views x (dimensions, total)."""
        found = self.model.variance_explained(kind)
        return found.to_frame("X").T if isinstance(found, pd.Series) else found

    def sensitivity(self, view: str, signed: bool = False) -> pd.DataFrame:
        """Columns x dimensions of a view."""
        if (view, signed) not in self._sensitivities:
            asked = () if self.single else (view,)
            self._sensitivities[view, signed] = self.model.sensitivity(*asked, signed=signed)
        return self._sensitivities[view, signed]

    def generate(
        self, X: Float[np.ndarray, "n Q"], view: str, latent_std: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean and std of a view at latent positions (uncertain by ``latent_std``)."""
        if self.single:
            return self.model.inverse_transform(X, latent_std, return_std=True)
        return self.model.inverse_transform(X, view, latent_std, return_std=True)

    def fitted(self, view: str) -> Float[np.ndarray, "N D"]:
        """What the model makes of the training samples."""
        return self.generate(self.latent, view, self.model.latent_std_)[0]

    def spread(self, view: str) -> Float[np.ndarray, " D"]:
        """Standard deviation of every column in the training data (one where it is constant)."""
        std = np.nanstd(self.tables[view].to_numpy(), axis=0)
        return np.where(std > 0, std, 1.0)

    def scale(self, view: str) -> Float[np.ndarray, " D"]:
        """What the model divides the columns of a view by."""
        if self.single:
            return self.model.scaling_.scale
        return self.model.scalings_[self.names.index(view)].scale

    def centre(self) -> Float[np.ndarray, " Q"]:
        """The position of the training sample nearest to the middle of all."""
        X = self.latent
        spread = np.maximum(X.std(axis=0), 1e-12)
        return X[np.argmin(np.sum(((X - X.mean(axis=0)) / spread) ** 2, axis=1))]

    def walk(self, dimension: int, steps: int) -> Float[np.ndarray, "n Q"]:
        """Positions along one dimension over the range of the samples, the others held.

        From the 2nd to the 98th percentile, where there are samples to learn from.
        """
        if not 0 <= dimension < self.latent.shape[1]:
            raise OptionError(
                f"dimension must be from 0 to {self.latent.shape[1] - 1}, got {dimension}"
            )
        X = np.tile(self.centre(), (steps, 1))
        low, high = np.percentile(self.latent[:, dimension], [2, 98])
        X[:, dimension] = np.linspace(low, high, steps)
        return X

"""The protocol of linear models of one table: the same as of the Bayesian GP-LVM."""

from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from ..data import Scaling, check_training_columns
from ..errors import OptionError
from ..models.one_table import OneTable, row_names
from .estimator import LinearEstimator


class LinearTable(OneTable, LinearEstimator):
    """A linear-Gaussian model of one table."""

    n_components: int | None
    scaling: str

    def transform(self, X: Any, *, return_std: bool = False) -> Any:
        """Posterior means of the latent positions of new rows (and their std on request)."""
        q = self._infer([self._new(X)])
        return (q.mean, np.sqrt(q.variance)) if return_std else q.mean

    def score_samples(self, X: Any) -> Float[np.ndarray, " N"]:
        """Log density of every row's observed values."""
        return self._score_rows([self._new(X)])

    def score(self, X: Any, y: Any = None) -> float:
        """Mean of :meth:`score_samples`: higher is better."""
        return float(np.mean(self.score_samples(X)))

    def predict(
        self,
        X: Any,
        *,
        return_std: bool = False,
        return_cov: bool = False,
        n_samples: int | None = None,
        random_state: Any = None,
    ) -> Any:
        """Complete rows given partly observed ones: infer x*, then predict every column.

        Returns the mean; ``(mean, std)`` or ``(mean, covariance)`` on request; or, with
        ``n_samples``, draws of shape (n_samples, n_rows, n_features). Noise is included.
        """
        q = self._infer([self._new(X)])
        return self._like(X, self._outputs(0, q, return_std, return_cov, n_samples, random_state))

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
        """Data at given latent positions, with their uncertainty if ``latent_std`` is given."""
        q = self._positions(X, latent_std)
        return self._outputs(0, q, return_std, return_cov, n_samples, random_state)

    def impute(self, X: Any = None, *, return_std: bool = False) -> Any:
        """Fill the holes of the training data (``X=None``) or of new data.

        Observed values are returned as they are, with a std of zero.
        """
        check_is_fitted(self)
        scaled = self.core_.data[0] if X is None else self._new(X)
        mean, std = self._fill(0, scaled, self._infer([scaled]))
        return self._filled(X, scaled, mean, std, return_std)

    def sample(
        self, n_samples: int = 1, *, latent: str = "prior", random_state: Any = None
    ) -> Float[np.ndarray, "K D"]:
        """Draw new rows: x from the prior (or from the training points' posteriors), then y."""
        check_is_fitted(self)
        rng = self._rng(random_state)
        x = self._draw_positions(n_samples, latent, rng)
        return self._draw_at(0, x[None], rng)[0]

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit the model and return the latent means of the training rows."""
        return self.fit(X, y).latent_mean_

    # ------------------------------------------------------------------ edges

    def _new(self, X: Any) -> Float[np.ndarray, "N D"]:
        check_is_fitted(self)
        return self.scaling_.apply(self._check(X, reset=False))

    def _prepare(self, X: Any) -> Float[np.ndarray, "N D"]:
        """Check and scale the training table."""
        self._validate_params()
        Y = self._check(X, reset=True)
        self.samples_ = row_names(X, len(Y))
        check_training_columns(Y, "X", getattr(self, "feature_names_in_", None))
        self.scaling_ = Scaling.fit(Y, self.scaling)  # type: ignore[arg-type]
        return self.scaling_.apply(Y)

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
        return self.core_.model.views[0].variance * self.scaling_.scale**2

    @property
    def loadings_(self) -> Float[np.ndarray, "D Q"]:
        """Columns x dimensions, in the units of the data."""
        check_is_fitted(self)
        return self.core_.model.views[0].loadings * self.scaling_.scale[:, None]

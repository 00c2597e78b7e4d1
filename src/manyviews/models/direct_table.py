"""The protocol of models of one table that answer for new rows directly."""

from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from ..data import Scaling, check_training_columns
from .one_table import OneTable, row_names


class DirectTable(OneTable):
    """transform, predict, score and impute, the same as of the Bayesian GP-LVM."""

    n_components: int | None
    scaling: str

    if TYPE_CHECKING:  # what the estimator's side provides

        def _infer(self, scaled: Any) -> Any: ...
        def _score_rows(self, scaled: Any) -> Float[np.ndarray, " N"]: ...
        def _fill(self, view: int, rows: Any, q: Any) -> tuple[np.ndarray, np.ndarray]: ...
        def _outputs(self, view: int, q: Any, std: bool, cov: bool, n: Any, seed: Any) -> Any: ...
        def _positions(self, X: Any, latent_std: Any = None) -> Any: ...
        def _draw_positions(self, n_samples: int, latent: str, rng: Any) -> np.ndarray: ...
        def _draw_at(self, view: int, x: Any, rng: Any) -> np.ndarray: ...
        def fit(self, X: Any, y: Any = None) -> Any: ...

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

    def _prepare(self, X: Any, empty_rows: bool = False) -> Float[np.ndarray, "N D"]:
        """Check and scale the training table."""
        self._validate_params()
        Y = self._check(X, reset=True, empty_rows=empty_rows)
        self.samples_ = row_names(X, len(Y))
        check_training_columns(Y, "X", getattr(self, "feature_names_in_", None))
        self.scaling_ = Scaling.fit(Y, self.scaling)  # type: ignore[arg-type]
        return self.scaling_.apply(Y)

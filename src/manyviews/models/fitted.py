"""What every fitted model can do: be saved, draw random numbers, check latent positions."""

import os
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..errors import DataError
from ..expectations import Gaussian
from ..io import write

if TYPE_CHECKING:
    from .explain import Fitted

ACTIVE_THRESHOLD = 5e-3
"""A dimension counts as active when its relevance exceeds this share of the largest."""

MIN_SAMPLES = 3


class FittedModel(BaseEstimator):
    """An estimator with latent positions ``latent_mean_``."""

    latent_mean_: Float[np.ndarray, "N Q"]
    latent_std_: Float[np.ndarray, "N Q"]
    random_state: Any = None

    core_: Any  # its ``data`` are the training tables, scaled

    if TYPE_CHECKING:  # on the scale of the model; what the mapping's side provides

        def _fitted(self, place: int) -> Fitted: ...
        def _slopes(self, place: int) -> Float[np.ndarray, "D Q"]: ...

    def _latent(self) -> Gaussian:
        """q(x) of the training samples."""
        return Gaussian(jnp.asarray(self.latent_mean_), jnp.asarray(self.latent_std_**2))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one ``.safetensors`` file; see :func:`manyviews.load`."""
        check_is_fitted(self)
        write(path, self)

    def _rng(self, seed: Any) -> np.random.RandomState:
        return check_random_state(self.random_state if seed is None else seed)

    def _checked_positions(self, X: Any) -> Float[np.ndarray, "N Q"]:
        """Latent positions given by the user, checked."""
        check_is_fitted(self)
        positions = np.asarray(X, dtype=np.float64)
        n_components = self.latent_mean_.shape[1]
        if positions.ndim != 2 or positions.shape[1] != n_components:
            raise DataError(
                f"latent positions must have shape (n, {n_components}), got {positions.shape}"
            )
        return positions

"""Back-constraints: latent points as a smooth function of the data."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import cdist, pdist

from ..inference.initialise import ppca_fill
from ..io import register_record

RIDGE = 1e-2  # noise of the map, against a prior variance of one


@register_record
@dataclass(frozen=True)
class BackMap:
    """x(y) = φ(y) A with φ(y) = k(y, Y) (``"kernel"``) or k(y, Y) (K + λI)⁻¹ (``"gp"``).

    The latter is the mean of a GP through free targets A, one per training row. k is RBF, its
    length a share of the median distance between rows.
    """

    rows: np.ndarray
    lengthscale: float
    inverse: np.ndarray | None

    @classmethod
    def fit(cls, Y: Float[np.ndarray, "N D"], kind: str, n_components: int) -> "BackMap":
        """The map of a table, missing values at their PPCA expectation."""
        filled = ppca_fill(Y, min(n_components, *Y.shape))
        lengthscale = 0.5 * max(float(np.median(pdist(filled))), 1e-12)
        made = cls(filled, lengthscale, None)
        if kind == "kernel":
            return made
        K = made.features(filled) + RIDGE * np.eye(len(filled))
        return cls(filled, lengthscale, cho_solve(cho_factor(K), np.eye(len(filled))))

    def features(self, Y: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n N"]:
        """φ of complete rows."""
        k = np.exp(-0.5 * cdist(Y, self.rows, "sqeuclidean") / self.lengthscale**2)
        return k if self.inverse is None else k @ self.inverse

    def weights_for(self, X: Float[np.ndarray, "N Q"]) -> Float[np.ndarray, "N Q"]:
        """A whose map of the training rows is near X."""
        if self.inverse is not None:
            return X
        K = self.features(self.rows) + RIDGE * np.eye(len(self.rows))
        return cho_solve(cho_factor(K), X)

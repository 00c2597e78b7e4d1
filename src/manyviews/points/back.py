"""Back-constraints: latent points as a smooth function of the data."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import cdist, pdist

from ..errors import DataError, OptionError
from ..inference.initialise import ppca_fill
from ..io import register_record

KINDS = ("gp", "kernel")
RIDGE = 1e-2  # noise of the map, against a prior variance of one


@register_record
@dataclass(frozen=True)
class BackMap:
    """x(y) = φ(y) A with φ(y) = k(y, Y) (``"kernel"``) or k(y, Y) (K + λI)⁻¹ (``"gp"``).

    The latter is the mean of a GP through free targets A, one per training row. k is RBF, its
    length a share of the median distance between rows. A row y is that of one view, or of several
    side by side, each of the same total variance.

    Attributes
    ----------
    views : tuple of int
        The views that y consists of, by place.
    scales : tuple of float
        What each of them is divided by.
    rows : ndarray of shape (n_samples, n_columns)
        y of the training rows, missing values at their PPCA expectation.
    """

    views: tuple[int, ...]
    scales: tuple[float, ...]
    rows: np.ndarray
    lengthscale: float
    inverse: np.ndarray | None

    @classmethod
    def fit(
        cls,
        tables: Sequence[Float[np.ndarray, "N _"]],
        views: Sequence[int],
        kind: str,
        n_components: int,
    ) -> "BackMap":
        """The map from some of the views."""
        scales: tuple[float, ...] = (1.0,)
        if len(views) > 1:
            scales = tuple(
                float(np.sqrt(np.nansum(tables[v] ** 2) / len(tables[v]))) for v in views
            )
        joined = _side_by_side(tables, views, scales)
        filled = ppca_fill(joined, min(n_components, *joined.shape))
        lengthscale = 0.5 * max(float(np.median(pdist(filled))), 1e-12)
        made = cls(tuple(views), scales, filled, lengthscale, None)
        if kind == "kernel":
            return made
        K = made.features(filled) + RIDGE * np.eye(len(filled))
        inverse = cho_solve(cho_factor(K), np.eye(len(filled)))
        return cls(tuple(views), scales, filled, lengthscale, inverse)

    def joined(self, tables: Sequence[Float[np.ndarray, "n _"]]) -> Float[np.ndarray, "n D"]:
        """The rows y (NaN = missing)."""
        return _side_by_side(tables, self.views, self.scales)

    def features(self, y: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n N"]:
        """φ of complete rows."""
        k = np.exp(-0.5 * cdist(y, self.rows, "sqeuclidean") / self.lengthscale**2)
        return k if self.inverse is None else k @ self.inverse

    def weights_for(self, X: Float[np.ndarray, "N Q"]) -> Float[np.ndarray, "N Q"]:
        """A whose map of the training rows is near X."""
        if self.inverse is not None:
            return X
        K = self.features(self.rows) + RIDGE * np.eye(len(self.rows))
        return cho_solve(cho_factor(K), X)


def back_map(
    kinds: Sequence[str | None],
    tables: Sequence[Float[np.ndarray, "N _"]],
    names: Sequence[str],
    n_components: int,
) -> BackMap | None:
    """The map that back-constraints by view ask for; None if there are none."""
    views = [place for place, kind in enumerate(kinds) if kind is not None]
    asked = {kinds[place] for place in views}
    if not views:
        return None
    if not asked <= set(KINDS):
        raise OptionError(f"back_constraint of a view must be one of {KINDS}, got {asked}")
    if len(asked) > 1:
        raise OptionError(
            "points are one function of all views that back_constraint names: give them one kind, "
            "'gp' or 'kernel'"
        )
    lacking = np.all([np.isnan(tables[place]).all(axis=1) for place in views], axis=0)
    if lacking.any():
        own = [names[place] for place in views]
        raise DataError(
            f"{int(lacking.sum())} samples lack {own}, of which back_constraint makes the points a "
            "function: leave them out, or name a view that all samples have"
        )
    return BackMap.fit(tables, views, str(asked.pop()), n_components)


def _side_by_side(
    tables: Sequence[Float[np.ndarray, "n _"]], views: Sequence[int], scales: Sequence[float]
) -> Float[np.ndarray, "n D"]:
    parts = [tables[place] / scale for place, scale in zip(views, scales, strict=True)]
    return np.concatenate(parts, axis=1)

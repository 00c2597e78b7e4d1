"""Where the latent points start: principal components, Isomap, what views share, or given."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.manifold import Isomap

from ..errors import OptionError
from ..inference.initialise import compact_view, joint_means, ppca_fill
from ..linear.closed_form import canonical_directions, ridge_of

NEIGHBOURS = 10
LEAST_RIDGE = 1e-8  # of a view's mean variance
FEW_SAMPLES = 3  # per column, below which covariances are regularised


def starting_points(
    data: Sequence[Float[np.ndarray, "N _"]],
    n_components: int,
    init: Any,
    rng: np.random.Generator,
) -> Float[np.ndarray, "N Q"]:
    """Points of unit variance by column, unless given.

    ``"pca"`` of all views side by side, each of the same total variance; ``"isomap"`` of the
    same; ``"canonical"`` for what views have most in common; ``"random"``; or an array.
    """
    if isinstance(init, str) and init == "canonical":
        return canonical_points(data, n_components)
    if isinstance(init, str) and init == "isomap":
        return isomap(data, n_components)
    if isinstance(init, str) and init == "pca":
        init = "concatenated"
    return joint_means(data, n_components, init, rng)


def isomap(data: Sequence[Float[np.ndarray, "N _"]], n_components: int) -> Float[np.ndarray, "N Q"]:
    """Isomap of all views side by side (missing values at their PPCA expectation)."""
    filled = [ppca_fill(Y, min(n_components, *Y.shape)) for Y in map(compact_view, data)]
    joint = np.concatenate([Y / np.sqrt(np.sum(Y**2)) for Y in filled], axis=1)
    scores = Isomap(n_neighbors=min(NEIGHBOURS, len(joint) - 1), n_components=n_components)
    X = scores.fit_transform(joint)
    return X / np.maximum(X.std(axis=0), 1e-12)


def canonical_points(
    data: Sequence[Float[np.ndarray, "N _"]], n_components: int
) -> Float[np.ndarray, "N Q"]:
    """Mean of the views' canonical variates: CCA, or for more views its MAXVAR kin."""
    filled = [ppca_fill(Y, min(n_components, *Y.shape)) for Y in data]
    limit = min(Y.shape[1] for Y in filled) if len(filled) == 2 else sum(Y.shape[1] for Y in filled)
    if n_components > limit:
        raise OptionError(
            f"n_components={n_components} is more than canonical correlations can give ({limit}): "
            "use fewer, or init='pca'"
        )
    ridges = [sparing_ridge(Y) for Y in filled]
    found = canonical_directions(filled, n_components, ridges, [str(k) for k in range(len(data))])
    X = sum((Y - Y.mean(axis=0)) @ U for Y, U in zip(filled, found.directions, strict=True))
    return X / np.maximum(np.std(X, axis=0), 1e-12)


def sparing_ridge(Y: Float[np.ndarray, "N D"]) -> float:
    """Ledoit and Wolf's ridge where samples are few, next to nothing elsewhere.

    Even a small ridge hides a direction of little variance, which may well be the shared one.
    """
    N, D = Y.shape
    return ridge_of(Y, "auto") if N < FEW_SAMPLES * D else ridge_of(Y, LEAST_RIDGE)

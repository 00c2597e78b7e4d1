"""Where the latent points start: principal components, Isomap, what views share, or given."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.manifold import Isomap

from ..inference.initialise import compact_view, joint_means, ppca_fill

NEIGHBOURS = 10


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
    if isinstance(init, str) and init == "isomap":
        return isomap(data, n_components)
    if isinstance(init, str) and init == "pca":
        init = "concatenated"
    return joint_means(data, n_components, init, rng)


def isomap(
    data: Sequence[Float[np.ndarray, "N _"]], n_components: int
) -> Float[np.ndarray, "N Q"]:
    """Isomap of all views side by side (missing values at their PPCA expectation)."""
    filled = [ppca_fill(Y, min(n_components, *Y.shape)) for Y in map(compact_view, data)]
    joint = np.concatenate([Y / np.sqrt(np.sum(Y**2)) for Y in filled], axis=1)
    scores = Isomap(n_neighbors=min(NEIGHBOURS, len(joint) - 1), n_components=n_components)
    X = scores.fit_transform(joint)
    return X / np.maximum(X.std(axis=0), 1e-12)

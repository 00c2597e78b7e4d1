"""Where iterations over factors start."""

import numpy as np
from jaxtyping import Float
from sklearn.utils.extmath import randomized_svd

from ..fitted import Tables


def starting_positions(
    tables: Tables, n_components: int, restart: int, rng: np.random.Generator
) -> Float[np.ndarray, "N Q"]:
    """Principal components of all views side by side, each of unit weight; later ones random.

    Missing values are taken at their column's mean.
    """
    n_samples = len(tables[0])
    random = rng.standard_normal((n_samples, n_components))
    if restart:
        return random
    parts = []
    for Y in tables:
        centred = np.where(np.isnan(Y), 0.0, Y - np.nanmean(Y, axis=0))
        parts.append(centred / max(float(np.linalg.norm(centred)), 1e-12))
    joint = np.hstack(parts)
    kept = min(n_components, n_samples - 1, joint.shape[1])
    seed = int(rng.integers(2**31 - 1))
    U = randomized_svd(joint, kept, random_state=seed)[0]
    start = 0.1 * random
    start[:, :kept] = U * np.sqrt(n_samples)
    return start

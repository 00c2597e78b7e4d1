"""Which rows columns have: the distinct patterns of a mask."""

import numpy as np
from jaxtyping import Bool, Int


def unique_patterns(
    observed: Bool[np.ndarray, "K N"],
) -> tuple[Bool[np.ndarray, "G N"], Int[np.ndarray, " K"]]:
    """Distinct rows of a boolean matrix, and the place of each row among them."""
    packed = np.packbits(observed, axis=1)
    _, first, place = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    return observed[first], place.ravel()

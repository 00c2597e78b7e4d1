"""Which latent dimensions belong to whom [MRD21, §4.4]."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

ACTIVE_THRESHOLD = 5e-3
"""A view uses a dimension when its relevance exceeds this share of the view's largest."""


@dataclass(frozen=True)
class Segmentation:
    """The latent dimensions divided between two sets of views A and B.

    Attributes
    ----------
    shared : list of int
        Dimensions that A and B both use.
    private_a, private_b : list of int
        Dimensions that only A, or only B, uses.
    off : list of int
        Dimensions that neither uses.
    """

    shared: list[int]
    private_a: list[int]
    private_b: list[int]
    off: list[int]


def segment(
    relevance: Float[np.ndarray, "K Q"], a: list[int], b: list[int], threshold: float
) -> Segmentation:
    """A set of views uses a dimension if any of its views does, above the threshold."""
    in_a = np.any(relevance[a] > threshold, axis=0)
    in_b = np.any(relevance[b] > threshold, axis=0)
    return Segmentation(
        shared=_where(in_a & in_b),
        private_a=_where(in_a & ~in_b),
        private_b=_where(in_b & ~in_a),
        off=_where(~in_a & ~in_b),
    )


def _where(mask: Any) -> list[int]:
    return np.flatnonzero(mask).tolist()

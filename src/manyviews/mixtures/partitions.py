"""One clustering to stand for many: the least-squares partition (Dahl 2006)."""

import numpy as np
from jaxtyping import Float, Int

LARGEST_SIMILARITY = 5_000  # samples; beyond, pairs are compared on a subset of them


def similarity(assignments: Int[np.ndarray, "S N"]) -> Float[np.ndarray, "N N"]:
    """How often two samples share a component, over the kept states."""
    total = np.zeros((assignments.shape[1], assignments.shape[1]))
    for labels in assignments:
        total += labels[:, None] == labels[None, :]
    return total / len(assignments)


def representative(assignments: Int[np.ndarray, "S N"]) -> int:
    """The state whose partition is nearest to the similarities, in squared differences."""
    stride = max(1, -(-assignments.shape[1] // LARGEST_SIMILARITY))
    few = assignments[:, ::stride]
    target = similarity(few)
    distances = [np.sum(((x[:, None] == x[None, :]) - target) ** 2) for x in few]
    return int(np.argmin(distances))

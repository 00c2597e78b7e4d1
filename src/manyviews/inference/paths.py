"""Paths through training rows that new sequences may start from."""

import numpy as np
from jaxtyping import Float, Int

from ..latent import Sequences
from .neighbours import row_distances


def smoothest_path(
    means: Float[np.ndarray, "T Q"],
    choices: Int[np.ndarray, "N S"],
    new: tuple[np.ndarray, ...],
    train: tuple[np.ndarray, ...],
    inputs: Float[np.ndarray, "N P"],
    code: Int[np.ndarray, " N"],
) -> Int[np.ndarray, " N"]:
    """One of its nearest training rows for every new row, such that the path is smooth.

    By dynamic programming: squared distances in the data (in units of the median nearest
    distance) plus squared steps between latent means (in units of their median).
    """
    path = choices[:, 0].copy()
    for place in np.unique(code):
        own = np.flatnonzero(code == place)
        own = own[np.argsort(inputs[own, 0], kind="stable")]
        if len(own) < 2:
            continue
        apart = row_distances(tuple(Y[own] for Y in new), train)
        emission = np.take_along_axis(apart, choices[own], axis=1)
        emission = np.where(np.isfinite(emission), emission, 0.0)  # rows of which nothing is known
        emission = emission / max(float(np.median(emission[:, 0])), 1e-12)
        x = means[choices[own]]  # rows x choices x Q
        steps = np.sum((x[1:, None, :] - x[:-1, :, None]) ** 2, axis=3)  # rows x before x after
        steps = steps / max(float(np.median(steps)), 1e-12)
        cost, came = emission[0], []
        for row in range(1, len(own)):
            through = cost[:, None] + steps[row - 1]
            came.append(np.argmin(through, axis=0))
            cost = through.min(axis=0) + emission[row]
        best = int(np.argmin(cost))
        for row in range(len(own) - 1, -1, -1):
            path[own[row]] = choices[own[row], best]
            best = int(came[row - 1][best]) if row else best
    return path


def nearest_segment(
    sequences: Sequences,
    new: tuple[np.ndarray, ...],
    train: tuple[np.ndarray, ...],
    inputs: Float[np.ndarray, "N P"],
    code: Int[np.ndarray, " N"],
) -> Int[np.ndarray, " N"] | None:
    """For every new sequence the stretch of a training sequence that fits it best as a whole.

    None if no training sequence is as long as a new one.
    """
    order, first = np.asarray(sequences.order), np.asarray(sequences.first)
    trained = np.split(order, np.flatnonzero(first)[1:])
    found = np.zeros(len(code), dtype=np.int64)
    for place in np.unique(code):
        own = np.flatnonzero(code == place)
        own = own[np.argsort(inputs[own, 0], kind="stable")]
        apart = row_distances(tuple(Y[own] for Y in new), train)
        apart = np.where(np.isfinite(apart), apart, 0.0)
        best, segment = np.inf, None
        for rows in trained:
            n_offsets = len(rows) - len(own) + 1
            if n_offsets < 1:
                continue
            here = apart[:, rows]
            total = np.zeros(n_offsets)
            for i in range(len(own)):
                total += here[i, i : i + n_offsets]
            begin = int(np.argmin(total))
            if total[begin] < best:
                best, segment = total[begin], rows[begin : begin + len(own)]
        if segment is None:
            return None
        found[own] = segment
    return found

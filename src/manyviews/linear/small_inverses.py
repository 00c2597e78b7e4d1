"""Inverses of very many small positive definite matrices."""

import numpy as np
from jaxtyping import Float

CHUNK = 512  # matrices that fit into cache together


def small_inverses(
    A: Float[np.ndarray, "D M M"],
) -> tuple[Float[np.ndarray, "D M M"], Float[np.ndarray, " D"]]:
    """All inverses and log determinants, by elimination of all matrices at once.

    LAPACK, called one small matrix at a time, spends its time on being called.
    """
    D, M, _ = A.shape
    inverses, volumes = np.empty_like(A), np.zeros(D)
    for begin in range(0, D, CHUNK):
        here = slice(begin, begin + CHUNK)
        B = A[here].transpose(1, 2, 0).copy()
        for k in range(M):
            pivot = B[k, k].copy()
            volumes[here] += np.log(pivot)
            row, column = B[k] / pivot, B[:, k].copy()
            B -= column[:, None] * row[None]
            B[k], B[:, k] = row, -column / pivot
            B[k, k] = 1.0 / pivot
        inverses[here] = B.transpose(2, 0, 1)
    return inverses, volumes

"""Where bounded points start: canonical variates turned into parts.

Polynomial kernels see points by their inner products and so do not know a rotation from the
other; the bounds do. Variates as CCA gives them are sums and differences of what lies between
zero and one, and an optimum next to them stays so.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from ..errors import OptionError
from ..inference.initialise import ppca_fill
from .divided import Division
from .starts import sparing_ridge

MARGIN = 0.02  # points start at least so far from their bounds
ROTATIONS = 1000
LEAST_TURN = 1e-8


def parts_start(
    data: Sequence[Float[np.ndarray, "N _"]], division: Division, names: Sequence[str]
) -> Float[np.ndarray, "N Q"]:
    """Points between zero and one: what the views' columns span together, then what each has left.

    With P_k = Y_kY_kᵀ(Y_kY_kᵀ + NκI)⁻¹ the (ridged) projection on the columns of a view, the
    eigenvectors u of Σ_k P_k are the canonical variates of views that are not centred, and their
    eigenvalues λ say how much of u is shared, ρ = (λ - 1) / (K - 1). Private dimensions are the
    principal ones of Y_k - U diag(ρ) UᵀY_k: as in PCCA, what is not shared stays private.
    """
    filled = [ppca_fill(Y, min(division.n_shared, *Y.shape)) for Y in data]
    N, K = len(filled[0]), len(filled)
    if division.n_shared > N:
        raise OptionError(f"{division.n_shared} shared dimensions are more than the {N} samples")
    for name, Y, wanted in zip(names, filled, division.n_private, strict=True):
        if wanted > min(Y.shape):
            raise OptionError(
                f"{wanted} private dimensions are more than view {name!r} of {Y.shape[1]} "
                f"columns and {N} samples can start with"
            )
    spans = sum([_projection(Y, sparing_ridge(Y)) for Y in filled], np.zeros((N, N)))
    values, vectors = np.linalg.eigh(spans)
    U = vectors[:, ::-1][:, : division.n_shared]
    rho = np.clip((values[::-1][: division.n_shared] - 1.0) / (K - 1), 0.0, 1.0)
    blocks = [as_parts(U * np.sqrt(rho))]
    for Y, wanted in zip(filled, division.n_private, strict=True):
        left, sizes, _ = np.linalg.svd(Y - (U * rho) @ (U.T @ Y), full_matrices=False)
        blocks.append(as_parts(left[:, :wanted] * sizes[:wanted]))
    return np.concatenate(blocks, axis=1)


def as_parts(X: Float[np.ndarray, "N Q"]) -> Float[np.ndarray, "N Q"]:
    """Columns turned by varimax, signed towards their long tail, between zero and one."""
    turned = X @ varimax(X)
    turned = turned * np.where(np.sum(turned**3, axis=0) < 0, -1.0, 1.0)
    return np.clip(turned / max(float(turned.max()), 1e-300), MARGIN, 1.0 - MARGIN)


def varimax(X: Float[np.ndarray, "N Q"]) -> Float[np.ndarray, "Q Q"]:
    """The rotation R that maximises the variance of the squared entries of XR (Kaiser 1958)."""
    R, gain = np.eye(X.shape[1]), 0.0
    for _ in range(ROTATIONS):
        turned = X @ R
        slope = X.T @ (turned**3 - turned * np.mean(turned**2, axis=0))
        left, sizes, right = np.linalg.svd(slope)
        R, before, gain = left @ right, gain, float(sizes.sum())
        if gain <= before * (1.0 + LEAST_TURN):
            break
    return R


def _projection(Y: Float[np.ndarray, "N D"], ridge: float) -> Float[np.ndarray, "N N"]:
    N = len(Y)
    S = Y @ Y.T
    return np.linalg.solve(S + max(N * ridge, 1e-12 * np.trace(S)) * np.eye(N), S)

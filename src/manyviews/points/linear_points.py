"""The closed form of linear kernels (001 §3.4.1)."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float


def linear_points(
    tables: Sequence[Float[np.ndarray, "N _"]],
    psis: Sequence[Float[np.ndarray, "_ _"]],
    n_components: int,
    *,
    prior: bool,
) -> Float[np.ndarray, "N Q"]:
    """The best points for K = XXᵀ + I in every view, given the covariances Ψ of its columns.

    With λ the eigenvalues of Σ_k Y_kΨ_k⁻¹Y_kᵀ and D all columns together, X = U diag(l):
    l² + 1 = λ/D by maximum likelihood (E7 of the thesis), and with the prior N(0, I) on the
    points l² + 1 = ½(√(D² + 4λ) - D).
    """
    pairs = zip(tables, psis, strict=True)
    S = sum(Y @ np.linalg.solve(psi, Y.T) for Y, psi in pairs)
    D = sum(Y.shape[1] for Y in tables)
    values, vectors = np.linalg.eigh(S)
    values, U = values[::-1][:n_components], vectors[:, ::-1][:, :n_components]
    stretch = 0.5 * (np.sqrt(D**2 + 4.0 * np.maximum(values, 0.0)) - D) if prior else values / D
    return U * np.sqrt(np.maximum(stretch - 1.0, 0.0))

"""How much of a view's evidence is independent.

The likelihood multiplies over columns and rows as if their noise were independent. Where
the residuals of a fit are correlated, it counts the same evidence several times, and positions
inferred from it look too certain.
"""

import numpy as np
from jaxtyping import Float

from ..latent import Sequences

LONGEST_LAG = 50
NEGLIGIBLE = 0.05  # autocorrelation below which longer lags are left out


def independent_share(
    residuals: Float[np.ndarray, "N D"], sequences: Sequences | None = None
) -> float:
    """Independent values per value: (D_eff / D) / τ, at most one.

    D_eff = D² / Σ_de ρ_de² is the effective number of columns, ρ the correlation of their
    residuals (less what chance contributes to it); τ = 1 + 2 Σ_l r_l the autocorrelation time
    along sequences, if there are any. NaN is missing.
    """
    spread = np.sqrt(np.nanmean(residuals**2, axis=0))
    moving = spread > 1e-6 * spread.max()
    R = np.nan_to_num(residuals[:, moving] / spread[moving])
    N, D = R.shape
    product = R.T @ R if D <= N else R @ R.T
    squares = float(np.sum(product**2)) / N**2
    by_chance = D * (D - 1) / N
    share = min(1.0, D / max(squares - by_chance, 1.0))
    if sequences is None:
        return share
    order, code = np.asarray(sequences.order), np.asarray(sequences.code)
    R, code = R[order], code[order]
    power, time = float(np.mean(R**2)), 1.0
    for lag in range(1, min(LONGEST_LAG, N - 1)):
        together = code[:-lag] == code[lag:]
        if not together.any():
            break
        correlation = float(np.mean((R[:-lag] * R[lag:])[together])) / power
        if correlation < NEGLIGIBLE:
            break
        time += 2.0 * correlation
    return share / time

"""A longer step for relevances: loadings and their precision together (after Tipping & Faul 2003)."""

import numpy as np
from jaxtyping import Float
from numpy import ndarray

LADDER = np.concatenate([-np.geomspace(4.0, 0.05, 8), [0.0], np.geomspace(0.05, 12.0, 16)])
"""Changes of log α that are tried."""


def longer_step(
    mean: Float[ndarray, " D"],
    variance: Float[ndarray, " D"],
    alpha: float,
    prior: tuple[float, float],
) -> float:
    """The change δ of α_q that raises the bound most, if q(w_q) and then q(α_q) follow.

    In turn, the updates of q(W) and q(α) shrink the loadings of a factor that a view does not
    need ever more slowly, as α grows with the root of the number of iterations, and thousands
    of tiny loadings still tell much about x. Given q(x) and q(τ), adding δ to α_q changes the
    optimum over q(W) by

        ΔL = ½ Σ_d [log((α + δ)/α) - log(1 + δ σ_d) - δ m_d² / (1 + δ σ_d)],

    σ_d and m_d being variance and mean of w_dq, which become σ_d / (1 + δ σ_d) and
    m_d / (1 + δ σ_d). With S = Σ_d ⟨w_dq²⟩ afterwards and the best q(α), the bound gains

        ΔL - ½ D log(α + δ) + ½ (α + δ) S - (a + ½ D) log(b + ½ S).
    """
    D = len(mean)
    steps = alpha * np.expm1(LADDER)
    grown = 1.0 + steps[:, None] * variance  # never below exp(-4): σ_d ≤ 1/α
    square = mean**2
    S = np.sum(square / grown**2 + variance / grown, axis=1)
    gain = -0.5 * np.sum(np.log(grown) + steps[:, None] * square / grown, axis=1)
    a, b = prior
    gain += 0.5 * (alpha + steps) * S - (a + 0.5 * D) * np.log(b + 0.5 * S)  # log(α + δ) cancels
    return float(steps[np.argmax(gain)])

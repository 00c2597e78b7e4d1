"""The rotation of factors that a group factor model likes best (Virtanen et al. 2012)."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize


def best_rotation(
    spread: Float[np.ndarray, "Q Q"],
    powers: Sequence[Float[np.ndarray, "Q Q"]],
    sizes: Sequence[int],
    n_samples: int,
    prior: tuple[float, float],
) -> Float[np.ndarray, "Q Q"]:
    """R of W' = W R, x' = R⁻¹ x, which leaves the fit as it is and raises the bound.

    The bound depends on R through the priors alone,

        -½ tr R⁻¹CR⁻ᵀ + (D - N) log|R| - Σ_k (a + D_k/2) Σ_q log(b + ½ r_qᵀ G_k r_q),

    C = Σ_n ⟨x xᵀ⟩, G_k = ⟨W_kᵀW_k⟩, with the precisions α at their optimum for R.
    """
    Q = len(spread)
    a, b = prior
    free = sum(sizes) - n_samples

    def negative(flat: np.ndarray) -> tuple[float, np.ndarray]:
        R = flat.reshape(Q, Q)
        sign, volume = np.linalg.slogdet(R)
        if sign <= 0:
            return np.inf, np.zeros_like(flat)
        inverse = np.linalg.inv(R)
        inner = inverse @ spread @ inverse.T
        value = -0.5 * np.trace(inner) + free * volume
        gradient = inverse.T @ (inner + free * np.eye(Q))
        for G, D in zip(powers, sizes, strict=True):
            moved = G @ R
            power = b + 0.5 * np.sum(R * moved, axis=0)
            value -= (a + 0.5 * D) * np.sum(np.log(power))
            gradient -= (a + 0.5 * D) * moved / power
        return -value, -gradient.ravel()

    found = minimize(
        negative, np.eye(Q).ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 50}
    )
    R = found.x.reshape(Q, Q)
    return R if np.isfinite(found.fun) and np.linalg.cond(R) < 1e8 else np.eye(Q)

"""Inputs that were observed: exactly, with noise, or not at all [BGPLVM16, §6]."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float

from ..data.patterns import by_pattern
from ..expectations import Gaussian
from ..parameters import Parameter, parameter, positive
from .base import Inferred, LatentSpace

PINNED = 1e-12
"""Variance of a known coordinate; not zero, where a square root has no derivative."""


class UncertainInputs(LatentSpace):
    """p(X | Z) and q(X) = Π_nq N(μ_nq, S_nq), where Z is what was seen of the inputs.

    - known coordinates are pinned: μ = z, S = ε, no KL [BGPLVM16, Algorithm 1];
    - noisy ones have p(x_nq) = N(z_nq, Σ_nq), Σ given or learnt [BGPLVM16, §6.1];
    - missing ones follow a Gaussian given the row's observed ones, p(x_m | z_o) = N(m_n, Λ_mm⁻¹),
      where Λ is the precision matrix of all inputs: Λ = I is the paper's choice. Its block Λ_mm
      is the conditional precision, so that the KL of all rows is one product with Λ.

    Parameters
    ----------
    centre
        Observed values, and the conditional means m where a value is missing.
    noisy, missing
        Which coordinates are; the others are pinned.
    noise
        Σ, of any shape that broadcasts to rows x columns. Learnt unless fixed.
    precision
        Λ.
    """

    centre: Float[Array, "N Q"]
    noisy: Bool[Array, "N Q"]
    missing: Bool[Array, "N Q"]
    precision: Float[Array, "Q Q"]
    log_determinants: Float[Array, ""]
    mean: Parameter
    variance: Parameter
    noise: Parameter

    def __init__(
        self,
        centre: Float[np.ndarray, "N Q"],
        noisy: Bool[np.ndarray, "N Q"],
        missing: Bool[np.ndarray, "N Q"],
        noise: ArrayLike = 1.0,
        precision: Float[np.ndarray, "Q Q"] | None = None,
    ):
        Q = centre.shape[1]
        precision = np.eye(Q) if precision is None else precision
        self.centre = jnp.asarray(centre)
        self.noisy = jnp.asarray(noisy)
        self.missing = jnp.asarray(missing)
        self.precision = jnp.asarray(precision)
        total = sum(
            len(rows) * np.linalg.slogdet(precision[np.ix_(lost, lost)])[1]
            for lost, rows in by_pattern(missing)
        )
        self.log_determinants = jnp.asarray(float(total))
        self.mean = parameter(centre)
        self.noise = positive(noise)
        # the optimal variances if the outputs said nothing
        start = np.where(missing, 1.0 / np.diag(precision), np.asarray(self.noise.value))
        self.variance = positive(np.broadcast_to(start, centre.shape))

    def infer(self) -> Inferred:
        known = ~(self.noisy | self.missing)
        q = Gaussian(
            jnp.where(known, self.centre, self.mean.value),
            jnp.where(known, PINNED, self.variance.value),
        )
        return Inferred(q, self._noisy_kl(q) + self._missing_kl(q))

    def _noisy_kl(self, q: Gaussian) -> Float[Array, ""]:
        """½ Σ [S/Σ + (μ-z)²/Σ - 1 - log(S/Σ)]."""
        ratio = q.variance / self.noise.value
        misfit = (q.mean - self.centre) ** 2 / self.noise.value
        return 0.5 * jnp.sum(jnp.where(self.noisy, ratio + misfit - 1.0 - jnp.log(ratio), 0.0))

    def _missing_kl(self, q: Gaussian) -> Float[Array, ""]:
        """½ Σ_n [tr(Λ_mm S) + (μ-m)ᵀΛ_mm(μ-m) - 1ᵀ1 - log|Λ_mm| - log|S|]."""
        delta = jnp.where(self.missing, q.mean - self.centre, 0.0)
        spread = q.variance * jnp.diagonal(self.precision) - 1.0 - jnp.log(q.variance)
        quadratic = jnp.sum((delta @ self.precision) * delta)
        total = jnp.sum(jnp.where(self.missing, spread, 0.0))
        return 0.5 * (total + quadratic - self.log_determinants)

    def prior(self, n_points: int) -> Gaussian:
        """The Gaussian of the inputs, whose mean is zero in the model's scale."""
        variance = jnp.diagonal(jnp.linalg.inv(self.precision))
        shape = (n_points, variance.size)
        return Gaussian(jnp.zeros(shape), jnp.broadcast_to(variance, shape))


class CentredInputs(UncertainInputs):
    """Noisy inputs whose q stays centred on what was seen, q(x_nq) = N(z_nq, S_nq), S free.

    The prior is p(X) = N(0, I) in the place of a model of the noise [BGPLVM16, §6.1], so that
    KL = ½ Σ (S + z² - 1 - log S). Known and missing coordinates are as in `UncertainInputs`.
    """

    def infer(self) -> Inferred:
        q, _ = super().infer()
        q = Gaussian(jnp.where(self.missing, q.mean, self.centre), q.variance)
        spread = q.variance + self.centre**2 - 1.0 - jnp.log(q.variance)
        noisy = 0.5 * jnp.sum(jnp.where(self.noisy, spread, 0.0))
        return Inferred(q, noisy + self._missing_kl(q))

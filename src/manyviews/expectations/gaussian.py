"""The distribution that every expectation is taken under."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int


class Gaussian(eqx.Module):
    """Independent Gaussians q(x_n) = N(μ_n, diag S_n), one per row (or per leading index)."""

    mean: Float[Array, "*N Q"]
    variance: Float[Array, "*N Q"]

    def __getitem__(self, rows: object) -> "Gaussian":
        return Gaussian(self.mean[rows], self.variance[rows])

    def rows(self, index: Int[np.ndarray, "*K"]) -> "Gaussian":
        """Some rows, picked on the host, where that needs no program."""
        picked = np.asarray(self.mean)[index], np.asarray(self.variance)[index]
        return Gaussian(*jax.device_put(picked))

    def kl(self, prior: "Gaussian") -> Float[Array, "*N"]:
        """KL(q(x_n) ‖ p(x_n)) row by row: ½ Σ_q [S/V + (μ-m)²/V - 1 - log(S/V)]."""
        ratio = self.variance / prior.variance
        misfit = (self.mean - prior.mean) ** 2 / prior.variance
        return 0.5 * jnp.sum(ratio + misfit - 1.0 - jnp.log(ratio), axis=-1)

"""Prediction at latent points from a GP conditioned on latent points."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..expectations import Gaussian, psi1
from ..kernels import Kernel


class PointPosterior(eqx.Module):
    """y* = N(B k(Z, x*), s(x*) Ψ),  s(x*) = k(x*, x*) - kᵀRk + noise  [Leen08, §3.4.2, E9].

    Z are the training points with R = (K + noise)⁻¹ for an exact GP, or inducing inputs with
    R = K⁻¹ - (K + βΨ2)⁻¹. R comes once per group of columns with the same missing pattern;
    Ψ is the identity unless the columns of the view are correlated.
    """

    kernel: Kernel
    Z: Float[Array, "M Q"]
    noise: Float[Array, ""]
    weights: Float[Array, "M D"]
    reduction: Float[Array, "G M M"]
    group_of_column: Int[Array, " D"]
    columns: Float[Array, "D D"] | None
    """Ψ, or None for the identity."""

    def mean(self, q: Gaussian) -> Float[Array, "N D"]:
        """⟨f(x*)⟩ at Gaussian inputs, which is k(x*, Z) B at points."""
        return psi1(self.kernel, self.Z, q) @ self.weights

    def at(self, x: Float[Array, "N Q"]) -> tuple[Float[Array, "N D"], Float[Array, "N G"]]:
        """Means, and the variance s(x*) of every group of columns, noise included."""
        k = self.kernel.cross(x, self.Z)
        removed = jax.vmap(lambda R: jnp.sum((k @ R) * k, axis=1), out_axes=1)(self.reduction)
        left = self.kernel.diagonal(x)[:, None] - removed
        return k @ self.weights, jnp.maximum(left, 0.0) + self.noise

    def column_variances(self) -> Float[Array, " D"]:
        """The diagonal of Ψ."""
        if self.columns is None:
            return jnp.ones(self.weights.shape[1])
        return jnp.diagonal(self.columns)

    def variance(self, x: Float[Array, "N Q"]) -> Float[Array, "N D"]:
        """Variance of every value at points, noise included."""
        return self.at(x)[1][:, self.group_of_column] * self.column_variances()

"""Prediction from the posterior of the inducing variables [BGPLVM16, eq. 39-41]."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve, solve_triangular
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..expectations import Gaussian, psi0, psi1, psi2
from ..kernels import Kernel

ROWS_AT_ONCE = 64


class GPPosterior(eqx.Module):
    """q(u_d) = N(K b_d, K(K+βΨ2)⁻¹K) for every output d, kept as factors.

    ``inner`` holds chol(I + βA) once per group of outputs with the same missing pattern.
    ``exact`` tells whether the means are optimal for these covariances (they are not where
    scattered missing entries share one covariance).
    """

    kernel: Kernel
    Z: Float[Array, "M Q"]
    noise: Float[Array, ""]
    L: Float[Array, "M M"]
    inner: Float[Array, "G M M"]
    weights: Float[Array, "M D"]
    group_of_column: Int[Array, " D"]
    exact: bool = eqx.field(static=True)

    def reduction(self) -> Float[Array, "G M M"]:
        """K⁻¹ - (K+βΨ2)⁻¹: how much of the prior variance the data has removed."""
        identity = jnp.eye(self.L.shape[0])
        inverse = solve_triangular(self.L, identity, lower=True)
        left = jax.lax.map(lambda c: identity - cho_solve((c, True), identity), self.inner)
        return inverse.T @ left @ inverse

    def mean(self, q: Gaussian) -> Float[Array, "N D"]:
        """⟨f(x*)⟩ = Ψ1* B  [BGPLVM16, eq. 40]."""
        return psi1(self.kernel, self.Z, q) @ self.weights

    def variance(self, q: Gaussian) -> Float[Array, "N D"]:
        """Diagonal of [BGPLVM16, eq. 41]: variance of f(x*) for every output."""
        reduction, B = self.reduction(), self.weights

        def one_row(row: Gaussian) -> Float[Array, " D"]:
            own, spread = self.row_moments(row, reduction)
            moved = jnp.maximum(jnp.sum(B * (spread @ B), axis=0), 0.0)  # rounding can go below
            return own[self.group_of_column] + moved

        return self._by_rows(one_row, q)

    def covariance(self, q: Gaussian) -> Float[Array, "N D D"]:
        """[BGPLVM16, eq. 41] in full: covariance of f(x*) across outputs, for every row."""
        reduction, B = self.reduction(), self.weights

        def one_row(row: Gaussian) -> Float[Array, "D D"]:
            own, spread = self.row_moments(row, reduction)
            return B.T @ spread @ B + jnp.diag(own[self.group_of_column])

        return self._by_rows(one_row, q)

    def sample(self, q: Gaussian, n_samples: int, key: PRNGKeyArray) -> Float[Array, "K N D"]:
        """Draws of f(x*): x* ~ q(x*), then f(x*) | x* [BGPLVM16, eq. 39]; no moment matching."""
        reduction = self.reduction()

        def one_draw(key: PRNGKeyArray) -> Float[Array, "N D"]:
            input_key, output_key = jax.random.split(key)
            noise = jax.random.normal(input_key, q.mean.shape, q.mean.dtype)
            x = q.mean + jnp.sqrt(q.variance) * noise
            k = self.kernel.cross(x, self.Z)
            removed = jnp.einsum("nm,gml,nl->ng", k, reduction, k)
            variance = self.kernel.diagonal(x)[:, None] - removed[:, self.group_of_column]
            shape = (x.shape[0], self.weights.shape[1])
            draw = jax.random.normal(output_key, shape, x.dtype)
            return k @ self.weights + jnp.sqrt(jnp.maximum(variance, 0.0)) * draw

        return jax.lax.map(one_draw, jax.random.split(key, n_samples))

    def row_moments(
        self, row: Gaussian, reduction: Float[Array, "G M M"]
    ) -> tuple[Float[Array, " G"], Float[Array, "M M"]]:
        """Variance of an output given x*, per group; and the covariance of k(Z, x*)."""
        one = Gaussian(row.mean[None], row.variance[None])
        second = psi2(self.kernel, self.Z, one, jnp.ones((1, 1), self.Z.dtype))[0]
        first = psi1(self.kernel, self.Z, one)[0]
        own = psi0(self.kernel, one)[0] - jnp.sum(reduction * second, axis=(1, 2))
        return jnp.maximum(own, 0.0), second - jnp.outer(first, first)

    def _by_rows(self, function: object, q: Gaussian) -> Array:
        return jax.lax.map(function, q, batch_size=min(ROWS_AT_ONCE, q.mean.shape[0]))

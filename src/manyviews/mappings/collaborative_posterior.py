"""Prediction with the collaborative mapping."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve, solve_triangular
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..expectations import Gaussian
from ..linalg import whiten
from .mixing import mixed_precision, mixed_traces
from .posterior import ROWS_AT_ONCE
from .stack import Stack, row_psi2


class CollaborativePosterior(eqx.Module):
    """q(u_d) of the stacked inducing variables of every output, kept as factors.

    The mean of an output is ⟨k(x)⟩ᵀ times its column of ``weights``, in which its mixing weights
    are contained. Its variance is k_d(x, x) less what the data have removed, ⟨k(x)ᵀ R_d k(x)⟩;
    R_d differs between outputs, but only through D(I + DED)⁻¹D (see `mixing`). One ``inner``,
    ``half`` and ``E`` per group of outputs with the same missing pattern.
    """

    stack: Stack
    mixing: Float[Array, "D J"]
    noise: Float[Array, ""]
    L: Float[Array, "S S"]
    inner: Float[Array, "G M M"]
    half: Float[Array, "G M L"]
    E: Float[Array, "G L L"]
    weights: Float[Array, "S D"]
    group_of_column: Int[Array, " D"]
    exact: bool = eqx.field(static=True, default=False)

    def mean(self, q: Gaussian) -> Float[Array, "N D"]:
        """⟨f(x*)⟩ = Ψ1* B."""
        return self.stack.psi1(q) @ self.weights

    def variance(self, q: Gaussian) -> Float[Array, "N D"]:
        """Variance of f(x*) for every output."""
        return self._by_rows(lambda row: sum(self._row_variance(row)), q)

    def covariance(self, q: Gaussian) -> Float[Array, "N D D"]:
        """Covariance of f(x*) across outputs, for every row."""
        B = self.weights

        def one_row(row: Gaussian) -> Float[Array, "D D"]:
            second = row_psi2(self.stack, row)
            first = self.stack.psi1(Gaussian(row.mean[None], row.variance[None]))[0]
            own, _ = self._row_variance(row)
            return B.T @ (second - jnp.outer(first, first)) @ B + jnp.diag(own)

        return self._by_rows(one_row, q)

    def sample(self, q: Gaussian, n_samples: int, key: PRNGKeyArray) -> Float[Array, "K N D"]:
        """Draws of f(x*): x* ~ q(x*), then f(x*) | x*; no moment matching."""

        def one_draw(key: PRNGKeyArray) -> Float[Array, "N D"]:
            input_key, output_key = jax.random.split(key)
            noise = jax.random.normal(input_key, q.mean.shape, q.mean.dtype)
            x = q.mean + jnp.sqrt(q.variance) * noise
            k = self.stack.features(x)
            zero = self.stack.diagonal(x)

            def one_row(row: tuple[Array, Array]) -> Float[Array, " D"]:
                return self._left(jnp.outer(row[0], row[0]), row[1])

            variance = jax.lax.map(one_row, (k, zero))
            mean = k @ self.weights
            return mean + jnp.sqrt(variance) * jax.random.normal(output_key, mean.shape, x.dtype)

        return jax.lax.map(one_draw, jax.random.split(key, n_samples))

    def summed_reduction(self, patterns: Float[Array, "R D"]) -> Float[Array, "R S S"]:
        """Σ_d R_d over the outputs of each pattern."""
        M, inverse = self.inner.shape[1], self._inverse()
        processes = jnp.asarray(self._process_of_feature())
        squares = self._squares()

        def one_group(group: tuple[Array, ...]) -> Float[Array, "R S S"]:
            place, inner, half, E = group
            counts = patterns * (self.group_of_column == place)
            gain = jnp.eye(M) - cho_solve((inner, True), jnp.eye(M))
            whole = (counts @ squares)[:, processes]  # patterns x features: Σ_d w²
            total = jnp.einsum("rs,st->rst", whole, jnp.eye(len(processes)))
            number = counts.sum(axis=1)[:, None, None]
            total = total.at[:, :M, :M].set(number * gain)
            if E.shape[0]:
                # the elimination as a map from stacked to local features: [-K; I]
                back = _elimination(inner, half)
                omega = mixed_precision(E, self.mixing, counts)
                total -= jnp.einsum("sl,rlm,tm->rst", back, omega, back)
            return total

        groups = (jnp.arange(self.inner.shape[0]), self.inner, self.half, self.E)
        whitened = jnp.sum(jax.lax.map(one_group, groups), axis=0)
        return jnp.einsum("sa,rst,tb->rab", inverse, whitened, inverse)

    def _row_variance(self, row: Gaussian) -> tuple[Float[Array, " D"], Float[Array, " D"]]:
        """Variance of the outputs given x*, and what the uncertainty of x* adds."""
        one = Gaussian(row.mean[None], row.variance[None])
        second, first = row_psi2(self.stack, row), self.stack.psi1(one)[0]
        spread = second - jnp.outer(first, first)
        B = self.weights
        moved = jnp.maximum(jnp.sum(B * (spread @ B), axis=0), 0.0)  # rounding can go below
        return self._left(second, self.stack.psi0(one)[0]), moved

    def _left(self, second: Float[Array, "S S"], zero: Float[Array, " B"]) -> Float[Array, " D"]:
        """k_d(x, x) - k(x)ᵀR_dk(x) for every output, from ⟨k kᵀ⟩ and the prior variances."""
        M, P = self.inner.shape[1], whiten(self.L, second)
        sums = jnp.zeros_like(zero).at[jnp.asarray(self._process_of_feature())].add(jnp.diagonal(P))
        left = self._squares() @ (zero - sums)

        def one_group(group: tuple[Array, ...]) -> Float[Array, " D"]:
            place, inner, half, E = group
            kept = jnp.trace(cho_solve((inner, True), P[:M, :M]))
            total = jnp.full(self.mixing.shape[0], kept)
            if E.shape[0]:
                back = _elimination(inner, half)
                total += mixed_traces(E, self.mixing, (back.T @ P @ back)[None])[0]
            return jnp.where(self.group_of_column == place, total, 0.0)

        groups = (jnp.arange(self.inner.shape[0]), self.inner, self.half, self.E)
        kept = jnp.sum(jax.lax.map(one_group, groups), axis=0)
        return jnp.maximum(left + kept, 0.0)

    def _squares(self) -> Float[Array, "D B"]:
        """How much of each process an output has: 1, w_d1², …"""
        ones = jnp.ones((self.mixing.shape[0], 1))
        return jnp.concatenate([ones, self.mixing**2], axis=1)

    def _process_of_feature(self) -> list[int]:
        return [j for j, Z in enumerate(self.stack.inducing) for _ in range(Z.shape[0])]

    def _inverse(self) -> Float[Array, "S S"]:
        return solve_triangular(self.L, jnp.eye(self.L.shape[0]), lower=True)

    def _by_rows(self, function: object, q: Gaussian) -> Array:
        return jax.lax.map(function, q, batch_size=min(ROWS_AT_ONCE, q.mean.shape[0]))


def _elimination(inner: Float[Array, "M M"], half: Float[Array, "M L"]) -> Float[Array, "S L"]:
    """[-(I + βA_hh)⁻¹βA_hg; I]: local features less what the global process explains of them."""
    explained = solve_triangular(inner, half, lower=True, trans="T")
    return jnp.concatenate([-explained, jnp.eye(half.shape[1], dtype=half.dtype)])

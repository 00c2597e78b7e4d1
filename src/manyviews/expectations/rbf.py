"""Closed-form expectations of the RBF-ARD kernel [BGPLVM16, App. B; MRD21, App. A].

All of them are exponentials of -½ Σ_q t_nq (μ_nq - c_pq)² with a precision t of the row
and a centre c of the column, which expands into one matrix product.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ..kernels import RBF
from .exp_sum import row_exp_sums, weighted_exp_sum
from .gaussian import Gaussian
from .table import register, register_cross, register_cross_rows, register_rows


def psi0(kernel: RBF, q: Gaussian) -> Float[Array, " N"]:
    """⟨k(x_n, x_n)⟩ = σ²."""
    return jnp.full(q.mean.shape[0], kernel.variance.value)


def psi1(kernel: RBF, Z: Float[Array, "M Q"], q: Gaussian) -> Float[Array, "N M"]:
    """⟨k(x_n, z_m)⟩ = σ² Π_q (1+wS)^-½ exp(-½ w(μ-z)²/(1+wS))."""
    rows, columns = _exponent_factors(kernel.weights(Z.shape[1]), q, Z, jnp.mean(Z, axis=0))
    return kernel.variance.value * jnp.exp(rows @ columns)


def psi2(
    kernel: RBF, Z: Float[Array, "M Q"], q: Gaussian, W: Float[Array, "G N"]
) -> Float[Array, "G M M"]:
    """Σ_n W_gn ⟨k(z_m, x_n) k(x_n, z_m')⟩ over the M(M+1)/2 pairs m ≤ m'."""
    first, second, position = _pairs(Z.shape[0])
    w = kernel.weights(Z.shape[1])
    left, right = pairs_in_order(Z, first, second)
    rows, columns, height = _pair_factors(kernel, left, w, kernel, right, w, q)
    return (height * weighted_exp_sum(rows, columns, W))[:, position]


def psi2_rows(
    kernel: RBF,
    Z: Float[Array, "M Q"],
    q: Gaussian,
    T: Float[Array, "R M M"],
    which: Int[Array, " N"],
) -> Float[Array, " N"]:
    """Σ_ml ⟨k(z_m, x_n) k(x_n, z_l)⟩ T[which_n, m, l], again over pairs only."""
    first, second, _ = _pairs(Z.shape[0])
    w = kernel.weights(Z.shape[1])
    left, right = pairs_in_order(Z, first, second)
    rows, columns, height = _pair_factors(kernel, left, w, kernel, right, w, q)
    packed = T[:, first, second] * jnp.where(first == second, 1.0, 2.0) * height
    if T.shape[0] == 1:
        return row_exp_sums(rows, columns, packed[0])
    return jnp.sum(jnp.exp(rows @ columns) * packed[which], axis=1)


def cross_psi2(
    a: RBF,
    Za: Float[Array, "M Q"],
    b: RBF,
    Zb: Float[Array, "L Q"],
    q: Gaussian,
    W: Float[Array, "G N"],
) -> Float[Array, "G M L"]:
    """Σ_n W_gn ⟨k_a(z, x_n) k_b(x_n, z')⟩ for two RBF kernels with inputs of their own."""
    M, L, Q = Za.shape[0], Zb.shape[0], Za.shape[1]
    za, zb = jnp.repeat(Za, L, axis=0), jnp.tile(Zb, (M, 1))
    rows, columns, height = _pair_factors(a, za, a.weights(Q), b, zb, b.weights(Q), q)
    return (height * weighted_exp_sum(rows, columns, W)).reshape(-1, M, L)


def cross_psi2_rows(
    a: RBF,
    Za: Float[Array, "M Q"],
    b: RBF,
    Zb: Float[Array, "L Q"],
    q: Gaussian,
    T: Float[Array, "R M L"],
    which: Int[Array, " N"],
) -> Float[Array, " N"]:
    """Σ_ml ⟨k_a(z_m, x_n) k_b(x_n, z_l)⟩ T[which_n, m, l]."""
    M, L, Q = Za.shape[0], Zb.shape[0], Za.shape[1]
    za, zb = jnp.repeat(Za, L, axis=0), jnp.tile(Zb, (M, 1))
    rows, columns, height = _pair_factors(a, za, a.weights(Q), b, zb, b.weights(Q), q)
    packed = T.reshape(T.shape[0], -1) * height
    if T.shape[0] == 1:
        return row_exp_sums(rows, columns, packed[0])
    return jnp.sum(jnp.exp(rows @ columns) * packed[which], axis=1)


def _pair_factors(
    a: RBF,
    za: Float[Array, "P Q"],
    wa: Float[Array, " Q"],
    b: RBF,
    zb: Float[Array, "P Q"],
    wb: Float[Array, " Q"],
    q: Gaussian,
) -> tuple[Float[Array, "N F"], Float[Array, "F P"], Float[Array, " P"]]:
    """⟨k_a(z, x_n) k_b(x_n, z')⟩ = height · exp(rows · columns) for P pairs (z, z').

    The product of two Gaussian bumps is a bump with centre c = (az + bz')/(a+b) and
    precision t = (a+b)/(1+(a+b)S); height = σa²σb² exp(-½ Σ ab/(a+b) (z-z')²).
    Where a+b = 0 the dimension drops out.
    """
    total = wa + wb
    divisor = jnp.where(total > 0.0, total, 1.0)
    centres = (wa * za + wb * zb) / divisor
    rows, columns = _exponent_factors(total, q, centres, jnp.mean(centres, axis=0))
    apart = jnp.sum(wa * wb / divisor * (za - zb) ** 2, axis=1)
    return rows, columns, a.variance.value * b.variance.value * jnp.exp(-0.5 * apart)


def _exponent_factors(
    w: Float[Array, " Q"],
    q: Gaussian,
    centres: Float[Array, "P Q"],
    origin: Float[Array, " Q"],
) -> tuple[Float[Array, "N F"], Float[Array, "F P"]]:
    """Factors whose product is -½ Σ_q [t(μ-c)² + log(1+wS)], t = w/(1+wS).

    Everything is shifted to ``origin`` first: the expanded square cancels far from zero.
    """
    mu, c = q.mean - origin, centres - origin
    spread = 1.0 + w * q.variance
    t = w / spread
    constant = -0.5 * jnp.sum(t * mu**2 + jnp.log(spread), axis=1, keepdims=True)
    rows = jnp.concatenate([t * mu, -0.5 * t, constant], axis=1)
    columns = jnp.concatenate([c, c**2, jnp.ones_like(c[:, :1])], axis=1)
    return rows, columns.T


def pairs_in_order(
    Z: Float[Array, "M Q"], first: Int[np.ndarray, " P"], second: Int[np.ndarray, " P"]
) -> tuple[Float[Array, "P Q"], Float[Array, "P Q"]]:
    """Z[first] and Z[second], with gradients that add up in the same order every time.

    Each place of the grid of all pairs is taken once, and the gradient sums over the grid.
    """
    M, Q = Z.shape
    places = first * M + second

    def taken(grid: Float[Array, "M M Q"]) -> Float[Array, "P Q"]:
        flat = grid.reshape(M * M, Q)
        return flat.at[places].get(unique_indices=True, indices_are_sorted=True)

    return (
        taken(jnp.broadcast_to(Z[:, None], (M, M, Q))),
        taken(jnp.broadcast_to(Z[None], (M, M, Q))),
    )


def _pairs(M: int) -> tuple[Int[np.ndarray, " P"], Int[np.ndarray, " P"], Int[np.ndarray, "M M"]]:
    """Indices of the pairs m ≤ m', and for every (m, m') the place of its pair."""
    first, second = np.triu_indices(M)
    position = np.empty((M, M), dtype=np.int32)
    position[first, second] = position[second, first] = np.arange(first.size)
    return first, second, position


register(RBF, psi0, psi1, psi2)
register_cross(RBF, RBF, cross_psi2)
register_cross_rows(RBF, RBF, cross_psi2_rows)
register_rows(RBF, psi2_rows)

"""Expectations of the kernels that ignore their inputs: bias and white."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..kernels import RBF, Bias, Kernel, Linear, White
from .gaussian import Gaussian
from .table import (
    CLOSED_FORMS,
    register,
    register_cross,
    register_cross_rows,
    register_rows,
)


def constant_psi0(kernel: Bias | White, q: Gaussian) -> Float[Array, " N"]:
    """⟨k(x_n, x_n)⟩ = σ²."""
    return jnp.full(q.mean.shape[0], kernel.variance.value)


def bias_psi1(kernel: Bias, Z: Float[Array, "M Q"], q: Gaussian) -> Float[Array, "N M"]:
    """⟨k(x_n, z_m)⟩ = σ²."""
    return jnp.full((q.mean.shape[0], Z.shape[0]), kernel.variance.value)


def bias_psi2(
    kernel: Bias, Z: Float[Array, "M Q"], q: Gaussian, W: Float[Array, "G N"]
) -> Float[Array, "G M M"]:
    """σ⁴ Σ_n W_gn in every place."""
    return bias_cross(kernel, Z, kernel, Z, q, W)


def bias_cross(
    a: Bias,
    Za: Float[Array, "M Q"],
    b: Kernel,
    Zb: Float[Array, "L Q"],
    q: Gaussian,
    W: Float[Array, "G N"],
) -> Float[Array, "G M L"]:
    """σ² Σ_n W_gn ⟨k_b(x_n, z')⟩, the same for every z."""
    sums = W @ CLOSED_FORMS[type(b)].psi1(b, Zb, q)
    return a.variance.value * jnp.broadcast_to(
        sums[:, None, :], (W.shape[0], Za.shape[0], Zb.shape[0])
    )


def white_psi1(kernel: White, Z: Float[Array, "M Q"], q: Gaussian) -> Float[Array, "N M"]:
    """Zero: a point's own noise says nothing about an inducing input."""
    return jnp.zeros((q.mean.shape[0], Z.shape[0]), Z.dtype)


def white_psi2(
    kernel: White, Z: Float[Array, "M Q"], q: Gaussian, W: Float[Array, "G N"]
) -> Float[Array, "G M M"]:
    """Zero."""
    return jnp.zeros((W.shape[0], Z.shape[0], Z.shape[0]), Z.dtype)


def white_cross(
    a: White,
    Za: Float[Array, "M Q"],
    b: Kernel,
    Zb: Float[Array, "L Q"],
    q: Gaussian,
    W: Float[Array, "G N"],
) -> Float[Array, "G M L"]:
    """Zero."""
    return jnp.zeros((W.shape[0], Za.shape[0], Zb.shape[0]), Za.dtype)


def bias_psi2_rows(
    kernel: Bias,
    Z: Float[Array, "M Q"],
    q: Gaussian,
    T: Float[Array, "R M M"],
    which: Int[Array, " N"],
) -> Float[Array, " N"]:
    """σ⁴ Σ_ml T_ml for every row."""
    return kernel.variance.value**2 * T.sum(axis=(1, 2))[which]


def bias_cross_rows(
    a: Bias,
    Za: Float[Array, "M Q"],
    b: Kernel,
    Zb: Float[Array, "L Q"],
    q: Gaussian,
    T: Float[Array, "R M L"],
    which: Int[Array, " N"],
) -> Float[Array, " N"]:
    """σ² Σ_l ⟨k_b(x_n, z'_l)⟩ Σ_m T_ml for every row."""
    sums = T.sum(axis=1)
    first = CLOSED_FORMS[type(b)].psi1(b, Zb, q)
    return a.variance.value * (
        first @ sums[0] if T.shape[0] == 1 else jnp.sum(first * sums[which], axis=1)
    )


def white_psi2_rows(
    kernel: White,
    Z: Float[Array, "M Q"],
    q: Gaussian,
    T: Float[Array, "R M M"],
    which: Int[Array, " N"],
) -> Float[Array, " N"]:
    """Zero."""
    return jnp.zeros(q.mean.shape[0], Z.dtype)


def white_cross_rows(
    a: White,
    Za: Float[Array, "M Q"],
    b: Kernel,
    Zb: Float[Array, "L Q"],
    q: Gaussian,
    T: Float[Array, "R M L"],
    which: Int[Array, " N"],
) -> Float[Array, " N"]:
    """Zero."""
    return jnp.zeros(q.mean.shape[0], Za.dtype)


register(Bias, constant_psi0, bias_psi1, bias_psi2)
register(White, constant_psi0, white_psi1, white_psi2)
register_rows(Bias, bias_psi2_rows)
register_rows(White, white_psi2_rows)
kind: type[Kernel]
for kind in (RBF, Linear, Bias):
    register_cross(Bias, kind, bias_cross)
    register_cross_rows(Bias, kind, bias_cross_rows)
for kind in (RBF, Linear, Bias, White):
    register_cross(White, kind, white_cross)
    register_cross_rows(White, kind, white_cross_rows)

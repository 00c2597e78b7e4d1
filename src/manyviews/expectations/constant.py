"""Expectations of the kernels that ignore their inputs: bias and white."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..kernels import RBF, Bias, Kernel, Linear, White
from .gaussian import Gaussian
from .table import CLOSED_FORMS, register, register_cross


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


register(Bias, constant_psi0, bias_psi1, bias_psi2)
register(White, constant_psi0, white_psi1, white_psi2)
kind: type[Kernel]
for kind in (RBF, Linear, Bias):
    register_cross(Bias, kind, bias_cross)
for kind in (RBF, Linear, Bias, White):
    register_cross(White, kind, white_cross)

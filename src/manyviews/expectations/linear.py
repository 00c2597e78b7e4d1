"""Closed-form expectations of the linear-ARD kernel, alone and beside an RBF [BGPLVM16, App. B]."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..kernels import RBF, Linear
from . import rbf
from .gaussian import Gaussian
from .table import register, register_cross


def psi0(kernel: Linear, q: Gaussian) -> Float[Array, " N"]:
    """⟨k(x_n, x_n)⟩ = Σ_q v_q (μ² + S)."""
    return jnp.sum(kernel.variances.value * (q.mean**2 + q.variance), axis=1)


def psi1(kernel: Linear, Z: Float[Array, "M Q"], q: Gaussian) -> Float[Array, "N M"]:
    """⟨k(x_n, z_m)⟩ = Σ_q v_q μ_nq z_mq."""
    return (kernel.variances.value * q.mean) @ Z.T


def psi2(
    kernel: Linear, Z: Float[Array, "M Q"], q: Gaussian, W: Float[Array, "G N"]
) -> Float[Array, "G M M"]:
    """ZV (Σ_n W_gn [μμᵀ + diag S]) VZᵀ."""
    return cross_psi2(kernel, Z, kernel, Z, q, W)


def cross_psi2(
    a: Linear,
    Za: Float[Array, "M Q"],
    b: Linear,
    Zb: Float[Array, "L Q"],
    q: Gaussian,
    W: Float[Array, "G N"],
) -> Float[Array, "G M L"]:
    """The same for two linear kernels."""
    second_moment = jnp.einsum("gn,nq,nr->gqr", W, q.mean, q.mean)
    second_moment += jnp.eye(Za.shape[1]) * (W @ q.variance)[:, None, :]
    return (a.variances.value * Za) @ second_moment @ (b.variances.value * Zb).T


def cross_with_rbf(
    a: Linear,
    Za: Float[Array, "M Q"],
    b: RBF,
    Zb: Float[Array, "L Q"],
    q: Gaussian,
    W: Float[Array, "G N"],
) -> Float[Array, "G M L"]:
    """Σ_n W_gn Σ_q v_q z_q ⟨x_q k_b(x, z')⟩.

    Under q(x) k_b(x, z') the mean of x_q is (μ + wSz')/(1+wS), so that
    ⟨x_q k_b⟩ = Ψ1 (μ + wSz')/(1+wS).
    """
    w = b.weights(Zb.shape[1])
    spread = 1.0 + w * q.variance
    weighted = W[:, :, None] * rbf.psi1(b, Zb, q)
    from_mean = jnp.einsum("gnl,nq->glq", weighted, q.mean / spread)
    from_input = jnp.einsum("gnl,nq->glq", weighted, w * q.variance / spread) * Zb
    return jnp.einsum("mq,glq->gml", a.variances.value * Za, from_mean + from_input)


register(Linear, psi0, psi1, psi2)
register_cross(Linear, Linear, cross_psi2)
register_cross(Linear, RBF, cross_with_rbf)

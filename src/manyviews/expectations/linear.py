"""Closed-form expectations of the linear-ARD kernel, alone and beside an RBF [BGPLVM16, App. B]."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..kernels import RBF, Linear
from . import rbf
from .gaussian import Gaussian
from .table import register, register_cross, register_cross_rows, register_rows


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


def psi2_rows(
    kernel: Linear,
    Z: Float[Array, "M Q"],
    q: Gaussian,
    T: Float[Array, "R M M"],
    which: Int[Array, " N"],
) -> Float[Array, " N"]:
    """tr(G ⟨xxᵀ⟩) = μᵀGμ + Σ_q G_qq S_q for every row, with G = VZᵀTZV."""
    return cross_psi2_rows(kernel, Z, kernel, Z, q, T, which)


def cross_psi2_rows(
    a: Linear,
    Za: Float[Array, "M Q"],
    b: Linear,
    Zb: Float[Array, "L Q"],
    q: Gaussian,
    T: Float[Array, "R M L"],
    which: Int[Array, " N"],
) -> Float[Array, " N"]:
    """The same for two linear kernels."""
    G = (a.variances.value * Za).T @ T @ (b.variances.value * Zb)
    spread = jnp.diagonal(G, axis1=1, axis2=2)
    if T.shape[0] == 1:
        return jnp.sum(q.mean @ G[0] * q.mean, axis=1) + q.variance @ spread[0]
    moved = jnp.einsum("nq,nqr,nr->n", q.mean, G[which], q.mean)
    return moved + jnp.sum(q.variance * spread[which], axis=1)


def cross_with_rbf_rows(
    a: Linear,
    Za: Float[Array, "M Q"],
    b: RBF,
    Zb: Float[Array, "L Q"],
    q: Gaussian,
    T: Float[Array, "R M L"],
    which: Int[Array, " N"],
) -> Float[Array, " N"]:
    """Σ_l Ψ1_nl Σ_q H_lq (μ + wSz')_q / (1+wS)_q for every row, with H = TᵀZV."""
    w = b.weights(Zb.shape[1])
    spread = 1.0 + w * q.variance
    towards_mean, towards_input = q.mean / spread, w * q.variance / spread
    H = jnp.swapaxes(T, 1, 2) @ (a.variances.value * Za)
    if T.shape[0] == 1:
        slopes = towards_mean @ H[0].T + towards_input @ (H[0] * Zb).T
    else:
        slopes = jnp.einsum("nq,nlq->nl", towards_mean, H[which])
        slopes += jnp.einsum("nq,nlq->nl", towards_input, (H * Zb)[which])
    return jnp.sum(rbf.psi1(b, Zb, q) * slopes, axis=1)


register(Linear, psi0, psi1, psi2)
register_rows(Linear, psi2_rows)
register_cross(Linear, Linear, cross_psi2)
register_cross(Linear, RBF, cross_with_rbf)
register_cross_rows(Linear, Linear, cross_psi2_rows)
register_cross_rows(Linear, RBF, cross_with_rbf_rows)

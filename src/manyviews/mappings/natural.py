"""Natural-gradient steps for explicit inducing variables.

For functions that share a covariance, N(m_f, S) with f = 1 … n, the natural parameters are
S⁻¹m_f and S⁻¹, and the natural gradient is the plain one over the expectations v_f and Σ_f v_fv_fᵀ.
With the gradients g_f and G of the data's part of the bound over m_f and S, a step of length ρ is

    S⁻¹  ←  (1 - ρ) S⁻¹ + ρ (I - 2G/n),
    S⁻¹m_f  ←  (1 - ρ) S⁻¹m_f + ρ (g_f - 2Gm_f/n),

which for Gaussian noise and ρ = 1 arrives at the optimum (Hensman et al. 2013; Salimbeni et al.
2018).
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, Float

from ..expectations import Gaussian
from .observations import Observations
from .stochastic import StochasticGP, packed_root

SETTLING = 30  # steps before a fit
GAIN = 1e-4  # nats per value below which it has settled
SHORTEST = 1e-3


class Inducing(NamedTuple):
    """m and S of all functions."""

    mean: Float[Array, "M F"]
    covariance: Float[Array, "G M M"]


def natural_step(
    view: StochasticGP, q: Gaussian, outputs: Observations, rho: Float[Array, ""] | float
) -> StochasticGP:
    """The mapping after one step for q(U); as it was, if the step leads nowhere."""
    now = Inducing(view.mean.value, view.covariances())

    def data_term(at: Inducing) -> Float[Array, ""]:
        return outputs.scale * view.data_term(q, outputs, at.mean, at.covariance)[0]

    slope = jax.grad(data_term)(now)
    return stepped(view, now, slope, rho)


def stepped(
    view: StochasticGP, now: Inducing, slope: Inducing, rho: Float[Array, ""] | float
) -> StochasticGP:
    """The step, from the gradients of the data's part of the bound."""
    n_groups, M, _ = now.covariance.shape
    members = jax.nn.one_hot(view.group_of_function, n_groups) * view.used[:, None]  # F x G
    count = jnp.maximum(members.sum(axis=0), 1.0)[:, None, None]
    G = 0.5 * (slope.covariance + jnp.swapaxes(slope.covariance, 1, 2)) / count
    identity = jnp.eye(M)
    inverse = jax.lax.map(
        lambda S: cho_solve((jnp.linalg.cholesky(S), True), identity), now.covariance
    )
    precision = (1.0 - rho) * inverse + rho * (identity - 2.0 * G)
    group = view.group_of_function

    def each(matrices: Float[Array, "G M M"]) -> Float[Array, "M F"]:
        """Every function's mean times the matrix of its group."""
        product = jnp.einsum("gml,lf->gmf", matrices, now.mean)
        return jnp.take_along_axis(product, group[None, None], axis=0)[0]

    target = (1.0 - rho) * each(inverse) + rho * (slope.mean - 2.0 * each(G))

    def invert(P: Float[Array, "M M"]) -> tuple[Array, Array]:
        S = cho_solve((jnp.linalg.cholesky(P), True), identity)
        S = 0.5 * (S + S.T)
        return S, jnp.linalg.cholesky(S)

    S, R = jax.lax.map(invert, precision)
    solved = jnp.einsum("gml,lf->gmf", S, target)
    mean = jnp.take_along_axis(solved, group[None, None], axis=0)[0] * view.used
    fine = jnp.isfinite(R).all() & jnp.isfinite(mean).all()
    root = jnp.where(fine, packed_root(jnp.where(jnp.isfinite(R), R, 1.0)), view.root.raw)
    mean = jnp.where(fine, mean, view.mean.raw)
    return eqx.tree_at(lambda v: (v.mean.raw, v.root.raw), view, (mean, root))


def settle(view: StochasticGP, q: Gaussian, outputs: Observations) -> StochasticGP:
    """The mapping with q(U) near its optimum for this q(X), by natural steps that ascend."""
    value = float(_value(view, q, outputs))
    rho, enough = 1.0, GAIN * outputs.n_observed()
    for _ in range(SETTLING):
        new = _natural_step(view, q, outputs, jnp.asarray(rho))  # a number would be compiled in
        reached = float(_value(new, q, outputs))
        if not reached > value:
            rho *= 0.3
            if rho < SHORTEST:
                break
            continue
        gain, view, value = reached - value, new, reached
        rho = min(1.0, 1.5 * rho)
        if gain < enough:
            break
    return view


@eqx.filter_jit
def _value(view: StochasticGP, q: Gaussian, outputs: Observations) -> Float[Array, ""]:
    return view.expected_log_likelihood(q, outputs).value


_natural_step = eqx.filter_jit(natural_step)

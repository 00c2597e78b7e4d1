"""Natural-gradient steps for explicit inducing variables.

For functions that share a covariance, N(m_f, S) with f = 1 … n, the natural parameters are
S⁻¹m_f and S⁻¹, and the natural gradient is the plain one over the expectations v_f and Σ_f v_fv_fᵀ.
With the gradients g_f and G of the data's part of the bound over m_f and S, a step of length ρ is

    S⁻¹  ←  (1 - ρ) S⁻¹ + ρ (I - 2G/n),
    S⁻¹m_f  ←  (1 - ρ) S⁻¹m_f + ρ (g_f - 2Gm_f/n),

which for Gaussian noise and ρ = 1 arrives at the optimum (Hensman et al. 2013; Salimbeni et al.
2018).
"""

from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, Bool, Float, Int

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
    slope = jax.grad(partial(_data_term, view, q, outputs))(now)
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


@eqx.filter_jit
def settle(view: StochasticGP, q: Gaussian, outputs: Observations) -> StochasticGP:
    """The mapping with q(U) near its optimum for this q(X), by natural steps that ascend."""
    enough = GAIN * jnp.sum(outputs.mask)

    def at(raws: tuple[Array, Array]) -> StochasticGP:
        return eqx.tree_at(lambda v: (v.mean.raw, v.root.raw), view, raws)

    def valued(raws: tuple[Array, Array]) -> tuple[Array, Inducing]:
        """The bound there, and the gradient of the data's part of it."""
        there = at(raws)
        now = Inducing(there.mean.value, there.covariances())
        value, slope = jax.value_and_grad(partial(_data_term, view, q, outputs))(now)
        return value - there.kl(), slope

    def go_on(state: _Settling) -> Array:
        return ~state.done & (state.steps < SETTLING)

    def turn(state: _Settling) -> _Settling:
        old = at(state.raws)
        now = Inducing(old.mean.value, old.covariances())
        new = stepped(old, now, state.slope, state.rho)
        raws = (new.mean.raw, new.root.raw)
        reached, slope = valued(raws)
        better = reached > state.value
        rho = jnp.where(better, jnp.minimum(1.0, 1.5 * state.rho), 0.3 * state.rho)
        done = jnp.where(better, reached - state.value < enough, rho < SHORTEST)
        found = _Settling(raws, reached, slope, rho, done, state.steps)
        kept = jax.tree_util.tree_map(lambda a, b: jnp.where(better, a, b), found, state)
        return kept._replace(rho=rho, done=done, steps=state.steps + 1)

    begun = (view.mean.raw, view.root.raw)
    start = _Settling(
        begun, *valued(begun), jnp.ones(()), jnp.zeros((), bool), jnp.zeros((), jnp.int32)
    )
    return at(jax.lax.while_loop(go_on, turn, start).raws)


class _Settling(NamedTuple):
    """The best q(U) so far, its bound and gradient, and the length of the next step."""

    raws: tuple[Array, Array]
    value: Float[Array, ""]
    slope: Inducing
    rho: Float[Array, ""]
    done: Bool[Array, ""]
    steps: Int[Array, ""]


def _data_term(
    view: StochasticGP, q: Gaussian, outputs: Observations, at: Inducing
) -> Float[Array, ""]:
    return outputs.scale * view.data_term(q, outputs, at.mean, at.covariance)[0]

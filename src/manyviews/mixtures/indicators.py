"""Which component every sample belongs to: Neal's algorithm 8, compiled (Neal 2000)."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Bool, Float, Int

from .draws import chi_square_shapes, log_chi_square, log_gamma, small_cholesky, small_forward
from .hierarchy import Components, State, Tables, draw_components, n_normals
from .numbers import Tape, fast_log, normals, split, uniforms

LOG_2PI = float(np.log(2.0 * np.pi))


def log_likelihood(
    Y: Tables, components: tuple[Components, ...], k: Int[Array, ""] | int
) -> Float[Array, " N"]:
    """Log N(y_n | μ_k, W_k W_kᵀ + Ψ_k) of all samples, x_n integrated out.

    By Woodbury with A = FFᵀ: with e = Fᵀ(y - μ), H = FᵀW and I + HᵀH = LLᵀ,
    the quadratic form is ‖e‖² - ‖L⁻¹Hᵀe‖², and log|C| = 2 log|L| - log|A|.
    """
    q = components[0].W.shape[2]
    inner, projected = jnp.eye(q), jnp.zeros((len(Y[0]), q))
    total = jnp.zeros(len(Y[0]))
    for table, own in zip(Y, components, strict=True):
        e = (table - own.mu[k]) @ own.factor[k]
        H = own.factor[k].T @ own.W[k]
        inner, projected = inner + H.T @ H, projected + e @ H
        total += 0.5 * own.log_det[k] - 0.5 * table.shape[1] * LOG_2PI
        total -= 0.5 * jnp.sum(e**2, axis=1)
    L = jnp.linalg.cholesky(inner)
    half = solve_triangular(L, projected.T, lower=True)
    return total - jnp.sum(jnp.log(jnp.diagonal(L))) + 0.5 * jnp.sum(half**2, axis=0)


def own_log_likelihood(Y: Tables, components: tuple[Components, ...]) -> Float[Array, " N"]:
    """The same, row n under component n: many components, one sample each."""
    q = components[0].W.shape[2]
    inner = jnp.broadcast_to(jnp.eye(q), (len(Y[0]), q, q))
    projected, total = jnp.zeros((len(Y[0]), q)), jnp.zeros(len(Y[0]))
    for table, own in zip(Y, components, strict=True):
        e = jnp.einsum("nm,nml->nl", table - own.mu, own.factor)
        H = jnp.einsum("nml,nmq->nlq", own.factor, own.W)
        inner = inner + jnp.einsum("nlq,nlr->nqr", H, H)
        projected = projected + jnp.einsum("nlq,nl->nq", H, e)
        total += 0.5 * own.log_det - 0.5 * table.shape[1] * LOG_2PI - 0.5 * jnp.sum(e**2, axis=1)
    L = small_cholesky(inner)
    half = small_forward(L, projected)
    log_det = jnp.sum(jnp.log(jnp.diagonal(L, axis1=1, axis2=2)), axis=1)
    return total - log_det + 0.5 * jnp.sum(half**2, axis=1)


class _Walk(NamedTuple):
    """Where the pass over the samples stands, and the last component that was opened."""

    n: Int[Array, ""]
    c: Int[Array, " N"]
    counts: Int[Array, " K"]
    opened: Bool[Array, ""]
    slot: Int[Array, ""]
    auxiliary: Int[Array, ""]
    overflow: Bool[Array, ""]


def draw_auxiliary(seed: Array, state: State, n: int) -> tuple[Components, ...]:
    """N components from the base measure, of all views."""
    first, second = split(seed)
    tape = Tape(normals(first, n * sum(n_normals(hyper) for hyper in state.hyper)))
    sizes = [len(hyper.lam) for hyper in state.hyper]
    shapes = [chi_square_shapes(hyper.beta, m) for hyper, m in zip(state.hyper, sizes, strict=True)]
    gammas = log_gamma(second, jnp.broadcast_to(jnp.concatenate(shapes), (n, sum(sizes))))
    parts = jnp.split(log_chi_square(gammas), np.cumsum(sizes)[:-1], axis=1)
    pairs = zip(parts, state.hyper, strict=True)
    return tuple(draw_components(tape, part, hyper) for part, hyper in pairs)


def update_indicators(
    seed: Array, state: State, Y: Tables, n_auxiliary: int
) -> tuple[State, Float[Array, ""], Bool[Array, ""]]:
    """One pass over all samples: the state, Σ log p(y_n | c_n), whether slots ran out.

    A sample leaves its component, and joins one that others have with weight N_k, or one of h
    auxiliary components with weight α₀/h: fresh draws of the base measure, except that a
    component which only this sample had is the first of them. In both cases the density of
    y_n has x_n integrated out (the text does so for new components only), so that x_n has to be
    drawn anew afterwards. The fresh draws of all samples are made beforehand in one go.
    """
    n_samples, h = len(state.c), n_auxiliary
    seeds = split(seed)
    fresh = draw_auxiliary(seeds[0], state, n_samples * h)
    repeated = tuple(jnp.repeat(table, h, axis=0) for table in Y)
    fresh_density = own_log_likelihood(repeated, fresh).reshape(n_samples, h)
    counts = state.counts()
    K = len(counts)

    def column(k: Int[Array, ""]) -> Float[Array, " N"]:
        return jax.lax.cond(
            counts[k] > 0,
            lambda: log_likelihood(Y, state.components, k),
            lambda: jnp.full(n_samples, -jnp.inf),
        )

    density = jax.lax.map(column, jnp.arange(K)).T
    uniform = uniforms(seeds[1], n_samples * (K + h))
    noise = -fast_log(-fast_log(uniform * (1.0 - 1e-16))).reshape(n_samples, K + h)  # Gumbel
    log_new = jnp.log(state.alpha / h)
    slots = jnp.arange(K)

    def step(walk: _Walk, density: Float[Array, "N K"]) -> _Walk:
        n, old = walk.n, walk.c[walk.n]
        counts = walk.counts.at[old].add(-1)
        alone = counts[old] == 0
        prior = jnp.where(counts > 0, jnp.log(counts), -jnp.inf)
        prior = jnp.where(alone & (slots == old), log_new, prior)
        free = (counts == 0).any()
        offered = free & ~(alone & (jnp.arange(h) == 0))
        auxiliary = jnp.where(offered, log_new + fresh_density[n], -jnp.inf)
        known = jnp.where(jnp.isneginf(prior), -jnp.inf, prior + density[n])
        chosen = jnp.argmax(jnp.concatenate([known, auxiliary]) + noise[n])
        opened = chosen >= K
        slot = jnp.where(opened, jnp.argmax(counts == 0), chosen).astype(walk.c.dtype)
        return _Walk(
            n + 1, walk.c.at[n].set(slot), counts.at[slot].add(1),
            opened, slot, n * h + jnp.maximum(chosen - K, 0), walk.overflow | ~free,
        )  # fmt: skip

    def until_opened(carry: tuple) -> tuple:
        walk, components, density = carry
        walk, density = jax.lax.while_loop(
            lambda carry: (carry[0].n < n_samples) & ~carry[0].opened,
            lambda carry: (step(*carry), carry[1]),
            (walk._replace(opened=jnp.asarray(False)), density),
        )
        components = tuple(
            Components(
                *(
                    stored.at[walk.slot].set(
                        jnp.where(walk.opened, new[walk.auxiliary], stored[walk.slot])
                    )
                    for stored, new in zip(own, drawn, strict=True)
                )
            )
            for own, drawn in zip(components, fresh, strict=True)
        )
        density = density.at[:, walk.slot].set(log_likelihood(Y, components, walk.slot))
        return walk, components, density

    zero = jnp.zeros((), jnp.int64)
    start = _Walk(
        zero, state.c, counts, jnp.asarray(False), zero.astype(state.c.dtype), zero,
        jnp.asarray(False),
    )  # fmt: skip
    walk, components, density = jax.lax.while_loop(
        lambda carry: carry[0].n < n_samples, until_opened, (start, state.components, density)
    )
    likelihood = jnp.sum(jnp.take_along_axis(density, walk.c[:, None], axis=1))
    return state._replace(c=walk.c, components=components), likelihood, walk.overflow

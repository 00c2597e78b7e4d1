"""Which component every sample belongs to: a sequential pass, compiled.

Neal's algorithm 8 (2000) with auxiliary components that are kept between the samples of a pass, as
in Favaro and Teh's algorithm ReUse (2013).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, Bool, Float, Int

from ..inference.conditional_gaussian import LOG_2PI
from .draws import log_chi_squares
from .hierarchy import Components, State, Tables, draw_components, n_normals
from .numbers import Tape, fast_log, normals, split, uniforms


def log_likelihood(
    Y: Tables, components: tuple[Components, ...], k: Int[Array, ""] | int
) -> Float[Array, " N"]:
    """Log N(y_n | μ_k, W_k W_kᵀ + Ψ_k) of all samples, x_n integrated out.

    With A = FFᵀ it is that of e = Fᵀ(y - μ) under N(0, I + HHᵀ), H = FᵀW, and ½ log|A|.
    """
    pairs = list(zip(Y, components, strict=True))
    e = jnp.concatenate([(table - own.mu[k]) @ own.factor[k] for table, own in pairs], axis=1)
    H = jnp.concatenate([own.factor[k].T @ own.W[k] for own in components])
    return sum([0.5 * own.log_det[k] for own in components], log_normal(e, H))


def log_normal(e: Float[Array, "N d"], H: Float[Array, "d q"]) -> Float[Array, " N"]:
    """Log N(e_n | 0, I + HHᵀ), by Woodbury and without cancellation.

    With I + HᵀH = LLᵀ and z = (LLᵀ)⁻¹Hᵀe, the quadratic form is ‖e - Hz‖² + ‖z‖².
    """
    L = jnp.linalg.cholesky(jnp.eye(H.shape[1]) + H.T @ H)
    z = cho_solve((L, True), H.T @ e.T).T
    quadratic = jnp.sum((e - z @ H.T) ** 2, axis=1) + jnp.sum(z**2, axis=1)
    return -jnp.sum(jnp.log(jnp.diagonal(L))) - 0.5 * quadratic - 0.5 * e.shape[1] * LOG_2PI


class _Walk(NamedTuple):
    """Where the pass over the samples stands, and the component that was opened last."""

    n: Int[Array, ""]
    c: Int[Array, " N"]
    counts: Int[Array, " K"]
    spare: Int[Array, " h"]
    opened: Bool[Array, ""]
    place: Int[Array, ""]
    overflow: Bool[Array, ""]


def draw_auxiliary(seed: Array, state: State, n: int) -> tuple[Components, ...]:
    """N components from the base measure, of all views."""
    first, second = split(seed)
    tape = Tape(normals(first, n * sum(n_normals(hyper) for hyper in state.hyper)))
    sizes = [len(hyper.C) for hyper in state.hyper]
    parts = log_chi_squares(second, [jnp.full(n, hyper.beta) for hyper in state.hyper], sizes)
    pairs = zip(parts, state.hyper, strict=True)
    return tuple(draw_components(tape, part, hyper) for part, hyper in pairs)


def update_indicators(
    seed: Array, state: State, Y: Tables, n_auxiliary: int
) -> tuple[State, Float[Array, ""], Bool[Array, ""]]:
    """One pass over all samples: the state, Σ log p(y_n | c_n), whether slots ran out.

    Beside the components there are h auxiliary ones, drawn from the base measure when the pass
    begins. A sample leaves its component, and joins one that others have with weight N_k, or an
    auxiliary one with weight α₀/h, whose place a new draw takes; a component that it had for
    itself first takes the place of a random auxiliary one. All these are Gibbs steps on the
    posterior times the base measure of the auxiliary components (Favaro and Teh 2013, §3.3).
    The density of y_n has x_n integrated out, for old and new components (the text does so for
    new ones only), so that x_n has to be drawn anew afterwards. Parameters do not change during
    the pass: densities are a table.
    """
    n_samples, h = len(state.c), n_auxiliary
    seeds = split(seed, 2)
    counts = state.counts()
    K = len(counts)

    def column(k: Int[Array, ""]) -> Float[Array, " N"]:
        return jax.lax.cond(
            counts[k] > 0,
            lambda: log_likelihood(Y, state.components, k),
            lambda: jnp.zeros(n_samples),
        )

    density = jax.lax.map(column, jnp.arange(K)).T
    uniform = uniforms(seeds[0], n_samples * (K + 1)).reshape(n_samples, K + 1)
    noise = -fast_log(-fast_log(uniform[:, :K] * (1.0 - 1e-16)))  # Gumbel
    displaced = jnp.minimum((uniform[:, K] * h).astype(jnp.int64), h - 1)
    log_new = jnp.log(state.alpha / h)

    def step(walk: _Walk, density: Float[Array, "N K"]) -> _Walk:
        n, old = walk.n, walk.c[walk.n]
        counts = walk.counts.at[old].add(-1)
        alone = counts[old] == 0
        own = jnp.where(alone, old, walk.spare[displaced[n]])
        spare = walk.spare.at[displaced[n]].set(own)
        prior = jnp.where(counts > 0, jnp.log(counts), -jnp.inf).at[spare].set(log_new)
        chosen = jnp.argmax(prior + density[n] + noise[n])
        stays = alone & (chosen == old)  # as if nothing had happened
        return _Walk(
            n + 1,
            walk.c.at[n].set(chosen),
            counts.at[chosen].add(1),
            jnp.where(stays, walk.spare, spare),
            (counts[chosen] == 0) & ~stays,
            jnp.argmax(spare == chosen),
            walk.overflow,
        )

    def onwards(carry: tuple) -> tuple:
        """Draw an auxiliary component; if all h are there, walk until one is taken."""
        n_drawn, seed, walk, components, density = carry
        place = jnp.where(n_drawn < h, n_drawn, walk.place)
        taken = (
            (walk.counts > 0).at[jnp.where(walk.spare < 0, K, walk.spare)].set(True, mode="drop")
        )
        slot = jnp.argmin(taken)
        following, own = split(seed)
        components = stored(components, slot, draw_auxiliary(own, state, 1))
        density = density.at[:, slot].set(log_likelihood(Y, components, slot))
        walk = walk._replace(
            spare=walk.spare.at[place].set(slot),
            opened=n_drawn + 1 < h,
            overflow=walk.overflow | taken.all(),
        )
        walk, density = jax.lax.while_loop(
            lambda carry: (carry[0].n < n_samples) & ~carry[0].opened,
            lambda carry: (step(*carry), carry[1]),
            (walk, density),
        )
        return n_drawn + 1, following, walk, components, density

    zero, no = jnp.zeros((), state.c.dtype), jnp.asarray(False)
    start = _Walk(zero, state.c, counts, jnp.full(h, -1), no, zero, no)
    *_, walk, components, density = jax.lax.while_loop(
        lambda carry: carry[2].n < n_samples,
        onwards,
        (zero, seeds[1], start, state.components, density),
    )
    likelihood = jnp.sum(jnp.take_along_axis(density, walk.c[:, None], axis=1))
    return state._replace(c=walk.c, components=components), likelihood, walk.overflow


def stored(
    components: tuple[Components, ...], slot: Int[Array, ""], new: tuple[Components, ...]
) -> tuple[Components, ...]:
    """The components with a new one in a slot."""
    return tuple(
        Components(*(old.at[slot].set(part[0]) for old, part in zip(own, drawn, strict=True)))
        for own, drawn in zip(components, new, strict=True)
    )

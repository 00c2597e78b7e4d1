"""One Gibbs sweep of the Dirichlet process mixture of PCCA, and many of them [Leen08, §5.4]."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from . import conditionals as given
from .draws import (
    bartlett,
    chi_square_shapes,
    gaussian,
    log_chi_square,
    log_gamma,
    slice_sample,
    wishart_factor,
)
from .hierarchy import Components, Hyper, Prior, State, Tables, log_prior, n_normals
from .indicators import update_indicators
from .numbers import Tape, normals, split, uniforms
from .renewal import component_sums, draw_latents, draw_numbers, renewed
from .split_merge import no_move, split_or_merge


class Trace(NamedTuple):
    """What every sweep leaves behind; none of it depends on labels or rotations."""

    n_clusters: Array
    concentration: Array
    log_likelihood: Array
    log_joint: Array
    beta: Array
    loading_precision: Array
    largest_share: Array
    moved: Array
    overflow: Array


class SweepOptions(NamedTuple):
    """Auxiliary components, and how probable an attempt to split or merge is in every sweep."""

    n_auxiliary: int
    move_rate: float


def sweep(
    seed: Array,
    state: State,
    Y: Tables,
    missing: tuple[Array, ...] | None,
    prior: Prior,
    options: SweepOptions,
) -> tuple[State, Tables, Trace]:
    """Parameters, hyperparameters, indicators, a split or merger, x, α₀, missing values."""
    seeds = split(seed, 8)
    state = update_components(seeds[0], state, Y)
    state = update_hyper(seeds[1], state, prior)
    state, likelihood, overflow = update_indicators(seeds[2], state, Y, options.n_auxiliary)
    tried = uniforms(seeds[6], 1)[0] <= options.move_rate
    if options.move_rate > 0:  # else there is no need to compile it
        state, move = jax.lax.cond(
            tried, lambda: split_or_merge(seeds[7], state, Y), lambda: (state, no_move())
        )
    else:
        move = no_move()
    state = update_latents(seeds[3], state, Y)
    n_active = jnp.sum(state.counts() > 0)
    alpha = given.concentration_given_rest(seeds[4], state.alpha, n_active, len(state.c))
    state = state._replace(alpha=alpha)
    if missing is not None:
        Y = update_missing(seeds[5], state, Y, missing)
    likelihood = likelihood + move.gain
    trace = Trace(
        n_active,
        alpha,
        likelihood,
        likelihood + log_prior(prior, state),  # x integrated out
        jnp.stack([hyper.beta for hyper in state.hyper]),
        jnp.stack([hyper.v for hyper in state.hyper]),
        jnp.max(state.counts()) / len(state.c),
        1.0 * move.accepted,
        overflow | move.no_room,
    )
    return state, Y, trace


@partial(jax.jit, static_argnames=("n_sweeps", "options"))
def run_sweeps(
    seed: Array,
    state: State,
    Y: Tables,
    missing: tuple[Array, ...] | None,
    prior: Prior,
    n_sweeps: int,
    options: SweepOptions,
) -> tuple[State, Tables, Trace]:
    """Several sweeps in one compiled loop; returns the last state, and the trace of all."""

    def once(carry: tuple[State, Tables], own: Array) -> tuple[tuple[State, Tables], Trace]:
        state, Y, trace = sweep(own, *carry, missing, prior, options)
        return (state, Y), trace

    (state, Y), trace = jax.lax.scan(once, (state, Y), split(seed, n_sweeps))
    return state, Y, trace


# ---------------------------------------------------------------------- parameters


def update_components(seed: Array, state: State, Y: Tables) -> State:
    """μ, A and W of every component that has samples, one after the other."""
    counts = state.counts()
    numbers = draw_numbers(seed, counts * 1.0, state.hyper)
    updated = []
    for own, hyper, table, drawn in zip(state.components, state.hyper, Y, numbers, strict=True):

        def draw(
            parts: tuple, hyper: Hyper = hyper, table: Float[Array, "N m"] = table
        ) -> Components:
            k, old, numbers = parts

            def anew() -> Components:
                sums = component_sums((state.c == k).astype(table.dtype), table, state.x)
                return renewed(numbers, old, sums, hyper)

            return jax.lax.cond(counts[k] > 0, anew, lambda: old)

        updated.append(jax.lax.map(draw, (jnp.arange(len(counts)), own, drawn)))
    return state._replace(components=tuple(updated))


def update_hyper(seed: Array, state: State, prior: Prior) -> State:
    """λ, R, C, β, v and γ of every view, in this order."""
    seeds = split(seed, 3)
    active = state.counts() > 0
    widths = [len(hyper.C) for hyper in state.hyper]  # of the noise
    tape = Tape(normals(seeds[0], sum(n_normals(h) + len(h.lam) ** 2 for h in state.hyper)))
    hypers, shapes, rates = [], [], []
    for constants, own, hyper in zip(prior.views, state.components, state.hyper, strict=True):
        m, d = len(constants.mean), len(hyper.C)
        lam = gaussian(tape.take(m), *given.lambda_given_rest(own.mu, active, hyper, constants))
        hyper = hyper._replace(lam=lam)
        R = given.spread_given_rest(own.mu, active, hyper, constants)
        C = given.noise_scale_given_rest(own.precision(), active, hyper, constants)
        v = given.loading_precision_given_rest(own.W, active, hyper)
        shapes += [chi_square_shapes(R.df, m), chi_square_shapes(C.df, d), v.shape[None]]
        rates.append((R.inverse_scale, C.inverse_scale, v.rate))
        hypers.append(hyper)
    gammas = iter(jnp.split(log_gamma(seeds[1], jnp.concatenate(shapes)), _edges(shapes)))
    sums = []
    for view, own in enumerate(state.components):
        m, d = len(hypers[view].lam), widths[view]
        R_rate, C_rate, v_rate = rates[view]
        T = bartlett(tape.take(m, m), log_chi_square(next(gammas)))
        spread, _ = wishart_factor(T, R_rate)
        T = bartlett(tape.take(d, d), log_chi_square(next(gammas)))
        scale, log_det = wishart_factor(T, C_rate)
        precision = jnp.exp(next(gammas)[0]) / v_rate
        mean, sharpness = given.loading_mean_given_rest(own.W, active, precision, prior)
        gamma = mean + tape.take(*mean.shape) / jnp.sqrt(sharpness)
        hypers[view] = hypers[view]._replace(
            R=spread @ spread.T, C=scale @ scale.T, v=precision, gamma=gamma
        )
        sums.append(given.noise_sums(own, active, hypers[view].C, log_det))
    excess = _draw_excess(seeds[2], [h.beta - d + 1.0 for h, d in zip(hypers, widths, strict=True)],
                          sums, max(widths))  # fmt: skip
    pairs = zip(hypers, excess, widths, strict=True)
    return state._replace(hyper=tuple(h._replace(beta=e + d - 1.0) for h, e, d in pairs))


def _draw_excess(
    seed: Array, excess: list[Array], sums: list[given.NoiseSums], widest: int
) -> Float[Array, " V"]:
    """β - d + 1 of every view, by slice sampling of its logarithm."""

    def draw(parts: tuple) -> Float[Array, ""]:
        own, u, view = parts
        return slice_sample(own, u, lambda u: given.log_beta_given_rest(u, view, widest))

    stacked = jax.tree.map(lambda *parts: jnp.stack(parts), *sums)
    seeds = split(seed, len(sums))
    return jnp.exp(jax.lax.map(draw, (seeds, jnp.log(jnp.stack(excess)), stacked)))


def _edges(parts: list[Array]) -> list[int]:
    return np.cumsum([len(part) for part in parts])[:-1].tolist()


# ---------------------------------------------------------------------- samples


def update_latents(seed: Array, state: State, Y: Tables) -> State:
    """x_n given its component and all of its views."""
    normal = normals(seed, state.x.size).reshape(state.x.shape)
    return state._replace(x=draw_latents(state.components, state.c, Y, normal))


def update_missing(
    seed: Array, state: State, Y: Tables, missing: tuple[Bool[Array, "N _"], ...]
) -> Tables:
    """Missing values given the others of their view, the component and x_n.

    With o observed and h hidden: precision A_hh, linear term -A_ho (y - Wx - μ)_o.
    """
    filled = []
    for own_seed, table, hidden, own in zip(
        split(seed, len(Y)), Y, missing, state.components, strict=True
    ):
        centre = own.mu[state.c] + jnp.einsum("nmq,nq->nm", own.W[state.c], state.x)
        normal = normals(own_seed, table.size).reshape(table.shape)
        A = own.precision()

        def draw(row: tuple, A: Float[Array, "K m m"] = A) -> Float[Array, " m"]:
            y, hidden, centre, normal, c = row

            def renewed() -> Float[Array, " m"]:
                both = hidden[:, None] & hidden[None, :]
                P = jnp.where(both, A[c], jnp.eye(len(y)))
                seen = jnp.where(hidden, 0.0, y - centre)
                linear = jnp.where(hidden, -A[c] @ seen, 0.0)
                return jnp.where(hidden, centre + gaussian(normal, P, linear), y)

            return jax.lax.cond(hidden.any(), renewed, lambda: y)

        filled.append(jax.lax.map(draw, (table, hidden, centre, normal, state.c)))
    return tuple(filled)

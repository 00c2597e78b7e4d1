"""Moves that split one component into two, or merge two into one (Jain and Neal 2007).

Two samples are drawn. If they are in one component, it may be split between them; if in two, these
may be merged. Both directions compare the same two things: a division of the samples of these
components with parameters θ_a and θ_b, and their union with θ_m. Either is proposed from a *launch
state*, which depends on the two samples and on everything outside of the components at stake, not
on how things stand inside: a few Gibbs steps from a rough start, made anew for every move. One
more step, of known density q, leads from there to the proposal, or to the present state on the way
back:

    α = p(split) q(θ_m) / [p(merged) q(θ_a) q(θ_b) q(c)] for a split, and 1/α for a merger.

Latent positions are integrated out, as when indicators are drawn, and have to be drawn afterwards.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jax.scipy.special import gammaln
from jaxtyping import Array, Bool, Float, Int

from .hierarchy import Components, Hyper, State, Tables, log_components, repeated
from .indicators import log_likelihood
from .numbers import normals, split, uniforms
from .proposal import Extra, log_proposed, proposed
from .renewal import Numbers, component_sums, draw_latents, draw_numbers, renewed

LAUNCH_STEPS = 5


class Pair(NamedTuple):
    """Two samples, the components at stake and where a second one has its slot."""

    i: Int[Array, ""]
    j: Int[Array, ""]
    inside: Bool[Array, " N"]
    divided: Bool[Array, ""]
    first_slot: Int[Array, ""]
    second_slot: Int[Array, ""]
    no_room: Bool[Array, ""]


class Launch(NamedTuple):
    """Both sides of a comparison: components a, b and m, who is in a, and x on either side."""

    components: tuple[Components, ...]
    first: Bool[Array, " N"]
    x: Float[Array, "2 N q"]


class Move(NamedTuple):
    """What came of a move: accepted or not, the gain of Σ log p(y_n | c_n), no slot left."""

    accepted: Bool[Array, ""]
    gain: Float[Array, ""]
    no_room: Bool[Array, ""]


def no_move() -> Move:
    """None was tried."""
    return Move(jnp.asarray(False), jnp.zeros(()), jnp.asarray(False))


def split_or_merge(seed: Array, state: State, Y: Tables) -> tuple[State, Move]:
    """One move, from a state whose x is integrated out."""
    seeds = split(seed, 5)
    pair = draw_pair(seeds[0], state)
    launch = launch_state(seeds[1], pair, state.hyper, Y)
    present = _taken(
        state.components, jnp.stack([pair.first_slot, pair.second_slot, pair.first_slot])
    )
    after, log_q = _last_step(seeds[2], pair, launch, present, state.hyper, Y)
    density = jax.lax.map(lambda k: log_likelihood(Y, after, k), jnp.arange(3))
    odds = _log_odds(pair, launch.first, density)
    uniform = uniforms(seeds[3], len(state.c))
    first = jnp.where(pair.divided, state.c == pair.first_slot, _drawn(pair, odds, uniform))
    chosen = jax.nn.log_sigmoid(jnp.where(first, odds, -odds))
    free = pair.inside & (jnp.arange(len(first)) != pair.i) & (jnp.arange(len(first)) != pair.j)
    log_q_division = jnp.sum(jnp.where(free, chosen, 0.0))
    pairs = zip(after, state.hyper, strict=True)
    log_prior = jnp.sum(jnp.stack([log_components(own, hyper) for own, hyper in pairs]), axis=0)
    sizes = jnp.stack([jnp.sum(pair.inside & first), jnp.sum(pair.inside & ~first)])
    log_p = jnp.log(state.alpha) + gammaln(sizes).sum() - gammaln(sizes.sum())
    log_p += log_prior[0] + log_prior[1] - log_prior[2]
    apart = jnp.where(first, density[0], density[1]) - density[2]
    gain = jnp.sum(jnp.where(pair.inside, apart, 0.0))
    log_ratio = log_p + gain + log_q[2] - log_q[0] - log_q[1] - log_q_division
    sign = jnp.where(pair.divided, -1.0, 1.0)
    accepted = jnp.log(uniforms(seeds[4], 1)[0]) < sign * log_ratio
    move = Move(accepted, jnp.where(accepted, sign * gain, 0.0), pair.no_room)
    return _moved(state, pair, after, first, accepted), move


def draw_pair(seed: Array, state: State) -> Pair:
    """Two different samples, each pair with the same probability."""
    n = len(state.c)
    uniform = 1.0 - uniforms(seed, 2)
    i = (uniform[0] * n).astype(state.c.dtype)
    j = (i + 1 + (uniform[1] * (n - 1)).astype(state.c.dtype)) % n
    own, other = state.c[i], state.c[j]
    used = state.counts() > 0
    inside = (state.c == own) | (state.c == other)
    second = jnp.where(own == other, jnp.argmin(used), other)
    return Pair(i, j, inside, own != other, own, second, (own == other) & used.all())


# ---------------------------------------------------------------------- launch


def launch_state(seed: Array, pair: Pair, hypers: tuple[Hyper, ...], Y: Tables) -> Launch:
    """A few Gibbs steps of both sides, from what lies nearer to which of the two samples."""
    joined = jnp.concatenate(Y, axis=1)
    apart = [jnp.sum((joined - joined[n]) ** 2, axis=1) for n in (pair.i, pair.j)]
    launch = _rough(pair, apart[0] < apart[1], hypers, Y)

    def step(launch: Launch, seed: Array) -> tuple[Launch, None]:
        seeds = split(seed, 3)
        members = _members(pair, launch.first)
        numbers = draw_numbers(seeds[0], members.sum(axis=1), hypers)
        components = _each_renewed(members, numbers, launch, hypers, Y)
        density = jax.lax.map(lambda k: log_likelihood(Y, components, k), jnp.arange(2))
        odds = _log_odds(pair, launch.first, density)
        first = _drawn(pair, odds, uniforms(seeds[1], len(joined)))
        q = launch.x.shape[2]
        normal = normals(seeds[2], launch.x.size).reshape(2, len(joined), q)
        owner = jnp.stack([jnp.where(first, 0, 1), jnp.full(len(first), 2)])
        x = jnp.stack(
            [draw_latents(components, own, Y, z) for own, z in zip(owner, normal, strict=True)]
        )
        return Launch(components, first, x), None

    return jax.lax.scan(step, launch, split(seed, LAUNCH_STEPS))[0]


def _rough(pair: Pair, nearer: Bool[Array, " N"], hypers: tuple[Hyper, ...], Y: Tables) -> Launch:
    """Noise of the typical size, no loadings, and x the leading directions of every component."""
    q = hypers[0].gamma.shape[1]
    first = _forced(pair, nearer)

    def directions(member: Float[Array, " N"]) -> Float[Array, "N q"]:
        """Principal components of the member samples, each view whitened, of unit variance."""
        size, white = jnp.maximum(jnp.sum(member), 1.0), []
        for table, hyper in zip(Y, hypers, strict=True):
            centred = table - member @ table / size
            own = (centred * member[:, None]).T @ centred / size
            L = jnp.linalg.cholesky(own + hyper.C * jnp.eye(hyper.copies()) / size)
            white.append(solve_triangular(L, centred.T, lower=True).T)
        rows = jnp.concatenate(white, axis=1)
        values, vectors = jnp.linalg.eigh((rows * member[:, None]).T @ rows / size)
        scores = rows @ vectors[:, -q:]
        return scores / jnp.sqrt(jnp.maximum(values[-q:], 1e-12))

    x = jax.lax.map(directions, _members(pair, first))
    components = []
    for hyper in hypers:
        factor = jnp.linalg.cholesky(jnp.linalg.inv(hyper.C))
        log_det = 2.0 * jnp.sum(jnp.log(jnp.diagonal(factor)))
        A = repeated(factor, log_det, hyper.copies())
        parts = (hyper.lam, *A, 0.0 * hyper.gamma)
        components.append(Components(*(jnp.broadcast_to(p, (3, *p.shape)) for p in parts)))
    return Launch(
        tuple(components), first, jnp.stack([jnp.where(first[:, None], x[0], x[1]), x[2]])
    )


# ---------------------------------------------------------------------- parts of both


def _members(pair: Pair, first: Bool[Array, " N"]) -> Float[Array, "3 N"]:
    """One for the samples of a, of b, and of both."""
    return jnp.stack([pair.inside & first, pair.inside & ~first, pair.inside]).astype(jnp.float64)


def _forced(pair: Pair, first: Bool[Array, " N"]) -> Bool[Array, " N"]:
    return first.at[pair.i].set(True).at[pair.j].set(False)


def _log_odds(
    pair: Pair, first: Bool[Array, " N"], density: Float[Array, "_ N"]
) -> Float[Array, " N"]:
    """Of a against b, weights being those of the division at launch."""
    members = _members(pair, first)
    return jnp.log(members[0].sum() / members[1].sum()) + density[0] - density[1]


def _drawn(pair: Pair, odds: Float[Array, " N"], uniform: Float[Array, " N"]) -> Bool[Array, " N"]:
    return _forced(pair, jnp.log(uniform) < jax.nn.log_sigmoid(odds))


def _each_renewed(
    members: Float[Array, "3 N"],
    numbers: tuple[Numbers, ...],
    launch: Launch,
    hypers: tuple[Hyper, ...],
    Y: Tables,
) -> tuple[Components, ...]:
    """One Gibbs step of every view's three components."""

    def each(parts: tuple) -> tuple[Components, ...]:
        k, member, numbers, old = parts
        x = launch.x[k // 2]
        return tuple(
            renewed(drawn, own, component_sums(member, table, x), hyper)
            for drawn, own, table, hyper in zip(numbers, old, Y, hypers, strict=True)
        )

    return jax.lax.map(each, (jnp.arange(3), members, numbers, launch.components))


def _last_step(
    seed: Array,
    pair: Pair,
    launch: Launch,
    present: tuple[Components, ...],
    hypers: tuple[Hyper, ...],
    Y: Tables,
) -> tuple[tuple[Components, ...], Float[Array, " 3"]]:
    """Components a, b, m: the present ones of the side that is, new ones of the other; log q."""
    seeds, q = split(seed, 3), launch.x.shape[2]
    members = _members(pair, launch.first)
    numbers = draw_numbers(seeds[0], members.sum(axis=1), hypers)
    normal = normals(seeds[1], 3 * (q + q * q)).reshape(3, q, q + 1)
    signs = jnp.where(uniforms(seeds[2], 3 * q).reshape(3, q) < 0.5, -1.0, 1.0)
    extra = Extra(normal[:, :, 0], normal[:, :, 1:], signs)

    def each(parts: tuple) -> tuple[tuple[Components, ...], Float[Array, ""]]:
        k, member, numbers, extra, old, present = parts
        sums = tuple(component_sums(member, table, launch.x[k // 2]) for table in Y)
        new = proposed(numbers, extra, old, sums, hypers)
        kept = pair.divided == (k < 2)
        new = jax.tree.map(lambda a, b: jnp.where(kept, a, b), present, new)
        return new, log_proposed(new, old, sums, hypers)

    return jax.lax.map(each, (jnp.arange(3), members, numbers, extra, launch.components, present))


def _taken(components: tuple[Components, ...], slots: Int[Array, " n"]) -> tuple[Components, ...]:
    return tuple(Components(*(part[slots] for part in own)) for own in components)


def _moved(
    state: State,
    pair: Pair,
    proposed: tuple[Components, ...],
    first: Bool[Array, " N"],
    accepted: Bool[Array, ""],
) -> State:
    """The state after the move, if it was accepted."""
    slots = jnp.stack([pair.first_slot, pair.second_slot])
    sources = jnp.where(pair.divided, jnp.array([2, 1]), jnp.array([0, 1]))
    components = tuple(
        Components(
            *(
                part.at[slots].set(jnp.where(accepted, new[sources], part[slots]))
                for part, new in zip(own, drawn, strict=True)
            )
        )
        for own, drawn in zip(state.components, proposed, strict=True)
    )
    target = jnp.where(pair.divided | first, pair.first_slot, pair.second_slot)
    return state._replace(
        components=components, c=jnp.where(accepted & pair.inside, target, state.c)
    )

"""How training sequences moved on, as a prior of new ones.

A stationary process over time is the same run backwards, and forgets within a lengthscale in what
sense it was moving. Walks, strokes and spoken words do neither.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Int

from ..latent import Paths, Sequences, marginals
from .following import MOST_STATES, later

NEAR, TURN, STEP = 2.0, 0.5, 0.5  # bandwidths of place, velocity and step, in typical steps
ALIKE = 1.5  # waits further from the typical one than by this factor are left out
ROWS_AT_ONCE = 512


class Flow(eqx.Module):
    """log p(x_{n+1} | x_n, x_{n-1}), a kernel estimate from the training paths,

        p = Σ_s w_s N(x_{n+1} - x_n | step_s, g²),
        w_s ∝ N(x_n | place_s, h²) N(x_n - x_{n-1} | turn_s, v²),

    with the places of training rows s, the steps turn_s to them and step_s from them in the same
    time (Rosenblatt 1969). Evaluated at the means of q(X*): it bends paths, not their variances.
    """

    condition: Float[Array, "S C"]  # place and step before, in bandwidths
    step: Float[Array, "S Q"]
    triples: Int[Array, "T 3"]  # successive rows
    units: Float[Array, "3 Q"]
    weight: float = eqx.field(static=True)

    def __call__(self, means: Float[Array, "N Q"]) -> Float[Array, " N"]:
        """Every row's share: what there is to say of its step."""
        place, turn, unit = self.units
        heights = -0.5 * jnp.sum(self.condition**2, axis=1)
        scale = jnp.sum(jnp.log(unit)) + 0.5 * unit.size * jnp.log(2.0 * jnp.pi)

        def one(rows: Int[Array, " 3"]) -> Array:
            before, here, after = means[rows]
            asked = jnp.concatenate([here / place, (here - before) / turn])
            near = self.condition @ asked + heights  # up to what is the same for all states
            step = (after - here) / unit
            apart = jnp.sum(step**2) - 2.0 * self.step @ step + jnp.sum(self.step**2, axis=1)
            return logsumexp(near - 0.5 * apart) - logsumexp(near) - scale

        found = jax.lax.map(jax.checkpoint(one), self.triples, batch_size=ROWS_AT_ONCE)
        return jnp.zeros(len(means)).at[self.triples[:, 2]].add(self.weight * found)


def training_flow(latent: Paths, new: Sequences, weight: float) -> Flow | None:
    """The flow of training paths for rows of new sequences; None if there is nothing to follow."""
    wait, triples = _triples(new)
    sequences = latent.sequences
    if not len(triples):
        return None
    means = np.asarray(marginals(latent).mean)
    ahead, behind = later(means, sequences, wait), later(means, sequences, -wait)
    at = np.asarray(sequences.inputs)
    inner = (later(at, sequences, wait)[:, 0] - later(at, sequences, -wait)[:, 0]) > 1.9 * wait
    states = np.flatnonzero(inner)
    if not len(states):
        return None
    states = states[np.linspace(0, len(states) - 1, min(len(states), MOST_STATES)).astype(int)]
    typical = np.sqrt(np.mean((ahead - means)[states] ** 2, axis=0))
    typical = np.maximum(typical, 1e-6 * max(float(typical.max()), 1e-12))
    place, turn, unit = NEAR * typical, TURN * typical, STEP * typical
    condition = np.hstack([means / place, (means - behind) / turn])[states]
    return Flow(
        jnp.asarray(condition), jnp.asarray(((ahead - means) / unit)[states]), jnp.asarray(triples),
        jnp.stack([jnp.asarray(place), jnp.asarray(turn), jnp.asarray(unit)]), weight,
    )  # fmt: skip


def _triples(sequences: Sequences) -> tuple[float, Int[np.ndarray, "T 3"]]:
    """The typical wait between rows, and successive rows that are about so far apart."""
    order, first = np.asarray(sequences.order), np.asarray(sequences.first)
    at = np.asarray(sequences.inputs)[:, 0]
    runs = np.split(order, np.flatnonzero(first)[1:])
    waits = np.concatenate([np.diff(at[rows]) for rows in runs])
    if not (waits > 0).any():
        return 0.0, np.zeros((0, 3), int)
    wait = float(np.median(waits[waits > 0]))
    found = [np.stack([rows[:-2], rows[1:-1], rows[2:]], axis=1) for rows in runs if len(rows) > 2]
    triples = np.concatenate(found) if found else np.zeros((0, 3), int)
    gaps = np.diff(at[triples], axis=1)
    alike = ((gaps > wait / ALIKE) & (gaps < wait * ALIKE)).all(axis=1)
    return wait, triples[alike]

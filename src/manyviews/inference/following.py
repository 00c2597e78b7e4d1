"""Paths that move on as training sequences did, for new sequences to start from."""

import numpy as np
from jaxtyping import Float, Int

from ..latent import Sequences
from .neighbours import row_distances

MOST_STATES = 1000  # training rows among which a path is followed
STEP_WEIGHT = 3.0  # of half a typical squared step of training, as a cost
ANYWHERE = 1e-12  # the chance to go on from any other row


def followed_path(
    means: Float[np.ndarray, "T Q"],
    sequences: Sequences,
    new: tuple[np.ndarray, ...],
    train: tuple[np.ndarray, ...],
    inputs: Float[np.ndarray, "N 1"],
    code: Int[np.ndarray, " N"],
    trust: float,
    momentum: float = 0.0,
) -> Float[np.ndarray, "N Q"]:
    """The expected path of new rows that move on as training sequences did.

    A hidden Markov model whose states are training rows: from one it goes to rows near the place
    where the sequence of that one was, by its latent means, after the same time. A process over
    time is the same run backwards; training sequences are not, which tells apart paths of equal
    smoothness. Costs are squared distances in the data, ``trust`` for the median nearest
    one, and squared distances of latent means in units of a typical step.

    Where training paths cross, a path could turn from one into the other, or back; with
    ``momentum`` rows are near if their velocities are as well: a difference of one unit per wait
    counts as ``momentum`` units of distance.
    """
    found = np.zeros((len(code), means.shape[1]))
    for place in np.unique(code):
        own = np.flatnonzero(code == place)
        own = own[np.argsort(inputs[own, 0], kind="stable")]
        apart = row_distances(tuple(Y[own] for Y in new), train)
        apart = np.where(np.isfinite(apart), apart, 0.0)  # rows of which nothing is known
        states = np.sort(np.argsort(apart.min(axis=0), kind="stable")[:MOST_STATES])
        cost = trust * apart[:, states] / max(float(np.median(apart.min(axis=1))), 1e-12)
        weight = np.exp(cost.min(axis=1, keepdims=True) - cost)
        waits = _few_waits(np.diff(inputs[own, 0]))
        moves = {
            wait: _moves(means, sequences, states, wait, momentum) for wait in np.unique(waits)
        }
        share = _smoothed(weight, [moves[wait] for wait in waits])
        found[own] = share @ means[states]
    return found


def _few_waits(waits: Float[np.ndarray, " W"]) -> Float[np.ndarray, " W"]:
    """The waits to a tenth or so: every different one costs a matrix."""
    some = waits > 0
    if some.any():
        unit = np.median(waits[some])
        octaves = np.log2(waits / unit, where=some, out=np.zeros_like(waits))
        waits = np.where(some, unit * np.exp2(np.round(4.0 * octaves) / 4.0), 0.0)
    return waits


def _moves(
    means: Float[np.ndarray, "T Q"],
    sequences: Sequences,
    states: Int[np.ndarray, " S"],
    wait: float,
    momentum: float,
) -> Float[np.ndarray, "S S"]:
    """Chances to be near one state some time after another, training sequences having gone on."""
    if momentum:
        velocity = later(means, sequences, wait) - later(means, sequences, -wait)
        means = np.concatenate([means, 0.5 * momentum * velocity], axis=1)
    onward = later(means, sequences, wait)
    steps = np.sum((onward - means) ** 2, axis=1)
    unit = float(np.median(steps[steps > 0])) if (steps > 0).any() else 1.0
    ahead, here = onward[states], means[states]
    squares = np.sum(ahead**2, axis=1)[:, None] - 2.0 * ahead @ here.T + np.sum(here**2, axis=1)
    near = np.exp(-STEP_WEIGHT * np.maximum(squares, 0.0) / unit) + ANYWHERE
    return near / near.sum(axis=1, keepdims=True)


def later(
    values: Float[np.ndarray, "T V"], sequences: Sequences, wait: float
) -> Float[np.ndarray, "T V"]:
    """Where the sequence of each row was some time after (or before), at most at its end."""
    order, first = np.asarray(sequences.order), np.asarray(sequences.first)
    at, found = np.asarray(sequences.inputs)[:, 0], values.copy()
    for rows in np.split(order, np.flatnonzero(first)[1:]):
        for x, there in zip(values.T, found.T, strict=True):
            there[rows] = np.interp(at[rows] + wait, at[rows], x[rows])
    return found


def _smoothed(
    weight: Float[np.ndarray, "N S"], moves: list[Float[np.ndarray, "S S"]]
) -> Float[np.ndarray, "N S"]:
    """Chances of every state at every row, given all rows: forwards, then backwards."""
    forward, backward = weight.copy(), np.ones_like(weight)
    forward[0] /= forward[0].sum()
    for row, move in enumerate(moves):
        forward[row + 1] *= forward[row] @ move
        forward[row + 1] /= forward[row + 1].sum()
    for row in range(len(moves) - 1, -1, -1):
        backward[row] = moves[row] @ (weight[row + 1] * backward[row + 1])
        backward[row] /= backward[row].max()
    share = forward * backward
    return share / share.sum(axis=1, keepdims=True)

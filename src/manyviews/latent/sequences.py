"""Which rows belong to which sequence, and when: arranged for batched and for sorted work."""

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Bool, Float, Int

SHORTEST_SHARE = 0.75  # sequences in one batch are at least so long, relative to the longest


class Sequences(eqx.Module):
    """Rows in independent sequences, each with an input (a time stamp, as a rule) per row.

    ``batches`` hold the rows of sequences of similar length, padded with the number of rows;
    ``place`` says where a row went in the batches laid end to end. ``order`` sorts the rows by
    sequence and first input, ``step`` is the distance to the row before in that order, and
    ``first`` marks where sequences begin.
    """

    inputs: Float[Array, "N P"]
    code: Int[Array, " N"]
    batches: tuple[Int[Array, "_ _"], ...]
    place: Int[Array, " N"]
    order: Int[Array, " N"]
    step: Float[Array, " N"]
    first: Bool[Array, " N"]

    def longest(self) -> int:
        """Rows of the longest sequence."""
        return max(batch.shape[1] for batch in self.batches)


def make_sequences(inputs: Float[np.ndarray, "N P"], code: Int[np.ndarray, " N"]) -> Sequences:
    """Arrange rows given in any order."""
    n_rows = len(code)
    order = np.lexsort((inputs[:, 0], code))
    first = np.append(True, np.diff(code[order]) != 0)
    step = np.append(0.0, np.diff(inputs[order, 0]))
    members = sorted(np.split(order, np.flatnonzero(first)[1:]), key=len, reverse=True)
    groups: list[list[np.ndarray]] = []
    for rows in members:
        if not groups or len(rows) < SHORTEST_SHARE * len(groups[-1][0]):
            groups.append([])
        groups[-1].append(rows)
    batches = []
    for group in groups:
        batch = np.full((len(group), len(group[0])), n_rows)
        for i, rows in enumerate(group):
            batch[i, : len(rows)] = rows
        batches.append(batch)
    flat = np.concatenate([batch.ravel() for batch in batches])
    place = np.empty(n_rows, dtype=np.int64)
    place[flat[flat < n_rows]] = np.flatnonzero(flat < n_rows)
    return Sequences(
        inputs=jax.device_put(np.asarray(inputs, np.float64)),
        code=jax.device_put(np.asarray(code)),
        batches=tuple(jax.device_put(batch) for batch in batches),
        place=jax.device_put(place),
        order=jax.device_put(order),
        step=jax.device_put(np.where(first, 0.0, step).astype(np.float64)),
        first=jax.device_put(first),
    )

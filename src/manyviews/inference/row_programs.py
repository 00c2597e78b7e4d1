"""Fits to different numbers of rows by the same compiled programs.

A program is compiled for the shapes of its arrays, and a small fit takes less time than that. Where
the same model is fitted to many parts of some data, as in folds, all its fits take the programs of
the whole: rows are added of which nothing has been observed.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import jax.numpy as jnp

from ..expectations import Gaussian
from ..mappings.outputs import PatternedOutputs, ScatteredOutputs

FEW = 200  # rows up to which a fit to some takes less time than a program
STEP = 16  # of more, that parts nearly as large have in common

_most: ContextVar[int] = ContextVar("most rows", default=0)


@contextmanager
def sharing_programs(n_rows: int) -> Iterator[None]:
    """While in here, fits to parts of so many rows share their programs.

    Of up to 200 rows, those of all rows; of more, those of the next multiple of 16. Within another
    block of this kind, the larger number counts.
    """
    token = _most.set(max(n_rows, _most.get()))
    try:
        yield
    finally:
        _most.reset(token)


def rows_to_compile(n_rows: int) -> int:
    """The rows of the program that is to fit so many."""
    most = _most.get()
    if n_rows >= most:
        return n_rows
    return most if most <= FEW else min(-(-n_rows // STEP) * STEP, most)


def filled_up(q: Gaussian, outputs: Any) -> tuple[Gaussian, Any]:
    """Positions and data with rows added, the data having none of them."""
    n_rows = q.mean.shape[0]
    added = rows_to_compile(n_rows) - n_rows
    if not added or not isinstance(outputs, PatternedOutputs | ScatteredOutputs):
        return q, outputs
    below = ((0, added), (0, 0))
    longer = Gaussian(jnp.pad(q.mean, below), jnp.pad(q.variance, below, constant_values=1.0))
    return longer, outputs.with_empty_rows(added)

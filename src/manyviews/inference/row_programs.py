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

FEW = 200  # rows up to which a fit to any part takes less time than a program
SEVERAL = 1000  # rows up to which a fit to nearly all of them does
STEP = 16  # of more, that parts nearly as large have in common

_wholes: ContextVar[tuple[int, ...]] = ContextVar("rows of what is fitted in parts", default=())


@contextmanager
def sharing_programs(n_rows: int) -> Iterator[None]:
    """While in here, fits to parts of so many rows share their programs.

    Of up to 1000 rows, those of all rows; of more, those of the next multiple of 16. Within other
    blocks of this kind, the largest number counts if it is 200 or less; otherwise the smallest that
    is large enough, rounded up.
    """
    token = _wholes.set((*_wholes.get(), n_rows))
    try:
        yield
    finally:
        _wholes.reset(token)


def rows_to_compile(n_rows: int) -> int:
    """The rows of the program that is to fit so many."""
    wholes = _wholes.get()
    most = max(wholes, default=0)
    if n_rows >= most:
        return n_rows
    if most <= FEW:
        return most
    whole = min(each for each in wholes if each >= n_rows)
    wanted = whole if whole <= SEVERAL else n_rows
    return min(-(-wanted // STEP) * STEP, most)


def filled_up(q: Gaussian, outputs: Any) -> tuple[Gaussian, Any]:
    """Positions and data with rows added, the data having none of them."""
    n_rows = q.mean.shape[0]
    added = rows_to_compile(n_rows) - n_rows
    if not added or not isinstance(outputs, PatternedOutputs | ScatteredOutputs):
        return q, outputs
    below = ((0, added), (0, 0))
    longer = Gaussian(jnp.pad(q.mean, below), jnp.pad(q.variance, below, constant_values=1.0))
    return longer, outputs.with_empty_rows(added)

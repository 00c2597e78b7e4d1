"""Many pieces of work, in several processes, with a word on each that is done."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from sklearn.utils.parallel import Parallel, delayed


def side_by_side(
    work: Callable[..., Any], pieces: Iterable[tuple[Any, ...]], n_jobs: int | None
) -> Iterator[Any]:
    """Results of a function as they come, in no order.

    Compiled programs add up in a worker, which is then replaced by a fresh one: joblib would warn
    of that.
    """
    run = Parallel(n_jobs, return_as="generator_unordered")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="A worker stopped", category=UserWarning)
        yield from run(delayed(work)(*piece) for piece in pieces)

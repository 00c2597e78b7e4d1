"""The options that the models of latent points share."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import OptionError
from ..inference.search import Search
from ..kernels import Kernel
from ..options import (
    BOOLEAN,
    BY_VIEW,
    NONE,
    SEED,
    VERBOSE,
    Options,
    count,
    instance_of,
    number,
    one_of,
)

NOISE_FLOOR = 1e-6  # of a view's variance

FITTING: Options = {
    "search": (instance_of(Search), NONE),
    "random_state": (SEED,),
    "verbose": (VERBOSE,),
}
TABLE: Options = {
    **FITTING,
    "n_components": (count(), NONE),
    "ard": (BOOLEAN,),
    "n_inducing": (count(), NONE),
    "kernel": (instance_of(str, Kernel),),
    "scaling": (one_of("view", "column", "none"),),
    "noise_floor": (number(0, 1, "left"),),
}
VIEWS: Options = {
    **FITTING,
    "scaling": (one_of("view", "column", "none"), BY_VIEW),
    "noise_floor": (number(0, 1, "left"), BY_VIEW),
    "align": (one_of("union", "intersection"),),
}
SHARED: Options = {
    **VIEWS,
    "n_components": (count(),),
    "kernel": (instance_of(str, Kernel), BY_VIEW),
    "ard": (BOOLEAN,),
}
INDUCING = (count(), BY_VIEW, NONE)
COUNTS = (count(0), BY_VIEW)
TIME_KERNEL = (instance_of(str, Kernel, list, tuple),)


def inducing_counts(asked: Sequence[int | None], n_samples: int) -> list[int | None]:
    """The number of inducing inputs of every view, None for an exact mapping."""
    for m in asked:
        if m is not None and m > n_samples:
            raise OptionError(f"n_inducing={m} is more than the {n_samples} samples there are")
    return [None if m is None else int(m) for m in asked]


def check_components(n_components: int, tables: Sequence[np.ndarray], init: Any) -> None:
    """Refuse more dimensions than the start can give."""
    limit = min(len(tables[0]), sum(Y.shape[1] for Y in tables))
    if isinstance(init, str) and init != "random" and n_components > limit:
        raise OptionError(
            f"n_components={n_components} is more than init={init!r} can give for "
            f"{len(tables[0])} samples and {sum(Y.shape[1] for Y in tables)} columns"
        )

"""Several processes that fit one model together, on one machine or many.

Every process runs the same script. It joins the others before anything else, names the same files
or hands over rows of its own to `gather_rows()`, and then fits as usual::

    import manyviews
    from manyviews.processes import gather_rows, join_processes

    join_processes()
    model = manyviews.BayesianGPLVM().fit(gather_rows(own_rows))

All devices of all processes then share the rows, and every process ends with the same model. The
options of the model, ``verbose`` apart, have to be the same everywhere, and so has the order of
fits.
"""

import os
from functools import partial
from inspect import signature
from typing import Any

import jax
import numpy as np
from jaxtyping import ArrayLike, Float

from .errors import OptionError

COORDINATOR, COUNT = "MANYVIEWS_COORDINATOR", "MANYVIEWS_PROCESSES"
PLACE = "MANYVIEWS_PROCESS"
LAUNCHERS = ("SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE")  # tell how many were started together
PATIENCE = 30  # seconds of silence after which a process counts as dead


def join_processes(
    coordinator: str | None = None, n_processes: int | None = None, process: int | None = None
) -> int:
    """Join the processes that the environment speaks of; the number of this one is returned.

    Nothing happens where there is one process only. When a process dies, the others end too,
    with a message of JAX that names it.

    Parameters
    ----------
    coordinator : str, optional
        Address of the first process, as in ``"node1:1234"``. Default: the environment variable
        ``MANYVIEWS_COORDINATOR``, or what Slurm or Open MPI say.
    n_processes, process : int, optional
        How many there are, and which of them this is, from 0. Default: ``MANYVIEWS_PROCESSES`` and
        ``MANYVIEWS_PROCESS``, or what Slurm or Open MPI say.
    """
    if jax.distributed.is_initialized():
        return jax.process_index()
    coordinator = coordinator or os.environ.get(COORDINATOR)
    launched = max(_count(name) or 1 for name in LAUNCHERS)
    given: dict[str, Any] = {
        "coordinator_address": coordinator,
        "num_processes": _count(COUNT) if n_processes is None else n_processes,
        "process_id": _count(PLACE) if process is None else process,
    }
    known = [value is not None for value in given.values()]
    if any(known) and not all(known):
        raise OptionError(
            f"several processes need coordinator, n_processes and process ({COORDINATOR}, {COUNT} "
            f"and {PLACE}), all of them; got {', '.join(f'{k}={v}' for k, v in given.items())}"
        )
    if all(known) or launched > 1:
        initialize = jax.distributed.initialize
        if "heartbeat_timeout_seconds" in signature(initialize).parameters:  # newer versions
            initialize = partial(initialize, heartbeat_timeout_seconds=PATIENCE)
        initialize(**(given if all(known) else {}))
    return jax.process_index()


def gather_rows(own: ArrayLike) -> Float[np.ndarray, "N D"]:
    """The rows of all processes, in the order of the processes, for each of them.

    Every process hands over an array of its own rows, NaN where a value is missing. All have as
    many columns; the numbers of rows may differ.
    """
    rows = np.asarray(own, dtype=float)
    if rows.ndim != 2:
        raise OptionError(f"rows must be an array of rows and columns, got shape {rows.shape}")
    if jax.process_count() == 1:
        return rows
    from jax.experimental import multihost_utils

    shapes = np.asarray(multihost_utils.process_allgather(np.array(rows.shape)))
    if len(set(shapes[:, 1])) > 1:
        raise OptionError(
            f"all processes must have as many columns, got {shapes[:, 1].tolist()} of them"
        )
    padded = np.pad(rows, ((0, shapes[:, 0].max() - len(rows)), (0, 0)))
    parts = np.asarray(multihost_utils.process_allgather(padded))
    return np.concatenate([part[:n] for part, n in zip(parts, shapes[:, 0], strict=True)])


def _count(name: str) -> int | None:
    value = os.environ.get(name)
    if value is None:
        return None
    if not value.isdecimal():
        raise OptionError(f"{name} must be a number, got {value!r}")
    return int(value)

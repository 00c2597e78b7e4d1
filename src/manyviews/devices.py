"""The devices that share the rows of a fit.

A fit with rows on several devices has one mesh with one axis. What has a row for every sample is
cut along it, everything else is there on every device. The environment variable
``MANYVIEWS_DEVICES`` says which devices take part:

==========  ======================================================================================
``auto``    all GPUs of this machine, for tables of many rows; one device otherwise (the default)
``all``     all devices that JAX sees
a number    so many of them
==========  ======================================================================================

Where JAX runs in several processes, all devices of all of them take part, always.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from . import _runtime  # noqa: F401
from .errors import OptionError, ProcessLostError

VARIABLE = "MANYVIEWS_DEVICES"
AXIS = "rows"
FEWEST_ROWS = 20_000  # below, one GPU is not busy

_in_use: ContextVar[Mesh | None] = ContextVar("mesh", default=None)


def row_mesh(n_rows: int, fewest: int = FEWEST_ROWS, everywhere: bool = True) -> Mesh | None:
    """The devices that are to share so many rows; None for one.

    Parameters
    ----------
    fewest
        Rows that are shared without being asked for.
    everywhere
        Whether the rows are those of all processes. Otherwise each has rows of its own.
    """
    devices = _devices(n_rows, fewest, everywhere)
    return Mesh(np.array(devices), (AXIS,)) if len(devices) > 1 else None


def _devices(n_rows: int, fewest: int, everywhere: bool) -> list[jax.Device]:
    if everywhere and jax.process_count() > 1:
        return jax.devices()
    here = jax.local_devices()
    choice = os.environ.get(VARIABLE, "auto").lower() or "auto"
    if choice == "auto":
        many = jax.default_backend() == "gpu" and n_rows >= fewest
        return here if many else here[:1]
    if choice == "all":
        return here
    if not choice.isdecimal() or not 1 <= int(choice) <= len(here):
        raise OptionError(
            f"{VARIABLE} must be 'auto', 'all' or a number from 1 to {len(here)}, the number "
            f"of devices that JAX sees; got {choice!r}"
        )
    return here[: int(choice)]


@contextmanager
def rows_on(mesh: Mesh | None) -> Iterator[None]:
    """While something is traced in here, its large sums over rows are shared by the mesh."""
    token = _in_use.set(mesh)
    try:
        yield
    finally:
        _in_use.reset(token)


def mesh_in_use() -> Mesh | None:
    """The mesh of what is being traced."""
    return _in_use.get()


def sum_over_devices(
    mesh: Mesh, function: Callable[..., jax.Array], by_row: tuple[int | None, ...]
) -> Callable[..., jax.Array]:
    """A function that is a sum over rows, computed from the rows of each device and added up.

    Parameters
    ----------
    by_row
        For every argument, the axis that counts rows; None for one that has none.
    """

    def own(*arguments: jax.Array) -> jax.Array:
        with rows_on(None):
            return function(*arguments)[None]

    parts = jax.shard_map(
        own,
        mesh=mesh,
        in_specs=tuple(spec(axis) for axis in by_row),
        out_specs=spec(0),
        check_vma=False,
    )
    return lambda *arguments: parts(*arguments).sum(axis=0)


def spec(axis: int | None) -> PartitionSpec:
    """Cut along an axis; not at all with None."""
    return PartitionSpec() if axis is None else PartitionSpec(*(None,) * axis, AXIS)


def agreed(number: int) -> int:
    """The largest of what several processes say: they have to run the same programs in turn."""
    if jax.process_count() == 1:
        return number
    from jax.experimental import multihost_utils

    return int(np.max(multihost_utils.process_allgather(np.int32(number))))


@contextmanager
def together() -> Iterator[None]:
    """Say plainly what a failure of work that several processes do together means."""
    try:
        yield
    except jax.errors.JaxRuntimeError as failure:
        if jax.process_count() == 1:
            raise
        raise ProcessLostError(
            f"one of the {jax.process_count()} processes that fit this model together is gone, or "
            f"a device has failed; this process, number {jax.process_index()}, ends too. JAX tells "
            "which below. Start all processes again; with a checkpoint the fit goes on from there. "
            f"({failure})"
        ) from failure


def place(array: Any, mesh: Mesh, axis: int | None) -> jax.Array:
    """An array on the devices of a mesh, cut along an axis or whole on all of them."""
    sharding = NamedSharding(mesh, spec(axis))
    if jax.process_count() == 1 or getattr(array, "sharding", None) == sharding:
        return jax.device_put(array, sharding)
    here = fetched(array)
    return jax.make_array_from_callback(here.shape, sharding, lambda part: here[part])


def fetched(array: Any) -> np.ndarray:
    """The whole of an array on the host, wherever its parts are."""
    if isinstance(array, jax.Array) and not (
        array.is_fully_addressable or array.is_fully_replicated
    ):
        whole = NamedSharding(array.sharding.mesh, PartitionSpec())  # type: ignore[attr-defined]
        array = jax.jit(lambda a: a, out_shardings=whole)(array)
    return np.asarray(array)

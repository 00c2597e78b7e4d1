"""Settings of JAX that the library relies on: float64 and a persistent compilation cache.

They are made when this is imported, which every room does that computes with JAX.
"""

import contextlib
import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jax
from platformdirs import user_cache_dir
from threadpoolctl import threadpool_limits

from .errors import ForkError

CACHE_VARIABLE = "MANYVIEWS_COMPILE_CACHE"


def configure() -> None:
    """Turn on float64 and, unless the user has their own, a compilation cache.

    The environment variable ``MANYVIEWS_COMPILE_CACHE`` names another folder, or
    turns the cache off with the value ``off``.
    """
    jax.config.update("jax_enable_x64", True)
    choice = os.environ.get(CACHE_VARIABLE, "")
    if choice.lower() in {"off", "0", "false", "no"} or jax.config.values.get(
        "jax_compilation_cache_dir"
    ):
        return
    folder = Path(choice) if choice else Path(user_cache_dir("manyviews")) / "compiled"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # a read-only home is no reason to fail: compile afresh instead
        return
    jax.config.update("jax_compilation_cache_dir", str(folder))
    # Small programs are kept, too: a fit and a prediction each need dozens.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)


configure()

_stranded = False


def _note_fork() -> None:
    """In a new child: whether JAX ran in the parent, whose threads are not here."""
    global _stranded
    with contextlib.suppress(ImportError, AttributeError):  # private: it may move
        from jax._src import xla_bridge

        _stranded = _stranded or xla_bridge.backends_are_initialized()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def stranded() -> bool:
    """Whether JAX cannot answer in this process."""
    return _stranded


def refuse_fork() -> None:
    """Say so, in the place of waiting for ever, where JAX cannot answer any more.

    A child that was forked from a process in which JAX ran has its locks, but not the threads
    that would release them.
    """
    if _stranded:
        raise ForkError(
            "this process was forked from one in which JAX had run, and would wait for ever for "
            "threads that it does not have. Start processes with "
            "multiprocessing.get_context('spawn') or joblib's default backend ('loky'), or fork "
            "before the first model is fitted, loaded or asked"
        )


MOST_MAPPINGS = 30_000  # pieces of memory; Linux ends a process that has 65,530


def make_room_for_programs() -> None:
    """Drop compiled programs before they are too many: each holds pieces of memory of its own.

    A process that fits hundreds of tables of different shapes would otherwise be ended. What is
    needed again comes from the cache on disk.
    """
    mappings = Path("/proc/self/maps")
    if mappings.exists() and mappings.read_bytes().count(b"\n") > MOST_MAPPINGS:
        jax.clear_caches()
        gc.collect()


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Hold BLAS to one thread: its pool fights with XLA's, and small matrices only wait for it."""
    with threadpool_limits(limits=1, user_api="blas"):
        yield

"""Settings of JAX that the library relies on: float64 and a persistent compilation cache.

They are made when this is imported, which every room does that computes with JAX.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jax
from platformdirs import user_cache_dir
from threadpoolctl import threadpool_limits

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


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Hold BLAS to one thread: its pool fights with XLA's, and small matrices only wait for it."""
    with threadpool_limits(limits=1, user_api="blas"):
        yield

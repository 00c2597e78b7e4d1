"""Programs that are compiled in another thread while this one has something else to do.

The compiler takes seconds and one core, and what it makes depends on shapes alone. Whoever calls
the program later finds it; if the shapes turn out to be others, it is compiled then.
"""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from types import TracebackType
from typing import Any, Self

import jax


def compile_for(function: Any, *arguments: Any) -> None:
    """Compile a function of `equinox.filter_jit` for arguments like these."""
    function.lower(*arguments).compile()


class Ahead:
    """Tasks that prepare programs, each in a thread, none of which outlives the block.

    Where JAX runs in several processes nothing is done: all have to compile in the same order.
    """

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._tasks: dict[str, Future[None]] = {}

    def begin(self, name: str, task: Callable[[], Any]) -> None:
        """Begin a task, unless one of this name has been begun."""
        if name in self._tasks or jax.process_count() > 1:
            return
        self._pool = self._pool or ThreadPoolExecutor(thread_name_prefix="compiler")
        device, context = getattr(jax.config, "jax_default_device", None), copy_context()

        def prepare() -> None:
            # Whatever fails here fails again, and is reported, where it is needed.
            with suppress(Exception), jax.default_device(device):
                context.run(task)

        self._tasks[name] = self._pool.submit(prepare)

    def wait(self, name: str) -> float:
        """Wait until a task is done, if it has been begun; returns the seconds that it took."""
        began = time.perf_counter()
        if name in self._tasks:
            self._tasks[name].result()
        return time.perf_counter() - began

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

"""Starts of a fit side by side, each in a thread: compiled programs run outside Python's lock.

XLA divides the work of one program among its own threads, which gains little where there is little
work. Starts are independent of each other, so what they come to does not depend on the number of
threads.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextvars import copy_context

import jax

LOOK = 0.1  # seconds between two chances for Ctrl-C, which this thread alone hears of


def n_abreast() -> int:
    """Programs that may run at once: one for each core, where nothing else divides the work."""
    if jax.default_backend() != "cpu" or jax.device_count() > 1:
        return 1
    if hasattr(os, "sched_getaffinity"):  # cores that this process may use
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def abreast(work: Callable[[int], None], items: Sequence[int], at_once: int) -> None:
    """Do some work for each of these, so many at once; in turn, in this thread, if that is one."""
    at_once = min(at_once, len(items))
    if at_once <= 1:
        for item in items:
            work(item)
        return
    device = getattr(jax.config, "jax_default_device", None)

    def own(item: int) -> None:
        with jax.default_device(device):
            work(item)

    with ThreadPoolExecutor(at_once, thread_name_prefix="start") as pool:
        tasks = [pool.submit(copy_context().run, own, item) for item in items]
        try:
            left = set(tasks)
            while left:
                done, left = wait(left, LOOK, FIRST_EXCEPTION)
                for task in done:
                    task.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise

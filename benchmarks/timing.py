"""Interleaved timing: on a busy machine only neighbours in time can be compared."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from .peers import Worker

PAUSE = 0.05  # seconds for a library's idle threads to stop spinning


@dataclass
class Times:
    """Wall and CPU seconds of single evaluations."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def median(self) -> float:
        """Median wall seconds."""
        return float(np.median(self.wall))

    def median_cpu(self) -> float:
        """Median CPU seconds, all threads together."""
        return float(np.median(self.cpu))


def interleaved(
    workers: Mapping[str, Worker],
    seconds: float,
    max_rounds: int = 15,
    each_round: Callable[[], None] | None = None,
) -> dict[str, Times]:
    """Evaluate in turn, a, b, c, a, b, c, …, for about so many seconds; at least 3 rounds.

    The first evaluation of a turn refills the caches that the others emptied and is not
    counted: a fit evaluates many times in a row. Those shorter than 0.1 s are repeated within
    a turn. The workers are expected to be warm: see :func:`first_evaluation`.
    """
    times = {name: Times() for name in workers}
    repeats = dict.fromkeys(workers, 3)
    began, rounds = time.perf_counter(), 0
    while rounds < 3 or (rounds < max_rounds and time.perf_counter() - began < seconds):
        for name, worker in workers.items():
            time.sleep(PAUSE)
            answer = worker.ask("evaluate", repeats=1 + (repeats[name] if rounds else 1))
            times[name].wall += answer["wall"][1:]
            times[name].cpu += answer["cpu"][1:]
            repeats[name] = int(np.clip(0.1 / np.median(answer["wall"]), 1, 10))
        if each_round is not None:
            each_round()
        rounds += 1
    return times


def first_evaluation(worker: Worker, timeout: float) -> float:
    """Compile or warm up; return the wall seconds of one evaluation after that."""
    worker.ask("evaluate", timeout=timeout)
    return worker.ask("evaluate", timeout=timeout)["wall"][0]


def choose_threads(worker: Worker, rounds: int = 3) -> int:
    """Give GPy the number of BLAS threads that suits it better here, one or all; return it.

    On a busy machine several BLAS threads wait for one another and small problems become
    many times slower. Our library limits them by itself, so a peer deserves the same.
    """
    counts = sorted({1, os.cpu_count() or 1})
    found: dict[int, list[float]] = {count: [] for count in counts}
    for _ in range(rounds):
        for count in counts:
            worker.ask("set_threads", count=count)
            found[count] += worker.ask("evaluate", repeats=2)["wall"]
    best = min(counts, key=lambda count: float(np.median(found[count])))
    worker.ask("set_threads", count=best)
    return best

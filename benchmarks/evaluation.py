"""Time and memory of one bound with its gradient, beside GPy and GPflow.

For each size all workers are alive at once and evaluate in turn; medians of wall time are
compared, and of CPU time, which other users of the machine disturb less. Workers are fresh
for each size, so that peak memory belongs to it. GPy may choose its BLAS threads. A peer is
skipped where its cost, extrapolated by N M² from the size before, breaks a limit.

An evaluation needs N M(M+1)/2 exponentials forward and again backward. ``exp share`` is
that number over what the machine does in the same time, measured between the rounds.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .peers import OURS, PEERS, PeerError, Worker, workers
from .problems import random_problem
from .report import Report, Row
from .timing import Times, choose_threads, first_evaluation, interleaved

QUICK = {"N=500 M=50": (500, 50, 10, 20)}
SIZES = {
    **QUICK,
    "N=1000 M=100": (1000, 100, 10, 20),
    "N=5000 M=100": (5000, 100, 10, 20),
    "N=20000 M=100": (20000, 100, 10, 20),
    "wide: N=200 M=50 D=20000": (200, 50, 10, 20000),
}
SECONDS_LIMIT = 60.0
MEMORY_LIMIT = 8e9
OUR_MEMORY_LIMIT = 1e9


def run(quick: bool, only: str = "") -> list[Report]:
    sizes = {label: size for label, size in (QUICK if quick else SIZES).items() if only in label}
    return measure(sizes, seconds=5.0 if quick else 30.0)


def measure(sizes: Mapping[str, tuple[int, int, int, int]], seconds: float) -> list[Report]:
    report = Report(
        "One bound and gradient, float64, Q=10, D=20",
        note="ms are medians of wall time; ratios are peer / ours",
    )
    storage = Report(
        "Peak memory of the workers above, MB (growth since before loading)",
        target=f"target: ours under {OUR_MEMORY_LIMIT / 1e9:g} GB at every size",
    )
    costs: dict[str, Cost] = {}
    for label, size in sizes.items():
        names = [n for n in PEERS if n not in costs or not costs[n].objection(size)]
        row: Row = {"size": label}
        for name in (n for n in PEERS if n not in names):
            row[f"{name} remark"] = costs[name].objection(size)
        with workers(OURS, *names) as (alive, absent):
            for name, reason in absent.items():
                row[f"{name} remark"] = reason
            times, memory = _one_size(size, alive, seconds, costs)
        report.rows.append(row | times)
        storage.rows.append({"size": label} | memory)
    return [report, storage]


class Cost:
    """What one evaluation took at one size, to foretell the next."""

    def __init__(self, size: tuple[int, ...], seconds: float, memory: float):
        self.work, self.seconds, self.memory = self.amount(size), seconds, memory

    @staticmethod
    def amount(size: tuple[int, ...]) -> float:
        """Time and memory of the peers grow like N M²."""
        return float(size[0] * size[1] ** 2)

    def objection(self, size: tuple[int, ...]) -> str:
        """Why this size should not be tried; empty if it may."""
        factor = self.amount(size) / self.work
        if factor * self.seconds > SECONDS_LIMIT:
            return f"skipped: about {factor * self.seconds:.0f} s per evaluation expected"
        if factor * self.memory > MEMORY_LIMIT:
            return f"skipped: about {factor * self.memory / 1e9:.0f} GB expected"
        return ""


def _one_size(
    size: tuple[int, int, int, int],
    alive: dict[str, Worker],
    seconds: float,
    costs: dict[str, Cost],
) -> tuple[Row, Row]:
    row: Row = {}
    storage: Row = {}
    problem = random_problem(*size)
    for name in list(alive):
        try:
            alive[name].load(problem)
            first = first_evaluation(alive[name], timeout=4 * SECONDS_LIMIT)
            if name == "gpy":
                row["gpy BLAS threads"] = choose_threads(alive[name], rounds=3 if first < 5 else 1)
        except PeerError as error:
            row[f"{name} remark"] = str(error)
            del alive[name]
            if name == OURS:
                return row, storage
    limits: list[dict[str, Any]] = []
    times = interleaved(
        alive, seconds, each_round=lambda: limits.append(alive[OURS].ask("exp_throughput"))
    )
    for name, worker in alive.items():
        memory = worker.ask("memory")
        costs[name] = Cost(size, times[name].median(), memory["increment"])
        row |= _columns(name, times)
        storage[name] = f"{memory['peak'] / 1e6:.0f} ({memory['increment'] / 1e6:.0f})"
        if name == OURS:
            storage["met"] = memory["peak"] < OUR_MEMORY_LIMIT
    exps = size[0] * size[1] * (size[1] + 1)
    ours = times[OURS]
    row["exp share, wall"] = exps / ours.median() / float(np.median([x["wall"] for x in limits]))
    row["exp share, CPU"] = exps / ours.median_cpu() / float(np.median([x["cpu"] for x in limits]))
    return row, storage


def _columns(name: str, times: dict[str, Times]) -> Row:
    row: Row = {f"{name} ms": 1e3 * times[name].median()}
    if name == OURS:
        row[f"{name} CPU ms"] = 1e3 * times[name].median_cpu()
    else:
        row[f"{name} ratio"] = times[name].median() / times[OURS].median()
        row[f"{name} CPU ratio"] = times[name].median_cpu() / times[OURS].median_cpu()
    return row

"""The worker's side of the conversation: one JSON object per line on stdin and stdout.

A request is ``{"command": name, "arguments": {...}}``, an answer ``{"result": ...}`` or
``{"error": text}``. Arrays travel in ``.npz`` files whose paths are among the arguments.
This file runs in every interpreter, so it needs nothing but NumPy.
"""

import json
import os
import resource
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TextIO

import numpy as np

Arrays = dict[str, np.ndarray]

STEP = 1e-9
"""Relative step between timed evaluations, so that no library can answer from a cache."""


class Library(Protocol):
    """What every worker can do with its library."""

    def load(self, problem: Arrays) -> None:
        """Build the model at the parameters of a problem (see ``problems.py``)."""

    def evaluate(self, scale: float) -> float:
        """Bound and gradient over all parameters, which are multiplied by ``scale`` first."""

    def gradients(self) -> Arrays:
        """The bound, and its gradient by ``mu, S, Z, variance, lengthscale, noise``."""


def claim_stdout() -> TextIO:
    """Keep stdout for answers and send what libraries print to stderr; call before imports."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return answers


def serve(library: Library, answers: TextIO, **extra: Callable[..., Any]) -> None:
    """Answer requests until stdin ends."""
    commands = {**_common_commands(library), **extra}
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"result": commands[request["command"]](**request["arguments"])}
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


def _common_commands(library: Library) -> dict[str, Callable[..., Any]]:
    before = {"peak": peak_memory()}
    count = 0

    def load(path: str) -> None:
        before["peak"] = peak_memory()
        library.load(read(path))

    def evaluate(repeats: int = 1) -> dict[str, Any]:
        nonlocal count
        wall, cpu, bound = [], [], 0.0
        for _ in range(repeats):
            count += 1
            wall_start, cpu_start = time.perf_counter(), time.process_time()
            bound = library.evaluate(1.0 + STEP * (count % 2))
            cpu.append(time.process_time() - cpu_start)
            wall.append(time.perf_counter() - wall_start)
        return {"wall": wall, "cpu": cpu, "bound": bound}

    def gradients(path: str) -> None:
        np.savez(path, **library.gradients())

    def memory() -> dict[str, float]:
        peak = peak_memory()
        return {"peak": peak, "increment": peak - before["peak"]}

    return {"load": load, "evaluate": evaluate, "gradients": gradients, "memory": memory}


def read(path: str) -> Arrays:
    """The arrays of an ``.npz`` file."""
    with np.load(path) as file:
        return {name: file[name] for name in file}


def peak_memory() -> float:
    """Largest resident size so far, in bytes.

    Linux hands ``ru_maxrss`` down from the parent process; its ``VmHWM`` starts afresh.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return 1024.0 * int(line.split()[1])
    unit = 1.0 if sys.platform == "darwin" else 1024.0
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

"""Processes that try cases side by side, and a watchdog over them."""

import contextlib
import json
import os
import signal
import struct
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

GRACE = 20.0  # seconds that a case under way has at the end
START = 240.0  # seconds that a process has to make ready
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "PYTHONHASHSEED": "0",
}


@dataclass
class Found:
    """What a part came to."""

    counts: dict[str, int] = field(default_factory=dict)
    wrong: list[dict[str, Any]] = field(default_factory=list)
    numbers: list[dict[str, Any]] = field(default_factory=list)
    unfinished: int = 0
    processes: int = 0
    seconds: float = 0.0


class Slot:
    """One process after another for a share of a part's cases."""

    def __init__(self, part: str, seed: int, first: int, step: int, folder: Path, limit: float):
        self.part, self.seed, self.next, self.step = part, seed, first, step
        self.limit, self.own = limit, folder / f"{part}-{first}"
        self.own.mkdir(parents=True)
        self.notes, self.place = self.own / "notes", self.own / "place"
        self.out = self.own / "out"
        self.process: subprocess.Popen | None = None
        self.at, self.since, self.ended, self.deaths = -1, 0.0, False, 0
        self.extra: list[dict[str, Any]] = []
        self.unfinished = 0

    def begin(self, until: float) -> None:
        """Start a process for the next case and those after it."""
        self.place.unlink(missing_ok=True)
        arguments = [self.part, self.seed, self.next, self.step, until, self.notes, self.place]
        command = [sys.executable, "-m", "tests.fuzz.worker", *map(str, arguments), str(self.own)]
        with open(self.out, "ab") as out:
            self.process = subprocess.Popen(
                command, stdout=out, stderr=out, env=environment(self.own.parent),
                start_new_session=True,
            )  # fmt: skip
        self.at, self.since = -1, time.monotonic()

    def watch(self, until: float) -> None:
        """See to the process: it may have ended, died, or stand still."""
        if self.process is None:
            return
        number = self._number()
        if number != self.at:
            self.at, self.since = number, time.monotonic()
        code = self.process.poll()
        if code == 0:
            self.process, self.ended = None, True
        elif code is not None:
            tail = self.out.read_text(errors="replace")[-1500:]
            self._lost(f"the process ended with {code}\n{tail}", until)
        elif time.time() > until + GRACE:
            self.unfinished += self.at >= 0
            self.end()
            self.ended = True
        elif time.monotonic() - self.since > (self.limit if self.at >= 0 else START):
            self.end()
            self._lost(f"no answer after {self.limit:.0f} s", until)

    def end(self) -> None:
        """Kill the process, and those that it has started."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def _lost(self, why: str, until: float) -> None:
        self.process = None
        self.deaths += 1
        self.extra.append({"case": self.at, "wrong": why})
        if self.at >= 0:
            self.next = self.at + self.step
        if self.deaths > 20 or (self.at < 0 and self.deaths > 1) or time.time() > until:
            self.ended = True
            return
        self.begin(until)

    def _number(self) -> int:
        try:
            return struct.unpack("<q", self.place.read_bytes())[0]
        except (OSError, struct.error):
            return -1

    def add_to(self, found: Found) -> None:
        """Count what the processes have noted."""
        found.unfinished += self.unfinished
        found.wrong += self.extra
        counts = Counter(found.counts)
        counts["wrong"] += len(self.extra)
        for line in self.notes.read_text().splitlines() if self.notes.exists() else ():
            noted = json.loads(line)
            counts.update(noted.get("counts", {}))
            if noted.get("wrong"):
                found.wrong.append({"case": noted["case"], "wrong": noted["wrong"]})
            if noted.get("numbers"):
                found.numbers.append({"case": noted["case"], **noted["numbers"]})
        found.counts = dict(counts)


def try_cases(
    jobs: dict[str, int], limits: dict[str, float], seed: int, seconds: float, folder: Path
) -> dict[str, Found]:
    """Try cases of several parts side by side, each in a number of processes."""
    until = time.time() + seconds
    began = time.monotonic()
    slots = [
        Slot(part, seed, first, number, folder, limits[part])
        for part, number in jobs.items()
        for first in range(number)
    ]
    try:
        for slot in slots:
            slot.begin(until)
        while not all(slot.ended for slot in slots):
            time.sleep(0.2)
            for slot in slots:
                slot.watch(until)
    finally:
        for slot in slots:
            slot.end()
    all_found = {part: Found(processes=number) for part, number in jobs.items()}
    for slot in slots:
        slot.add_to(all_found[slot.part])
    for found in all_found.values():
        found.seconds = time.monotonic() - began
    return all_found


def environment(folder: Path) -> dict[str, str]:
    """Of a process: one thread, compiled programs kept in ``folder``, the library importable."""
    root = Path(__file__).parents[2]
    places = [str(root / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    try:
        version("manyviews")
    except PackageNotFoundError:  # not installed: files note a version all the same
        about = folder / "about" / "manyviews-0.dist-info"
        about.mkdir(parents=True, exist_ok=True)
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: manyviews\nVersion: 0\n")
        places.append(str(about.parent))
    kept = os.environ.get("MANYVIEWS_COMPILE_CACHE") or str(folder / "compiled")
    return {
        **ONE_THREAD, **os.environ, "MANYVIEWS_COMPILE_CACHE": kept,
        "PYTHONPATH": os.pathsep.join(places),
    }  # fmt: skip

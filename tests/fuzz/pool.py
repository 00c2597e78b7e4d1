"""Processes that try cases side by side: how many of which part, and what they have found."""

import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .case import Part
from .slot import Slot
from .tickets import Tickets

TOLD_EVERY = 15.0  # seconds
WORTH_STARTING = 60.0  # seconds that have to be left for a process to help another part
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

    def add(self, noted: dict[str, Any]) -> None:
        """Count a note of a process."""
        counts = Counter(self.counts)
        counts.update(noted.get("counts", {}))
        self.counts = dict(counts)
        if noted.get("wrong"):
            self.wrong.append({"case": noted["case"], "wrong": noted["wrong"]})
        if noted.get("numbers"):
            self.numbers.append({"case": noted["case"], **noted["numbers"]})

    def done(self, counted: str) -> int:
        """Cases, or what else is counted: a number that they note."""
        if not counted:
            return sum(self.counts.values())
        return int(sum(one.get(counted, 0) for one in self.numbers))


@dataclass
class Pool:
    """Parts, the processes that each has at first, and goals at which parts stop.

    Where a part has reached its goal, its processes go to the part that is furthest from its own.
    """

    parts: dict[str, Part]
    processes: dict[str, int]
    seed: int
    folder: Path
    goals: dict[str, int] = field(default_factory=dict)
    tell: Callable[[dict[str, Found]], None] = lambda found: None

    def run(self, seconds: float) -> dict[str, Found]:
        """Try cases for so long, or until all goals are reached."""
        self.until, self.began = time.time() + seconds, time.monotonic()
        self.found = {part: Found(processes=n) for part, n in self.processes.items()}
        self.slots: list[Slot] = []
        told = time.monotonic()
        try:
            for part, number in self.processes.items():
                for _ in range(number):
                    self._start(part)
            while any(not slot.ended for slot in self.slots):
                time.sleep(0.2)
                self._look()
                if time.monotonic() > told + TOLD_EVERY:
                    self.tell(self.found)
                    told = time.monotonic()
        finally:
            for slot in self.slots:
                slot.end()
            self._read_all()
        return self.found

    def _start(self, part: str) -> None:
        counted = self.parts[part].counted
        goal = self.goals.get(part) if not counted else None  # else it is stopped from here
        folder = self.folder / "parts"
        slot = Slot(part, self.seed, self.parts[part].limit, goal, folder, len(self.slots))
        slot.begin(self.until, environment(self.folder))
        self.slots.append(slot)

    def _look(self) -> None:
        for slot in list(self.slots):
            before = slot.ended
            slot.watch(self.until)
            if slot.ended and not before and (needy := self._needy()):
                self._start(needy)
        self._read_all()

    def _read_all(self) -> None:
        for slot in self.slots:
            for noted in slot.news():
                self.found[slot.part].add(noted)
            self.found[slot.part].unfinished += slot.unfinished
            slot.unfinished = 0
        for part, found in self.found.items():
            if any(slot.part == part and not slot.ended for slot in self.slots):
                found.seconds = time.monotonic() - self.began
            if part in self.goals and found.done(self.parts[part].counted) >= self.goals[part]:
                Tickets(self.folder / "parts" / part).no_more()

    def _needy(self) -> str | None:
        """The part of which the most is left to do, if help can come in time."""
        if self.until - time.time() < WORTH_STARTING:
            return None
        left = {
            part: 1.0 - self.found[part].done(self.parts[part].counted) / goal
            for part, goal in self.goals.items()
        }
        part = max(left, key=left.__getitem__, default=None)
        return part if part is not None and left[part] > 0.0 else None


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

"""One process after another for the cases of a part, with a watchdog."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .tickets import Place

GRACE = 20.0  # seconds that a case under way has at the end
START = 240.0  # seconds that a process has to make ready
DEATHS = 20  # processes that may be lost


class Slot:
    """A process that tries cases of a part; another one where it dies or stands still."""

    def __init__(
        self, part: str, seed: int, limit: float, goal: int | None, folder: Path, number: int
    ):
        self.part, self.seed, self.limit, self.goal = part, seed, limit, goal
        self.shared, self.own = folder / part, folder / part / str(number)
        self.own.mkdir(parents=True)
        self.notes, self.out = self.own / "notes", self.own / "out"
        self.place = Place(self.own / "place")
        self.process: subprocess.Popen | None = None
        self.at, self.since, self.ended, self.deaths = -1, 0.0, False, 0
        self.extra: list[dict[str, Any]] = []
        self.unfinished = 0
        self._read = 0

    def begin(self, until: float, environment: dict[str, str], rest: range = range(0)) -> None:
        """Start a process, for what is left of a block and for others."""
        self.environment = environment
        self.place.path.unlink(missing_ok=True)
        goal = -1 if self.goal is None else self.goal
        numbers = {"seed": self.seed, "limit": goal, "first": rest.start, "end": rest.stop}
        paths = {"notes": self.notes, "place": self.place.path, "own": self.own}
        options = numbers | paths | {"until": until, "shared": self.shared}
        command = [sys.executable, "-m", "tests.fuzz.worker", self.part]
        for name, value in options.items():
            command.append(f"--{name}={value}")
        with open(self.out, "ab") as out:
            self.process = subprocess.Popen(
                command, stdout=out, stderr=out, env=environment, start_new_session=True
            )
        self.at, self.since = -1, time.monotonic()

    def watch(self, until: float) -> None:
        """See to the process: it may have ended, died, or stand still."""
        if self.process is None:
            return
        number = self.place.read()[0]
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
            what = f"{self.limit:.0f} s" if self.at >= 0 else f"{START:.0f} s of making ready"
            self._lost(f"no answer after {what}", until)

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
        number, end = self.place.read()
        rest = range(number + 1, end) if number >= 0 else range(0)
        if self.deaths > DEATHS or (self.at < 0 and self.deaths > 1) or time.time() > until:
            self.ended = True
            return
        self.begin(until, self.environment, rest)

    def news(self) -> Iterator[dict[str, Any]]:
        """What the processes have noted since this was asked last."""
        if self.notes.exists():
            with open(self.notes, "rb") as file:
                file.seek(self._read)
                lines = file.read()
            whole = lines[: lines.rfind(b"\n") + 1]
            self._read += len(whole)
            yield from map(json.loads, whole.splitlines())
        while self.extra:
            lost = self.extra.pop(0)
            yield {**lost, "counts": Counter(wrong=1)}

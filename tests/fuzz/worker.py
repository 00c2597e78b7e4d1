"""A process that tries cases of one part, and notes which one it is at."""

import argparse
import json
import struct
import time
import warnings
from pathlib import Path

from .case import attempt, generator
from .parts import PARTS

NOTED_EVERY = 0.5  # seconds


class Notes:
    """Counts and findings, as lines of a file."""

    def __init__(self, path: Path):
        self.file = open(path, "a")  # noqa: SIM115
        self.counts: dict[str, int] = {}
        self.written = time.monotonic()

    def add(self, number: int, result) -> None:
        """Count a case; what is wrong, and numbers, are written at once."""
        self.counts[result.outcome] = self.counts.get(result.outcome, 0) + 1
        if result.wrong or result.numbers:
            self.write({"case": number, "wrong": result.wrong, "numbers": result.numbers})
        if time.monotonic() > self.written + NOTED_EVERY:
            self.flush()

    def write(self, line: dict) -> None:
        """One line."""
        self.file.write(json.dumps(line, default=float) + "\n")
        self.file.flush()

    def flush(self) -> None:
        """Write the counts, and begin anew."""
        self.write({"counts": self.counts})
        self.counts, self.written = {}, time.monotonic()


def main() -> None:
    """Try every ``step``-th case from ``first`` on, until the time is up."""
    parser = argparse.ArgumentParser()
    parser.add_argument("part")
    for name in ("seed", "first", "step"):
        parser.add_argument(name, type=int)
    parser.add_argument("until", type=float)
    parser.add_argument("notes", type=Path)
    parser.add_argument("place", type=Path)
    parser.add_argument("folder", type=Path)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    notes = Notes(asked.notes)
    case = PARTS[asked.part]().start(asked.folder)
    number, slowest = asked.first, 0.0
    with open(asked.place, "wb", buffering=0) as place:
        while (began := time.time()) + 0.7 * slowest < asked.until:
            place.seek(0)
            place.write(struct.pack("<q", number))
            notes.add(number, attempt(case, generator(asked.seed, asked.part, number), number))
            slowest = max(0.9 * slowest, time.time() - began)
            number += asked.step
    notes.flush()


if __name__ == "__main__":
    main()

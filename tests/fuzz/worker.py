"""A process that tries cases of one part, and notes which one it is at."""

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

from .case import attempt, generator
from .parts import PARTS
from .tickets import Place, Tickets

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
            self.flush()
        elif time.monotonic() > self.written + NOTED_EVERY:
            self.flush()

    def write(self, line: dict) -> None:
        """One line."""
        self.file.write(json.dumps(line, default=float) + "\n")
        self.file.flush()

    def flush(self) -> None:
        """Write the counts, and begin anew."""
        self.write({"counts": self.counts})
        self.counts, self.written = {}, time.monotonic()


class Pace:
    """How long cases take: on average, and the slowest of late."""

    def __init__(self) -> None:
        self.mean, self.slowest = 1.0, 0.0

    def add(self, seconds: float) -> None:
        """One more case."""
        self.mean += 0.1 * (seconds - self.mean)
        self.slowest = max(0.9 * self.slowest, seconds)


def numbers(tickets: Tickets, rest: range, pace: Pace, until: float) -> Iterator[tuple[int, int]]:
    """Cases to try, each with the end of its block, while there is time for them."""
    block = rest
    while time.time() + 0.7 * pace.slowest < until:
        if not block:
            block = tickets.take(pace.mean)
            if not block:
                return
        yield block[0], block.stop
        block = block[1:]


def main() -> None:
    """Try cases until the time is up, or there are no more."""
    asked = _arguments()
    warnings.simplefilter("ignore")
    notes, place, pace = Notes(asked.notes), Place(asked.place), Pace()
    case = PARTS[asked.part]().start(asked.own)
    tickets = Tickets(asked.shared, None if asked.limit < 0 else asked.limit)
    for number, end in numbers(tickets, range(asked.first, asked.end), pace, asked.until):
        place.write(number, end)
        began = time.time()
        notes.add(number, attempt(case, generator(asked.seed, asked.part, number), number))
        pace.add(time.time() - began)
    notes.flush()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("part")
    for name in ("seed", "limit", "first", "end"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--until", type=float)
    for name in ("notes", "place", "own", "shared"):
        parser.add_argument(f"--{name}", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()

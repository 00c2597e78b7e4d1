"""Pieces of work side by side, each kept in a file of its own.

A piece is a tuple of names and numbers, ``work(setting, *piece)`` makes of it what JSON can hold
(arrays come back as lists). Pieces that an earlier run of the same code finished are read from
their files, so that a run goes on where it stopped.
"""

import hashlib
import json
import os
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console

from manyviews.stacking.cells import Cells
from manyviews.stacking.parallel import side_by_side

from .setting import Setting
from .table import duration

ONE_THREAD = dict.fromkeys(("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
MOST_LETTERS = 80  # of a file's name

Piece = tuple[Any, ...]
Work = Callable[..., Any]


class UnfinishedError(SystemExit):
    """The time was up before all pieces were done."""


class Values(NamedTuple):
    """What a method has for a measure in all pieces, and the mean seconds of one."""

    values: list[float]
    seconds: float


def finished(
    setting: Setting,
    work: Work,
    pieces: Iterable[Piece],
    say: Callable[[Any], str] = lambda answer: "",
    *,
    all_of_them: bool = True,
    together: Callable[[Piece], Any] = lambda piece: piece,
) -> dict[Piece, Any]:
    """What ``work`` makes of each piece, in their order.

    With ``--limit`` no piece is begun after so many seconds: the same command again does the rest.
    One process does pieces that follow each other and are alike by ``together``, one by one: what
    it has compiled serves them all.
    """
    kept = done(setting, work, pieces, say, all_of_them, together)
    return {piece: found["answer"] for piece, found in kept.items()}


def tallied(setting: Setting, work: Work, pieces: Iterable[Piece]) -> dict[tuple[str, str], Values]:
    """Values by method and measure, if ``work`` gives measures by method.

    A measure called "seconds" is the time of that method; without it, that is the piece's.
    """
    values: dict[tuple[str, str], list[float]] = {}
    seconds: dict[str, list[float]] = {}
    for found in done(setting, work, pieces, lambda answer: "", True).values():
        for method, measures in found["answer"].items():
            seconds.setdefault(method, []).append(measures.pop("seconds", found["seconds"]))
            for measure, value in measures.items():
                values.setdefault((method, measure), []).append(value)
    return {
        (method, measure): Values(found, float(np.mean(seconds[method])))
        for (method, measure), found in values.items()
    }


def done(
    setting: Setting,
    work: Work,
    pieces: Iterable[Piece],
    say: Callable[[Any], str],
    all_of_them: bool,
    together: Callable[[Piece], Any] = lambda piece: piece,
) -> dict[Piece, dict[str, Any]]:
    """Answers and seconds of the pieces, from their files or done now."""
    paths = {piece: place(setting, work, piece) for piece in pieces}
    found = {piece: Cells.read(path) for piece, path in paths.items()}
    left = [piece for piece, kept in found.items() if kept is None]
    if setting.jobs > 1:  # as many threads as processes
        os.environ.update(ONE_THREAD)
    progress = Progress(found, setting.jobs)
    began = time.perf_counter()
    runs = (tuple(alike) for _, alike in groupby(left, together))
    given = ((work, run, [paths[p] for p in run], setting) for run in setting.in_time(runs))
    for run in side_by_side(all_answered, given, setting.jobs):
        for piece, kept in run.items():
            found[piece] = kept
            progress.say(piece, say(kept["answer"]), kept["seconds"])
    setting.ledger.waited += time.perf_counter() - began
    whole = {piece: kept for piece, kept in found.items() if kept is not None}
    fresh = {piece for piece in whole if paths[piece] not in setting.ledger.counted}
    setting.ledger.counted |= {paths[piece] for piece in fresh}
    setting.ledger.worked += sum(whole[piece]["seconds"] for piece in fresh)
    setting.ledger.left += len(found) - len(whole)
    setting.ledger.places |= {kept["where"] for kept in whole.values() if "where" in kept}
    if len(whole) < len(found):
        message = f"the time is up: {len(found) - len(whole)} pieces are left for another run"
        if all_of_them:
            raise UnfinishedError(message)
        progress.console.print(message)
    return whole


def all_answered(
    work: Work, pieces: Iterable[Piece], paths: Iterable[Path], setting: Setting
) -> dict[Piece, dict[str, Any]]:
    """Do pieces one by one, as many as there is time for."""
    found = {}
    for piece, path in zip(pieces, paths, strict=True):
        if not setting.time_is_up():
            found[piece] = answered(work, piece, path, setting)
    return found


def answered(work: Work, piece: Piece, path: Path, setting: Setting) -> dict[str, Any]:
    """Do a piece and keep it; the answer is the one that will be read."""
    began = time.perf_counter()
    answer = work(setting, *piece)
    kept = {"answer": json.loads(json.dumps(answer, default=plain))}
    kept["seconds"] = time.perf_counter() - began
    kept["where"] = f"{os.cpu_count()} cores"
    Cells.write(path, kept)
    return kept


def plain(value: Any) -> Any:
    """Arrays and their numbers as JSON has them."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is nothing that JSON can hold")


def place(setting: Setting, work: Work, piece: Piece) -> Path:
    """The file of a piece."""
    said = re.sub(r"[^\w-]+", "_", "-".join(map(str, (work.__name__, *piece))))
    digest = hashlib.sha256(repr((setting.quick, work.__name__, piece)).encode()).hexdigest()
    return setting.kept / f"{said[:MOST_LETTERS]}-{digest[:16]}.json"


class Progress:
    """A word on each piece that is done, and how long the others will take.

    That is the mean time of the pieces whose first name is the same, and of all while there is
    none.
    """

    def __init__(self, found: dict[Piece, dict[str, Any] | None], jobs: int):
        self.console = Console(stderr=True, highlight=False)
        self.jobs, self.total = max(jobs, 1), len(found)
        self.left = {piece for piece, kept in found.items() if kept is None}
        self.seconds: dict[Any, list[float]] = defaultdict(list)
        for piece, kept in found.items():
            if kept is not None:
                self.seconds[piece[0]].append(kept["seconds"])
        if 0 < len(self.left) < self.total:
            there = self.total - len(self.left)
            self.console.print(f"{there} pieces are there, {len(self.left)} are to be done")

    def say(self, piece: Piece, said: str, seconds: float) -> None:
        """One more is done."""
        self.left.discard(piece)
        self.seconds[piece[0]].append(seconds)
        parts = [" ".join(map(str, piece)), f"{seconds:.0f} s", said]
        if self.left:
            parts.append(f"about {duration(self.time_left())} left")
        number = self.total - len(self.left)
        self.console.print(f"{number}/{self.total} {', '.join(filter(None, parts))}")

    def time_left(self) -> float:
        """Seconds, as far as one can tell."""
        everything = np.mean([s for several in self.seconds.values() for s in several])
        expected = [
            np.mean(self.seconds[piece[0]]) if self.seconds[piece[0]] else everything
            for piece in self.left
        ]
        return float(np.sum(expected)) / self.jobs

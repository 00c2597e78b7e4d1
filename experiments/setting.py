"""How an experiment is run: where the data are, how many seeds, how quickly."""

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np

from .catalogue import module
from .code import fingerprint

Piece = TypeVar("Piece")


class DataFolderError(SystemExit):
    """The data folder or a file in it is not there."""


@dataclass
class Ledger:
    """What finished pieces of work took, and what is left of them."""

    worked: float = 0.0
    """Seconds of all pieces, those of earlier runs included."""
    waited: float = 0.0
    """Seconds that this run waited for pieces."""
    left: int = 0
    counted: set[Path] = field(default_factory=set)
    """Finished pieces that ``worked`` has in it: some are asked for twice."""
    places: set[str] = field(default_factory=set)
    """Machines that finished pieces."""


@dataclass(frozen=True)
class Setting:
    """The options of the command, as every experiment receives them.

    Those from ``sets`` to ``repeats`` are for experiments over many data sets.
    """

    data: Path | None
    seeds: int
    quick: bool
    results: Path
    sets: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    repeats: int = 3
    jobs: int = 1
    limit: float = float("inf")
    """Seconds after which no piece of work is begun."""
    name: str = "unnamed"
    code: str = ""
    """The fingerprint of the code that is measured."""
    began: float = field(default_factory=time.monotonic)
    ledger: Ledger = field(default_factory=Ledger, compare=False)

    @property
    def kept(self) -> Path:
        """The folder of finished pieces: each state of the code has one of its own."""
        return self.results / self.name / self.code

    def shared(self, name: str) -> Path:
        """That of another experiment, some of whose pieces this one needs."""
        return self.results / name / fingerprint(module(name))

    def in_time(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        """Pieces of work, until the time is up."""
        for piece in pieces:
            if self.time_is_up():
                return
            yield piece

    def time_is_up(self) -> bool:
        """Whether no more pieces are to be begun."""
        return time.monotonic() - self.began > self.limit

    def load(self, name: str) -> dict[str, np.ndarray]:
        """Read one data set from the data folder."""
        if self.data is None:
            raise DataFolderError("name the data folder with --data DIR or MANYVIEWS_DATA")
        path = self.data / f"{name}.npz"
        if not path.exists():
            raise DataFolderError(f"there is no {path}")
        with np.load(path, allow_pickle=False) as archive:
            return {key: archive[key] for key in archive.files}


def data_folder(given: str | None) -> Path | None:
    """The folder named on the command line, or by the environment."""
    named = given or os.environ.get("MANYVIEWS_DATA")
    return Path(named) if named else None

"""How an experiment is run: where the data are, how many seeds, how quickly."""

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np

Piece = TypeVar("Piece")


class DataFolderError(SystemExit):
    """The data folder or a file in it is not there."""


@dataclass(frozen=True)
class Setting:
    """The options of the command, as every experiment receives them.

    Those from ``sets`` on are for experiments over many data sets.
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
    began: float = field(default_factory=time.monotonic)

    def in_time(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        """Pieces of work, until the time is up."""
        for piece in pieces:
            if time.monotonic() - self.began > self.limit:
                return
            yield piece

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

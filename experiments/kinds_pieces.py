"""Pieces of work side by side, each in a file of its own, until the time is up."""

import os
from collections.abc import Callable, Iterable
from typing import Any

from rich.console import Console

from manyviews.stacking.cells import Cells
from manyviews.stacking.parallel import side_by_side

from .setting import Setting

ONE_THREAD = dict.fromkeys(("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")

Piece = tuple[Any, ...]
Work = Callable[..., dict[str, Any]]


def finished(
    setting: Setting, folder: str, work: Work, pieces: Iterable[Piece], say: Callable[..., str]
) -> dict[Piece, dict[str, Any]]:
    """What ``work`` makes of each piece; those of earlier runs are read from their files.

    With ``--limit`` no piece is begun after so many seconds: the same command again does the rest.
    """
    cells = Cells(setting.results / folder, "quick" if setting.quick else "whole")
    paths = {p: cells.path("-".join(map(str, p)), 0, "") for p in pieces}
    found = {piece: Cells.read(path) for piece, path in paths.items()}
    left = [piece for piece, answer in found.items() if answer is None]
    if setting.jobs > 1:  # as many threads as processes
        os.environ.update(ONE_THREAD)
    console = Console(stderr=True, highlight=False)
    console.print(f"{len(found) - len(left)} pieces are there, {len(left)} are to be done")
    given = ((work, piece, paths[piece], setting) for piece in setting.in_time(left))
    for piece, answer in side_by_side(_kept, given, setting.jobs):
        found[piece] = answer
        console.print(f"{' '.join(map(str, piece))}: {say(answer)}")
    missing = sum(answer is None for answer in found.values())
    if missing:
        console.print(f"the time is up: {missing} pieces are left for another run")
    return {piece: answer for piece, answer in found.items() if answer is not None}


def _kept(work: Work, piece: Piece, path: Any, setting: Setting) -> tuple[Piece, dict[str, Any]]:
    answer = work(setting, *piece)
    Cells.write(path, answer)
    return piece, answer

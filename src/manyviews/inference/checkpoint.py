"""Writing the state of a long fit to disk, and taking it up again."""

import hashlib
import json
import os
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import jax
import numpy as np
from safetensors import SafetensorError, safe_open

from ..devices import agreed
from ..errors import CheckpointMismatchError, CheckpointWarning, FileFormatError, FileWriteError
from ..storage import digest, write_tensors
from .locking import Lock

FORMAT = "manyviews-checkpoint-5"
MOST_WRITING = 0.05  # share of the time of a fit that goes into its checkpoint

Arrays = dict[str, np.ndarray]
BY_START = ("bounds", "done")
ARRAYS = ("runs", "relevance")
RELEVANCE = "relevance."  # what the names of its arrays begin with


@dataclass
class Place:
    """Where in a stage a run stands: at which attempt, and what was left and lowest before it."""

    attempt: int = 0
    rescuing: bool = False
    left: int = 0
    before: float = float("inf")
    lowest: float = float("inf")


@dataclass
class State:
    """Where a fit stands.

    Attributes
    ----------
    stage : int
        The stage that the starts are in.
    alive : list of int, optional
        The starts that have not been dropped.
    compared : list of int
        The starts among which the last choice was made.
    bounds : dict of float by start
        Its highest bound at the end of the last stage that it shared with others.
    relevance : dict of array by start
        The relevance of every dimension there.
    done : dict of int by start
        How many stages it has behind it.
    runs : dict of arrays by start
        What is needed to go on with it.
    under_way : int, optional
        The start that was written last.
    place : Place, optional
        Where it is within its stage; None at the beginning.
    """

    stage: int = 0
    alive: list[int] | None = None
    compared: list[int] = field(default_factory=list)
    bounds: dict[int, float] = field(default_factory=dict)
    relevance: dict[int, np.ndarray] = field(default_factory=dict)
    done: dict[int, int] = field(default_factory=dict)
    runs: dict[int, Arrays] = field(default_factory=dict)
    under_way: int | None = None
    place: Place | None = None


class Checkpoint:
    """A file that follows a fit.

    ``fingerprint`` identifies data and options; a file with another one is refused. As a context
    it holds the file for one fit, and fails at once where it could not be written.
    """

    def __init__(self, path: str | os.PathLike[str], fingerprint: str, every_seconds: float = 30.0):
        self.path = Path(path)
        self.fingerprint = fingerprint
        self.every_seconds = every_seconds
        self.state = State()
        self._written = time.monotonic()
        self._lock = Lock(self.path)

    def __enter__(self) -> Self:
        self._lock.take()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()

    def resume(self) -> State:
        """Read the file, if there is one, and return where the fit stands."""
        if self.path.exists():
            self.state = _read(self.path, self.fingerprint)
        return self.state

    def is_due(self) -> bool:
        """Whether the last time is long enough ago."""
        return bool(agreed(time.monotonic() - self._written >= self.every_seconds))

    def write(self, restart: int, done: int, place: Place | None, run: Arrays) -> None:
        """Note how far a start has come: the stages behind it, and where it is in the next."""
        state = self.state
        state.done[restart], state.runs[restart] = done, run
        state.under_way, state.place = restart, place
        self._write()

    def go_on_with(
        self,
        stage: int,
        alive: list[int],
        compared: list[int],
        bounds: dict[int, float],
        relevance: dict[int, np.ndarray],
    ) -> None:
        """Note which starts go on to the next stage."""
        state = self.state
        state.stage, state.alive, state.compared = stage, list(alive), list(compared)
        state.bounds, state.under_way, state.place = dict(bounds), None, None
        state.relevance = dict(relevance)
        state.runs = {start: run for start, run in state.runs.items() if start in alive}
        self._write()

    def remove(self) -> None:
        """Delete the file: the fit is complete."""
        self.path.unlink(missing_ok=True)

    def _write(self) -> None:
        state = vars(self.state).copy()
        runs, relevance = (state.pop(name) for name in ARRAYS)
        state["place"] = None if state["place"] is None else asdict(state["place"])
        for name in BY_START:
            state[name] = list(state[name].items())
        header = {"format": FORMAT, "fingerprint": self.fingerprint, "state": json.dumps(state)}
        tensors = {
            f"{start}.{name}": np.array(value, order="C")
            for start, arrays in runs.items()
            for name, value in arrays.items()
        } | {
            f"{RELEVANCE}{start}": np.array(value, order="C") for start, value in relevance.items()
        }
        began = time.monotonic()
        try:
            write_tensors(self.path, tensors, header)
        except FileWriteError as wrong:
            message = f"the checkpoint of this fit is out of date: {wrong}"
            warnings.warn(message, CheckpointWarning, stacklevel=2)
        self._written = time.monotonic()
        took = self._written - began
        self.every_seconds = max(self.every_seconds, took / MOST_WRITING)


# ------------------------------------------------------------------ when it may go


@dataclass
class _Series:
    """The checkpoints of fits that belong together."""

    opened: dict[Path, int] = field(default_factory=dict)
    finished: list[Checkpoint] = field(default_factory=list)

    def open(self, path: Path, fingerprint: str) -> Checkpoint:
        number = self.opened[path] = self.opened.get(path, 0) + 1
        own = path if number == 1 else path.with_name(f"{path.name}-{number}")
        return Checkpoint(own, fingerprint)


_series: ContextVar[_Series | None] = ContextVar("series", default=None)


@contextmanager
def keeping_checkpoints() -> Iterator[None]:
    """Keep the checkpoints of all fits in a block until the block has ended well.

    Fits in the block that name one file get one each, the second ``FILE-2``, and so on, so that
    the block can be run again: what was finished is read, what was not goes on. If a fit in the
    block was interrupted, all files stay.
    """
    if _series.get() is not None:  # the outermost block decides
        yield
        return
    series = _Series()
    token = _series.set(series)
    try:
        yield
    finally:
        _series.reset(token)
    if len(series.finished) == sum(series.opened.values()):
        for checkpoint in series.finished:
            checkpoint.remove()


def open_checkpoint(path: str | os.PathLike[str], fingerprint: str) -> Checkpoint:
    """The checkpoint of the next fit that names this file."""
    series = _series.get()
    assert series is not None, "checkpoints are opened inside keeping_checkpoints"
    return series.open(Path(path), fingerprint)


def finished(checkpoint: Checkpoint) -> None:
    """Note that a fit is complete, so that its file may go when all is safe."""
    series = _series.get()
    assert series is not None
    series.finished.append(checkpoint)


# ------------------------------------------------------------------ what it is of


def fingerprint(*parts: Any) -> str:
    """A digest of the options and of the data a fit was started with.

    Arrays count by their values, also those inside kernels; all else by its text.
    """
    found = hashlib.sha256()
    for part in parts:
        found.update(repr(part).encode("utf-8", errors="surrogatepass"))
        for leaf in jax.tree.leaves(part):
            if isinstance(leaf, np.ndarray | jax.Array):
                found.update(str(leaf.shape).encode())
                found.update(np.ascontiguousarray(leaf).tobytes())
    return found.hexdigest()


def _read(path: Path, expected: str) -> State:
    try:
        with safe_open(path, framework="numpy") as file:
            header = file.metadata() or {}
            if header.get("format") != FORMAT:
                raise FileFormatError(
                    f"{path} is not a checkpoint of this version of manyviews (format "
                    f"{header.get('format')!r}, expected {FORMAT!r}): delete it, or name another"
                )
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if header["sha256"] != digest(header, tensors):
            raise FileFormatError(f"{path} has been altered: its checksum does not match")
        if header["fingerprint"] != expected:
            raise CheckpointMismatchError(
                f"{path} was written for other data or other options; "
                "delete it, or name another checkpoint"
            )
        return _state_of(json.loads(header["state"]), tensors)
    except FileFormatError:
        raise
    except (SafetensorError, OSError, LookupError, TypeError, ValueError, RecursionError) as broken:
        raise FileFormatError(f"{path} cannot be read as a checkpoint: {broken}") from broken


def _state_of(state: dict[str, Any], tensors: Arrays) -> State:
    runs: dict[int, Arrays] = {}
    relevance: dict[int, np.ndarray] = {}
    for name, value in tensors.items():
        if name.startswith(RELEVANCE):
            relevance[int(name.removeprefix(RELEVANCE))] = value
            continue
        start, _, rest = name.partition(".")
        runs.setdefault(int(start), {})[rest] = value
    if set(state) != {part.name for part in fields(State)} - set(ARRAYS):
        raise ValueError("its state is not complete")
    place = state.pop("place")
    if place is not None and set(place) != {part.name for part in fields(Place)}:
        raise ValueError("its place in a stage is not complete")
    for name in BY_START:
        pairs, state[name] = state[name], dict(state[name])
        if not isinstance(pairs, list) or len(pairs) != len(state[name]):
            raise ValueError(f"its {name} are not one for each start")
    place = None if place is None else Place(**place)
    found = State(place=place, runs=runs, relevance=relevance, **state)
    starts = [*(found.alive or []), *found.compared, *found.done, *found.bounds, *runs, *relevance]
    numbers = [found.stage, *starts, *found.done.values()]
    if not all(type(n) is int and n >= 0 for n in numbers):
        raise ValueError("its numbers are no places in a fit")
    return found

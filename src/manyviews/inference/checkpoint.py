"""Writing the state of a long fit to disk, and taking it up again."""

import hashlib
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from ..errors import CheckpointMismatchError, FileFormatError
from .objective import Vector

FORMAT = "manyviews-checkpoint-2"


@dataclass
class State:
    """Where a fit stands.

    Attributes
    ----------
    stage : int
        The stage that the starts are in.
    alive : list of int, optional
        The starts that have not been dropped.
    done, bounds, vectors : dict by start
        How many stages a start has behind it, its best bound, and where that is.
    """

    stage: int = 0
    alive: list[int] | None = None
    done: dict[int, int] = field(default_factory=dict)
    bounds: dict[int, float] = field(default_factory=dict)
    vectors: dict[int, Vector] = field(default_factory=dict)


class Checkpoint:
    """A file that follows a fit.

    ``fingerprint`` identifies data and options; a file with another one is refused.
    """

    def __init__(self, path: str | os.PathLike[str], fingerprint: str, every_seconds: float = 30.0):
        self.path = Path(path)
        self.fingerprint = fingerprint
        self.every_seconds = every_seconds
        self.state = State()
        self._written = time.monotonic()

    def resume(self) -> State:
        """Read the file, if there is one, and return where the fit stands."""
        if self.path.exists():
            self.state = _read(self.path, self.fingerprint)
        return self.state

    def maybe_write(
        self, restart: int, done: int, bound: float, best: Callable[[], Vector]
    ) -> None:
        """Write if the last time is long enough ago."""
        if time.monotonic() - self._written >= self.every_seconds:
            self.write(restart, done, bound, best())

    def write(self, restart: int, done: int, bound: float, best: Vector) -> None:
        """Write how far a start has come."""
        state = self.state
        state.done[restart], state.bounds[restart], state.vectors[restart] = done, bound, best
        self._write()

    def go_on_with(self, alive: Sequence[int], stage: int) -> None:
        """Note which starts go on to the next stage."""
        vectors = {k: v for k, v in self.state.vectors.items() if k in alive}
        self.state = replace(self.state, stage=stage, alive=list(alive), vectors=vectors)
        self._write()

    def remove(self) -> None:
        """Delete the file: the fit is complete."""
        self.path.unlink(missing_ok=True)

    def _write(self) -> None:
        state = self.state
        arrays = {str(k): np.ascontiguousarray(v) for k, v in state.vectors.items()}
        header = {
            "format": FORMAT,
            "fingerprint": self.fingerprint,
            "state": json.dumps(
                {
                    "stage": state.stage,
                    "alive": state.alive,
                    "done": list(state.done.items()),
                    "bounds": list(state.bounds.items()),
                }
            ),
        }
        temporary = self.path.with_name(self.path.name + ".part")
        save_file(arrays, temporary, header)
        os.replace(temporary, self.path)
        self._written = time.monotonic()


def fingerprint(*parts: Any) -> str:
    """A digest of the options and of the data a fit was started with.

    Arrays count by their values, also those inside kernels; all else by its text.
    """
    digest = hashlib.sha256()
    for part in parts:
        digest.update(repr(part).encode())
        for leaf in jax.tree.leaves(part):
            if isinstance(leaf, np.ndarray | jax.Array):
                digest.update(str(leaf.shape).encode())
                digest.update(np.ascontiguousarray(leaf).tobytes())
    return digest.hexdigest()


def _read(path: Path, expected: str) -> State:
    try:
        with safe_open(path, framework="numpy") as file:
            header = file.metadata() or {}
            if header.get("format") != FORMAT:
                raise FileFormatError(f"{path} is not a manyviews checkpoint")
            if header["fingerprint"] != expected:
                raise CheckpointMismatchError(
                    f"{path} was written for other data or other options; "
                    "delete it, or name another checkpoint"
                )
            state = json.loads(header["state"])
            vectors = {int(name): file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as broken:
        raise FileFormatError(f"{path} cannot be read as a checkpoint: {broken}") from broken
    return State(
        state["stage"], state["alive"], dict(state["done"]), dict(state["bounds"]), vectors
    )

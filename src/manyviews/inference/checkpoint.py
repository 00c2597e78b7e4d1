"""Writing the state of a long fit to disk, and taking it up again."""

import hashlib
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from ..devices import agreed
from ..errors import CheckpointMismatchError, FileFormatError
from .objective import Vector

FORMAT = "manyviews-checkpoint-1"


@dataclass
class State:
    """Where a fit stands: finished restarts with the best of them, and the one under way."""

    restart: int = 0
    stage: int = 0
    vector: Vector | None = None
    bounds: list[float] = field(default_factory=list)
    best: Vector | None = None


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

    def stage_start(self, restart: int) -> tuple[int, Vector | None]:
        """Stage and vector to go on with, for the restart that was under way."""
        if self.state.vector is None or restart != self.state.restart:
            return 0, None
        return self.state.stage, self.state.vector

    def maybe_write(self, restart: int, stage: int, vector: Callable[[], Vector]) -> None:
        """Write if the last time is long enough ago."""
        if agreed(time.monotonic() - self._written >= self.every_seconds):
            self.write(restart, stage, vector())

    def write(self, restart: int, stage: int, vector: Vector) -> None:
        """Write the state of the restart under way."""
        self.state.restart, self.state.stage, self.state.vector = restart, stage, vector
        self._write()

    def restart_done(self, restart: int, bounds: list[float], best: Vector) -> None:
        """Note a finished restart."""
        self.state = State(restart + 1, 0, None, list(bounds), best)
        self._write()

    def remove(self) -> None:
        """Delete the file: the fit is complete."""
        self.path.unlink(missing_ok=True)

    def _write(self) -> None:
        arrays = {
            k: v
            for k, v in (("vector", self.state.vector), ("best", self.state.best))
            if v is not None
        }
        header = {
            "format": FORMAT,
            "fingerprint": self.fingerprint,
            "state": json.dumps(
                {
                    "restart": self.state.restart,
                    "stage": self.state.stage,
                    "bounds": self.state.bounds,
                }
            ),
        }
        temporary = self.path.with_name(self.path.name + ".part")
        save_file({k: np.ascontiguousarray(v) for k, v in arrays.items()}, temporary, header)
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
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as broken:
        raise FileFormatError(f"{path} cannot be read as a checkpoint: {broken}") from broken
    return State(
        state["restart"], state["stage"], arrays.get("vector"), state["bounds"], arrays.get("best")
    )

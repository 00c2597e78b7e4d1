"""Changed checkpoints: refused by name, or read as exactly what they hold."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load as tensors_of

from manyviews.errors import CheckpointMismatchError, FileFormatError
from manyviews.inference.checkpoint import Checkpoint, Place

from .case import Part, Result
from .mutate import bytes_changed, forged, header_of

PRINT = "of these data and options"


def start(folder: Path) -> Any:
    """Write a few checkpoints as a fit does, and change them."""
    saved = [_saved(folder / f"{number}", number) for number in range(6)]
    path = folder / "changed"

    def case(rng: np.random.Generator, number: int) -> Result:
        raw = saved[rng.integers(len(saved))]
        changed = bytes_changed(raw, rng) if rng.random() < 0.5 else forged(raw, "state", rng)
        path.write_bytes(changed)
        try:
            state = Checkpoint(path, PRINT).resume()
        except (FileFormatError, CheckpointMismatchError) as error:
            return Result("refused" if len(str(error)) > 15 else "wrong")
        return _compared(state, changed)

    return case


def _saved(path: Path, number: int) -> bytes:
    rng = np.random.default_rng(number)
    checkpoint = Checkpoint(path, PRINT)
    for begun in range(1 + number % 3):
        run = {
            "vector": rng.standard_normal(30),
            "trace": rng.standard_normal(5 + number),
            "optimiser.0": rng.standard_normal((3, 10)),
            "rng": rng.integers(2**31, size=4),
        }
        checkpoint.write(begun, number % 2, Place(1, False, 20, 3.0, 2.5), run)
    if number % 2:
        checkpoint.go_on_with(1, [0], [0], {0: -3.5}, {0: rng.random((2, 3))})
    return path.read_bytes()


def _compared(state: Any, raw: bytes) -> Result:
    """Whether a state that was read is what the file holds."""
    held = json.loads(header_of(raw)["state"])
    tensors = tensors_of(raw)
    read = {f"{start}.{name}": v for start, run in state.runs.items() for name, v in run.items()}
    read |= {f"relevance.{start}": value for start, value in state.relevance.items()}
    same = {name: value.tobytes() for name, value in read.items()} == {
        name: value.tobytes() for name, value in tensors.items()
    }
    place = None if state.place is None else vars(state.place)
    parts = {**vars(state), "place": place}
    for name in ("bounds", "done"):
        parts[name] = [list(pair) for pair in parts[name].items()]
    del parts["runs"], parts["relevance"]
    same = same and json.dumps(parts, sort_keys=True) == json.dumps(held, sort_keys=True)
    return Result("read as it is" if same else "wrong", "" if same else f"{parts} for {held}")


PART = Part(
    "changed checkpoints, with and without a new checksum: refused or read exactly",
    limit=60.0, share=1.0, start=start,
)  # fmt: skip

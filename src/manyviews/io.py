"""One file per model: safetensors with a JSON header. Loading runs no code from the file.

A fitted model is a tree of records (kernels, latent spaces, mappings, posteriors, options).
Arrays become tensors; the rest becomes JSON in the file's header, in which a record is its
registered name and its fields. Only registered records can come out of a file, and their fields
must have the types and shapes that the records declare.
"""

import json
import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from .encoding import NAMES, RECORDS, decode, encode, register_record
from .errors import FileFormatError, OptionError
from .storage import digest, write_tensors

__all__ = [
    "NAMES", "RECORDS", "describe", "load", "read", "register_record", "why_not", "write",
]  # fmt: skip

FORMAT = "manyviews-model-3"
HEADER = {"format", "manyviews", "content", "sha256"}


def write(path: str | os.PathLike[str], content: Any) -> None:
    """Write a tree of records to a file, atomically."""
    tensors: dict[str, np.ndarray] = {}
    tree = json.dumps(encode(content, "model", tensors))
    header = {"format": FORMAT, "manyviews": version("manyviews"), "content": tree}
    write_tensors(path, tensors, header)


def why_not(content: Any) -> str:
    """Why something cannot be written to a file; empty if it can."""
    try:
        encode(content, "model", {})
    except OptionError as wrong:
        return str(wrong)
    return ""


def describe(path: str | os.PathLike[str]) -> dict[str, str]:
    """The header of a model file, after a check that it is one."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        with safe_open(path, framework="numpy") as file:
            header = file.metadata() or {}
    except (SafetensorError, OSError) as broken:
        raise FileFormatError(
            f"{path} is truncated or not a safetensors file: {broken}"
        ) from broken
    if header.get("format") != FORMAT:
        raise FileFormatError(
            f"{path} is not a manyviews model (format {header.get('format')!r}, "
            f"expected {FORMAT!r})"
        )
    if set(header) != HEADER:
        raise FileFormatError(f"{path} does not hold a complete model: its header is incomplete")
    return header


def read(path: str | os.PathLike[str]) -> Any:
    """Read what `write()` wrote; every defect of the file is a ``FileFormatError``."""
    path = Path(path)
    header = describe(path)
    try:
        with safe_open(path, framework="numpy") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if header["sha256"] != digest(header, tensors):
            raise FileFormatError(f"{path} has been altered: its checksum does not match")
        return decode(json.loads(header["content"]), tensors)
    except FileFormatError:
        raise
    except (SafetensorError, OSError) as broken:
        raise FileFormatError(
            f"{path} is truncated or not a safetensors file: {broken}"
        ) from broken
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as broken:
        raise FileFormatError(f"{path} does not hold a complete model: {broken!r}") from broken


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model that `save()` wrote.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    FileFormatError
        The file is truncated, altered, foreign, or of a version this one cannot read.
    """
    model = read(path)
    if not hasattr(model, "get_params"):
        raise FileFormatError(f"{path} holds a {type(model).__name__}, not a model")
    return model

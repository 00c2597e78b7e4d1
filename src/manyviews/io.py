"""One file per model: safetensors with a JSON header. Loading runs no code from the file.

A fitted model is a tree of records (kernels, latent spaces, mappings, posteriors, options).
Arrays become tensors; the rest becomes JSON in the file's header, in which a record is its
registered name and its fields. Only registered records can come out of a file.
"""

import dataclasses
import hashlib
import json
import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from . import _runtime  # noqa: F401
from .errors import FileFormatError, OptionError

FORMAT = "manyviews-model-2"

RECORDS: dict[str, type] = {}
NAMES: dict[type, str] = {}


def register_record(kind: type, name: str | None = None) -> type:
    """Allow a dataclass or equinox module to be saved and loaded (also a decorator).

    Files know it by its name, or by another one where two classes have the same.
    """
    NAMES[kind] = name or kind.__name__
    RECORDS[NAMES[kind]] = kind
    return kind


def write(path: str | os.PathLike[str], content: Any) -> None:
    """Write a tree of records to a file, atomically."""
    path = Path(path)
    tensors: dict[str, np.ndarray] = {}
    tree = json.dumps(_encode(content, "model", tensors))
    header = {
        "format": FORMAT,
        "manyviews": version("manyviews"),
        "content": tree,
        "sha256": _digest(tree, tensors),
    }
    temporary = path.with_name(path.name + ".part")
    save_file(tensors, temporary, header)
    os.replace(temporary, path)


def why_not(content: Any) -> str:
    """Why something cannot be written to a file; empty if it can."""
    try:
        _encode(content, "model", {})
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
    return header


def read(path: str | os.PathLike[str]) -> Any:
    """Read what `write()` wrote; every defect of the file is a ``FileFormatError``."""
    path = Path(path)
    header = describe(path)
    try:
        with safe_open(path, framework="numpy") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if header["sha256"] != _digest(header["content"], tensors):
            raise FileFormatError(f"{path} has been altered: its checksum does not match")
        return _decode(json.loads(header["content"]), tensors)
    except (SafetensorError, OSError) as broken:
        raise FileFormatError(
            f"{path} is truncated or not a safetensors file: {broken}"
        ) from broken
    except (KeyError, TypeError, AttributeError, json.JSONDecodeError) as broken:
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


def _digest(tree: str, tensors: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256(tree.encode())
    for name in sorted(tensors):
        digest.update(f"{name}{tensors[name].dtype}{tensors[name].shape}".encode())
        digest.update(tensors[name].tobytes())
    return digest.hexdigest()


def _encode(node: Any, name: str, tensors: dict[str, np.ndarray]) -> Any:
    if node is None or isinstance(node, bool | int | float | str):
        return node
    if isinstance(node, os.PathLike):
        return os.fspath(node)
    if isinstance(node, np.generic):
        return node.item()
    if isinstance(node, pd.Timestamp):
        return {"time": node.isoformat()}
    if isinstance(node, jax.Array | np.ndarray):
        if node.dtype.kind in "OUS":
            return {"words": node.tolist()}
        kind = "jax" if isinstance(node, jax.Array) else "numpy"
        copy = np.array(node, order="C")  # shared buffers cannot be saved twice
        tensors[name] = copy.astype(copy.dtype.newbyteorder("="))  # files are little-endian
        return {"tensor": name, "kind": kind}
    if isinstance(node, dict):
        return {"dict": {str(k): _encode(v, f"{name}.{k}", tensors) for k, v in node.items()}}
    if isinstance(node, list | tuple):
        items = [_encode(v, f"{name}.{i}", tensors) for i, v in enumerate(node)]
        return {"tuple" if isinstance(node, tuple) else "list": items}
    if type(node) in NAMES:
        fields = _fields(node)
        return {
            "record": NAMES[type(node)],
            "fields": {k: _encode(v, f"{name}.{k}", tensors) for k, v in fields.items()},
        }
    raise OptionError(
        f"cannot save {name}: {type(node).__name__} is not a known record; "
        "see manyviews.io.register_record"
    )


def _fields(record: Any) -> dict[str, Any]:
    """A dataclass's fields; an estimator's parameters and fitted attributes."""
    if dataclasses.is_dataclass(record):
        return {f.name: getattr(record, f.name) for f in dataclasses.fields(record)}
    fields = {k: v for k, v in vars(record).items() if not k.startswith("_")}
    if not isinstance(fields.get("random_state"), int | None):
        fields["random_state"] = None  # the state of a generator is not part of a model
    return fields


def _decode(node: Any, tensors: dict[str, np.ndarray]) -> Any:
    if not isinstance(node, dict):
        return node
    if "tensor" in node:
        array = tensors[node["tensor"]]
        return jnp.asarray(array) if node["kind"] == "jax" else array
    if "time" in node:
        return pd.Timestamp(node["time"])
    if "words" in node:
        return np.asarray(node["words"])
    if "dict" in node:
        return {k: _decode(v, tensors) for k, v in node["dict"].items()}
    if "tuple" in node:
        return tuple(_decode(v, tensors) for v in node["tuple"])
    if "list" in node:
        return [_decode(v, tensors) for v in node["list"]]
    if node["record"] not in RECORDS:
        raise FileFormatError(f"the file holds a {node['record']!r}, which is not known here")
    kind = RECORDS[node["record"]]
    if dataclasses.is_dataclass(kind) and {f.name for f in dataclasses.fields(kind)} != set(
        node["fields"]
    ):
        raise FileFormatError(
            f"the fields of {node['record']} in the file do not match this version"
        )
    record: Any = object.__new__(kind)
    for field_name, value in node["fields"].items():
        object.__setattr__(record, field_name, _decode(value, tensors))
    return record

"""A tree of records as JSON and tensors, and back: only registered records come out of it."""

import dataclasses
import datetime
import os
import re
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

from . import _runtime  # noqa: F401
from .errors import FileFormatError, OptionError
from .schema import misfit

RECORDS: dict[str, type] = {}
NAMES: dict[type, str] = {}

Tensors = dict[str, np.ndarray]

PLAIN = "fiub"  # kinds of arrays that become tensors as they are
DATES = re.compile(r"(datetime|timedelta)64\[(\d*(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as))?\]")
LARGEST_WORDS = 2**28  # bytes that texts of one array may take when they are equally long


def register_record(kind: type, name: str | None = None) -> type:
    """Allow a dataclass or equinox module to be saved and loaded (also a decorator).

    Files know it by its name, or by another one where two classes have the same.
    """
    name = name or kind.__name__
    other = RECORDS.get(name)
    if other is not None and _place(other) != _place(kind):
        raise OptionError(
            f"files know {other.__module__}.{other.__qualname__} by the name {name!r}: register "
            f"{kind.__module__}.{kind.__qualname__} by another one, as in "
            f"register_record(kind, name='my.{name}')"
        )
    NAMES[kind] = name
    RECORDS[name] = kind
    return kind


def encode(node: Any, name: str, tensors: Tensors) -> Any:
    """JSON for a node; its arrays go to ``tensors`` under names that begin with ``name``."""
    if node is None or isinstance(node, bool | int | float | str):
        return node
    if isinstance(node, os.PathLike):
        return os.fspath(node)
    if isinstance(node, jax.Array | np.ndarray):
        return _encode_array(node, name, tensors)
    if isinstance(node, np.datetime64 | np.timedelta64):
        return {"scalar": encode(np.atleast_1d(node), name, tensors)}
    if isinstance(node, np.generic):
        return node.item()
    if isinstance(node, pd.Timestamp):
        return {"time": node.isoformat()}
    if isinstance(node, pd.Timedelta):
        return {"timedelta": node.isoformat()}
    if type(node) in {datetime.date, datetime.datetime}:
        return {type(node).__name__: node.isoformat()}
    if isinstance(node, Mapping):
        return {"dict": {str(k): encode(v, f"{name}.{k}", tensors) for k, v in node.items()}}
    if isinstance(node, list | tuple):
        items = [encode(v, f"{name}.{i}", tensors) for i, v in enumerate(node)]
        return {"tuple" if isinstance(node, tuple) else "list": items}
    if type(node) in NAMES:
        fields = _fields(node)
        return {
            "record": NAMES[type(node)],
            "fields": {k: encode(v, f"{name}.{k}", tensors) for k, v in fields.items()},
        }
    raise OptionError(
        f"cannot save {name}: {type(node).__name__} is not a known record; "
        "see manyviews.io.register_record"
    )


def decode(node: Any, tensors: Tensors) -> Any:
    """What `encode` was given; whatever it cannot have written is refused."""
    if isinstance(node, list):
        raise FileFormatError("the file holds a list that is not marked as one")
    if not isinstance(node, dict):
        return node
    keys = set(node)
    if keys == {"record", "fields"}:
        return _decode_record(node, tensors)
    if keys == {"tensor", "kind"}:
        return _decode_array(node, tensors)
    if keys == {"objects", "shape"}:
        return _decode_objects(node, tensors)
    if len(keys) != 1:
        raise FileFormatError(f"the file holds a node of unknown parts: {sorted(keys)}")
    ((kind, value),) = node.items()
    if kind == "time":
        return pd.Timestamp(value)
    if kind == "timedelta":
        return pd.Timedelta(value)
    if kind == "date":
        return datetime.date.fromisoformat(value)
    if kind == "datetime":
        return datetime.datetime.fromisoformat(value)
    if kind == "scalar":
        return decode(value, tensors)[0]
    if kind == "words":
        return _decode_words(value)
    if kind == "dict":
        return {k: decode(v, tensors) for k, v in value.items()}
    if kind not in {"tuple", "list"} or not isinstance(value, list):
        raise FileFormatError(f"the file holds a node of an unknown kind {kind!r}")
    items = [decode(v, tensors) for v in value]
    return tuple(items) if kind == "tuple" else items


def _place(kind: type) -> tuple[str, str]:
    return kind.__module__, kind.__qualname__


def _fields(record: Any) -> dict[str, Any]:
    """A dataclass's fields; an estimator's parameters and fitted attributes."""
    if dataclasses.is_dataclass(record):
        return {f.name: getattr(record, f.name) for f in dataclasses.fields(record)}
    fields = {k: v for k, v in vars(record).items() if not k.startswith("_")}
    if not isinstance(fields.get("random_state"), int | None):
        fields["random_state"] = None  # the state of a generator is not part of a model
    return fields


# ------------------------------------------------------------------------------ arrays


def _encode_array(array: Any, name: str, tensors: Tensors) -> Any:
    if array.dtype.kind == "U":
        return {"words": array.tolist()}
    if array.dtype.kind == "O":
        items = [encode(v, f"{name}.{i}", tensors) for i, v in enumerate(array.ravel())]
        return {"objects": items, "shape": list(array.shape)}
    kind = "jax" if isinstance(array, jax.Array) else "numpy"
    copy = np.array(array, order="C")  # shared buffers cannot be saved twice
    if copy.dtype.kind in "mM":
        copy = copy.astype(copy.dtype.newbyteorder("="))
        kind, copy = copy.dtype.name, copy.view(np.int64)
    if copy.dtype.kind not in PLAIN or copy.dtype.itemsize > 8:
        raise OptionError(f"cannot save {name}: an array of {copy.dtype} has no place in a file")
    tensors[name] = copy.astype(copy.dtype.newbyteorder("="))  # files are little-endian
    return {"tensor": name, "kind": kind}


def _decode_array(node: dict[str, Any], tensors: Tensors) -> Any:
    array, kind = tensors[node["tensor"]], node["kind"]
    if kind in {"jax", "numpy"}:
        return jnp.asarray(array) if kind == "jax" else array
    if not DATES.fullmatch(kind) or array.dtype != np.int64:
        raise FileFormatError(f"the file holds an array of an unknown kind {kind!r}")
    return array.view(kind)


def _decode_words(words: Any) -> np.ndarray:
    """Texts as an array, whose every element takes as much memory as the longest."""
    flat = np.array(words, dtype=object)
    if not all(isinstance(word, str) for word in flat.ravel()):
        raise FileFormatError("the file holds texts of which one is none")
    if 4 * flat.size * max(map(len, flat.ravel()), default=0) > LARGEST_WORDS:
        raise FileFormatError("the file holds texts that would take gigabytes")
    return flat.astype(str)


def _decode_objects(node: dict[str, Any], tensors: Tensors) -> np.ndarray:
    items = [decode(v, tensors) for v in node["objects"]]
    flat = np.empty(len(items), dtype=object)
    flat[:] = items
    return flat.reshape(node["shape"])


# ------------------------------------------------------------------------------ records


def _decode_record(node: dict[str, Any], tensors: Tensors) -> Any:
    name = node["record"]
    if name not in RECORDS:
        raise FileFormatError(f"the file holds a {name!r}, which is not known here")
    kind = RECORDS[name]
    fields = {field: decode(value, tensors) for field, value in node["fields"].items()}
    if dataclasses.is_dataclass(kind):
        expected = {f.name for f in dataclasses.fields(kind)}
        same = expected == set(fields)
    else:
        parameters = set(kind._get_param_names()) if hasattr(kind, "_get_param_names") else set()
        same = parameters <= set(fields) and all(
            field in parameters or _is_fitted_attribute(kind, field) for field in fields
        )
    if not same:
        raise FileFormatError(f"the fields of {name} in the file do not match this version")
    wrong = misfit(kind, fields)
    if wrong:
        raise FileFormatError(f"the file holds a {name} whose {wrong}")
    record: Any = object.__new__(kind)
    for field, value in fields.items():
        object.__setattr__(record, field, value)
    wrong = record._incoherence() if hasattr(record, "_incoherence") else ""
    if wrong:
        raise FileFormatError(f"the file holds a {name} that is not complete: {wrong}")
    return record


def _is_fitted_attribute(kind: type, name: str) -> bool:
    """An attribute that `fit` may set: none that hides a method or a property."""
    if name.startswith("_") or not name.isidentifier():
        return False
    return not callable(found := getattr(kind, name, None)) and not isinstance(found, property)

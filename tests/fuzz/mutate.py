"""Files with something changed: bytes at random, or JSON and tensors under a new checksum."""

import json
import struct
from copy import deepcopy
from typing import Any

import numpy as np
from safetensors.numpy import load as tensors_of
from safetensors.numpy import save

from manyviews.storage import digest

WORTH = (
    None, True, 0, -1, 1, 3, 10**30, 1e400, float("nan"), 0.5, "", "x", "PPCA", [], {}, [[]],
    {"tensor": "model.nothing", "kind": "jax"}, {"record": "Search", "fields": {}}, {"list": []},
    {"tuple": []}, {"dict": {}}, {"words": ["a" * 9, "b"]}, {"objects": [1], "shape": [2]},
    {"objects": [], "shape": [0]}, {"time": "then"}, {"timedelta": "x"}, {"date": "0"},
    {"scalar": {"list": []}}, {"record": "MRD", "fields": {}}, {"datetime": 5},
)  # fmt: skip
TOO_DEEP = "[" * 3000


def header_of(raw: bytes) -> dict[str, str]:
    """The texts in the header of a safetensors file."""
    (length,) = struct.unpack("<Q", raw[:8])
    return json.loads(raw[8 : 8 + length])["__metadata__"]


def bytes_changed(raw: bytes, rng: np.random.Generator) -> bytes:
    """Bits flipped, or bytes cut, zeroed, repeated, swapped."""
    kind = rng.integers(6)
    found = bytearray(raw)
    a, b = np.sort(rng.integers(len(raw) + 1, size=2))
    if kind <= 1:
        for place in rng.integers(len(raw), size=rng.integers(1, 5)):
            found[place] ^= 1 << rng.integers(8)
    elif kind == 2:
        del found[a:]
    elif kind == 3:
        b = min(b, a + 64)
        found[a:b] = bytes(b - a)
    elif kind == 4:
        del found[a : a + 1 + rng.integers(16)]
    else:
        found[a:a] = found[a : a + 1 + rng.integers(16)]
    return bytes(found)


def forged(raw: bytes, key: str, rng: np.random.Generator) -> bytes:
    """JSON in the header's ``key`` or a tensor changed, and the checksum made anew."""
    header, tensors = header_of(raw), dict(tensors_of(raw))
    for _ in range(rng.integers(1, 3)):
        if rng.random() < 0.65 or not tensors:
            header[key] = json_changed(header[key], rng)
        else:
            _tensor_changed(tensors, rng)
    header["sha256"] = digest(header, tensors)
    return save(tensors, header)


def json_changed(text: str, rng: np.random.Generator) -> str:
    """A text of JSON in which one node is replaced, taken away, moved or nested deeply."""
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError):  # changed before
        return text[: rng.integers(len(text) + 1)]
    places = list(_places(tree))
    if not places or rng.random() < 0.02:
        return text[: rng.integers(len(text))]
    owner, key = places[rng.integers(len(places))]
    kind = rng.integers(6)
    if kind <= 2:
        owner[key] = WORTH[rng.integers(len(WORTH))]
    elif kind == 3:
        other, its = places[rng.integers(len(places))]
        try:
            owner[key] = deepcopy(other[its])
        except RecursionError:
            return TOO_DEEP
    elif kind == 4 and isinstance(owner, dict):
        owner[str(rng.choice(["x", "fields", "record", key + "_"]))] = owner.pop(key)
    elif rng.random() < 0.1:
        for _ in range(2000):
            owner[key] = {"list": [owner[key]]}
    else:
        del owner[key]
    try:
        return json.dumps(tree)
    except RecursionError:
        return TOO_DEEP


def _places(node: Any) -> Any:
    rest = [node]
    while rest:
        node = rest.pop()
        for key in _keys(node):
            yield node, key
            if isinstance(node[key], dict | list):
                rest.append(node[key])


def _keys(node: Any) -> Any:
    return list(node) if isinstance(node, dict) else range(len(node) * isinstance(node, list))


def _tensor_changed(tensors: dict[str, np.ndarray], rng: np.random.Generator) -> None:
    name = sorted(tensors)[rng.integers(len(tensors))]
    array = np.array(tensors[name])
    kind = rng.integers(7)
    if kind == 0 and array.size:
        array.flat[rng.integers(array.size)] = np.nan if array.dtype.kind == "f" else 1
    elif kind == 1:
        array = array.ravel()
    elif kind == 2:
        array = array[..., None]
    elif kind == 3:
        array = array.astype(rng.choice(["float32", "int64", "bool", "uint8"]))
    elif kind == 4 and array.ndim:
        array = array[: rng.integers(len(array) + 1)]
    elif kind == 5:
        del tensors[name]
        return
    elif array.dtype.kind == "f":
        array = array * -1e300
    tensors[name] = np.ascontiguousarray(array)

"""Answers as flat numbers, few of each; reading and writing the recorded file."""

import dataclasses
import json
import warnings
from pathlib import Path

import jax
import numpy as np

from .cases import CASES

FILE = Path(__file__).with_name("numbers.json")
MOST = 16  # values kept of an array

# As in tests/conftest.py: programs compiled otherwise round otherwise.
jax.config.update("jax_disable_most_optimizations", True)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)


def answers_of(name):
    """Run one case, and flatten and shorten what it answers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = CASES[name]()
    return {key: shortened(value) for key, value in flat(found).items()}


def flat(value, name=""):
    """Nested answers as one dict of arrays by name."""
    parts = None
    if dataclasses.is_dataclass(value):
        parts = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    elif isinstance(value, dict):
        parts = value
    elif isinstance(value, tuple | list) and not all(np.isscalar(part) for part in value):
        parts = dict(enumerate(value))
    if parts is None:
        return {name: np.asarray(value)}
    found = {}
    for key, part in parts.items():
        found |= flat(part, f"{name}/{key}" if name else str(key))
    return found


def shortened(array):
    """Shape, sum and evenly spaced entries; words are kept as they are."""
    kept = array.ravel()
    if len(kept) > MOST:
        kept = kept[np.linspace(0, len(kept) - 1, MOST).round().astype(int)]
    if array.dtype.kind in "OUS":
        return {"shape": list(array.shape), "words": [str(word) for word in kept]}
    return {
        "shape": list(array.shape),
        "sum": float(np.nansum(array)),
        "values": [float(number) for number in kept],
    }


def difference(found, recorded):
    """The largest difference of two quantities, in units of their scale; infinite if unlike."""
    if found["shape"] != recorded["shape"] or found.get("words") != recorded.get("words"):
        return np.inf
    if "words" in recorded:
        return 0.0
    a, b = (np.array(it["values"]) for it in (found, recorded))
    if (np.isfinite(a) != np.isfinite(b)).any() or (
        a[~np.isfinite(a)] == -b[~np.isfinite(b)]
    ).any():
        return np.inf
    known = np.isfinite(b)
    scale = max(1.0, np.abs(b[known]).max(initial=0.0))
    size = max(1, int(np.prod(recorded["shape"])))
    off = np.abs(a[known] - b[known]).max(initial=0.0)
    return max(off, abs(found["sum"] - recorded["sum"]) / size) / scale


def read():
    return json.loads(FILE.read_text())


def write(numbers):
    """One line for each quantity, so that differences can be read."""
    cases = []
    for name in sorted(numbers):
        lines = [f"{json.dumps(key)}:{_compact(it)}" for key, it in numbers[name].items()]
        cases.append(f"{json.dumps(name)}:{{\n" + ",\n".join(lines) + "\n}")
    FILE.write_text("{\n" + ",\n".join(cases) + "\n}\n")


def _compact(it):
    return json.dumps(it, separators=(",", ":"))

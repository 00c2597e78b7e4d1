"""Whether the fields of a record are what its annotations say: types, shapes, sizes in common."""

import types
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import jax
import numpy as np
from jaxtyping import jaxtyped

HOLES = {"data", "FitInfo"}
"""Fields, and records, that may hold NaN: what was not observed, and what was not noted."""


def misfit(kind: type, fields: Mapping[str, Any]) -> str:
    """What is wrong with the fields of a record; empty if nothing is."""
    hints = _hints(kind)
    with jaxtyped("context"):  # sizes that share a name must agree
        for name, value in fields.items():
            if not fits(value, hints.get(name, Any)):
                return f"{name} is not as expected"
    for name, value in fields.items():
        if name not in HOLES and kind.__name__ not in HOLES and not _finite(value):
            return f"{name} is not finite"
    return ""


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a type, as far as the type can be checked."""
    origin, parts = get_origin(hint), get_args(hint)
    if hint is Any or isinstance(hint, TypeVar | str):
        return True
    if hint is None or hint is type(None):
        return value is None
    if origin in {Union, types.UnionType}:
        return any(fits(value, part) for part in parts)
    if origin is Literal:
        return value in parts
    if origin is tuple:
        return _fits_tuple(value, parts)
    if origin in {list, Sequence}:
        return isinstance(value, list | tuple) and all(fits(v, parts[0]) for v in value)
    if origin in {dict, Mapping}:
        return isinstance(value, dict) and all(fits(v, parts[1]) for v in value.values())
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if isinstance(hint, type) and not getattr(hint, "_is_protocol", False):
        return isinstance(value, hint)
    return True


def _fits_tuple(value: Any, parts: tuple[Any, ...]) -> bool:
    if not isinstance(value, tuple):
        return False
    if len(parts) == 2 and parts[1] is Ellipsis:
        return all(fits(v, parts[0]) for v in value)
    return len(value) == len(parts) and all(map(fits, value, parts))


def _finite(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return all(map(_finite, value))
    if isinstance(value, np.ndarray | jax.Array) and value.dtype.kind == "f":
        return bool(np.isfinite(np.asarray(value)).all())
    return True


@cache
def _hints(kind: type) -> dict[str, Any]:
    try:
        return get_type_hints(kind)
    except NameError:  # a name that only type checkers know
        return {}

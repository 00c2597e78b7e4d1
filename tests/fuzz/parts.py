"""The parts by name, each imported when it is asked for."""

from collections.abc import Callable
from importlib import import_module

from .case import Part

NAMES = ("inputs", "files", "checkpoints", "kills", "fits", "coverage", "samplers")


def _getter(name: str) -> Callable[[], Part]:
    return lambda: import_module(f".{name}", __package__).PART


PARTS = {name: _getter(name) for name in NAMES}

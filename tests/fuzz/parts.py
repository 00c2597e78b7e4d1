"""The parts by name, each imported when it is asked for."""

from collections.abc import Callable
from importlib import import_module

from .case import Part

PLACES = {
    "inputs": ("inputs", "PART"),
    "files": ("files", "PART"),
    "checkpoints": ("checkpoints", "PART"),
    "kills": ("kills", "PART"),
    "fits": ("fits", "PART"),
    "coverage": ("coverage", "PART"),
    "other-coverage": ("coverage", "OTHERS"),
    "samplers": ("samplers", "PART"),
}
NAMES = tuple(PLACES)


def _getter(module: str, name: str) -> Callable[[], Part]:
    return lambda: getattr(import_module(f".{module}", __package__), name)


PARTS = {part: _getter(*place) for part, place in PLACES.items()}

"""Packages that only some users need."""

import importlib
from typing import Any

from .errors import MissingExtraError


def needed(module: str, extra: str) -> Any:
    """Import an optional package, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as missing:
        raise MissingExtraError(
            f"this needs the package {module}: pip install 'manyviews[{extra}]'"
        ) from missing

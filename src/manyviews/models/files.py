"""Loading a model from its file."""

import os
from typing import Any

from ..errors import FileFormatError
from ..io import read


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model that :meth:`save` wrote.

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

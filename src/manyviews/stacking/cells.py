"""One file per finished piece of work, so that a long comparison can go on where it stopped."""

import hashlib
import json
import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from ..data import Views


def fingerprint(views: Views, fold: np.ndarray, *more: Any) -> str:
    """A digest of the data, their folds, and whatever else decides the results."""
    digest = hashlib.sha256(version("manyviews").encode())
    for name, columns in zip(views, views.columns, strict=True):
        digest.update(repr((name, columns, views.array(name).shape)).encode())
        digest.update(np.ascontiguousarray(views.array(name)).tobytes())
    for part in (fold, views.times, views.sequences):
        digest.update(b"-" if part is None else np.asarray(part).astype(str).tobytes())
    digest.update(repr(more).encode())
    return digest.hexdigest()


def described(member: Any) -> str:
    """A model and all its options, as text."""
    options = member.get_params() if hasattr(member, "get_params") else vars(member)
    listed = sorted((name, repr(value)) for name, value in options.items())
    return f"{type(member).__name__}{listed}"


class Cells:
    """Results in a folder, one JSON file each; without a folder nothing is kept."""

    def __init__(self, folder: str | os.PathLike[str] | None, digest: str):
        self.folder = None if folder is None else Path(folder)
        self.digest = digest

    def path(self, name: str, number: int, what: str) -> Path | None:
        """Where the result of one method in one fold is."""
        if self.folder is None:
            return None
        key = hashlib.sha256(f"{self.digest}{what}{number}".encode()).hexdigest()[:16]
        plain = "".join(c if c.isalnum() or c in "-_" else "_" for c in name)
        return self.folder / f"{plain}-{number}-{key}.json"

    @staticmethod
    def read(path: Path | None) -> dict[str, Any] | None:
        """What was found before, if anything whole."""
        if path is None or not path.exists():
            return None
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except json.JSONDecodeError:
            return None

    @staticmethod
    def write(path: Path | None, content: dict[str, Any]) -> None:
        """Keep a result; a half-written file is never seen."""
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        part.write_text(json.dumps(content), encoding="utf-8")
        os.replace(part, path)

"""What the command prints, and with which code it ends."""

import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from rich.console import Console

from ..errors import DataError, FileFormatError, LowSignalError, ManyviewsError, OptionError
from ..escaping import in_markup, visible
from ..storage import explained

CODES: dict[type[Exception], int] = {
    OptionError: 2,
    DataError: 3,
    FileFormatError: 4,
    OSError: 4,
    LowSignalError: 5,
    ManyviewsError: 1,
}
INTERRUPTED = 130

notes = Console(stderr=True, highlight=False, soft_wrap=True)
results = Console(highlight=False, soft_wrap=True)


def say(text: str, quiet: bool = False) -> None:
    """A line for the person at the terminal; results go to stdout, this to stderr."""
    if not quiet:
        notes.print(visible(text), markup=False)


def give(content: dict[str, Any], as_json: bool) -> None:
    """The result: one JSON object, or nothing, since people have been told already."""
    if as_json:
        sys.stdout.write(json.dumps(content, indent=2, default=_plain) + "\n")


def fail(error: Exception, as_json: bool) -> int:
    """Say what went wrong; return the exit code."""
    code = next((code for kind, code in CODES.items() if isinstance(error, kind)), 1)
    said = explained(error) if isinstance(error, OSError) else str(error)
    if as_json:
        problem = {"kind": type(error).__name__, "message": said, "exit_code": code}
        sys.stdout.write(json.dumps({"error": problem}, indent=2) + "\n")
    notes.print(f"[bold red]error:[/] {in_markup(said)}")
    return code


@contextmanager
def collecting_warnings() -> Iterator[list[str]]:
    """Gather the warnings of a fit as messages, each once."""
    messages: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield messages
    for warning in caught:
        if issubclass(warning.category, DeprecationWarning | FutureWarning):
            continue
        text = str(warning.message)
        if text not in messages:
            messages.append(text)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return str(value)

"""What somebody who reads or fits data should know of them."""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True)
class Concern:
    """One thing that a reader of the data should know.

    Attributes
    ----------
    severity : {"error", "warning", "note"}
        ``"error"`` stops a fit, a ``"warning"`` may spoil it, a ``"note"`` is for information.
    view : str or None
        The view that it is about; None for all of them together.
    what : str
        What was seen, in a sentence.
    figure : float, int or None
        The number behind the sentence: how many columns, which share.
    done : str
        What a fit does about it.
    advice : str
        What can be done about it; may be empty.
    """

    severity: Severity
    view: str | None
    what: str
    figure: float | int | None = None
    done: str = ""
    advice: str = ""

    def __str__(self) -> str:
        parts = [self.what, self.done, self.advice]
        return f"{self.severity}: " + " ".join(part for part in parts if part)

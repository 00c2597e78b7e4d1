"""Who looks at a fit from outside."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from .checkpoint import Checkpoint
from .interruption import Interruption
from .objective import Vector


@runtime_checkable
class Progress(Protocol):
    """What a progress display is told."""

    def update(
        self, restart: int, stage: int, bound: float, gradient_norm: float, signal_to_noise: Vector
    ) -> None:
        """Show the state after one iteration."""


@dataclass(frozen=True)
class Watch:
    """A display, a file, the user at the keyboard."""

    progress: Progress | None
    checkpoint: Checkpoint | None
    interruption: Interruption

"""Ctrl-C at a moment that suits: between two stretches of compiled work, nothing is lost."""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self

from ..devices import agreed


class Interruption:
    """Keeps a first Ctrl-C until `check()`; a second one is raised at once."""

    def __enter__(self) -> Self:
        self.pending = self.stopped = False
        self.usual: Any = None
        if threading.current_thread() is threading.main_thread():
            self.usual = signal.getsignal(signal.SIGINT)
            if self.usual is not signal.default_int_handler:
                self.usual = None  # somebody else looks after it
            else:
                signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.usual is not None:
            signal.signal(signal.SIGINT, self.usual)

    def check(self) -> None:
        """Raise what was kept, by this process or another that fits the same model.

        From then on it is raised every time: starts that run side by side all stop.
        """
        if self.stopped or agreed(self.pending):
            self.pending, self.stopped = False, True
            raise KeyboardInterrupt

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.pending:
            raise KeyboardInterrupt
        self.pending = True

"""What is under way, on one line of the terminal."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class Steps:
    """A bar that moves by one with every step; nothing at all if not asked for."""

    def __init__(self, what: str, total: int, shown: bool):
        self.bar = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.completed}/{task.total}  {task.fields[last]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=not shown,
        )
        self.task = self.bar.add_task(what, total=total, last="")

    def done(self, last: str) -> None:
        """One more step, and what it was."""
        self.bar.update(self.task, advance=1, last=last)

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.bar.stop()

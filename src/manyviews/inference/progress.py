"""A progress bar for long fits."""

from collections.abc import Sequence
from types import TracebackType
from typing import Self

import numpy as np
from jaxtyping import Float
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ..escaping import in_markup
from .search import Stage


class ProgressBar:
    """Bound, gradient, signal-to-noise per view and time left, on one line of the terminal."""

    def __init__(self, stages: Sequence[Stage], n_restarts: int, view_names: Sequence[str]):
        self.names = [in_markup(name) for name in view_names]
        self.lengths = [stage.iterations for stage in stages]
        self.n_restarts = n_restarts
        self.done: dict[tuple[int, int], int] = {}
        self.bar = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self.task = self.bar.add_task(
            "fitting",
            total=self._ahead_of(len(stages) - 1, 0) + self.lengths[-1] * self._starts(-1),
            state="compiling …",
        )

    def update(
        self,
        restart: int,
        stage: int,
        bound: float,
        gradient_norm: float,
        signal_to_noise: Float[np.ndarray, " K"],
    ) -> None:
        """Show the state after one iteration."""
        place = (stage, restart)
        self.done[place] = self.done.get(place, 0) + 1
        signals = " ".join(f"{n} {v:.3g}" for n, v in zip(self.names, signal_to_noise, strict=True))
        what = f"{restart + 1}/{self.n_restarts}, stage {stage + 1}/{len(self.lengths)}"
        self.bar.update(
            self.task,
            description=f"fitting {what}",
            completed=self._completed(stage, restart),
            state=f"bound {bound:.1f}  |grad| {gradient_norm:.1e}  S/N {signals}",
        )

    def _completed(self, stage: int, restart: int) -> int:
        """Iterations so far; starts that have ended count as if they had taken all of theirs."""
        others = [
            done for (at, start), done in self.done.items() if at == stage and start > restart
        ]
        return self._ahead_of(stage, restart) + self.done[stage, restart] + sum(others)

    def _starts(self, stage: int) -> int:
        """How many starts go through a stage, at most: the last of several is for one."""
        one = len(self.lengths) > 1 and stage in {-1, len(self.lengths) - 1}
        return 1 if one else self.n_restarts

    def _ahead_of(self, stage: int, restart: int) -> int:
        """Iterations, at most, before a start's first in a stage: all starts go side by side."""
        before = sum(self.lengths[:stage]) * self.n_restarts
        return before + min(restart, self._starts(stage) - 1) * self.lengths[stage]

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

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
        self.before = np.cumsum([0] + [stage.iterations for stage in stages])
        self.n_restarts = n_restarts
        self.position = (0, 0, 0)
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
            total=int(self.before[-1]) * n_restarts,
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
        same = self.position[:2] == (restart, stage)
        self.position = (restart, stage, self.position[2] + 1 if same else 1)
        signals = " ".join(f"{n} {v:.3g}" for n, v in zip(self.names, signal_to_noise, strict=True))
        done = int(min(restart, self.n_restarts - 1) * self.before[-1] + self.before[stage])
        what = f"{restart + 1}/{self.n_restarts}" if restart < self.n_restarts else "the best"
        self.bar.update(
            self.task,
            description=f"fitting {what}",
            completed=done + self.position[2],
            state=f"bound {bound:.1f}  |grad| {gradient_norm:.1e}  S/N {signals}",
        )

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

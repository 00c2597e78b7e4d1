"""Several starts side by side, of which the hopeless are dropped early."""

from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock

import numpy as np
from jaxtyping import Float

from .abreast import abreast, n_abreast
from .checkpoint import State
from .diagnostics import FitInfo
from .run import Run
from .search import Stage
from .stage_run import DESCENT, StageRun
from .watch import Watch

LEAST_ITERATIONS = 50  # of a first stage after which starts can be told apart


class Race:
    """Starts that go through the stages together, by successive halving.

    After the first of three stages or more, the worse half of the starts that share a plan is
    dropped. Starts of different plans are not compared there: holding the noise lowers the bound
    for hundreds of iterations, and often raises the optimum. After the last stage but one, the
    best start of all goes on alone. On a CPU as many of them as there are cores run at once.
    """

    def __init__(
        self,
        start: Callable[[int], Run],
        plan: Callable[[int], Sequence[Stage]],
        n_restarts: int,
        state: State,
    ):
        self.start, self.plan, self.state = start, plan, state
        self.runs: dict[int, Run] = {}
        self.making = Lock()
        self.alive = list(range(n_restarts)) if state.alive is None else list(state.alive)
        self.compared = list(state.compared)
        self.bounds = dict(state.bounds)
        self.relevance: dict[int, Float[np.ndarray, "K Q"]] = dict(state.relevance)
        self.interrupted = False
        self.n_evaluations, self.first_seconds = 0, 0.0

    def run(self, watch: Watch) -> Run:
        """Go all the way, or until the user stops it, and return the best start."""
        for stage in range(self.state.stage, len(self.plan(0))):
            if not self.interrupted:
                self._go(stage, watch)
        if not self.runs:  # all was done before
            self.runs = {restart: self._begun(restart) for restart in self.alive}
        return self.runs[self._best()]

    def _begun(self, restart: int) -> Run:
        """A start at its beginning, or where the checkpoint has it."""
        run = self.start(restart)
        if restart in self.state.runs:
            run.restore(self.state.runs[restart])
        return run

    def _best(self) -> int:
        return min(sorted(self.runs), key=lambda restart: self.runs[restart].best_value)

    def _go(self, stage: int, watch: Watch) -> None:
        alone = stage > 0 and stage == len(self.plan(0)) - 1
        # a checkpoint follows one start at a time
        at_once = n_abreast() if watch.checkpoint is None else 1
        abreast(partial(self._through, stage, watch), self.alive, at_once)
        for restart in self.alive:
            if restart not in self.runs:  # interrupted before
                continue
            run = self.runs[restart]
            if not alone:
                self.bounds[restart] = -run.best_value
                self.relevance[restart] = run.relevance()
            else:
                self._raise_compared()
            self.first_seconds = self.first_seconds or run.first_seconds
        if self.interrupted:
            return
        if not alone:
            self.compared = list(self.alive)
        kept = self._kept(stage)
        for restart in set(self.alive) - set(kept):
            self.n_evaluations += self.runs.pop(restart).n_evaluations
        self.alive = kept
        if watch.checkpoint is not None:
            watch.checkpoint.go_on_with(stage + 1, kept, self.compared, self.bounds, self.relevance)

    def _through(self, stage: int, watch: Watch, restart: int) -> None:
        """Take one start through a stage, unless the user has stopped the fit."""
        if self.interrupted:
            return
        with self.making:  # not that of the compiler, which a start may wait for
            run = self.runs[restart] = self.runs.get(restart) or self._begun(restart)
        if self.state.done.get(restart, 0) > stage:
            return
        done = self._stage_run(run, restart, stage, watch).go()
        self.interrupted = self.interrupted or not done
        if done and watch.checkpoint is not None:
            watch.checkpoint.write(restart, stage + 1, None, run.record())

    def _stage_run(self, run: Run, restart: int, stage: int, watch: Watch) -> StageRun:
        """A stage from its beginning, or from where the checkpoint left it."""
        state = self.state
        if state.place is None or restart != state.under_way or stage != state.done[restart]:
            return StageRun(run, restart, stage, watch)
        record = state.runs[restart]
        descent = [value for key, value in sorted(record.items()) if key.startswith(DESCENT)]
        return StageRun(run, restart, stage, watch, state.place, descent)

    def _raise_compared(self) -> None:
        """Add what the best gains alone to all that it was compared with, so that they compare."""
        best = self._best()
        gain = -self.runs[best].best_value - self.bounds[best]
        for restart in self.compared:
            self.bounds[restart] += gain
        self.relevance[best] = self.runs[best].relevance()

    def _kept(self, stage: int) -> list[int]:
        """The starts that go on after a stage."""
        ranked = sorted(self.alive, key=lambda restart: self.runs[restart].best_value)
        last = len(self.plan(0)) - 1
        if last > 0 and stage == last - 1:
            return ranked[:1]
        if stage > 0 or last < 2 or self.plan(0)[0].iterations < LEAST_ITERATIONS:
            return self.alive
        kept: list[int] = []
        for own in {tuple(self.plan(restart)) for restart in ranked}:
            alike = [restart for restart in ranked if tuple(self.plan(restart)) == own]
            kept += alike[: -(-len(alike) // 2)]
        return sorted(kept)

    def report(self, info: FitInfo) -> None:
        """Note what became of each start."""
        begun = sorted(self.bounds)
        compared = [] if self.interrupted else self.compared
        info.restart_bounds = [self.bounds[restart] for restart in begun]
        info.restart_finished = [restart in compared for restart in begun]
        info.restart_relevance = [self.relevance[restart] for restart in compared]
        evaluations = [run.n_evaluations for run in self.runs.values()]
        info.n_evaluations = self.n_evaluations + sum(evaluations)
        info.compile_seconds = self.first_seconds
        info.interrupted = self.interrupted

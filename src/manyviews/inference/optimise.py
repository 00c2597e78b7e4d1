"""Staged optimisation with restarts: progress, interruption, checkpoints."""

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import jax.numpy as jnp
import numpy as np

from .._runtime import single_threaded_blas
from ..errors import ConvergenceWarning, FactorisationError
from ..mappings import Mapping, Outputs
from .adam import Vector, adam, stochastic_adam
from .bound import Model
from .checkpoint import Checkpoint, State
from .diagnostics import FitInfo
from .lbfgs import lbfgs, value_noise
from .objective import Objective
from .search import Stage

WINDOW = 30  # iterations over which the convergence test looks for improvement
RESCUES, RESCUE_STEPS = 3, 30  # a stuck L-BFGS gets this many stretches of Adam to get away


@runtime_checkable
class Progress(Protocol):
    """What a progress display is told."""

    def update(
        self, restart: int, stage: int, bound: float, gradient_norm: float, signal_to_noise: Vector
    ) -> None:
        """Show the state after one iteration."""


def optimise(
    make_model: Callable[[int], Model],
    outputs: tuple[Outputs, ...],
    stages: Sequence[Stage] | Callable[[int], Sequence[Stage]],
    *,
    n_restarts: int = 1,
    tolerance: float = 1e-5,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
) -> tuple[Model, FitInfo]:
    """Fit a model from several starts and keep the one with the highest bound.

    Where there are several starts and several stages, all starts go through all stages but
    the last, and only the best of them goes through that.

    Parameters
    ----------
    make_model
        Gives the starting model of a restart.
    stages
        The plan, or one for every restart; all plans are equally long and end alike.
    tolerance
        Converged when thirty iterations together gain less than ``tolerance`` nats per
        observed value.
    """
    info = FitInfo()
    began = time.perf_counter()
    best: Run | None = None
    state = checkpoint.resume() if checkpoint is not None else State()
    plan = stages if callable(stages) else lambda _: stages
    n_stages = len(plan(0))
    last = n_stages - 1 if n_restarts > 1 and n_stages > 1 else n_stages
    info.restart_bounds = list(state.bounds)
    with single_threaded_blas():
        if state.best is not None:
            best = Run(Objective(make_model(0), outputs), plan(0), tolerance)
            best.objective(state.best)
            best.position = state.best
        for restart in range(state.restart, n_restarts):
            run = Run(Objective(make_model(restart), outputs), plan(restart), tolerance)
            run.go(restart, range(last), progress, checkpoint)
            info.n_evaluations += run.objective.n_evaluations
            info.compile_seconds = info.compile_seconds or run.objective.compile_seconds
            info.restart_bounds.append(-run.objective.best_value)
            if best is None or run.objective.best_value < best.objective.best_value:
                best = run
            info.interrupted = run.interrupted
            if run.interrupted:
                break
            if checkpoint is not None:
                checkpoint.restart_done(restart, info.restart_bounds, best.objective.best_vector)
        if best is not None and last < n_stages and not info.interrupted:
            before = best.objective.n_evaluations
            best.go(n_restarts, range(last, n_stages), progress, checkpoint)
            info.n_evaluations += best.objective.n_evaluations - before
            info.restart_bounds[int(np.argmax(info.restart_bounds))] = -best.objective.best_value
            info.interrupted = best.interrupted
        if best is None or not np.isfinite(best.objective.best_value):
            raise FactorisationError(
                "the bound is not finite at the start, even with the largest jitter: look for "
                "duplicated inducing inputs, extreme values in the data or in the kernel's "
                "parameters"
            )
        solution = best.objective.best_vector  # diagnosing below evaluates nearby points
        _finish(info, best)
    info.seconds = time.perf_counter() - began
    if info.interrupted:
        warnings.warn(
            "the fit was interrupted; the best state so far is kept. With "
            "Search(checkpoint='FILE') another fit of the same data goes on from there",
            ConvergenceWarning,
            stacklevel=3,
        )
    elif not info.converged:
        warnings.warn(
            "the fit reached max_iter before its convergence test was met; the model can be "
            "used, a larger max_iter of its search may improve it",
            ConvergenceWarning,
            stacklevel=3,
        )
    return best.objective.model_at(solution), info


class Run:
    """One start, taken through all stages."""

    def __init__(
        self,
        objective: Objective,
        stages: Sequence[Stage],
        tolerance: float,
    ):
        self.objective = objective
        self.stages = stages
        self.gain_limit = tolerance * sum(o.n_observed() for o in objective.outputs)
        self.variances = np.array([o.variance() for o in objective.outputs])
        self.position = objective.start
        self.trace: list[float] = []
        self.signals: list[Vector] = []
        self.converged = False
        self.interrupted = False

    def go(
        self,
        restart: int,
        stages: range,
        progress: Progress | None,
        checkpoint: Checkpoint | None,
    ) -> None:
        """Run some of the stages; Ctrl-C keeps the best point seen."""
        first = stages.start
        if checkpoint is not None:
            stage, self.position = checkpoint.stage_start(restart, self.position)
            first = max(first, stage)
        index = first
        try:
            for index in range(first, stages.stop):
                self.position = self._stage(index, self.position, restart, progress, checkpoint)
        except KeyboardInterrupt:
            self.interrupted = True
            if checkpoint is not None:
                checkpoint.write(restart, index, self.objective.best_vector)

    def signal_to_noise(self) -> Vector:
        """Variance of the data over the noise variance, at the last evaluation."""
        assert self.objective.last is not None
        return self.variances / np.asarray(self.objective.last.noise)

    def _stage(
        self,
        index: int,
        x: Vector,
        restart: int,
        progress: Progress | None,
        checkpoint: Checkpoint | None,
    ) -> Vector:
        stage = self.stages[index]
        mask = self.objective.holding(*stage.hold)
        values: list[float] = []

        def masked(vector: Vector) -> tuple[float, Vector]:
            value, gradient = self.objective(np.where(mask > 0, vector, x))
            return value, gradient * mask

        def report(value: float, gradient: Vector) -> bool:
            values.append(value)
            self.signals.append(self.signal_to_noise())
            self.trace.append(-value)
            if progress is not None:
                norm = float(np.linalg.norm(gradient))
                progress.update(restart, index, -value, norm, self.signals[-1])
            if checkpoint is not None:
                checkpoint.maybe_write(restart, index, self.objective.best_vector)
            best_before = min(values[:-WINDOW], default=np.inf)
            return len(values) > WINDOW and best_before - min(values) < self.gain_limit

        if stage.n_outputs is not None:
            return self._sampled_stage(stage, x, mask, restart, index)
        if stage.method == "adam":
            return adam(masked, x, stage.iterations, stage.step_size, report)
        left = stage.iterations
        for _ in range(RESCUES + 1):
            before = min(values, default=np.inf)
            x, self.converged, used = lbfgs(masked, x, left, report)
            left -= used
            if self.converged or left <= 0:
                break
            if before - min(values, default=np.inf) < self.gain_limit:  # stuck twice in one place
                self.converged = True
                break
            x = adam(masked, x, RESCUE_STEPS, 0.2 * stage.step_size, report)
        return x

    def _sampled_stage(
        self, stage: Stage, x: Vector, mask: Vector, restart: int, index: int
    ) -> Vector:
        """Adam on random outputs; its end is kept if the whole bound is no worse there."""
        rng = np.random.default_rng([restart, index])
        views = self.objective.model_at(x).views

        def estimate(vector: Vector) -> tuple[float, Vector]:
            columns = tuple(random_outputs(view, stage.n_outputs or 0, rng) for view in views)
            value, gradient = self.objective.sampled(np.where(mask > 0, vector, x), columns)
            return value, gradient * mask

        before, _ = self.objective(x)
        end = stochastic_adam(estimate, x, stage.iterations, stage.step_size)
        after, _ = self.objective(end)
        self.trace.append(-min(before, after))
        self.signals.append(self.signal_to_noise())
        return end if after <= before else x


def random_outputs(view: Mapping, count: int, rng: np.random.Generator) -> Any:
    """Some of a view's outputs, drawn anew; None if all are needed or wanted."""
    if view.n_samplable() <= count:
        return None
    return jnp.asarray(rng.choice(view.n_samplable(), count, replace=False))


def _finish(info: FitInfo, run: Run) -> None:
    objective = run.objective
    value, gradient = objective(objective.best_vector)
    assert objective.last is not None
    info.jitter = np.asarray(objective.last.jitter)
    info.signal_to_noise = run.signal_to_noise()
    info.gradient_norm = float(np.linalg.norm(gradient))
    info.bound_noise = value_noise(objective, objective.best_vector, value)
    info.bound_trace = np.asarray(run.trace)
    info.signal_trace = np.stack(run.signals) if run.signals else np.empty((0, len(run.variances)))
    info.converged = run.converged

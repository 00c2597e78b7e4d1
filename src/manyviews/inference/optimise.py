"""Staged optimisation with restarts: progress, interruption, checkpoints."""

import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, PRNGKeyArray

from .._runtime import single_threaded_blas
from ..errors import ConvergenceWarning, FactorisationError
from ..mappings import Outputs
from ..parameters import split_free
from .bound import Model
from .checkpoint import Checkpoint, State
from .descent import CONVERGED, PROBES, RUNNING, STRETCH, Descent, Method, begin, method_of, run
from .diagnostics import FitInfo
from .interruption import Interruption
from .objective import Context, Objective, Vector, negative_bound, sampled_negative_bound
from .search import Stage
from .stochastic import Batches, stretches

RESCUES, RESCUE_STEPS = 3, 30  # a stuck L-BFGS gets this many stretches of Adam to get away
POLISHED = 100.0  # times the tolerance, after stages from batches: the bound is an average there
LOOK = 0.2  # seconds between two looks from outside


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
    with single_threaded_blas(), Interruption() as interruption:
        watch = Watch(progress, checkpoint, interruption)
        if state.best is not None:
            best = Run(Objective(make_model(0), outputs), plan(0), tolerance)
            best.place(state.best)
        for restart in range(state.restart, n_restarts):
            candidate = Run(Objective(make_model(restart), outputs), plan(restart), tolerance)
            candidate.go(restart, range(last), watch)
            info.n_evaluations += candidate.n_evaluations
            info.compile_seconds = info.compile_seconds or candidate.first_seconds
            info.restart_bounds.append(-candidate.best_value)
            if best is None or candidate.best_value < best.best_value:
                best = candidate
            info.interrupted = candidate.interrupted
            if candidate.interrupted:
                break
            if checkpoint is not None:
                vector = best.objective.flat(best.best)
                checkpoint.restart_done(restart, info.restart_bounds, vector)
        if best is not None and last < n_stages and not info.interrupted:
            before = best.n_evaluations
            best.go(n_restarts, range(last, n_stages), watch)
            info.n_evaluations += best.n_evaluations - before
            info.restart_bounds[int(np.argmax(info.restart_bounds))] = -best.best_value
            info.interrupted = best.interrupted
        if best is None or not np.isfinite(best.best_value):
            raise FactorisationError(
                "the bound is not finite at the start, even with the largest jitter: look for "
                "duplicated inducing inputs, extreme values in the data or in the kernel's "
                "parameters"
            )
        best.report(info)
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
    return best.objective.model(best.best), info


class Watch:
    """Who looks at a fit from outside: a display, a file, the user at the keyboard."""

    def __init__(
        self,
        progress: Progress | None,
        checkpoint: Checkpoint | None,
        interruption: Interruption,
    ):
        self.progress, self.checkpoint, self.interruption = progress, checkpoint, interruption


class Run:
    """One start, taken through all stages."""

    def __init__(self, objective: Objective, stages: Sequence[Stage], tolerance: float):
        self.objective = objective
        self.stages = stages
        self.gain = tolerance * sum(o.n_observed() for o in objective.outputs)
        self.variances = np.array([o.variance() for o in objective.outputs])
        self.position = self.best = objective.free
        self.best_value = np.inf
        self.trace: list[float] = []
        self.signals: list[Vector] = []
        self.n_evaluations = 0
        self.first_seconds = 0.0
        self.turns, self.seconds = 1, 0.0
        self.converged = False
        self.interrupted = False

    def place(self, vector: Vector) -> None:
        """Go on from a vector, and know its value."""
        self.position = self.objective.packed(vector)
        self.note(self.evaluated(self.position))

    def go(self, restart: int, stages: range, watch: Watch) -> None:
        """Run some of the stages; Ctrl-C keeps the best point seen."""
        first = stages.start
        if watch.checkpoint is not None:
            stage, vector = watch.checkpoint.stage_start(restart)
            first = max(first, stage)
            self.position = self.position if vector is None else self.objective.packed(vector)
        index = first
        try:
            for index in range(first, stages.stop):
                stage_run = _Stage(self, restart, index, watch)
                self.position = stage_run()
        except KeyboardInterrupt:
            self.interrupted = True
            if watch.checkpoint is not None:
                watch.checkpoint.write(restart, index, self.objective.flat(self.best))

    def report(self, info: FitInfo) -> None:
        """Note what the fit came to: at the best point, with the noise of the bound there."""
        state = self.evaluated(self.best, 1 + PROBES)  # looks around, but does not move
        info.jitter = np.asarray(state.kept.jitter)
        info.signal_to_noise = self.variances / np.asarray(state.kept.noise)
        info.gradient_norm = float(optax.tree.norm(state.gradient))
        info.bound_noise = float(state.noise)
        info.bound_trace = np.asarray(self.trace)
        shape = (0, len(self.variances))
        info.signal_trace = np.stack(self.signals) if self.signals else np.empty(shape)
        info.converged = self.converged

    def begin(self, x: Any, rate: float) -> Descent:
        """A new descent from a point."""
        return begin(negative_bound, x, self.objective.context, rate)

    def advance(self, state: Descent, method: Method, turns: int) -> tuple[Descent, Any]:
        """One dispatch; its first is the compiler's."""
        began = time.perf_counter()
        fixed = (negative_bound, self.objective.context, method, jnp.asarray(turns))
        state, seen = run(fixed, state)
        done = int(seen.evaluations)  # waits
        seconds = time.perf_counter() - began
        if not self.n_evaluations:
            self.first_seconds = seconds
        elif done:
            pace = max(seconds / done, 1e-6)
            self.turns = int(np.clip(LOOK / pace, 1, STRETCH))
        self.n_evaluations += done
        return state, seen

    def note(self, state: Descent) -> None:
        """Keep the best point that was seen."""
        value = float(state.best_value)
        if value < self.best_value:
            self.best_value, self.best = value, jax.tree.map(jnp.array, state.best)

    def evaluated(self, x: Any, turns: int = 1) -> Descent:
        """The bound at a point and, with four turns, its noise there."""
        method = method_of(False, self.objective.mask(), 1, -1.0)
        return self.advance(self.begin(x, 0.0), method, turns)[0]


class _Stage:
    """One stage of one run."""

    def __init__(self, run: Run, restart: int, index: int, watch: Watch):
        self.run, self.restart, self.index, self.watch = run, restart, index, watch
        self.stage = run.stages[index]
        self.mask = run.objective.mask(*self.stage.hold)
        self.lowest = np.inf
        polishes = any(stage.method == "natural" for stage in run.stages[:index])
        self.gain = run.gain * (POLISHED if polishes else 1.0)

    def __call__(self) -> Any:
        """Go through the stage, and return where it ended."""
        stage, x = self.stage, self.run.position
        if stage.n_outputs is not None:
            return self._on_random_outputs(x)
        if stage.method == "natural":
            return self._from_batches(x)
        if stage.method == "adam":
            return self._descend(x, True, stage.iterations, stage.step_size).best
        left = stage.iterations
        for _ in range(RESCUES + 1):
            before = self.lowest
            end = self._descend(x, False, left, 0.0)
            self.run.converged = int(end.status) == CONVERGED
            x, left = end.x, left - int(end.iterations)
            if self.run.converged or left <= 0:
                break
            if before - self.lowest < self.gain:  # stuck twice in one place
                self.run.converged = True
                break
            x = self._descend(x, True, RESCUE_STEPS, 0.2 * stage.step_size).best
        return x

    def _descend(self, x: Any, adam: bool, iterations: int, rate: float) -> Descent:
        run = self.run
        method = method_of(adam, self.mask, iterations, self.gain)
        state = run.begin(x, rate)
        while int(state.status) == RUNNING and int(state.iterations) < iterations:
            state, seen = run.advance(state, method, run.turns)
            run.note(state)
            self._look(state, seen)
        return state

    def _look(self, state: Descent, seen: Any) -> None:
        """Tell all who watch, and stop if one of them says so."""
        run, watch, count = self.run, self.watch, int(seen.steps)
        values = np.asarray(seen.values)[:count]
        with np.errstate(divide="ignore"):
            signals = run.variances / np.asarray(seen.kept.noise)[:count]
        run.trace += (-values).tolist()
        run.signals += list(signals)
        self.lowest = min(self.lowest, values.min(initial=np.inf))
        if watch.progress is not None:
            norm = float(optax.tree.norm(state.gradient))
            for value, signal in zip(values, signals, strict=True):
                watch.progress.update(self.restart, self.index, -float(value), norm, signal)
        if watch.checkpoint is not None:
            watch.checkpoint.maybe_write(
                self.restart, self.index, lambda: run.objective.flat(run.best)
            )
        watch.interruption.check()

    def _from_batches(self, x: Any) -> Any:
        """Natural gradients and Adam from batches of rows; the end is kept, as the best so far."""
        run, stage, watch = self.run, self.stage, self.watch
        batches = Batches(stage.iterations, stage.n_rows, stage.step_size)
        begun, seed = run.objective.model(x), 1000 * self.restart + self.index
        model, pack = begun, run.objective.context.packing.pack
        try:
            for model, values in stretches(begun, run.objective.outputs, batches, seed):
                noise = np.array([float(view.noise_variance()) for view in model.views])
                signal = run.variances / noise
                run.trace += values.tolist()
                run.signals += [signal] * len(values)
                if watch.progress is not None:
                    for value in values:
                        watch.progress.update(self.restart, self.index, value, np.nan, signal)
                if watch.checkpoint is not None:
                    watch.checkpoint.maybe_write(
                        self.restart,
                        self.index,
                        lambda now=model: run.objective.flat(pack(split_free(now)[0])),
                    )
                watch.interruption.check()
        finally:  # an interrupted fit keeps what it has
            end = pack(split_free(model)[0])
            run.note(run.evaluated(end))
        run.converged = self.index == len(run.stages) - 1  # its steps have become small
        return end

    def _on_random_outputs(self, x: Any) -> Any:
        """Adam on random outputs; its end is kept if the whole bound is no worse there."""
        run, stage = self.run, self.stage
        before = float(run.evaluated(x).value)
        key = jax.random.key(1000 * self.restart + self.index)
        end = _stochastic_adam(
            x, run.objective.context, self.mask, key, stage.n_outputs or 0, stage.iterations,
            stage.step_size,
        )  # fmt: skip
        state = run.evaluated(end)
        run.note(state)
        after = float(state.value)
        run.trace.append(-min(before, after))
        run.signals.append(run.variances / np.asarray(state.kept.noise))
        return end if after <= before else x


@eqx.filter_jit
def _stochastic_adam(
    x: Any,
    context: Context,
    mask: Any,
    key: PRNGKeyArray,
    n_outputs: int,
    iterations: int,
    step_size: float,
) -> Any:
    """Minimise an expectation from unbiased estimates, with a step that falls to zero."""
    rule = optax.chain(
        optax.zero_nans(), optax.adam(optax.linear_schedule(step_size, 0.0, iterations + 1))
    )
    estimate = partial(sampled_negative_bound, n_outputs=n_outputs)

    def step(t: Array, carry: tuple[Any, Any]) -> tuple[Any, Any]:
        x, state = carry
        gradient = jax.grad(estimate)(x, context, jax.random.fold_in(key, t))
        gradient = jax.tree.map(jnp.multiply, gradient, mask)
        update, state = rule.update(gradient, state)
        return optax.apply_updates(x, update), state

    return jax.lax.fori_loop(0, iterations, step, (x, rule.init(x)))[0]

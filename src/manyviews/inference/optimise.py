"""Staged optimisation with restarts: progress, interruption, checkpoints."""

import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, PRNGKeyArray

from .._runtime import single_threaded_blas
from ..errors import ConvergenceWarning, FactorisationError
from ..mappings import Outputs
from .bound import Model
from .checkpoint import Checkpoint, State
from .descent import CONVERGED, PROBES, RUNNING, STRETCH, Descent, Method, begin, method_of, run
from .diagnostics import FitInfo
from .interruption import Interruption
from .objective import Context, Objective, Vector, negative_bound, sampled_negative_bound
from .search import Stage

RESCUES, RESCUE_STEPS = 3, 30  # a stuck L-BFGS gets this many stretches of Adam to get away
LOOK = 0.2  # seconds between two looks from outside
RUNGS = (50, 150)  # iterations of Adam after which the worse half of several starts is dropped


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

    Where there are several starts and several stages, the starts go side by side through all
    stages but the last, and only the best of them goes through that. On the way the worse half
    is dropped at every rung (see :func:`legs`).

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
    plan = stages if callable(stages) else lambda _: stages
    state = checkpoint.resume() if checkpoint is not None else State()

    def start(restart: int) -> Run:
        run = Run(Objective(make_model(restart), outputs), plan(restart), tolerance)
        if restart in state.vectors:
            run.place(state.vectors[restart])
        return run

    with single_threaded_blas(), Interruption() as interruption:
        watch = Watch(progress, checkpoint, interruption)
        race = Race(start, legs(plan(0), n_restarts), n_restarts, state)
        best = race.run(watch)
        if not np.isfinite(best.best_value):
            raise FactorisationError(
                "the bound is not finite at the start, even with the largest jitter: look for "
                "duplicated inducing inputs, extreme values in the data or in the kernel's "
                "parameters"
            )
        race.report(info)
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


class Leg(NamedTuple):
    """A part of the way: one stage, or the iterations of it up to a rung.

    Attributes
    ----------
    stage, until : int
        The stage, and the iterations of it that are done at the end of the leg.
    keep : int
        How many starts go on after it.
    """

    stage: int
    until: int
    keep: int


def legs(stages: Sequence[Stage], n_restarts: int) -> list[Leg]:
    """The way of several starts through their stages, by successive halving.

    One start, or several through a single stage, go all the way. Otherwise one start, the best,
    is left for the last stage. If the stage before that is one of Adam, the worse half is dropped
    after each of ``RUNGS`` iterations of it; before that, bounds of different plans cannot be
    compared.
    """
    last = len(stages) - 1
    if n_restarts == 1 or last == 0:
        return [Leg(i, stage.iterations, n_restarts) for i, stage in enumerate(stages)]
    way, keep = [], n_restarts
    for i, stage in enumerate(stages[:-1]):
        if i == last - 1 and stage.method == "adam" and stage.n_outputs is None:
            for rung in (rung for rung in RUNGS if rung < stage.iterations):
                keep = -(-keep // 2)
                way.append(Leg(i, rung, keep))
        way.append(Leg(i, stage.iterations, 1 if i == last - 1 else keep))
    return [*way, Leg(last, stages[last].iterations, 1)]


class Race:
    """Several starts side by side; each is at its best point between two legs."""

    def __init__(
        self, start: Callable[[int], "Run"], way: Sequence[Leg], n_restarts: int, state: State
    ):
        self.start, self.way, self.state = start, way, state
        self.runs: dict[int, Run] = {}
        self.alive = list(range(n_restarts)) if state.alive is None else list(state.alive)
        self.bounds = dict(state.bounds)
        self.interrupted = False
        self.n_evaluations, self.first_seconds = 0, 0.0

    def run(self, watch: "Watch") -> "Run":
        """Go all the way, or until the user stops it, and return the best start."""
        for number, leg in enumerate(self.way):
            if number >= self.state.leg and not self.interrupted:
                self._go(number, leg, watch)
        for restart in () if self.runs else self.alive:  # all was done before
            self.runs[restart] = self.start(restart)
        return min(self.runs.values(), key=lambda run: run.best_value)

    def _go(self, number: int, leg: Leg, watch: "Watch") -> None:
        for restart in self.alive:
            if restart not in self.runs:
                self.runs[restart] = self.start(restart)
            run = self.runs[restart]
            if self.state.done.get(restart, 0) <= number:
                run.go(restart, number, leg, watch)
            self.bounds[restart] = -run.best_value
            self.first_seconds = self.first_seconds or run.first_seconds
            self.interrupted = run.interrupted
            if self.interrupted:
                return
        if len(self.alive) > leg.keep:
            ranked = sorted(self.alive, key=lambda restart: self.runs[restart].best_value)
            for restart in ranked[leg.keep :]:
                self.n_evaluations += self.runs.pop(restart).n_evaluations
            self.alive = sorted(ranked[: leg.keep])
        if watch.checkpoint is not None:
            watch.checkpoint.go_on_with(self.alive, number + 1)

    def report(self, info: FitInfo) -> None:
        """Note what became of each start."""
        begun = sorted(self.bounds)
        whole = not self.interrupted
        info.restart_bounds = [self.bounds[restart] for restart in begun]
        info.restart_finished = [whole and restart in self.alive for restart in begun]
        evaluations = [run.n_evaluations for run in self.runs.values()]
        info.n_evaluations = self.n_evaluations + sum(evaluations)
        info.compile_seconds = self.first_seconds
        info.interrupted = self.interrupted


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
        self.turns = 1
        self.paused: Descent | None = None
        self.converged = False
        self.interrupted = False

    def place(self, vector: Vector) -> None:
        """Go on from a vector, and know its value."""
        self.position = self.objective.packed(vector)
        self.note(self.evaluated(self.position))

    def go(self, restart: int, number: int, leg: Leg, watch: Watch) -> None:
        """Run a leg of the way; Ctrl-C keeps the best point seen."""
        done = number
        try:
            self.position = _Stage(self, restart, number, leg, watch)()
            done += 1
        except KeyboardInterrupt:
            self.interrupted = True
        if watch.checkpoint is not None:
            watch.checkpoint.write(restart, done, -self.best_value, self.objective.flat(self.best))

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

    def pause(self, state: Descent) -> None:
        """Keep a descent of Adam, less the history that only L-BFGS fills."""
        self.paused = eqx.tree_at(lambda s: s.history, state, None)

    def resumed(self) -> Descent | None:
        """The descent that was paused, if there is one."""
        paused, self.paused = self.paused, None
        if paused is None:
            return None
        empty = self.begin(paused.x, 0.0).history
        return eqx.tree_at(lambda s: s.history, paused, empty, is_leaf=lambda x: x is None)

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
    """One stage of one run, or a leg of it."""

    def __init__(self, run: Run, restart: int, number: int, leg: Leg, watch: Watch):
        self.run, self.restart, self.number, self.leg, self.watch = run, restart, number, leg, watch
        self.stage = run.stages[leg.stage]
        self.mask = run.objective.mask(*self.stage.hold)
        self.lowest = np.inf

    def __call__(self) -> Any:
        """Go through the stage, and return where it ended."""
        stage, x = self.stage, self.run.position
        if stage.n_outputs is not None:
            return self._on_random_outputs(x)
        if stage.method == "adam":
            state = self.run.resumed() or self.run.begin(x, stage.step_size)
            end = self._descend(state, True, self.leg.until)
            if self.leg.until < stage.iterations:
                self.run.pause(end)
            return end.best
        left = stage.iterations
        for _ in range(RESCUES + 1):
            before = self.lowest
            end = self._descend(self.run.begin(x, 0.0), False, left)
            self.run.converged = int(end.status) == CONVERGED
            x, left = end.x, left - int(end.iterations)
            if self.run.converged or left <= 0:
                break
            if before - self.lowest < self.run.gain:  # stuck twice in one place
                self.run.converged = True
                break
            away = self.run.begin(x, 0.2 * stage.step_size)
            x = self._descend(away, True, RESCUE_STEPS).best
        return x

    def _descend(self, state: Descent, adam: bool, iterations: int) -> Descent:
        run = self.run
        method = method_of(adam, self.mask, iterations, run.gain)
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
                watch.progress.update(self.restart, self.leg.stage, -float(value), norm, signal)
        if watch.checkpoint is not None:
            watch.checkpoint.maybe_write(
                self.restart, self.number, -run.best_value, lambda: run.objective.flat(run.best)
            )
        watch.interruption.check()

    def _on_random_outputs(self, x: Any) -> Any:
        """Adam on random outputs; its end is kept if the whole bound is no worse there."""
        run, stage = self.run, self.stage
        before = float(run.evaluated(x).value)
        key = jax.random.key(1000 * self.restart + self.leg.stage)
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

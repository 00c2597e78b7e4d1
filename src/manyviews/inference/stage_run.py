"""One stage of one start: stretches of compiled descent, with a look from outside between them."""

from dataclasses import replace
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from ..devices import fetched
from ..errors import FileFormatError
from .checkpoint import Place
from .descent import CONVERGED, RUNNING, Descent, method_of
from .leaving_out import LeavingOut
from .objective import Context, sampled_negative_bound
from .run import Run, norm
from .sites import fixed_point
from .stochastic import Batches, stretches
from .watch import Watch

RESCUES, RESCUE_STEPS = 3, 30  # a stuck L-BFGS gets this many stretches of Adam to get away
POLISHED = 100.0  # times the tolerance, after stages from batches: the bound is an average there
DESCENT = "descent."  # what the names of its arrays begin with in a checkpoint


class StageRun:
    """One stage of one run, from its beginning or from where a checkpoint left it.

    What a descent remembers is part of the checkpoint, so that a fit that was interrupted takes
    the same path, to the bit, as one that was not.
    """

    def __init__(
        self,
        run: Run,
        restart: int,
        index: int,
        watch: Watch,
        place: Place | None = None,
        descent: list[np.ndarray] | None = None,
    ):
        self.run, self.restart, self.index, self.watch = run, restart, index, watch
        self.stage = run.stages[index]
        scaled = self.stage.method == "lbfgs"
        weights = run.objective.scales if scaled else run.objective.mask
        self.mask = weights(*self.stage.hold)
        polishes = any(stage.method == "natural" for stage in run.stages[:index])
        self.gain = run.gain * (POLISHED if polishes else 1.0)
        self.place = place or Place(left=self.stage.iterations)
        self.resumed = descent if place is not None else None
        self.under_way: Descent | None = None
        self.written = False

    def __call__(self) -> Any:
        """Go through the stage, and return where it ended."""
        stage, place, x = self.stage, self.place, self.run.position
        if stage.n_outputs is not None:
            return self._on_random_outputs(x)
        if stage.method == "natural":
            return self._from_batches(x)
        if stage.method == "leave_out":
            return self._without_idle(x)
        if stage.method == "sites":
            return self._by_fixed_point(x)
        if stage.method == "adam":
            return self._descend(x, True, stage.iterations, stage.step_size).best
        while place.attempt <= RESCUES:
            if not place.rescuing:
                if self.resumed is None:
                    place.before = place.lowest
                end = self._descend(x, False, place.left, 0.0)
                self.run.converged = int(end.status) == CONVERGED
                x, place.left = end.x, place.left - int(end.iterations)
                if self.run.converged or place.left <= 0:
                    break
                if place.before - place.lowest < self.gain:  # stuck twice in one place
                    self.run.converged = True
                    break
                place.rescuing = True
            x = self._descend(x, True, RESCUE_STEPS, 0.2 * stage.step_size).best
            place.attempt, place.rescuing = place.attempt + 1, False
        return x

    def _descend(self, x: Any, adam: bool, iterations: int, rate: float) -> Descent:
        run = self.run
        method = method_of(adam, self.mask, iterations, self.gain)
        state = run.begin(x, rate)
        if self.resumed is not None:
            state, self.resumed = run.placed(_restored(state, self.resumed)), None
        while int(state.status) == RUNNING and int(state.iterations) < iterations:
            self.under_way = None  # its memory goes to the next
            state, seen = run.advance(state, method, run.turns)
            run.note(state)
            self.under_way = state
            self._look(seen)
        return state

    def _look(self, seen: Any) -> None:
        """Tell all who watch, and stop if one of them says so."""
        run, watch, count, state = self.run, self.watch, int(seen.steps), self.under_way
        assert state is not None
        values = np.asarray(seen.values)[:count]
        with np.errstate(divide="ignore"):
            signals = run.variances / np.asarray(seen.kept.noise)[:count]
        run.trace += (-values).tolist()
        run.signals += list(signals)
        self.place.lowest = min(self.place.lowest, float(values.min(initial=np.inf)))
        slope = np.nan
        if watch.progress is not None or jax.process_count() > 1:  # all processes compute alike
            slope = float(norm(state.gradient))
        if watch.progress is not None:
            for value, signal in zip(values, signals, strict=True):
                watch.progress.update(self.restart, self.index, -float(value), slope, signal)
        if watch.checkpoint is not None and watch.checkpoint.is_due():
            self.write()
        watch.interruption.check()

    def go(self) -> bool:
        """Go through the stage, or until the user stops it; True when it is done."""
        done = False
        try:
            self.run.position = self()
            done = True
        except KeyboardInterrupt:
            self.write()
        return done

    def write(self) -> None:
        """Write where this stands, if there is a checkpoint.

        In the middle of a dispatch that is what was written last or, if nothing was, the
        beginning of the stage.
        """
        checkpoint, state = self.watch.checkpoint, self.under_way
        if checkpoint is None or (state is None and self.written):
            return
        record = self.run.record()
        for number, leaf in enumerate(jax.tree.leaves(state)):
            record[f"{DESCENT}{number:04d}"] = fetched(leaf)
        place = None if state is None else replace(self.place)
        checkpoint.write(self.restart, self.index, place, record)
        self.written = True

    def _from_batches(self, x: Any) -> Any:
        """Natural gradients and Adam from batches of rows; the end is kept, as the best so far.

        A checkpoint has the beginning of such a stage; the same batches follow from there.
        """
        run, stage, watch = self.run, self.stage, self.watch
        batches = Batches(stage.iterations, stage.n_rows, stage.step_size)
        seed = 1000 * self.restart + self.index
        begun = model = run.objective.model(x)
        self.write()
        try:
            for model, values in stretches(begun, run.objective.outputs, batches, seed):
                noise = np.array([float(view.noise_variance()) for view in model.views])
                signal = run.variances / noise
                run.trace += values.tolist()
                run.signals += [signal] * len(values)
                if watch.progress is not None:
                    for value in values:
                        watch.progress.update(self.restart, self.index, value, np.nan, signal)
                watch.interruption.check()
        finally:  # an interrupted fit keeps what it has
            end = run.objective.packed_model(model)
            run.note(run.evaluated(end))
        run.converged = self.index == len(run.stages) - 1  # its steps have become small
        return end

    def _by_fixed_point(self, x: Any) -> Any:
        """The sites of q(X) alone; the end is kept, as the best so far.

        A checkpoint has the beginning of such a stage.
        """
        run, stage, watch = self.run, self.stage, self.watch
        model = run.objective.model(x)
        self.write()
        state = run.evaluated(x)
        run.note(state)
        signal = run.variances / np.asarray(state.kept.noise)
        try:
            for found, value in fixed_point(
                model, run.objective.outputs, stage.iterations, stage.step_size, self.gain
            ):
                model = found
                run.trace.append(value)
                run.signals.append(signal)
                if watch.progress is not None:
                    watch.progress.update(self.restart, self.index, value, np.nan, signal)
                watch.interruption.check()
        finally:  # an interrupted fit keeps what it has
            end = run.objective.packed_model(model)
            run.note(run.evaluated(end))
        return end

    def _without_idle(self, x: Any) -> Any:
        """The simplest model that is as good, which is the best so far then."""
        run, stage = self.run, self.stage
        trial = Batches(stage.iterations, stage.n_rows, stage.step_size)
        seed = 1000 * self.restart + self.index
        self.write()
        leave_out = LeavingOut(run.objective.outputs, trial, seed, self.watch.interruption.check)
        model = leave_out(run.objective.model(x))
        end = run.objective.packed_model(model)
        run.best_value = np.inf
        run.note(run.evaluated(end))
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


def _restored(state: Descent, leaves: list[np.ndarray]) -> Descent:
    """A descent as it was written; ``state`` is one of the same problem."""
    own, structure = jax.tree.flatten(state)
    if [(a.shape, a.dtype) for a in own] != [(a.shape, a.dtype) for a in leaves]:
        raise FileFormatError("the checkpoint is of another problem: delete it, or name another")
    return jax.tree.unflatten(structure, [jnp.array(leaf) for leaf in leaves])


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
    import optax  # slow to import

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

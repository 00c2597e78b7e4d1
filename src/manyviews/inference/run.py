"""One start of a fit: where it is, where it was best, how the bound went."""

import time
from collections.abc import Sequence
from threading import RLock
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..devices import agreed
from ..mappings import Outputs
from .ahead import compile_for
from .bound import Model, dimension_weights
from .curvature import tree_dot
from .descent import (
    PROBES,
    STRETCH,
    Descent,
    Method,
    begin,
    method_of,
    run,
    run_untuned,
    whole_number,
)
from .diagnostics import FitInfo
from .objective import Objective, Vector, negative_bound
from .search import Stage

LOOK = 0.2  # seconds between two looks from outside
LOOK_TOGETHER = 2.0  # the same for several processes, which have to talk about each
MANY_ROWS = 300_000  # for which a GPU repays the search for the fastest matrix products

COMPILING = RLock()  # held for what a start does first: others then find it compiled


@jax.jit
def norm(tree: Any) -> Float[Array, ""]:
    """The length of a tree of arrays as one vector."""
    return jnp.sqrt(tree_dot(tree, tree))


class Run:
    """One start, taken through all stages."""

    def __init__(self, objective: Objective, stages: Sequence[Stage], tolerance: float):
        self.objective = objective
        self.program = program_for(objective.layout.n_rows)
        self.stages = stages
        self.gain = tolerance * objective.n_observed
        self.variances = objective.variances
        self.position = self.best = objective.free
        self.best_value = np.inf
        self.trace: list[float] = []
        self.signals: list[Vector] = []
        self.n_evaluations = 0
        self.first_seconds = 0.0
        self.turns, self.seconds = 1, 0.0
        self.converged = False

    def record(self) -> dict[str, np.ndarray]:
        """What is needed to go on from here, but for the descent under way."""
        signals = np.stack(self.signals) if self.signals else np.empty((0, len(self.variances)))
        return {
            "position": self.objective.flat(self.position),
            "best": self.objective.flat(self.best),
            "best_value": np.array([self.best_value]),
            "trace": np.array(self.trace, dtype=float),
            "signals": signals,
            "converged": np.array([self.converged]),
        }

    def restore(self, record: dict[str, np.ndarray]) -> None:
        """Go on from a record."""
        self.position = self.objective.packed(record["position"])
        self.best = self.objective.packed(record["best"])
        self.best_value = float(record["best_value"][0])
        self.trace = record["trace"].tolist()
        self.signals = list(record["signals"])
        self.converged = bool(record["converged"][0])

    def relevance(self) -> Float[np.ndarray, "K Q"]:
        """How strongly each dimension moves each view, at the best point so far."""
        return dimension_weights(self.objective.model(self.best))

    def report(self, info: FitInfo) -> None:
        """Note what the fit came to: at the best point, with the noise of the bound there."""
        state = self.evaluated(self.best, 1 + PROBES)  # looks around, but does not move
        info.jitter = np.asarray(state.kept.jitter)
        info.signal_to_noise = self.variances / np.asarray(state.kept.noise)
        info.gradient_norm = float(norm(state.gradient))
        info.bound_noise = float(state.noise)
        info.bound_trace = np.asarray(self.trace)
        shape = (0, len(self.variances))
        info.signal_trace = np.stack(self.signals) if self.signals else np.empty(shape)
        info.converged = self.converged

    def begin(self, x: Any, rate: float) -> Descent:
        """A new descent from a point."""
        with COMPILING:
            return self.placed(begin(negative_bound, x, self.objective.context, rate))

    def placed(self, state: Descent) -> Descent:
        """A descent on the devices that share the rows."""
        return self.objective.layout.placed(state)  # type: ignore[no-any-return]

    def advance(self, state: Descent, method: Method, turns: int) -> tuple[Descent, Any]:
        """One dispatch; its first is the compiler's."""
        if not self.n_evaluations:
            with COMPILING:
                return self._dispatched(state, method, turns)
        return self._dispatched(state, method, turns)

    def _dispatched(self, state: Descent, method: Method, turns: int) -> tuple[Descent, Any]:
        began = time.perf_counter()
        fixed = (negative_bound, self.objective.context, method, whole_number(turns))
        state, seen = self.program(fixed, state)
        done = int(seen.evaluations)  # waits
        seconds = time.perf_counter() - began
        if not self.n_evaluations:
            self.first_seconds = seconds
        elif done:
            pace = max(seconds / done, 1e-6)
            look = LOOK if jax.process_count() == 1 else LOOK_TOGETHER
            self.turns = agreed(int(np.clip(look / pace, 1, STRETCH)))
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


def program_for(n_rows: int) -> Any:
    """The compiled descent for so many rows."""
    quick = jax.default_backend() == "gpu" and n_rows < MANY_ROWS
    return run_untuned if quick else run


def prepare(model: Model, outputs: tuple[Outputs, ...]) -> None:
    """Compile what optimises a model of this form."""
    objective = Objective(model, outputs)
    start = Run(objective, (), 1.0)
    method = method_of(False, objective.mask(), 1, -1.0)
    fixed = (negative_bound, objective.context, method, whole_number(1))
    compile_for(start.program, fixed, start.begin(start.position, 0.0))

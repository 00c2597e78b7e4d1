"""Staged optimisation with restarts: progress, interruption, checkpoints."""

import time
import warnings
from collections.abc import Callable, Sequence

import numpy as np

from .._runtime import refuse_fork, single_threaded_blas
from ..devices import together
from ..errors import ConvergenceWarning, FactorisationError
from ..mappings import Outputs
from .bound import Model
from .checkpoint import Checkpoint, State
from .diagnostics import FitInfo
from .interruption import Interruption
from .objective import Objective
from .race import Race
from .run import Run
from .search import Stage
from .watch import Progress, Watch


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
    stages but the last, and only the best of them goes through that. Before, the worse half of
    those that share a plan is dropped after the first stage (see `Race`).

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
    refuse_fork()
    info = FitInfo()
    began = time.perf_counter()
    plan = stages if callable(stages) else lambda _: stages
    state = checkpoint.resume() if checkpoint is not None else State()

    def start(restart: int) -> Run:
        return Run(Objective(make_model(restart), outputs), plan(restart), tolerance)

    with single_threaded_blas(), together(), Interruption() as interruption:
        race = Race(start, plan, n_restarts, state)
        best = race.run(Watch(progress, checkpoint, interruption))
        race.report(info)
        if not np.isfinite(best.best_value):
            if info.interrupted:
                raise KeyboardInterrupt  # before there was anything to keep
            raise FactorisationError(
                "the bound is not finite at the start, even with the largest jitter: look for "
                "duplicated inducing inputs, extreme values in the data or in the kernel's "
                "parameters"
            )
        best.report(info)
        info.n_devices, info.fused = best.objective.n_devices, best.objective.fused()
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

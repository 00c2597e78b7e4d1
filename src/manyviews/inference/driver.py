"""The one driver of all fits: from starting models to a model conditioned on its data."""

import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from .._runtime import make_room_for_programs
from ..errors import ExpectationErrorWarning, FactorisationError
from ..expectations import Gaussian
from ..latent import marginals
from ..linalg import MAX_JITTER
from ..mappings import Mapping, Outputs
from ..mappings.alike import for_posteriors, own_columns
from ..mappings.base import condition
from .ahead import Ahead, compile_for
from .bound import Model
from .checkpoint import fingerprint, finished, keeping_checkpoints, open_checkpoint
from .diagnostics import FitInfo
from .optimise import optimise
from .row_programs import filled_up
from .run import prepare
from .search import Search, Stage

EXPECTATION_TOLERANCE = 0.02
TOLERANCE = 1e-5  # nats per observed value
OPTIMISING, CONDITIONING = "optimising", "conditioning"  # programs that are compiled ahead


@dataclass(frozen=True)
class Plan:
    """A search made definite for one fit: its stages, restarts and seed.

    Attributes
    ----------
    search : Search
    plans : tuple of tuples of Stage
        What the restarts go through, in turn.
    tolerance : float
    n_restarts, seed, verbose : int
    """

    search: Search
    plans: tuple[tuple[Stage, ...], ...]
    tolerance: float
    n_restarts: int
    seed: int
    verbose: int = 0

    def stages(self, restart: int) -> tuple[Stage, ...]:
        """The stages of a restart."""
        return self.plans[restart % len(self.plans)]


def plan_fit(
    search: Search | None,
    default: Callable[[Search], tuple[tuple[Stage, ...], ...]],
    random_state: Any,
    verbose: int = 0,
    n_restarts: int = 1,
    tolerance: float = TOLERANCE,
) -> Plan:
    """A search as an estimator has it, with the model's own answers where it is silent."""
    search = search or Search()
    return Plan(
        search,
        default(search) if search.stages is None else (tuple(search.stages),),
        search.tol_or(tolerance),
        int(search.n_restarts or n_restarts),
        int(check_random_state(random_state).randint(2**31 - 1)),
        int(verbose),
    )


class Fit(NamedTuple):
    """An optimised model, its mappings given the data, and what happened."""

    model: Model
    posteriors: tuple[Any, ...]
    info: FitInfo


def fit_model(
    make_model: Callable[[int], Model],
    outputs: tuple[Outputs, ...],
    names: Sequence[str],
    plan: Plan,
    mark: Sequence[Any] = (),
    alike: Callable[[], Model] | None = None,
) -> Fit:
    """Optimise a model from its starts and condition it on its data.

    Its checkpoint, if there is one, goes at the end, or at that of a block of
    `manyviews.inference.checkpoint.keeping_checkpoints` around it.

    Parameters
    ----------
    make_model
        Gives the starting model of a restart.
    names
        Of the views, for the progress bar.
    mark
        All that the fit depends on, so that a checkpoint of another fit is recognised.
    alike
        Gives a model of the same form in no time. With it, the program that optimises is compiled
        while the start is computed.
    """
    make_room_for_programs()
    with keeping_checkpoints(), Ahead() as ahead, ExitStack() as stack:
        waiting: list[float] = []
        if alike is not None:
            ahead.begin(OPTIMISING, lambda: prepare(alike(), outputs))

        def begun(restart: int) -> Model:
            model = make_model(restart)
            waiting.append(ahead.wait(OPTIMISING))
            ahead.begin(CONDITIONING, lambda: _prepare(model, outputs))
            return model

        checkpoint = None
        if plan.search.checkpoint is not None:
            own = replace(plan, search=replace(plan.search, checkpoint=None), verbose=0)
            found = open_checkpoint(plan.search.checkpoint, fingerprint(own, *mark))
            checkpoint = stack.enter_context(found)
        bar = None
        if plan.verbose:
            from .progress import ProgressBar  # slow to import

            bar = stack.enter_context(ProgressBar(plan.stages(0), plan.n_restarts, names))
        model, info = optimise(
            begun,
            outputs,
            plan.stages,
            n_restarts=plan.n_restarts,
            tolerance=plan.tolerance,
            progress=bar,
            checkpoint=checkpoint,
        )
        info.compile_seconds += sum(waiting)
        ahead.wait(CONDITIONING)
        fit = _conditioned(model, outputs, info)
        if checkpoint is not None and not info.interrupted:
            finished(checkpoint)
    return fit


def _prepare(model: Model, outputs: tuple[Outputs, ...]) -> None:
    """Compile what `_conditioned()` will need, while the model is optimised."""
    model = model.whole()
    for view, q, data in _to_condition(model, outputs):
        compile_for(condition, view, q, data)


def _to_condition(
    model: Model, outputs: tuple[Outputs, ...]
) -> list[tuple[Mapping, Gaussian, Outputs]]:
    """What `condition` is told of each view: rows and columns may have been added."""
    data = for_posteriors(model.views, outputs)
    return [
        (view, *filled_up(q, own))
        for view, q, own in zip(model.views, _seen(model), data, strict=True)
    ]


def _seen(model: Model) -> list[Gaussian]:
    """The dimensions of q(X) that each view is a function of."""
    q = marginals(model.latent)
    return [q[..., model.latent.dimensions(k)] for k in range(len(model.views))]


def _conditioned(model: Model, outputs: tuple[Outputs, ...], info: FitInfo) -> Fit:
    model = model.whole()
    seen = _seen(model)
    info.expectation_error = max(map(_expectation_error, model.views, seen))
    found = [_condition(*each) for each in _to_condition(model, outputs)]
    views = tuple(view for view, _ in found)
    posteriors = tuple(own_columns(p, o) for (_, p), o in zip(found, outputs, strict=True))
    own = [getattr(view, "jitter", 0.0) for view in views]
    info.jitter = np.maximum(info.jitter, own)
    return Fit(Model(model.latent, views), posteriors, info)


def _condition(view: Mapping, q: Gaussian, outputs: Outputs) -> tuple[Mapping, Any]:
    """What prediction needs of a view, and the view with as much jitter as that takes.

    At the optimum of very many rows, I + βA is a small difference of large numbers, and rounding
    that the bound has survived may spoil it here.
    """
    while True:
        found = condition(view, q, outputs)
        if np.isfinite(np.asarray(found.weights)).all():
            return view, found
        jitter = getattr(view, "jitter", MAX_JITTER)
        if jitter >= MAX_JITTER:
            raise FactorisationError(
                "the fitted model cannot be conditioned on its data: the noise is too small for "
                "the jitter; raise noise_floor, or jitter of its search"
            )
        view = view.with_jitter(min(10.0 * jitter, MAX_JITTER))


def _expectation_error(view: Mapping, q: Gaussian) -> float:
    error = view.expectation_error(q)
    if error > EXPECTATION_TOLERANCE:
        warnings.warn(
            f"the psi statistics of this kernel have no closed form; their quadrature error "
            f"is about {error:.1%}. Use fewer components, or a kernel with a closed form (rbf, "
            "linear, bias and their sums)",
            ExpectationErrorWarning,
            stacklevel=5,
        )
    return error

"""How a fit searches: its stages, and one record that every model of Gaussian processes takes."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from ..errors import OptionError
from ..options import ARRAY, NONE, Options, check_options, count, instance_of, number, one_of

NESTED = "search__"
NATURAL_STEPS, NATURAL_STEP = 500, 0.03
MORE_STEPS, TRIAL_STEPS = 250, 100  # after idle dimensions are left out; for doubtful ones
LONGER = 6  # times as many, if rows come in batches
POLISH = 40  # iterations over fixed nodes, after these
MANY_ROWS = 2000  # no iterations over all nodes of more rows


@dataclass(frozen=True)
class Stage:
    """One stretch of an optimisation.

    Attributes
    ----------
    method : {"lbfgs", "adam", "sites", "natural", "leave_out"}
        The optimiser: quasi-Newton; stochastic steps that leave poor optima; with time stamps, the
        fixed point of q(X) with all else held (`alternating_stages()`); or, for models with
        views that are not Gaussian, natural-gradient steps for q(U) and Adam for all else, from
        batches of rows and fresh draws of x. With "leave_out", such a model loses dimensions, and
        uses of dimensions by views, that the bound is no lower without.
    iterations : int
        The most iterations this stage may take; with "leave_out", natural steps after which a
        doubtful dimension is judged.
    hold : tuple of str
        Parameters (names or patterns) that stay at their values during the stage.
    step_size : float
        Adam's step on the unconstrained parameters; with "sites", the share of the way to the
        fixed point that is tried first.
    n_outputs : int, optional
        With Adam, draw so many outputs of every collaborative view anew for each step
        [McGPDS23, §4.1] in the place of all of them; the step size then falls to zero over the
        stage.
    n_rows : int
        With "natural", rows of a batch.
    """

    method: Literal["lbfgs", "adam", "sites", "natural", "leave_out"]
    iterations: int
    hold: tuple[str, ...] = ()
    step_size: float = 0.05
    n_outputs: int | None = None
    n_rows: int = 512


def default_stages(max_iter: int, hold: bool = True) -> tuple[Stage, ...]:
    """Let q(X) settle, roam with Adam, then converge.

    Holding noise and signal variance at first keeps the model from explaining clean data as
    noise; on noisy data it forces q(X) to fit the noise, so it should be held only at a
    plausible ratio. Adam's large steps leave poor optima that L-BFGS alone stops in.
    """
    settle = (
        Stage("lbfgs", min(100, max_iter), hold=("noise", "kernel.*variance"))
        if hold
        else Stage("lbfgs", min(300, max_iter))
    )
    return (settle, Stage("adam", min(250, max_iter)), Stage("lbfgs", max_iter))


def alternating_stages(rounds: int = 20, iterations: int = 40) -> tuple[Stage, ...]:
    """With time stamps: q(X) by its fixed point and all else by L-BFGS, in turn

    The alternation of Opper & Archambeau (2009) [BGPLVM16, §3.3.2].

    Examples
    --------
    >>> from manyviews import BayesianGPLVM, Search
    >>> from manyviews.inference.search import alternating_stages
    >>> model = BayesianGPLVM(3, search=Search(stages=alternating_stages(10)))
    """
    sites = Stage("sites", iterations, step_size=0.5)
    others = Stage("lbfgs", iterations, hold=("latent.target", "latent.precision"))
    return (sites, others) * rounds


def stages_of_kinds(max_iter: int, n_rows: int) -> tuple[Stage, ...]:
    """Natural gradients from fresh draws of x, then L-BFGS on the bound over fixed ones.

    Draws are cheap and wander; the smooth bound over many nodes of x is dear, and its optimum is
    near by then. Of very many rows only batches are taken. Dimensions of no use are left out on
    the way, and once more before the end.
    """

    def natural(steps: int) -> Stage:
        return Stage("natural", steps, step_size=NATURAL_STEP)

    def leave_out(trial: int) -> Stage:
        return Stage("leave_out", trial, step_size=NATURAL_STEP)

    trial = min(TRIAL_STEPS, max_iter)
    if n_rows > MANY_ROWS:
        steps = min(LONGER * NATURAL_STEPS, 3 * max_iter)
        more = min(LONGER * MORE_STEPS, max_iter)
        return (natural(steps), leave_out(trial), natural(more))
    steps, more = min(NATURAL_STEPS, 2 * max_iter), min(MORE_STEPS, max_iter)
    polish = Stage("lbfgs", min(POLISH, max_iter))
    return (natural(steps), leave_out(0), natural(more), leave_out(trial), polish)


@dataclass(frozen=True)
class Search:
    """How the parameters of a model, and the latent positions of new rows, are searched for.

    The defaults serve; ``MRD(search=Search(max_iter=200))`` or
    ``model.set_params(search__max_iter=200)`` changes them, and ``search__max_iter`` is a name
    that a grid search understands.

    Attributes
    ----------
    n_restarts : int, optional
        Starts to try. All are optimised roughly, the better ones a little longer, the one of the
        highest bound to the end.
        Default: three for `MRD`, one for other models.
    max_iter : int, default=1000
        Most iterations of the last optimisation stage.
    tol : float, optional
        Converged when 30 iterations gain less than this many nats per observed value.
        Default: 1e-4 for an `MRD` of Gaussian views, 1e-5 for other models.
    stages : sequence of Stage, optional
        Another plan for the optimisation.
    inducing : {"kmeans", "subset"}, default="kmeans"
        How the first inducing inputs are chosen from the latent means.
    positive : {"log", "softplus"}, default="log"
        The scale on which positive parameters are optimised.
    jitter : float, optional
        Foot of the jitter ladder, relative to the kernel's variance. Default: 1e-6, or 1e-9 for
        exact Gaussian processes.
    n_starts : int, default=10
        Nearest training rows that the latent position of a new row is sought from.
    passes : float, default=3.0
        Times that all rows of stored views are read.
    checkpoint : path, optional
        File that follows the fit; a later fit with the same data and options resumes from it.

    Examples
    --------
    >>> from manyviews import MRD, Search
    >>> model = MRD(4, search=Search(n_restarts=1, max_iter=200))
    >>> model.set_params(search__tol=1e-4).search
    Search(n_restarts=1, max_iter=200, tol=0.0001)
    """

    n_restarts: int | None = None
    max_iter: int = 1000
    tol: float | None = None
    stages: Sequence[Stage] | None = None
    inducing: str = "kmeans"
    positive: str = "log"
    jitter: float | None = None
    n_starts: int = 10
    passes: float = 3.0
    checkpoint: str | os.PathLike[str] | None = None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The fields by name, as scikit-learn asks for them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def tol_or(self, default: float) -> float:
        """The tolerance, or a model's own."""
        return default if self.tol is None else float(self.tol)

    def jitter_or(self, default: float) -> float:
        """The jitter asked for, or a mapping's own."""
        return default if self.jitter is None else float(self.jitter)

    def check(self) -> None:
        """Refuse values that make no sense."""
        check_options(self, ALLOWED)
        if self.stages is not None and not (
            len(self.stages) and all(isinstance(stage, Stage) for stage in self.stages)
        ):
            raise OptionError("stages must be a sequence of manyviews.Stage")

    def __repr__(self) -> str:
        changed = [f for f in fields(self) if getattr(self, f.name) != f.default]
        return f"Search({', '.join(f'{f.name}={getattr(self, f.name)!r}' for f in changed)})"


def with_fields(params: dict[str, Any]) -> dict[str, Any]:
    """An estimator's parameters with those of its search, where it has one, as ``search__…``."""
    search = params.get("search", False)
    if search is not None and not isinstance(search, Search):  # none, or an error that fit reports
        return params
    fields = (search or Search()).get_params()
    return params | {f"{NESTED}{name}": value for name, value in fields.items()}


def without_fields(estimator: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Parameters to be set, with all ``search__…`` among them as one new search."""
    fields = {k.removeprefix(NESTED): v for k, v in params.items() if k.startswith(NESTED)}
    if not fields or not hasattr(estimator, "search"):
        return params
    search = params.get("search", estimator.search) or Search()
    if not isinstance(search, Search):
        raise OptionError(f"search must be a manyviews.Search or None, got {search!r}")
    for name in fields:
        if name not in search.get_params():
            raise OptionError(f"a search has no {name!r}: it has {', '.join(search.get_params())}")
    others = {name: value for name, value in params.items() if not name.startswith(NESTED)}
    return others | {"search": replace(search, **fields)}


ALLOWED: Options = {
    "n_restarts": (count(), NONE),
    "max_iter": (count(),),
    "tol": (number(0), NONE),
    "stages": (ARRAY, NONE),
    "inducing": (one_of("kmeans", "subset"),),
    "positive": (one_of("log", "softplus"),),
    "jitter": (number(0, 0.1), NONE),
    "n_starts": (count(),),
    "passes": (number(0, closed="neither"),),
    "checkpoint": (instance_of(str, os.PathLike), NONE),
}

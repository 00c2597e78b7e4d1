"""From scaled tables to a fitted model of latent points."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from .._runtime import refuse_fork
from ..errors import OptionError
from ..inference.bound import Model
from ..inference.driver import fit_model, plan_fit
from ..inference.initialise import inducing_inputs, initial_kernel
from ..inference.search import Search, Stage
from ..kernels import Kernel
from ..latent import LatentSpace, Points
from ..linalg import DEFAULT_JITTER
from ..mappings import (
    ExactGP,
    Mapping,
    Outputs,
    ScatteredOutputs,
    SparseGP,
    make_outputs,
)
from ..mappings.around import PointGP
from ..mappings.exact import EXACT_JITTER
from ..parameters import Parameter, map_parameters, with_positive_transform
from ..shells.fitted_model import FittedModel
from .back import BackMap
from .engine import PointEngine

LARGEST_EXACT = 5_000  # rows whose covariance is still factorised at every step
INITIAL_NOISE = 0.1  # of a view's variance

MakeView = Callable[[int, Float[np.ndarray, "N Q"], np.random.Generator], Mapping]
MakeLatent = Callable[[Float[np.ndarray, "N Q"]], LatentSpace]


def fit_points(
    model: FittedModel,
    data: Sequence[Float[np.ndarray, "N _"]],
    start: Callable[[np.random.Generator], Float[np.ndarray, "N Q"]],
    make_view: MakeView,
    *,
    exact: Sequence[bool],
    names: Sequence[str],
    make_latent: MakeLatent = Points,
    stages: Callable[[Search], tuple[Stage, ...]] | None = None,
    back: BackMap | None = None,
) -> Any:
    """Maximise log p(Y, X) over the points and the mappings' parameters for an estimator.

    Parameters
    ----------
    start
        Gives the first points.
    make_view
        Gives the mapping of a view at these points.
    exact
        Which of the mappings are exact.
    stages
        The model's own plan, for a search that has none.
    """
    refuse_fork()
    outputs = tuple(
        arranged(Y, whole, name) for Y, whole, name in zip(data, exact, names, strict=True)
    )
    options = model.get_params(deep=False)
    search, seed, verbose = (options.pop(name) for name in ("search", "random_state", "verbose"))
    own = stages or (lambda search: (Stage("lbfgs", int(search.max_iter)),))
    plan = plan_fit(search, lambda search: (own(search),), seed, verbose)

    def starting(restart: int) -> Model:
        rng = np.random.default_rng([plan.seed, restart])
        means = start(rng)
        if restart:
            means = means + 0.3 * rng.standard_normal(means.shape)
        views = tuple(make_view(place, means, rng) for place in range(len(data)))
        return with_positive_transform(Model(make_latent(means), views), plan.search.positive)

    when = () if model.when_ is None else (model.when_.inputs, model.when_.code)
    mark = (type(model).__name__, options, *data, *when)
    fitted, posteriors, info = fit_model(starting, outputs, names, plan, mark)
    engine = PointEngine(fitted, posteriors, tuple(data), back)
    return model._adopt(engine, info, max(info.restart_bounds), len(info.bound_trace))


def arranged(Y: Float[np.ndarray, "N D"], exact: bool, name: str) -> Outputs:
    """A table as its mapping wants it."""
    if not exact:
        return make_outputs(Y, "auto")
    if len(Y) > LARGEST_EXACT:
        raise OptionError(
            f"an exact Gaussian process of {len(Y)} samples takes too long: set n_inducing"
        )
    found = make_outputs(Y, "auto")
    if isinstance(found, ScatteredOutputs):
        raise OptionError(
            f"the values of view {name!r} are missing in more patterns than an exact Gaussian "
            "process can follow, each of which costs a factorisation: set n_inducing"
        )
    return found


def point_mapping(
    Y: Float[np.ndarray, "N D"],
    kernel: Kernel,
    means: Float[np.ndarray, "N Q"],
    n_inducing: int | None,
    floor: float,
    rng: np.random.Generator,
    search: Search | None,
) -> PointGP:
    """A Gaussian process whose noise starts at a share of the view's variance."""
    variance = float(np.nanvar(Y))
    return point_process(
        kernel, means, n_inducing, INITIAL_NOISE * variance, floor * variance, rng, search
    )


def point_process(
    kernel: Kernel,
    means: Float[np.ndarray, "N Q"],
    n_inducing: int | None,
    noise: float,
    floor: float,
    rng: np.random.Generator,
    search: Search | None,
) -> PointGP:
    """An exact Gaussian process, or a sparse one where inducing inputs are asked for."""
    search = search or Search()
    if n_inducing is None:
        return ExactGP(kernel, means.shape[1], noise, search.jitter_or(EXACT_JITTER), floor)
    Z = inducing_inputs(means, n_inducing, search.inducing, rng)  # type: ignore[arg-type]
    return SparseGP(kernel, Z, noise, search.jitter_or(DEFAULT_JITTER), floor)


def point_kernel(
    kernel: str | Kernel, means: Float[np.ndarray, "N Q"], variance: float, ard: bool
) -> Kernel:
    """A kernel at starting values; without ``ard`` one scale for all dimensions."""
    full = initial_kernel(kernel, means, variance)
    if ard:
        return full
    Q = means.shape[1]

    def tied(_: str, p: Parameter) -> Parameter:
        if p.raw.shape != (Q,):
            return p
        return p.with_value(np.exp(np.mean(np.log(np.asarray(p.value)), keepdims=True)))

    return map_parameters(tied, full)

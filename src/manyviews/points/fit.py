"""From scaled tables to a fitted model of latent points."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ..errors import OptionError
from ..inference.bound import Model
from ..inference.diagnostics import FitInfo
from ..inference.initialise import inducing_inputs, initial_kernel
from ..inference.optimise import optimise
from ..inference.stages import Stage
from ..kernels import Kernel
from ..latent import LatentSpace, Points, marginals
from ..mappings import (
    ExactGP,
    Mapping,
    Outputs,
    ScatteredOutputs,
    SparseGP,
    make_outputs,
)
from ..mappings.conditioning import condition
from ..parameters import Parameter, map_parameters
from .engine import PointEngine

LARGEST_EXACT = 5_000  # rows whose covariance is still factorised at every step
INITIAL_NOISE = 0.1  # of a view's variance

MakeView = Callable[[int, Float[np.ndarray, "N Q"], np.random.Generator], Mapping]
MakeLatent = Callable[[Float[np.ndarray, "N Q"]], LatentSpace]


@dataclass(frozen=True)
class PointOptions:
    """How to search."""

    n_restarts: int
    stages: tuple[Stage, ...]
    tolerance: float
    seed: int


def fit_points(
    data: Sequence[Float[np.ndarray, "N _"]],
    start: Callable[[np.random.Generator], Float[np.ndarray, "N Q"]],
    make_view: MakeView,
    options: PointOptions,
    *,
    exact: Sequence[bool],
    names: Sequence[str],
    make_latent: MakeLatent = Points,
) -> tuple[PointEngine, FitInfo]:
    """Maximise log p(Y, X) over the points and the mappings' parameters, and condition."""
    outputs = tuple(
        arranged(Y, whole, name) for Y, whole, name in zip(data, exact, names, strict=True)
    )

    def starting(restart: int) -> Model:
        rng = np.random.default_rng([options.seed, restart])
        means = start(rng)
        if restart:
            means = means + 0.3 * rng.standard_normal(means.shape)
        views = tuple(make_view(place, means, rng) for place in range(len(data)))
        return Model(make_latent(means), views)

    model, info = optimise(
        starting, outputs, options.stages, n_restarts=options.n_restarts,
        tolerance=options.tolerance,
    )  # fmt: skip
    q = marginals(model.latent)
    posteriors = tuple(condition(v, q, y) for v, y in zip(model.views, outputs, strict=True))
    return PointEngine(model, posteriors, tuple(data)), info


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
) -> Mapping:
    """An exact mapping, or a sparse one where inducing inputs are asked for."""
    variance = float(np.nanvar(Y))
    noise, floor = INITIAL_NOISE * variance, floor * variance
    if n_inducing is None:
        return ExactGP(kernel, means.shape[1], noise, floor=floor)
    Z = inducing_inputs(means, n_inducing, "kmeans", rng)
    return SparseGP(kernel, Z, noise, floor=floor)


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

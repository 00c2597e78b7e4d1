"""From scaled tables to a fitted engine: the one driver of all variational fits."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from ..data import When
from ..errors import ExpectationErrorWarning, FactorisationError, OptionError
from ..expectations import Gaussian
from ..inference.bound import Model
from ..inference.checkpoint import Checkpoint, fingerprint
from ..inference.diagnostics import FitInfo
from ..inference.initial_dynamics import TimeKernel, initial_time_kernels
from ..inference.initial_mapping import INITIAL_SIGNAL_TO_NOISE, initial_mapping
from ..inference.initialise import (
    joint_means,
    residual_share,
)
from ..inference.optimise import optimise
from ..inference.progress import ProgressBar
from ..inference.stages import Stage, default_stages
from ..kernels import Kernel
from ..latent import LatentSpace, StandardNormal, Temporal, make_sequences, marginals
from ..mappings import Mapping, make_outputs
from ..mappings.conditioning import condition
from ..parameters import with_positive_transform
from .engine import VariationalEngine

EXPECTATION_TOLERANCE = 0.02
INITIAL_PRECISION = 10.0  # of the sites of a temporal posterior


@dataclass(frozen=True)
class FitOptions:
    """The options that all variational estimators share, as the core wants them."""

    n_components: int
    n_inducing: tuple[int, ...]
    kernels: tuple[str | Kernel, ...]
    noise_floors: tuple[float, ...]
    init: Any
    inducing: str
    missing: str
    n_restarts: int
    plans: tuple[tuple[Stage, ...], ...]
    tolerance: float
    positive: str
    jitter: float
    seed: int
    verbose: int
    checkpoint: str | None
    when: When | None = None
    time_kernel: TimeKernel = "auto"
    n_local: tuple[int, ...] = ()

    def local_counts(self, n_views: int) -> tuple[int, ...]:
        """Local processes of each view; none unless asked for."""
        return self.n_local or (0,) * n_views

    def plan(self, restart: int) -> tuple[Stage, ...]:
        """The stages of a restart: the plans in turn."""
        return self.plans[restart % len(self.plans)]


def fit_engine(
    data: Sequence[Float[np.ndarray, "N _"]], names: Sequence[str], options: FitOptions
) -> tuple[VariationalEngine, FitInfo]:
    """Initialise, optimise and condition a model on scaled views."""
    times = () if options.when is None else (options.when.inputs, options.when.code)
    return fit_model(
        lambda restart: starting_model(data, options, restart), data, names, options, times
    )


def fit_model(
    make_model: Callable[[int], Model],
    data: Sequence[Float[np.ndarray, "N _"]],
    names: Sequence[str],
    options: FitOptions,
    inputs: Sequence[np.ndarray] = (),
    kind: type[VariationalEngine] = VariationalEngine,
) -> tuple[VariationalEngine, FitInfo]:
    """Optimise any model from its starts and condition it on scaled views.

    Parameters
    ----------
    make_model
        Gives the starting model of a restart.
    inputs
        What else the fit depends on, so that a checkpoint of another fit is recognised.
    kind
        The engine to make of it.
    """
    outputs = tuple(
        make_outputs(Y, "exact" if J else options.missing)  # type: ignore[arg-type]
        for Y, J in zip(data, options.local_counts(len(data)), strict=True)
    )
    checkpoint = None
    if options.checkpoint is not None:
        unmarked = {"verbose": 0, "checkpoint": None, "when": None}
        mark = fingerprint({**vars(options), **unmarked}, *data, *inputs)
        checkpoint = Checkpoint(options.checkpoint, mark)
    bar = ProgressBar(options.plan(0), options.n_restarts, names) if options.verbose else None
    try:
        if bar is not None:
            bar.__enter__()
        model, info = optimise(
            make_model,
            outputs,
            options.plan,
            n_restarts=options.n_restarts,
            tolerance=options.tolerance,
            progress=bar,
            checkpoint=checkpoint,
        )
    finally:
        if bar is not None:
            bar.__exit__(None, None, None)
    if checkpoint is not None and not info.interrupted:
        checkpoint.remove()
    q = marginals(model.latent)
    seen = [q[..., model.latent.dimensions(k)] for k in range(len(outputs))]
    info.expectation_error = max(map(_expectation_error, model.views, seen))
    posteriors = tuple(map(condition, model.views, seen, outputs))
    if not all(np.isfinite(np.asarray(p.weights)).all() for p in posteriors):
        raise FactorisationError(
            "the fitted model cannot be conditioned on its data: the noise is too small for the "
            "jitter; raise jitter or noise_floor"
        )
    return kind(model, posteriors, tuple(data)), info


def starting_model(
    data: Sequence[Float[np.ndarray, "N _"]], options: FitOptions, restart: int
) -> Model:
    """The start of one restart: the chosen initialisation, moved a little from the third on.

    The second restart is told from the first by its plan.
    """
    rng = np.random.default_rng([options.seed, restart])
    means = joint_means(data, options.n_components, options.init, rng)
    if restart >= len(options.plans) and not (
        isinstance(options.init, str) and options.init == "random"
    ):
        means = means + 0.3 * rng.standard_normal(means.shape)
    views = tuple(starting_mapping(view, Y, means, options, rng) for view, Y in enumerate(data))
    return with_positive_transform(Model(latent_space(means, options), views), options.positive)


def starting_mapping(
    view: int,
    Y: Float[np.ndarray, "N D"],
    means: Float[np.ndarray, "N Q"],
    options: FitOptions,
    rng: np.random.Generator,
) -> Mapping:
    """The mapping of one view, as its options say."""
    return initial_mapping(
        Y, means, options.kernels[view], options.n_inducing[view], options.inducing,
        options.jitter, options.noise_floors[view], options.local_counts(view + 1)[view], rng,
    )  # fmt: skip


def latent_space(means: Float[np.ndarray, "N Q"], options: FitOptions) -> LatentSpace:
    """Independent points, or paths over time where time stamps are given."""
    if options.when is None:
        return StandardNormal(means)
    inputs, code = options.when.inputs, options.when.code
    kernels = initial_time_kernels(options.time_kernel, means, inputs, code)
    return Temporal(make_sequences(inputs, code), kernels, means, INITIAL_PRECISION)


def resolve_stages(
    stages: Any,
    max_iter: int,
    data: Sequence[Float[np.ndarray, "N _"]],
    n_components: int,
) -> tuple[tuple[Stage, ...], ...]:
    """The user's stages, checked, or the default plans for the restarts to take in turn.

    The first plan holds the initial signal-to-noise ratio at first if a linear model can
    explain every view as well as that; the second does the opposite.
    """
    if stages is None:
        hold = all(residual_share(Y, n_components) <= 1.0 / INITIAL_SIGNAL_TO_NOISE for Y in data)
        return default_stages(max_iter, hold), default_stages(max_iter, not hold)
    if not all(isinstance(stage, Stage) for stage in stages) or not len(stages):
        raise OptionError("stages must be a sequence of manyviews.Stage")
    return (tuple(stages),)


def _expectation_error(view: Mapping, q: Gaussian) -> float:
    error = view.expectation_error(q)
    if error > EXPECTATION_TOLERANCE:
        warnings.warn(
            f"the psi statistics of this kernel have no closed form; their quadrature error "
            f"is about {error:.1%}. Use fewer components, or a kernel with a closed form (rbf, "
            "linear, bias and their sums)",
            ExpectationErrorWarning,
            stacklevel=4,
        )
    return error

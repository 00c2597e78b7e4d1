"""From scaled tables to a fitted engine of a variational model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from .._runtime import refuse_fork
from ..data import When
from ..inference.bound import Model
from ..inference.diagnostics import FitInfo
from ..inference.driver import Plan, fit_model
from ..inference.initial_dynamics import TimeKernel, initial_time_kernels
from ..inference.initial_mapping import INITIAL_SIGNAL_TO_NOISE, initial_mapping
from ..inference.initial_stochastic import initial_stochastic
from ..inference.initialise import joint_means, residual_share
from ..inference.search import Stage, default_stages
from ..inference.shared_inducing import with_shared_inducing
from ..inference.tall_tables import MANY_ROWS
from ..kernels import Kernel
from ..latent import LatentSpace, StandardNormal, Temporal, make_sequences
from ..likelihoods import Likelihood
from ..linalg import DEFAULT_JITTER
from ..mappings import Mapping, Observations, Outputs, make_observations, make_outputs
from ..mappings.observations import working_table
from ..parameters import with_positive_transform
from .engine import VariationalEngine

FACTORS = "factors"  # init by group factor analysis
INITIAL_PRECISION = 10.0  # of the sites of a temporal posterior


@dataclass(frozen=True)
class FitOptions:
    """The options that all variational estimators share, as the core wants them."""

    n_components: int
    n_inducing: tuple[int, ...]
    kernels: tuple[str | Kernel, ...]
    noise_floors: tuple[float, ...]
    init: Any
    missing: str
    plan: Plan
    when: When | None = None
    time_kernel: TimeKernel = "auto"
    n_local: tuple[int, ...] = ()
    likelihoods: tuple[Likelihood | None, ...] = ()
    """Of each view; None is Gaussian noise with the inducing variables integrated out."""
    shared_inducing: bool = False
    """Whether all views have one set of inducing inputs."""

    def local_counts(self, n_views: int) -> tuple[int, ...]:
        """Local processes of each view; none unless asked for."""
        return self.n_local or (0,) * n_views

    def kind(self, view: int) -> Likelihood | None:
        """The likelihood of a view."""
        return self.likelihoods[view] if self.likelihoods else None

    def outputs(self, view: int, table: Float[np.ndarray, "N _"]) -> Outputs:
        """A view's data as its mapping wants them."""
        kind = self.kind(view)
        if kind is not None:
            return make_observations(table, kind, self.n_components, seed=view)
        local = self.local_counts(view + 1)[view]
        return make_outputs(table, "exact" if local else self.missing)  # type: ignore[arg-type]

    def working(self, data: Sequence[Float[np.ndarray, "N _"]]) -> list[Float[np.ndarray, "N _"]]:
        """All views on scales where linear methods make sense."""
        return [working_table(Y, self.kind(view)) for view, Y in enumerate(data)]


def fit_engine(
    data: Sequence[Float[np.ndarray, "N _"]], names: Sequence[str], options: FitOptions
) -> tuple[VariationalEngine, FitInfo]:
    """Initialise, optimise and condition a model on scaled views."""
    times = () if options.when is None else (options.when.inputs, options.when.code)
    return fit_from(
        lambda restart: starting_model(data, options, restart),
        data,
        names,
        options,
        times,
        alike=(lambda: cheap_model(data, options)) if _takes_long(len(data[0])) else None,
    )


def fit_from(
    make_model: Callable[[int], Model],
    data: Sequence[Float[np.ndarray, "N _"]],
    names: Sequence[str],
    options: FitOptions,
    inputs: Sequence[Any] = (),
    kind: type[VariationalEngine] = VariationalEngine,
    alike: Callable[[], Model] | None = None,
) -> tuple[VariationalEngine, FitInfo]:
    """Optimise any model from its starts and make an engine of it.

    ``inputs`` are what else the fit depends on, besides its options and the data. ``alike`` is
    told to `fit_model()`.
    """
    refuse_fork()
    outputs = tuple(options.outputs(view, Y) for view, Y in enumerate(data))
    what = vars(replace(options, when=None)) | {"plan": None}
    model, posteriors, info = fit_model(
        make_model, outputs, names, options.plan, (what, *data, *inputs), alike
    )
    return kind(model, posteriors, tuple(data)), info


def starting_model(
    data: Sequence[Float[np.ndarray, "N _"]], options: FitOptions, restart: int
) -> Model:
    """The start of one restart: the chosen initialisation, moved a little from the third on.

    The second restart is told from the first by its plan.
    """
    plan = options.plan
    rng = np.random.default_rng([plan.seed, restart])
    means, shares = starting_means(data, options, rng)
    if restart >= len(plan.plans) and not (
        isinstance(options.init, str) and options.init == "random"
    ):
        means = means + 0.3 * rng.standard_normal(means.shape)

    def draws() -> np.random.Generator:
        """Those of the next view: the same for all, if all are to have the same inducing inputs."""
        return np.random.default_rng([plan.seed, restart, 1]) if options.shared_inducing else rng

    views = tuple(
        starting_mapping(view, Y, means, options, draws(), None if shares is None else shares[view])
        for view, Y in enumerate(data)
    )
    model = Model(latent_space(means, options), views)
    if options.shared_inducing:
        model = with_shared_inducing(model)
    return with_positive_transform(model, plan.search.positive)


def _takes_long(n_rows: int) -> bool:
    """Whether a start, or its compilation, is worth a thread of its own."""
    return n_rows >= MANY_ROWS or jax.default_backend() == "gpu"


def cheap_model(data: Sequence[Float[np.ndarray, "N _"]], options: FitOptions) -> Model:
    """A model of the same form as the starts, for which nothing has to be computed."""
    search = replace(options.plan.search, inducing="subset")
    init = "random" if isinstance(options.init, str) else options.init
    plan = replace(options.plan, search=search)
    return starting_model(data, replace(options, init=init, plan=plan), 0)


def starting_means(
    data: Sequence[Float[np.ndarray, "N _"]], options: FitOptions, rng: np.random.Generator
) -> tuple[Float[np.ndarray, "N Q"], Float[np.ndarray, "K Q"] | None]:
    """Latent means, and the relevances of their dimensions if the start knows any."""
    working = options.working(data)
    if isinstance(options.init, str) and options.init == FACTORS:
        from .factor_start import factor_start  # slow to import

        return factor_start(working, options.n_components, rng)
    return joint_means(working, options.n_components, options.init, rng), None


def starting_mapping(
    view: int,
    Y: Float[np.ndarray, "N D"],
    means: Float[np.ndarray, "N Q"],
    options: FitOptions,
    rng: np.random.Generator,
    shares: Float[np.ndarray, " Q"] | None = None,
) -> Mapping:
    """The mapping of one view, as its options say."""
    search, kind = options.plan.search, options.kind(view)
    if kind is not None:
        outputs = options.outputs(view, Y)
        assert isinstance(outputs, Observations)
        return initial_stochastic(
            Y, outputs, kind, means, options.kernels[view], options.n_inducing[view],
            search.inducing, search.jitter_or(DEFAULT_JITTER), rng, shares,
        )  # fmt: skip
    return initial_mapping(
        Y, means, options.kernels[view], options.n_inducing[view], search.inducing,
        search.jitter_or(DEFAULT_JITTER), options.noise_floors[view],
        options.local_counts(view + 1)[view], rng, shares, _noise_share(Y, options),
    )  # fmt: skip


def _noise_share(Y: Float[np.ndarray, "N D"], options: FitOptions) -> float:
    """The share of a Gaussian view's variance that begins as noise.

    Beside views of other kinds, what a linear model leaves: their fits go downhill from where they
    start, without a stage that holds the noise.
    """
    least = 1.0 / INITIAL_SIGNAL_TO_NOISE
    if all(kind is None for kind in options.likelihoods):
        return least
    return max(least, residual_share(Y, options.n_components))


def latent_space(means: Float[np.ndarray, "N Q"], options: FitOptions) -> LatentSpace:
    """Independent points, or paths over time where time stamps are given."""
    if options.when is None:
        return StandardNormal(means)
    inputs, code = options.when.inputs, options.when.code
    kernels = initial_time_kernels(options.time_kernel, means, inputs, code)
    return Temporal(make_sequences(inputs, code), kernels, means, INITIAL_PRECISION)


def default_plans(
    max_iter: int, data: Sequence[Float[np.ndarray, "N _"]], n_components: int
) -> tuple[tuple[Stage, ...], ...]:
    """Two plans for the restarts to take in turn.

    The first holds the initial signal-to-noise ratio at first if a linear model can explain
    every view as well as that; the second does the opposite.
    """
    hold = all(residual_share(Y, n_components) <= 1.0 / INITIAL_SIGNAL_TO_NOISE for Y in data)
    return default_stages(max_iter, hold), default_stages(max_iter, not hold)

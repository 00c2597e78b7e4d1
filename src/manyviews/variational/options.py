"""The options that the variational estimators share, and what a fit makes of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from ..data import When
from ..errors import OptionError
from ..inference.driver import TOLERANCE, plan_fit
from ..inference.search import Search, Stage, stages_of_kinds
from ..kernels import Kernel
from ..likelihoods import Likelihood
from ..options import (
    ARRAY,
    BY_VIEW,
    NONE,
    SEED,
    VERBOSE,
    Options,
    count,
    instance_of,
    number,
    one_of,
)
from .fit import FACTORS, FitOptions, default_plans

DEFAULT_NOISE_FLOOR = 1e-6  # of a view's variance
MOST_INDUCING = 50  # inducing inputs, unless asked otherwise

FITTING: Options = {
    "search": (instance_of(Search), NONE),
    "random_state": (SEED,),
    "verbose": (VERBOSE,),
}
LATENT: Options = {
    **FITTING,
    "n_components": (count(), NONE),
    "signal_check": (one_of("warn", "error", "off"),),
    "time_kernel": (instance_of(str, Kernel, list, tuple),),
}
TABLE: Options = {
    **LATENT,
    "n_inducing": (count(), NONE),
    "kernel": (instance_of(str, Kernel),),
    "init": (one_of("pca", "ppca", "random"), ARRAY),
    "scaling": (one_of("view", "column", "none"),),
    "noise_floor": (number(0, 1, "left"),),
    "evidence_power": (number(0, 1, "right"), one_of("auto")),
}
VIEWS: Options = {
    **LATENT,
    "n_inducing": (count(), BY_VIEW, NONE),
    "kernel": (instance_of(str, Kernel), BY_VIEW),
    "n_local": (count(0), BY_VIEW),
    "scaling": (one_of("view", "column", "none"), BY_VIEW),
    "noise_floor": (number(0, 1, "left"), BY_VIEW),
    "align": (one_of("union", "intersection"),),
    "evidence_power": (number(0, 1, "right"), one_of("auto"), BY_VIEW),
}
MISSING = one_of("auto", "exact", "shared")


def fit_options(
    model: Any,
    scaled: Sequence[Float[np.ndarray, "N _"]],
    *,
    kernels: Sequence[str | Kernel],
    n_inducing: Sequence[int | None],
    noise_floors: Sequence[float],
    max_components: int,
    n_local: Sequence[int],
    when: When | None,
    missing: str = "exact",
    n_restarts: int = 1,
    tolerance: float = TOLERANCE,
    stages: tuple[Stage, ...] | None = None,
    likelihoods: Sequence[Likelihood | None] = (),
    shared_inducing: bool = False,
) -> FitOptions:
    """An estimator's parameters as a fit wants them, defaults filled in.

    ``n_restarts``, ``tolerance`` and ``stages`` are the model's own, for a search that says nothing
    of them; with views that are not Gaussian there is one start, and the usual tolerance.
    """
    n_samples = scaled[0].shape[0]
    n_components = (
        min(10, max_components, n_samples - 1)
        if model.n_components is None
        else int(model.n_components)
    )

    def own_plans(search: Search) -> tuple[tuple[Stage, ...], ...]:
        if stages is not None:
            return (stages,)
        if of_kinds:
            return (stages_of_kinds(int(search.max_iter), n_samples),)
        return default_plans(int(search.max_iter), scaled, n_components)

    kinds = tuple(likelihoods) or (None,) * len(scaled)
    of_kinds = any(kind is not None for kind in kinds)
    if of_kinds:
        n_restarts, tolerance = 1, TOLERANCE
    return FitOptions(
        n_components=n_components,
        n_inducing=tuple(inducing_count(m, n_samples) for m in n_inducing),
        kernels=tuple(kernels),
        noise_floors=tuple(float(floor) for floor in noise_floors),
        init=(FACTORS if of_kinds else "concatenated") if model.init is None else model.init,
        missing=missing,
        plan=plan_fit(
            model.search, own_plans, model.random_state, model.verbose, n_restarts, tolerance
        ),
        when=when,
        time_kernel=model.time_kernel,
        n_local=tuple(int(J) for J in n_local),
        likelihoods=kinds,
        shared_inducing=shared_inducing,
    )


def inducing_count(asked: int | None, n_samples: int) -> int:
    """The number of inducing inputs: fifty, or as many as there are samples, or as asked."""
    count = min(MOST_INDUCING, n_samples) if asked is None else int(asked)
    if count > n_samples:
        raise OptionError(f"n_inducing={count} is more than the {n_samples} samples there are")
    return count

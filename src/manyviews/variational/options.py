"""The options that the variational estimators share, and what a fit makes of them."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.utils import check_random_state

from ..data import When
from ..errors import OptionError
from ..inference.stages import Stage
from ..kernels import Kernel
from ..shells.options import (
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
from .fit import FitOptions, resolve_stages

DEFAULT_NOISE_FLOOR = 1e-6  # of a view's variance

SEARCH: Options = {
    "inducing": (one_of("kmeans", "subset"),),
    "n_restarts": (count(),),
    "max_iter": (count(),),
    "tol": (number(0),),
    "stages": (ARRAY, NONE),
    "positive": (one_of("log", "softplus"),),
    "jitter": (number(0, 0.1),),
    "checkpoint": (instance_of(str, os.PathLike), NONE),
    "random_state": (SEED,),
    "verbose": (VERBOSE,),
}
LATENT: Options = {
    **SEARCH,
    "n_components": (count(), NONE),
    "signal_check": (one_of("auto", "error", "warn", "off"),),
    "n_starts": (count(),),
    "time_kernel": (instance_of(str, Kernel, list, tuple),),
    "flow_weight": (number(0),),
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
    plans: tuple[tuple[Stage, ...], ...] | None = None,
) -> FitOptions:
    """An estimator's parameters as a fit wants them, defaults filled in."""
    n_samples = scaled[0].shape[0]
    counts = [min(50, n_samples) if m is None else int(m) for m in n_inducing]
    if max(counts) > n_samples:
        raise OptionError(
            f"n_inducing={max(counts)} is more than the {n_samples} samples there are"
        )
    n_components = (
        min(10, max_components, n_samples - 1)
        if model.n_components is None
        else int(model.n_components)
    )
    if plans is None or model.stages is not None:
        plans = resolve_stages(model.stages, int(model.max_iter), scaled, n_components)
    return FitOptions(
        n_components=n_components,
        n_inducing=tuple(counts),
        kernels=tuple(kernels),
        noise_floors=tuple(float(floor) for floor in noise_floors),
        init=model.init,
        missing=missing,
        plans=plans,
        when=when,
        time_kernel=model.time_kernel,
        n_local=tuple(int(J) for J in n_local),
        **search_options(model),
    )


def search_options(model: Any) -> dict[str, Any]:
    """What concerns the search, of every variational estimator."""
    return {
        "inducing": model.inducing,
        "n_restarts": int(model.n_restarts),
        "tolerance": float(model.tol),
        "positive": model.positive,
        "jitter": float(model.jitter),
        "seed": int(check_random_state(model.random_state).randint(2**31 - 1)),
        "verbose": int(model.verbose),
        "checkpoint": None if model.checkpoint is None else os.fspath(model.checkpoint),
    }

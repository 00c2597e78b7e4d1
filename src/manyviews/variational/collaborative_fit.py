"""From scaled views to a fitted collaborative model."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..errors import ConvergenceWarning
from ..inference.bound import Model
from ..inference.diagnostics import FitInfo
from ..inference.independence import independent_share
from ..inference.initial_collaboration import is_tied, path_kernel, starting_paths
from ..inference.initial_dynamics import TimeKernel
from ..inference.optimise import optimise
from ..inference.search import Stage
from ..kernels import White
from ..latent import Collaborative, make_sequences, marginals
from ..latent.path_kernels import kernels_of
from ..mappings.base import condition
from ..parameters import fix, with_positive_transform
from .collaborative_engine import CollaborativeEngine
from .fit import INITIAL_PRECISION, FitOptions, fit_from, starting_mapping

INITIAL_ALPHA, TIED_ALPHA, APART = 0.5, 0.1, 1.0 - 1e-9
INITIAL_SPREAD, NO_SPREAD = 0.01, 1e-4


@dataclass(frozen=True)
class Collaboration:
    """How the views' paths hang together.

    Attributes
    ----------
    shared_kernel, private_kernels
        The priors over time.
    sharing : {"view", "dimension", "none"}
        One α for a view, one for each of its dimensions, or α = 1: nothing shared.
    alpha : float or None
        Hold all weights there, and the spread with them, in the place of learning them.
    factorised : bool
        The posterior family of [McGPDS23] in the place of the joint one.
    fit_power : float or "auto"
        Power of the evidence in the fit.
    """

    shared_kernel: TimeKernel
    private_kernels: tuple[TimeKernel, ...]
    sharing: str
    alpha: float | None
    factorised: bool
    fit_power: float | str = 1.0


def fit_collaboration(
    data: Sequence[Float[np.ndarray, "N _"]],
    names: Sequence[str],
    options: FitOptions,
    collaboration: Collaboration,
) -> tuple[CollaborativeEngine, FitInfo]:
    """Initialise, optimise and condition a collaborative model on scaled views."""
    assert options.when is not None
    engine, info = fit_from(
        lambda restart: starting_collaboration(data, options, collaboration, restart),
        data, names, options, (options.when.inputs, options.when.code, vars(collaboration)),
        CollaborativeEngine,
    )  # fmt: skip
    assert isinstance(engine, CollaborativeEngine)
    return engine, info


def starting_collaboration(
    data: Sequence[Float[np.ndarray, "N _"]],
    options: FitOptions,
    collaboration: Collaboration,
    restart: int,
) -> Model:
    """The start of one restart, moved a little from the third on."""
    assert options.when is not None
    rng = np.random.default_rng([options.plan.seed, restart])
    shared, paths = starting_paths(data, options.n_components, options.init, rng)
    if restart >= len(options.plan.plans):
        paths = [path + 0.3 * rng.standard_normal(path.shape) for path in paths]
    views = tuple(
        starting_mapping(view, Y, paths[view], options, rng) for view, Y in enumerate(data)
    )
    inputs, code = options.when.inputs, options.when.code
    private = tuple(
        path_kernel(kernel, path, inputs, code)
        for kernel, path in zip(collaboration.private_kernels, paths, strict=True)
    )
    by_dimension = collaboration.sharing == "dimension"
    shape = (len(data), options.n_components if by_dimension else 1)
    alone, given = collaboration.sharing == "none", collaboration.alpha
    first = APART if alone else TIED_ALPHA if is_tied(options.init) else INITIAL_ALPHA
    # ε would say the same as α
    unordered = any(isinstance(one, White) for kernel in private for one in kernels_of(kernel))
    latent = Collaborative(
        make_sequences(inputs, code),
        path_kernel(collaboration.shared_kernel, shared, inputs, code),
        private,
        np.concatenate(paths, axis=1),
        INITIAL_PRECISION,
        np.full(shape, first if given is None else given),
        NO_SPREAD if unordered else INITIAL_SPREAD,
        collaboration.factorised,
    )
    if alone or given is not None:
        latent = fix(latent, "alpha")
    if alone or unordered or given is not None:
        latent = fix(latent, "spread")
    model = with_positive_transform(Model(latent, views), options.plan.search.positive)
    power = collaboration.fit_power
    if power == "auto":
        power = independent_evidence(model, data, options, restart)
    return eqx.tree_at(lambda m: m.latent.kl_weight, model, jnp.asarray(1.0 / float(power)))


def independent_evidence(
    model: Model, data: Sequence[Float[np.ndarray, "N _"]], options: FitOptions, restart: int
) -> float:
    """Independent values per value, of the view where they are fewest.

    Read off the residuals at the end of the first stage, the weights held; `independent_share()`.
    """
    outputs = tuple(options.outputs(view, Y) for view, Y in enumerate(data))
    first = options.plan.stages(restart)[0]
    first = replace(first, hold=(*first.hold, "alpha", "spread"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        settled, _ = optimise(lambda _: model, outputs, (first,), tolerance=options.plan.tolerance)
    latent, q = settled.latent, marginals(settled.latent)
    assert isinstance(latent, Collaborative)
    shares = []
    for k, (view, Y) in enumerate(zip(settled.views, data, strict=True)):
        own = q[..., latent.dimensions(k)]
        posterior = condition(view, own, outputs[k])
        shares.append(independent_share(Y - np.asarray(posterior.mean(own)), latent.sequences))
    return min(shares)


def collaborative_stages(max_iter: int, n_outputs: int | None = None) -> tuple[Stage, ...]:
    """The weights, noise and signal variance are held while the paths settle; then all is free."""
    held = ("noise", "kernel.*variance", "alpha", "spread")
    return (
        Stage("lbfgs", min(100, max_iter), hold=held),
        Stage("adam", min(500, max_iter), n_outputs=n_outputs),
        Stage("lbfgs", max_iter),
    )

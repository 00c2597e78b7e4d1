"""Regression on inputs that are noisy or partly missing: its start and its fit [BGPLVM16, §6]."""

import warnings
from dataclasses import dataclass, replace

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from ..errors import ConvergenceWarning
from ..expectations import Gaussian
from ..inference.bound import Model
from ..inference.diagnostics import FitInfo
from ..inference.initialise import inducing_inputs, initial_kernel
from ..inference.input_gaussian import InputGaussian
from ..inference.neighbours import nearest_rows
from ..inference.new_points import infer_new_points
from ..inference.optimise import optimise
from ..inference.search import Stage
from ..kernels import Kernel
from ..latent import CentredInputs, UncertainInputs, marginals
from ..latent.uncertain import PINNED
from ..linalg import DEFAULT_JITTER
from ..mappings import CollapsedGP, Mapping, make_outputs
from ..parameters import Parameter, fix, map_parameters, with_positive_transform
from .engine import VariationalEngine
from .fit import INITIAL_SIGNAL_TO_NOISE, FitOptions, fit_from

FEWEST_COMPLETE = 10  # complete rows that a first model can be trained on
ENOUGH_COMPLETE = 30  # complete rows from which a mapping is learnt as it will stay
NEIGHBOURS = 5  # complete rows that missing inputs are sought from
SETTLE = 200  # iterations in which q(X) follows a mapping that is held, or the other way round


@dataclass(frozen=True)
class SeenInputs:
    """Inputs as they were seen, in the model's scale: values (NaN = missing) and their noise."""

    values: Float[np.ndarray, "N Q"]
    noise: Float[np.ndarray, "..."]
    """Variance of the noise, of a shape that broadcasts; zero where a value is exact."""
    learn_noise: bool
    gaussian: InputGaussian
    """What is known of missing values."""
    centred: bool = False
    """Whether q of a noisy value keeps its mean there; see `CentredInputs`."""

    def rows(self, chosen: Bool[np.ndarray, " N"]) -> "SeenInputs":
        """Some of the rows."""
        noise = self.noise[chosen] if self.noise.shape[0] == len(self.values) else self.noise
        return replace(self, values=self.values[chosen], noise=noise)

    def latent(self) -> UncertainInputs:
        """The latent space, q(X) at what the inputs alone say."""
        missing = np.isnan(self.values)
        noisy = ~missing & np.broadcast_to(self.noise > 0, missing.shape)
        kind: type[UncertainInputs] = CentredInputs if self.centred else UncertainInputs
        space = kind(
            self.gaussian.complete(self.values).filled,
            noisy,
            missing,
            np.where(self.noise > 0, self.noise, 1.0),
            self.gaussian.precision,
        )
        if not self.learn_noise:
            space = fix(space, "noise")
        return space if (noisy | missing).any() else fix(space)


def regression_plan(max_iter: int) -> tuple[Stage, ...]:
    """Roam, then converge: Adam leaves the poor optima of many lengthscales behind."""
    return Stage("adam", min(500, max_iter)), Stage("lbfgs", max_iter)


def joint_plans(max_iter: int, learn_from: str) -> tuple[tuple[Stage, ...], ...]:
    """For missing inputs: q(X) follows the first model's mapping [BGPLVM16, Algorithm 1]. Then,
    with ``learn_from="all"``, both are trained together; and every other restart first learns the
    mapping at what the inputs say of each other.
    """
    if learn_from == "complete":
        return ((Stage("lbfgs", max_iter, hold=("views.*",)),),)
    last, first = Stage("lbfgs", max_iter), min(SETTLE, max_iter)
    return (
        (Stage("lbfgs", first, hold=("views.*",)), last),
        (Stage("lbfgs", first, hold=("latent.*",)), last),
    )


def fit_regression(
    seen: SeenInputs, Y: Float[np.ndarray, "N D"], options: FitOptions
) -> tuple[VariationalEngine, FitInfo]:
    """Fit q(X) of the inputs and a GP from them to the outputs.

    With missing inputs and enough complete rows, a first model of those places the others
    [BGPLVM16, Algorithm 1]; where there are two plans, every other restart begins from imputed
    inputs.
    """
    filled = seen.gaussian.complete(seen.values).filled
    complete = ~np.isnan(seen.values).any(axis=1)
    staged = not complete.all() and complete.sum() >= FEWEST_COMPLETE
    plan, search = options.plan, options.plan.search

    def mapping(restart: int) -> Mapping:
        rng = np.random.default_rng([plan.seed, restart])
        Z = inducing_inputs(filled, options.n_inducing[0], search.inducing, rng)  # type: ignore[arg-type]
        variance = float(np.nanvar(Y))
        kernel = _wide_kernel(options.kernels[0], filled, variance)
        noise = variance / INITIAL_SIGNAL_TO_NOISE
        floor = options.noise_floors[0] * variance
        return CollapsedGP(kernel, Z, noise, search.jitter_or(DEFAULT_JITTER), floor)

    def start(restart: int) -> Model:
        view, latent = mapping(restart), seen.latent()
        if staged and restart % len(plan.plans) == 0:
            first = _first_model(seen.rows(complete), Y[complete], view, options)
            latent, view = _placed(latent, first, seen, Y, complete), first.views[0]
        return with_positive_transform(Model(latent, (view,)), search.positive)

    return fit_from(start, [Y], ["y"], options, [seen.values, seen.noise])


def _wide_kernel(kernel: str | Kernel, X: Float[np.ndarray, "N Q"], variance: float) -> Kernel:
    """A named kernel starts with lengthscales that grow as distances in Q dimensions do."""
    started = initial_kernel(kernel, X, variance)
    if isinstance(kernel, Kernel):
        return started

    def widen(name: str, p: Parameter) -> Parameter:
        wide = name.split(".")[-1] == "lengthscale"
        return p.with_value(p.value * np.sqrt(X.shape[1])) if wide else p

    return map_parameters(widen, started)


def _first_model(
    seen: SeenInputs, Y: Float[np.ndarray, "N D"], view: Mapping, options: FitOptions
) -> Model:
    """A model of the complete rows alone [BGPLVM16, Algorithm 1, line 5]."""
    search = options.plan.search
    model = with_positive_transform(Model(seen.latent(), (view,)), search.positive)
    plan = regression_plan(options.plan.plans[0][-1].iterations)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        outputs = (make_outputs(Y, options.missing),)  # type: ignore[arg-type]
        return optimise(lambda _: model, outputs, plan, tolerance=options.plan.tolerance)[0]


def _placed(
    latent: UncertainInputs,
    first: Model,
    seen: SeenInputs,
    Y: Float[np.ndarray, "N D"],
    complete: Bool[np.ndarray, " N"],
) -> UncertainInputs:
    """q(X) of the incomplete rows as the first model infers it from their outputs (lines 6-14).

    Missing coordinates are sought from what the other inputs say, and from those of the complete
    rows that look most alike.
    """
    gaps = ~complete
    outputs = make_outputs(Y[complete])
    posterior = first.views[0].posterior(marginals(first.latent), outputs)
    values, known = seen.values[gaps], marginals(latent)[jnp.asarray(np.flatnonzero(gaps))]
    near = nearest_rows((Y[gaps], values), (Y[complete], seen.values[complete]), NEIGHBOURS)
    missing = np.isnan(values)[:, None, :]
    own, spread = np.asarray(known.mean)[:, None, :], np.asarray(known.variance)[:, None, :]
    means = np.concatenate([own, np.where(missing, seen.values[complete][near], own)], axis=1)
    narrow = np.broadcast_to(np.where(missing, 0.1 * spread, spread), means[:, 1:].shape)
    variances = np.concatenate([spread, narrow], axis=1)
    Q, places = means.shape[2], np.arange(means[..., 0].size).reshape(means.shape[:2])
    starts = Gaussian(jnp.asarray(means.reshape(-1, Q)), jnp.asarray(variances.reshape(-1, Q)))
    found = infer_new_points(known, starts, (posterior,), (Y[gaps],), places).q
    mean, variance = np.array(latent.mean.value), np.array(latent.variance.value)
    mean[gaps], variance[gaps] = found.mean, np.maximum(found.variance, PINNED)
    return eqx.tree_at(
        lambda space: (space.mean, space.variance),
        latent,
        (latent.mean.with_value(mean), latent.variance.with_value(variance)),
    )

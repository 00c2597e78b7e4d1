"""Running a Gibbs chain: its start, blocks of sweeps, room for more components, what is kept."""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from ..errors import FactorisationError
from ..linear.closed_form import spans
from .gibbs import SweepOptions, Trace, run_sweeps
from .hierarchy import Components, Hyper, Prior, State
from .indicators import draw_auxiliary
from .joint import JointMixture, from_views
from .numbers import as_seed, split

SLOTS = 20  # components that have room at first; it doubles when they are full
SPARE = 2

_draw_one = jax.jit(lambda seed, state: draw_auxiliary(seed, state, 1))  # compiled once


@dataclass(frozen=True)
class ChainOptions:
    """How long a chain runs, and what is kept of it."""

    n_sweeps: int
    burn_in: int
    thin: int
    sweep: SweepOptions


@dataclass(frozen=True)
class Chain:
    """The states kept, as mixtures with the assignments behind them, and the trace of all."""

    mixtures: list[JointMixture]
    assignments: Int[np.ndarray, "S N"]
    trace: dict[str, np.ndarray]


def first_state(
    Y: list[Float[np.ndarray, "N _"]],
    labels: Int[np.ndarray, " N"],
    mixture: JointMixture,
    prior: Prior,
    rng: np.random.RandomState,
) -> State:
    """A state at a given clustering, with the parameters of its local PCCAs."""
    n_clusters, _, q = mixture.loadings.shape
    slots = max(SLOTS, SPARE * n_clusters)
    components: list[Components] = []
    hypers: list[Hyper] = []
    for part, table in zip(spans([table.shape[1] for table in Y]), Y, strict=True):
        m = table.shape[1]
        noise = mixture.noise[:, part, part]
        A = np.linalg.inv(noise)
        parts = (
            mixture.means[:, part], np.linalg.cholesky(A), np.linalg.slogdet(A)[1],
            mixture.loadings[:, part],
        )  # fmt: skip
        components.append(Components(*(jnp.asarray(_padded(value, slots)) for value in parts)))
        constants = prior.views[len(hypers)]
        d = len(constants.noise)
        hypers.append(
            Hyper(
                constants.mean, constants.precision, jnp.asarray(noise.mean(axis=0)[:d, :d]),
                jnp.asarray(np.float64(d + 1)), jnp.asarray(np.float64(1.0)),
                jnp.zeros((m, q)),
            )
        )  # fmt: skip
    mean, std = mixture.latent(np.concatenate(Y, axis=1))
    rows = np.arange(len(labels))
    x = mean[rows, labels] + std[rows, labels] * rng.standard_normal((len(labels), q))
    return State(
        tuple(components), tuple(hypers), jnp.asarray(x), jnp.asarray(labels.astype(np.int64)),
        jnp.asarray(np.float64(1.0)),
    )  # fmt: skip


def run_chain(
    number: int,
    state: State,
    Y: list[Float[np.ndarray, "N _"]],
    missing: list[Bool[np.ndarray, "N _"]] | None,
    prior: Prior,
    options: ChainOptions,
    report: Callable[[int, int], None] | None = None,
) -> Chain:
    """Sweep in blocks of ``thin``; after the burn-in keep the state at the end of each.

    Clusters are split and merged during the burn-in only.
    """
    seed = as_seed(number)
    tables = tuple(jnp.asarray(table) for table in Y)
    masks = None if missing is None else tuple(jnp.asarray(mask) for mask in missing)
    traces, mixtures, assignments = [], [], []
    done = 0
    while done < options.n_sweeps:
        seed, own, new = split(seed, 3)
        size = min(options.thin, options.n_sweeps - done)
        kind = options.sweep if done < options.burn_in else options.sweep._replace(move_rate=0.0)
        after, filled, trace = run_sweeps(own, state, tables, masks, prior, size, kind)
        if bool(trace.overflow.any()):  # a block without room is thrown away and run again
            state = with_more_slots(state)
            continue
        state, tables, done = after, filled, done + size
        traces.append(jax.tree.map(np.asarray, trace))
        if not np.isfinite(traces[-1].log_likelihood).all():
            raise FactorisationError(
                f"the Gibbs sampler reached a singular noise covariance at sweep {done}: are some "
                "columns linear combinations of others? Leave them out, or add a little noise"
            )
        if done > options.burn_in:
            mixtures.append(as_mixture(state, new))
            assignments.append(np.unique(np.asarray(state.c), return_inverse=True)[1])
        if report is not None:
            report(done, int(traces[-1].n_clusters[-1]))
    joined = [np.concatenate(parts) for parts in zip(*traces, strict=True)]
    named = _named(dict(zip(Trace._fields, joined, strict=True)))
    return Chain(mixtures, np.stack(assignments), named)


def as_mixture(state: State, seed: jax.Array) -> JointMixture:
    """The predictive mixture of one state: weights N_k / (N + α₀), and α₀ / (N + α₀) for the
    base measure: the component of a sample unlike all others (5.109 corrected).

    Of the base measure W and Ψ are drawn, and μ ~ N(λ, R⁻¹) is integrated out: the noise of a view
    is Ψ + R⁻¹. So what such a sample says of one view never makes another more certain than the
    spread of the clusters' means.
    """
    counts = np.asarray(state.counts())
    active = np.flatnonzero(counts)
    fresh = _draw_one(seed, state)
    weights = np.append(counts[active], float(state.alpha)) / (len(state.c) + float(state.alpha))
    views = []
    for own, new, hyper in zip(state.components, fresh, state.hyper, strict=True):
        new = new._replace(mu=hyper.lam[None])
        parts = [np.concatenate([np.asarray(a)[active], np.asarray(b)])
                 for a, b in zip(own, new, strict=True)]  # fmt: skip
        inverse = np.linalg.inv(parts[1])
        noise = inverse.transpose(0, 2, 1) @ inverse
        noise[-1] += np.linalg.inv(hyper.R)
        views.append((parts[0], parts[3], noise))
    return from_views(weights, views)


def with_more_slots(state: State) -> State:
    """Twice the room for components."""
    slots = 2 * state.components[0].mu.shape[0]
    components = tuple(
        Components(*(jnp.asarray(_padded(np.asarray(part), slots)) for part in own))
        for own in state.components
    )
    return state._replace(components=components)


def _padded(part: np.ndarray, slots: int) -> np.ndarray:
    filler = np.broadcast_to(part[:1], (slots - len(part), *part.shape[1:]))
    return np.concatenate([part, filler])


def _named(trace: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The trace by name, one entry for every view where it has one."""
    single = (
        "n_clusters",
        "concentration",
        "log_likelihood",
        "log_joint",
        "largest_share",
        "moved",
    )
    values = {name: trace[name] for name in single}
    for view in range(trace["beta"].shape[1]):
        values[f"noise_df[{view}]"] = trace["beta"][:, view]
        values[f"loading_precision[{view}]"] = trace["loading_precision"][:, view]
    return values

"""Fitting a Dirichlet process mixture: chains of Gibbs sweeps, or the variational posterior."""

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..data.patterns import mean_filled
from ..errors import ConvergenceWarning, OptionError
from ..inference.diagnostics import FitInfo
from ..options import NONE, VERBOSE, Options, count, number, one_of
from .chain_summaries import posterior_sizes, representative, split_r_hat
from .chains import ChainOptions, first_state, run_chain
from .gibbs import SweepOptions
from .hierarchy import Prior, make_prior
from .joint import JointMixture, average
from .mean_field import fit_variational
from .mixture_em import Solve, kmeans_labels, local_models
from .mixture_engine import MixtureEngine

RIDGE = 1e-6  # of the unit variance of scaled columns
START_SIZES = (4, 6, 8, 12)  # sweeps merge clusters more easily than they split them
LARGEST_R_HAT = 1.1
HIERARCHY: Options = {
    "inference": (one_of("gibbs", "variational"),),
    "n_chains": (count(),),
    "n_sweeps": (count(2),),
    "burn_in": (count(0), NONE),
    "thin": (count(),),
    "n_auxiliary": (count(),),
    "move_rate": (number(0, 1),),
    "start": (one_of("spread", "one"),),
    "loading_mean_precision": (number(0, closed="neither"),),
    "max_clusters": (count(),),
    "verbose": (VERBOSE,),
}

Scaled = list[Float[np.ndarray, "N _"]]


def fit_dirichlet(
    estimator: Any, tables: Scaled, solve: Solve, shared_variance: bool = False
) -> Any:
    """Give an estimator its posterior; ``shared_variance`` for noise σ²I."""
    began, rng = time.perf_counter(), check_random_state(estimator.random_state)
    prior = make_prior(tables, estimator.loading_mean_precision, RIDGE, shared_variance)
    run = _optimise if estimator.inference == "variational" else _sample
    run(estimator, tables, prior, solve, rng)
    estimator.fit_info_.seconds = time.perf_counter() - began
    return estimator


def kept_trace(estimator: Any) -> dict[str, np.ndarray]:
    """The traces of a sampled model after the burn-in."""
    check_is_fitted(estimator)
    if not hasattr(estimator, "trace_"):
        raise OptionError("there are no chains: the model was fitted variationally")
    return {name: values[:, estimator.burn_in_ :] for name, values in estimator.trace_.items()}


def _sample(
    estimator: Any, tables: Scaled, prior: Prior, solve: Solve, rng: np.random.RandomState
) -> None:
    n_sweeps, burn_in = estimator.n_sweeps, estimator.burn_in
    burn_in = n_sweeps // 2 if burn_in is None else burn_in
    if burn_in >= n_sweeps:
        raise OptionError(f"burn_in={burn_in} leaves nothing of n_sweeps={n_sweeps}")
    sweep = SweepOptions(int(estimator.n_auxiliary), float(estimator.move_rate))
    options = ChainOptions(n_sweeps, burn_in, estimator.thin, sweep)
    Y, holes = np.concatenate(tables, axis=1), [np.isnan(table) for table in tables]
    missing = holes if any(hole.any() for hole in holes) else None
    filled = [mean_filled(table) for table in tables]
    chains = []
    for chain in range(estimator.n_chains):
        size = 1 if estimator.start == "one" else START_SIZES[chain % len(START_SIZES)]
        labels = kmeans_labels(Y, min(size, len(Y)), rng)
        state = first_state(filled, labels, local_models(Y, labels, solve, RIDGE), prior, rng)
        seed, report = int(rng.randint(2**31 - 1)), _report(estimator, chain)
        chains.append(run_chain(seed, state, filled, missing, prior, options, report))
    estimator.burn_in_ = burn_in
    estimator.trace_ = {
        name: np.stack([chain.trace[name] for chain in chains]) for name in chains[0].trace
    }
    mixtures = [mixture for chain in chains for mixture in chain.mixtures]
    estimator.assignments_ = np.concatenate([chain.assignments for chain in chains])
    chosen = representative(estimator.assignments_)
    estimator.labels_ = estimator.assignments_[chosen]
    engine = MixtureEngine(tuple(tables), average(mixtures), _without_last(mixtures[chosen]))
    estimator._adopt(engine, FitInfo(converged=True), n_iter=n_sweeps)
    kept = kept_trace(estimator)
    sizes = posterior_sizes(kept)
    estimator.n_clusters_ = int(sizes.index[int(sizes.to_numpy().argmax())])
    if estimator.n_chains > 1:
        r_hat = split_r_hat(kept["log_likelihood"])
        estimator.fit_info_.converged = bool(r_hat <= LARGEST_R_HAT)
        if r_hat > LARGEST_R_HAT:
            warnings.warn(
                f"the chains do not agree (R-hat of the log likelihood {r_hat:.2f}, of which "
                f"1 is best and {LARGEST_R_HAT} too much): run more sweeps, look at "
                "diagnostics(), or try inference='variational'",
                ConvergenceWarning,
                stacklevel=4,
            )


def _optimise(
    estimator: Any, tables: Scaled, prior: Prior, solve: Solve, rng: np.random.RandomState
) -> None:
    if any(np.isnan(table).any() for table in tables):
        raise OptionError(
            "inference='variational' takes complete training data only: use "
            "inference='gibbs' for data with missing values, or fill them first"
        )
    found = fit_variational(
        tables, prior, solve, min(estimator.max_clusters, len(tables[0])),
        n_restarts=estimator.n_restarts, max_iter=estimator.max_iter, tol=float(estimator.tol),
        rng=rng,
    )  # fmt: skip
    info = FitInfo.of_trace(found.bounds, 0.0, found.converged)
    engine = MixtureEngine(tuple(tables), found.predictive, found.clusters)
    estimator._adopt(engine, info, float(found.bounds[-1]), len(found.bounds))
    estimator.labels_, estimator.bound_trace_ = found.labels, found.bounds
    estimator.n_clusters_ = len(np.unique(found.labels))
    if not found.converged:
        warnings.warn(
            f"the bound had not converged after {estimator.max_iter} iterations: raise max_iter "
            "or tol",
            ConvergenceWarning,
            stacklevel=4,
        )


def _report(estimator: Any, chain: int) -> Callable[[int, int], None] | None:
    if not estimator.verbose:
        return None
    step = max(1, estimator.n_sweeps // 10)

    def report(done: int, n_clusters: int) -> None:
        if done % step < estimator.thin:
            said = f"chain {chain}: sweep {done} of {estimator.n_sweeps}, {n_clusters} clusters"
            print(said, file=sys.stderr)  # as other progress; results go to stdout

    return report


def _without_last(mixture: JointMixture) -> JointMixture:
    """Without the draw from the base measure."""
    log_weights = mixture.log_weights[:-1]
    log_weights = log_weights - np.logaddexp.reduce(log_weights)
    return JointMixture(log_weights, mixture.means[:-1], mixture.loadings[:-1], mixture.noise[:-1])

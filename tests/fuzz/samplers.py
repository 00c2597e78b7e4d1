"""Simulation-based calibration of the Gibbs samplers (Talts et al. 2018; Säilynoja et al. 2022).

Parameters and data are drawn from the hierarchy, and a chain samples the parameters given the
data. If it is right, and long enough, the true value's rank among its states is uniform. Chains
start where those of `fit()` start, and have its moves.

Data that no computer can hold, which this hierarchy draws with little probability, are drawn
again. The choice depends on the data alone, and so leaves ranks uniform.
"""

from functools import partial
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from manyviews.linear.closed_form import canonical_pcca, principal_ppca
from manyviews.mixtures import hierarchy as library
from manyviews.mixtures.chains import Chain, ChainOptions, first_state, run_chain
from manyviews.mixtures.gibbs import SweepOptions
from manyviews.mixtures.mixture_em import kmeans_labels, local_models

from . import hierarchy
from .case import Part, Result

N, Q, TAU = 15, 1, 1.5
MODELS = {"DirichletPCCA": ((2, 2), False), "DirichletPPCA": ((3,), True)}
SWEEPS = ChainOptions(n_sweeps=1600, burn_in=600, thin=20, sweep=SweepOptions(3, 0.5))
STARTS = (4, 6, 8)  # clusters
RIDGE = 1e-6
LARGEST, CONDITION = 30.0, 1e6  # values, and the condition of their covariance


def start(folder: Path) -> Any:
    """Every case is a replication for one of two models."""

    def case(rng: np.random.Generator, number: int) -> Result:
        name = list(MODELS)[number % len(MODELS)]
        sizes, one_variance = MODELS[name]
        truth = _drawn(rng, sizes, one_variance)
        chain = _chain(rng, truth, sizes, one_variance)
        found = {f"{name}: {what}": u for what, u in ranks(rng, truth, chain).items()}
        return Result("ranked", numbers=found)

    return case


def _drawn(rng: np.random.Generator, sizes: tuple[int, ...], one_variance: bool) -> hierarchy.Truth:
    while True:
        with np.errstate(all="ignore"):
            try:
                truth = hierarchy.draw(rng, sizes, N, Q, TAU, one_variance)
            except (np.linalg.LinAlgError, ValueError):  # overflow
                continue
            Y = np.concatenate(truth.views, axis=1)
            if np.isfinite(Y).all() and np.abs(Y).max() < LARGEST:
                own = [np.linalg.cond(np.cov(view.T)) for view in truth.views]
                if max(own) < CONDITION:
                    return truth


def _chain(
    rng: np.random.Generator, truth: hierarchy.Truth, sizes: tuple[int, ...], one_variance: bool
) -> Chain:
    views = [library.view_prior(*hierarchy.constants(m), one_variance) for m in sizes]
    prior = library.Prior(tuple(views), jnp.asarray(TAU))
    solve = partial(principal_ppca, n_components=Q)
    if len(sizes) > 1:
        solve = partial(canonical_pcca, sizes=sizes, n_components=Q)
    draws = np.random.RandomState(rng.integers(2**31))
    Y = np.concatenate(truth.views, axis=1)
    labels = kmeans_labels(Y, int(rng.choice(STARTS)), draws)
    state = first_state(truth.views, labels, local_models(Y, labels, solve, RIDGE), prior, draws)
    return run_chain(int(rng.integers(2**31)), state, truth.views, None, prior, SWEEPS)


def ranks(rng: np.random.Generator, truth: hierarchy.Truth, chain: Chain) -> dict[str, float]:
    """Where true values stand among the states kept, from 0 to 1; ties are broken at random."""
    kept = slice(SWEEPS.burn_in + SWEEPS.thin - 1, None, SWEEPS.thin)
    counts = np.bincount(truth.c)
    true = {
        "n_clusters": float((counts > 0).sum()),
        "largest_share": counts.max() / len(truth.c),
        "concentration": truth.alpha,
    }
    for view, (beta, v) in enumerate(zip(truth.beta, truth.v, strict=True)):
        true[f"noise_df[{view}]"], true[f"loading_precision[{view}]"] = beta, v
    found = {name: rank(rng, value, chain.trace[name][kept]) for name, value in true.items()}
    together = chain.assignments[:, 0] == chain.assignments[:, 1]
    same = float(truth.c[0] == truth.c[1])
    return found | {"two samples together": rank(rng, same, together.astype(float))}


def rank(rng: np.random.Generator, true: float, drawn: np.ndarray) -> float:
    """Share of draws below the truth; with ties, and the truth itself, at random."""
    below, alike = int((drawn < true).sum()), int((drawn == true).sum())
    return float((below + rng.uniform(0.0, alike + 1.0)) / (len(drawn) + 1.0))


PART = Part(
    "simulation-based calibration of Gibbs samplers: ranks of true values among sampled ones",
    limit=300.0, share=2.0, start=start,
)  # fmt: skip

"""Gibbs sweeps a second of the Dirichlet process mixture of PCCA, compiled.

Two views of ten columns each, 1000 samples of four clusters, q = 3, chains started from eight.
Blocks of sweeps with and without moves that split or merge clusters are run in turn; the first
compiles.
"""

import time
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from manyviews._runtime import single_threaded_blas
from manyviews.linear.closed_form import canonical_pcca
from manyviews.mixtures.chains import first_state
from manyviews.mixtures.gibbs import SweepOptions, run_sweeps
from manyviews.mixtures.hierarchy import make_prior
from manyviews.mixtures.mixture_em import kmeans_labels, local_models
from manyviews.mixtures.numbers import as_seed, split

from .report import Report
from .timing import Times

TARGET = 100.0
BLOCK = 20  # sweeps
RATES = {"default, a move in every second sweep": 0.5, "no moves": 0.0}


def run(quick: bool) -> list[Report]:
    N, m, q = (200, 5, 2) if quick else (1000, 10, 3)
    report = Report(
        f"Gibbs sweeps of DirichletPCCA, N={N} D={2 * m} q={q}",
        target=f"target: {TARGET:g} sweeps a second",
    )
    Y = clusters(N, m, q)
    joined, rng = np.concatenate(Y, axis=1), np.random.RandomState(0)
    labels = kmeans_labels(joined, 8, rng)
    solve = partial(canonical_pcca, sizes=(m, m), n_components=q)
    local = local_models(joined, labels, solve, 1e-6)
    prior, tables = make_prior(Y, 1.0, 1e-6), tuple(jnp.asarray(table) for table in Y)
    states = dict.fromkeys(RATES, first_state(Y, labels, local, prior, rng))
    times = {name: Times() for name in RATES}
    n_clusters = {}
    with single_threaded_blas():
        for round_, seed in enumerate(split(as_seed(1), 4 if quick else 16)):
            for name, rate in RATES.items():
                wall, cpu = time.perf_counter(), time.process_time()
                state, _, trace = run_sweeps(
                    seed, states[name], tables, None, prior, BLOCK, SweepOptions(3, rate)
                )
                states[name] = jax.block_until_ready(state)
                n_clusters[name] = int(trace.n_clusters[-1])
                if round_:
                    times[name].wall.append((time.perf_counter() - wall) / BLOCK)
                    times[name].cpu.append((time.process_time() - cpu) / BLOCK)
    for name, measured in times.items():
        report.rows.append(
            {
                "sweeps": name,
                "ms": 1e3 * measured.median(),
                "a second": 1.0 / measured.median(),
                "CPU ms": 1e3 * measured.median_cpu(),
                "a CPU second": 1.0 / measured.median_cpu(),
                "clusters": n_clusters[name],
                "met": 1.0 / measured.median() >= TARGET,
            }
        )
    return [report]


def clusters(N: int, m: int, q: int, n_clusters: int = 4) -> list[np.ndarray]:
    """Two scaled views of samples from a mixture of PCCA."""
    rng = np.random.default_rng(0)
    c, x = rng.integers(n_clusters, size=N), rng.normal(size=(N, q))
    views = []
    for _ in range(2):
        W, mu = rng.normal(size=(n_clusters, m, q)), 3.0 * rng.normal(size=(n_clusters, m))
        Y = mu[c] + np.einsum("nmq,nq->nm", W[c], x) + 0.3 * rng.normal(size=(N, m))
        views.append((Y - Y.mean(axis=0)) / Y.std(axis=0))
    return views

"""Fits of many rows on a CPU: where they end with shared parameters in units of their own, and not.

The problem is that of `gpu_gpytorch`; errors are those of the hidden values. Each fit takes as many
iterations.
"""

import time

import numpy as np

from manyviews import BayesianGPLVM, Search
from manyviews.inference import objective

from .gpu_gpytorch import smooth_table
from .report import Report

SIZES = {2_000: (0, 1), 10_000: (0,)}  # rows and seeds
ITERATIONS = 200  # of the last stage


def run(quick: bool) -> list[Report]:
    report = Report(
        "Fits with shared parameters in units of √(10/N), and without, M = 50, Q = 10",
        target="target: a bound at least as high, and hidden values told as well",
        note="bound in nats per value; errors are root mean squares of hidden values",
    )
    for N, seeds in ({2_000: (0,)} if quick else SIZES).items():
        for seed in seeds:
            for rows in (objective.MANY_ROWS, N):
                report.rows.append(fitted(N, seed, rows, 30 if quick else ITERATIONS))
    return [report]


def fitted(N: int, seed: int, many_rows: int, iterations: int) -> dict[str, object]:
    """A fit with units for more than so many rows."""
    Y, hidden = smooth_table(N)
    usual, objective.MANY_ROWS = objective.MANY_ROWS, many_rows
    search = Search(max_iter=iterations)
    model = BayesianGPLVM(10, n_inducing=50, search=search, random_state=seed, signal_check="off")
    began = time.perf_counter()
    try:
        model.fit(np.where(hidden, np.nan, Y))
    finally:
        objective.MANY_ROWS = usual
    seconds = time.perf_counter() - began
    wrong = (np.asarray(model.impute()) - Y)[hidden]
    return {
        "N": N,
        "seed": seed,
        "units": "√(10/N)" if many_rows < N else "1",
        "evaluations": model.fit_info_.n_evaluations,
        "bound": model.lower_bound_ / int((~hidden).sum()),
        "error": float(np.sqrt(np.mean(wrong**2))),
        "seconds": seconds,
    }

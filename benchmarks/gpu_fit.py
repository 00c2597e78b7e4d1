"""Whole fits: where the seconds go from a table in memory to a fitted model."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np

from manyviews import BayesianGPLVM, Search
from manyviews.inference.initialise import inducing_inputs, initial_means, residual_share
from manyviews.mappings import make_outputs

from .gpu import Row
from .problems import random_problem


def start(quick: bool) -> Iterator[Row]:
    """The parts of a start."""
    for N in (2_000,) if quick else (100_000, 1_000_000):
        Y = random_problem(N, 10, 10, 20)["Y"]
        rng = np.random.default_rng(0)
        means: list[Any] = []
        steps: dict[str, Callable[[], Any]] = {
            "latent means": lambda: means.append(initial_means(Y, 10, "ppca", rng)),  # noqa: B023
            "the same again": lambda: initial_means(Y, 10, "ppca", rng),  # noqa: B023
            "inducing inputs": lambda: inducing_inputs(means[0], 100, "kmeans", rng),  # noqa: B023
            "share explained": lambda: residual_share(Y, 10),  # noqa: B023
            "outputs to the device": lambda: make_outputs(Y),  # noqa: B023
        }
        for name, step in steps.items():
            yield {"N": N, "step": name, "seconds": _seconds(step)}


def fit_small(quick: bool) -> Iterator[Row]:
    """Ten thousand rows."""
    yield _fit(500 if quick else 10_000, 45.0, quick)


def fit_middle(quick: bool) -> Iterator[Row]:
    """A hundred thousand rows."""
    yield _fit(500 if quick else 100_000, 60.0, quick)


def fit_large(quick: bool) -> Iterator[Row]:
    """A million rows."""
    yield _fit(500 if quick else 1_000_000, 100.0, quick)


fit_small_again, fit_middle_again, fit_large_again = fit_small, fit_middle, fit_large


def _fit(N: int, limit: float, quick: bool) -> Row:
    """A fit by the default rule, with its start and compilation; after the limit, what it has."""
    Y = random_problem(N, 10, 10, 20)["Y"]
    search = Search(max_iter=10) if quick else None
    model = BayesianGPLVM(
        n_components=3 if quick else 10,
        n_inducing=10 if quick else 100,
        search=search,
        random_state=0,
        signal_check="off",
    )
    with stopped_after(limit):
        seconds = _seconds(lambda: model.fit(Y))
    info = model.fit_info_
    return {
        "N": N,
        "seconds": seconds,
        "optimising_s": float(info.seconds),
        "compile_s": float(info.compile_seconds),
        "evaluations": int(info.n_evaluations),
        "converged": bool(info.converged),
        "interrupted": bool(info.interrupted),
        "fused": bool(info.fused),
        "devices": int(info.n_devices),
        "bound": float(model.lower_bound_),
        "restarts": [float(b) for b in info.restart_bounds],
        "peak_gb": (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use", 0) / 1e9,
    }


@contextmanager
def stopped_after(seconds: float) -> Iterator[None]:
    """Interrupt a fit as Ctrl-C does: it ends with the best that it has."""
    timer = threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _seconds(step: Callable[[], Any]) -> float:
    began = time.perf_counter()
    step()
    return time.perf_counter() - began

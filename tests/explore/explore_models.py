"""A small model of four kinds of view and a live server, for the tests of the page."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from manyviews import MRD, Search, Stage
from manyviews.explore import server as serving

QUICK: dict[str, Any] = {
    "n_inducing": 10,
    "search": Search(n_restarts=1, stages=(Stage("lbfgs", 15),)),
    "random_state": 0,
    "signal_check": "off",
}


@cache
def small_views() -> dict[str, pd.DataFrame]:
    """Forty samples: an image, a skeleton, a few named columns with holes, a curve."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((40, 3))

    def table(dimensions: list[int], n_columns: int) -> np.ndarray:
        signal = np.tanh(x[:, dimensions] @ rng.standard_normal((len(dimensions), n_columns)))
        return 3.0 * signal + 0.1 * rng.standard_normal(signal.shape) + 5.0

    samples = [f"s{i}" for i in range(40)]
    joints = [f"{joint}_{axis}" for joint in ("hip", "knee", "toe") for axis in "xyz"]
    found = {
        "picture": pd.DataFrame(table([0, 1], 64), index=samples),
        "body": pd.DataFrame(table([0, 2], 9), index=samples, columns=joints),
        "blood": pd.DataFrame(table([0], 4), index=samples, columns=["iron", "zinc", "Na", "K"]),
        "spectrum": pd.DataFrame(table([1, 2], 30), index=samples),
    }
    found["blood"].iloc[3] = np.nan
    found["blood"].iloc[5:9, 1] = np.nan
    return found


@cache
def small_model() -> MRD:
    """Far from converged, which no test of the page minds."""
    return MRD(4, scaling={"blood": "column"}, **QUICK).fit(small_views())


@contextmanager
def running(application: Any) -> Iterator[tuple[str, int]]:
    """The address of a live server on loopback."""
    listening = serving.listen("127.0.0.1", 0)
    server = serving.server(application)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield listening.getsockname()
    finally:
        server.should_exit = True
        thread.join(10)
        listening.close()

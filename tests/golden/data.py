"""Small deterministic data: one table, several views, time stamps, holes, clusters, series."""

import numpy as np
import pandas as pd

N = 26  # training samples, in two sequences of 13
N_NEW = 5
WIDTHS = {"A": 5, "B": 4, "C": 3}
TIMES = np.tile(np.linspace(0.0, 3.0, N // 2), 2)
SEQUENCES = np.repeat(["one", "two"], N // 2)
NEW_TIMES = np.array([0.4, 1.1, 1.3, 2.2, 2.9])
LATER = np.array([1.05, 3.1, 3.4])
SEED = 5


def make_views(n, seed, times=None):
    """Curves of a shared path and of one path for each view, with noise."""
    rng = np.random.default_rng(0)
    weights = {name: rng.normal(size=(2, width)) for name, width in WIDTHS.items()}
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    if times is not None:
        phase = np.repeat([0.0, 1.0], n // 2) if n == N else 0.5
        waves = [np.sin(2 * times + phase)]
        waves += [np.cos((1.7 + k) * times + phase) for k in range(3)]
        x = np.stack(waves, axis=1)
    views = {}
    for place, (name, weight) in enumerate(weights.items()):
        clean = np.tanh(x[:, [0, place + 1]] @ weight)
        views[name] = clean + 0.1 * rng.normal(size=clean.shape)
    return views


def two(views):
    return {name: views[name].copy() for name in "AB"}


def with_holes(views):
    """One value missing in A, one sample without B."""
    views = {name: table.copy() for name, table in views.items()}
    views["A"][1, 2] = np.nan
    views["B"][3] = np.nan
    return views


VIEWS = make_views(N, 1)
NEW = make_views(N_NEW, 2)
TIMED = make_views(N, 3, TIMES)
NEW_TIMED = make_views(N_NEW, 4, NEW_TIMES)

TABLE = VIEWS["A"]
NEW_TABLE = with_holes(NEW)["A"]
TIMED_TABLE = TIMED["A"]
NEW_TIMED_TABLE = with_holes(NEW_TIMED)["A"]


def holey_table(table):
    table = table.copy()
    table[2, 1] = table[9, 1] = table[11, 4] = np.nan
    return table


def holey_views(views):
    """Scattered values, and B for three samples, are missing."""
    views = {name: table.copy() for name, table in views.items()}
    views["A"] = holey_table(views["A"])
    views["B"][5:8] = np.nan
    return views


def frames(views, prefix):
    return {
        name: pd.DataFrame(
            table,
            index=[f"{prefix}{row}" for row in range(len(table))],
            columns=[f"{name}{column}" for column in range(table.shape[1])],
        )
        for name, table in views.items()
    }


def clusters(n, seed):
    """Two clusters in which the views hang together with opposite signs."""
    rng = np.random.default_rng(seed)
    labels, x = np.arange(n) % 2, rng.normal(size=n)
    slope = np.where(labels == 0, 1.0, -1.0)
    a = np.stack([x + 4 * labels, 0.5 * x], axis=1)
    b = np.stack([slope * x, x - 3 * labels], axis=1)
    return {
        "A": a + 0.2 * rng.normal(size=(n, 2)),
        "B": b + 0.2 * rng.normal(size=(n, 2)),
    }


def clusters_with_holes(seed):
    views = clusters(N_NEW, seed)
    views["A"][1, 1] = np.nan
    views["B"][3] = np.nan
    return views


CLUSTERS = clusters(36, 6)
NEW_CLUSTERS = clusters_with_holes(7)

CLASSES = (VIEWS["A"][:, 0] + VIEWS["B"][:, 1] > 0).astype(int)

SERIES_TIMES = np.arange(34) / 3
SERIES = np.stack(
    [np.sin(SERIES_TIMES), np.cos(SERIES_TIMES) * np.sin(0.3 * SERIES_TIMES)], axis=1
) + 0.05 * np.random.default_rng(8).normal(size=(34, 2))

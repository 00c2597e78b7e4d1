"""Iterated forecasts of the chaotic Mackey-Glass series [BGPLVM16, §6.1.1].

The authors' script (`demKstepAheadMg_master.m`) trains on 72 windows of 18 values, each with the
value after it, which takes 90 values of the series, and gives errors in units of the standard
deviation of its first 594; so do we. It holds the variances of the training inputs at zero.
A forecast of a chaotic series ends anywhere, so that many starts say more than one.
"""

import time
import warnings
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression

from manyviews import AutoregressiveGP, Search, UncertainGPRegressor

from .pieces import tallied
from .scores import coverage, nlpd
from .setting import Setting
from .table import Row, summarise

WINDOW, WINDOWS, AHEAD, INDUCING = 18, 72, 1110, 30
TRAIN, IN_UNITS_OF = WINDOWS + WINDOW, 594
KERNELS = ("rbf", "rbf + linear")  # the bound chooses
KINDS: dict[str, dict[str, Any]] = {
    **{kernel: {"kernel": kernel} for kernel in KERNELS},
    "rbf, centred inputs": {"kernel": "rbf", "input_noise": "centred"},
    "rbf, 18 at once": {"kernel": "rbf", "block": WINDOW},
}
MEASURES = ("MAE", "MSE", "NLPD", "coverage-90")
PUBLISHED = {"augmented": (0.529, 0.550), "girard": (0.700, 0.914), "naive": (0.799, 1.157)}


def run(setting: Setting) -> list[Row]:
    """Errors and calibration, in units of the series' standard deviation."""
    seeds = range(1 if setting.quick else setting.seeds)
    pieces = [(kind, seed) for kind in KINDS for seed in seeds]
    results = tallied(setting, forecasts, pieces)
    bounds = {kind: results.pop((kind, "bound")).values for kind in KINDS}
    best = np.argmax([bounds[kernel] for kernel in KERNELS], axis=0)
    chosen = [KERNELS[place] for place in best]
    rows: list[Row] = []
    for (method, measure), found in results.items():
        way, kind = method.split(", ", 1)
        times = chosen.count(kind)
        note = f"chosen by the bound in {times} of {len(chosen)} seeds" if times else ""
        errors = dict(zip(MEASURES, PUBLISHED.get(way, ()), strict=False))
        rows.append(
            summarise(
                method, measure, found.values, seconds=found.seconds, ours=True,
                published=errors.get(measure), note=note,
            )
        )  # fmt: skip
    return [*rows, *baselines(*series(setting))]


def series(setting: Setting) -> tuple[np.ndarray, np.ndarray]:
    """The training part and what follows it."""
    y = setting.load("mackey_glass_regenerated")["y"]
    ahead = 100 if setting.quick else AHEAD
    y = (y - y[:IN_UNITS_OF].mean()) / y[:IN_UNITS_OF].std()
    return y[:TRAIN], y[TRAIN : TRAIN + ahead]


def forecasts(setting: Setting, kind: str, seed: int) -> dict[str, dict[str, float]]:
    """All ways to go on from one fit, and the bound of that fit."""
    train, truth = series(setting)
    began = time.perf_counter()
    model = fit(setting, train, seed, **KINDS[kind])
    seconds = time.perf_counter() - began
    found = {kind: {"bound": float(model.model_.lower_bound_)}}
    for way in (*PUBLISHED, "sampled"):
        mean, std = model.forecast(len(truth), propagation=way, return_std=True)
        values = (
            np.abs(mean - truth).mean(), np.mean((mean - truth) ** 2),
            nlpd(truth, mean, std), coverage(truth, mean, std),
        )  # fmt: skip
        found[f"{way}, {kind}"] = dict(zip(MEASURES, values, strict=True)) | {"seconds": seconds}
    return found


def fit(
    setting: Setting, train: np.ndarray, seed: int, block: int = 1, **options: Any
) -> AutoregressiveGP:
    """One model; nothing but the training part is seen."""
    search = Search(max_iter=60) if setting.quick else Search()
    regression = UncertainGPRegressor(INDUCING, search=search, random_state=seed, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return AutoregressiveGP(WINDOW, regression, block=block).fit(train)


def baselines(train: np.ndarray, truth: np.ndarray) -> list[Row]:
    """The training mean, an iterated linear model, and the continuation of the nearest past."""
    inputs = np.lib.stride_tricks.sliding_window_view(train, WINDOW)[:-1]
    targets = train[WINDOW:]
    linear = LinearRegression().fit(inputs, targets)

    def iterate(step) -> np.ndarray:
        past = list(train)
        for _ in truth:
            past.append(float(step(np.array(past[-WINDOW:]))))
        return np.clip(past[len(train) :], -10, 10)  # a linear model may run away

    def nearest(window: np.ndarray) -> float:
        return targets[np.sum((inputs - window) ** 2, axis=1).argmin()]

    forecasts = {
        "training mean": np.full_like(truth, train.mean()),
        "linear autoregression": iterate(lambda w: linear.predict(w[None])[0]),
        "nearest neighbour": iterate(nearest),
    }
    rows = []
    for name, mean in forecasts.items():
        rows.append(summarise(name, "MAE", [np.abs(mean - truth).mean()]))
        rows.append(summarise(name, "MSE", [np.mean((mean - truth) ** 2)]))
    return rows

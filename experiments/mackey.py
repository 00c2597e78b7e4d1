"""Iterated forecasts of the chaotic Mackey-Glass series [BGPLVM16, §6.1.1]."""

import time
import warnings

import numpy as np
from sklearn.linear_model import LinearRegression

from manyviews import AutoregressiveGP, Search, UncertainGPRegressor

from .pieces import tallied
from .scores import coverage, nlpd
from .setting import Setting
from .table import Row, summarise

WINDOW, TRAIN, AHEAD, INDUCING = 18, 72, 1110, 30
KERNELS = ("rbf", "rbf + linear")
MEASURES = ("MAE", "MSE", "NLPD", "coverage-90")
PUBLISHED = {"augmented": (0.529, 0.550), "girard": (0.700, 0.914), "naive": (0.799, 1.157)}


def run(setting: Setting) -> list[Row]:
    """Errors and calibration in units of the training part's standard deviation."""
    seeds = range(1 if setting.quick else setting.seeds)
    pieces = [(kernel, seed) for kernel in KERNELS for seed in seeds]
    results = tallied(setting, forecasts, pieces)
    bounds = [results.pop((kernel, "bound")).values for kernel in KERNELS]
    chosen = [KERNELS[place] for place in np.argmax(bounds, axis=0)]
    rows: list[Row] = []
    for (method, measure), found in results.items():
        way, kernel = method.split(", ")
        times = chosen.count(kernel)
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
    y = (y - y[:TRAIN].mean()) / y[:TRAIN].std()
    return y[:TRAIN], y[TRAIN : TRAIN + ahead]


def forecasts(setting: Setting, kernel: str, seed: int) -> dict[str, dict[str, float]]:
    """All ways to go on from one fit, and the bound of that fit."""
    train, truth = series(setting)
    began = time.perf_counter()
    model = fit(setting, kernel, train, seed)
    seconds = time.perf_counter() - began
    found = {kernel: {"bound": float(model.model_.lower_bound_)}}
    for way in (*PUBLISHED, "sampled"):
        mean, std = model.forecast(len(truth), propagation=way, return_std=True)
        values = (
            np.abs(mean - truth).mean(), np.mean((mean - truth) ** 2),
            nlpd(truth, mean, std), coverage(truth, mean, std),
        )  # fmt: skip
        found[f"{way}, {kernel}"] = dict(zip(MEASURES, values, strict=True)) | {"seconds": seconds}
    return found


def fit(setting: Setting, kernel: str, train: np.ndarray, seed: int) -> AutoregressiveGP:
    """The model of one kernel; nothing but the training part is seen."""
    search = Search(max_iter=60) if setting.quick else Search()
    regression = UncertainGPRegressor(INDUCING, kernel=kernel, search=search, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return AutoregressiveGP(WINDOW, regression).fit(train)


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
        "training mean": np.zeros_like(truth),
        "linear autoregression": iterate(lambda w: linear.predict(w[None])[0]),
        "nearest neighbour": iterate(nearest),
    }
    rows = []
    for name, mean in forecasts.items():
        rows.append(summarise(name, "MAE", [np.abs(mean - truth).mean()]))
        rows.append(summarise(name, "MSE", [np.mean((mean - truth) ** 2)]))
    return rows

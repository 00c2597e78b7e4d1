"""Iterated forecasts of the chaotic Mackey-Glass series [BGPLVM16, §6.1.1]."""

import time
import warnings

import numpy as np
from sklearn.linear_model import LinearRegression

from manyviews import AutoregressiveGP, Search, UncertainGPRegressor

from .scores import coverage, nlpd
from .setting import Setting
from .table import Row, summarise

WINDOW, TRAIN, AHEAD, INDUCING = 18, 72, 1110, 30
KERNELS = ("rbf", "rbf + linear")
PUBLISHED = {"augmented": (0.529, 0.550), "girard": (0.700, 0.914), "naive": (0.799, 1.157)}


def run(setting: Setting) -> list[Row]:
    """Errors and calibration in units of the training part's standard deviation."""
    series = setting.load("mackey_glass_regenerated")["y"]
    ahead = 100 if setting.quick else AHEAD
    series = (series - series[:TRAIN].mean()) / series[:TRAIN].std()
    train, truth = series[:TRAIN], series[TRAIN : TRAIN + ahead]
    found: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    chosen, seconds = [], []
    for seed in range(1 if setting.quick else setting.seeds):
        began = time.perf_counter()
        models = {kernel: fit(setting, kernel, train, seed) for kernel in KERNELS}
        seconds.append(time.perf_counter() - began)
        chosen.append(max(models, key=lambda k: models[k].model_.lower_bound_))
        for kernel, model in models.items():
            for way in (*PUBLISHED, "sampled"):
                mean, std = model.forecast(ahead, propagation=way, return_std=True)
                scores = (
                    np.abs(mean - truth).mean(), np.mean((mean - truth) ** 2),
                    nlpd(truth, mean, std), coverage(truth, mean, std),
                )  # fmt: skip
                found.setdefault((kernel, way), []).append(scores)
    rows: list[Row] = []
    for (kernel, way), scores in found.items():
        times = chosen.count(kernel)
        note = f"chosen by the bound in {times} of {len(chosen)} seeds" if times else ""
        for place, measure in enumerate(("MAE", "MSE", "NLPD", "coverage-90")):
            published = PUBLISHED[way][place] if way in PUBLISHED and place < 2 else None
            rows.append(
                summarise(
                    f"{way}, {kernel}", measure, [s[place] for s in scores],
                    seconds=float(np.mean(seconds)) / len(KERNELS), ours=True,
                    published=published, note=note,
                )
            )  # fmt: skip
    return [*rows, *baselines(train, truth)]


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

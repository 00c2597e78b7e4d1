"""Walks and runs with a leg or the upper body unseen [BGPLVM16, §5.3].

31 sequences of subject 35 train a model; of another one the first 62 frames are seen
whole, the later ones without the right leg, or without the upper body. As in the paper, one bound
of all that is seen is maximised, once for each part, and the unseen angles are read off it.
Every fit is one optimum of many: the mean of several predictions is shown as well. Measures are
those of Taylor, Hinton & Roweis: SC, the squared error in their scaled space, summed over frames,
per missing angle; RA, the root mean square error in degrees. As in the paper, the noise is held
at first.
"""

import time
import warnings
from typing import Any

import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.neighbors import KNeighborsRegressor

from manyviews import BayesianGPLVM, Search
from manyviews.inference.search import default_stages

from .pieces import finished
from .setting import Setting
from .table import Row, printed, summarise

PARTS = {"legs": "leg_missing_idx0", "body": "body_missing_idx0"}
PRINTED = {
    "dynamics, RBF": {"legs": (7.76, 3.28), "body": (11.95, 1.90)},
    "dynamics, Matérn-3/2": {"legs": (6.84, 2.94), "body": (13.93, 2.24)},
    "static": {"legs": (14.22, 5.09), "body": (18.79, 2.79)},
}
MEASURES = ("SC", "RA")
BEST = {"legs": PRINTED["dynamics, Matérn-3/2"]["legs"], "body": PRINTED["dynamics, RBF"]["body"]}
AVERAGED = ", fits averaged"
TEST = 0  # the number of the test sequence; those of the others begin with one
KERNELS = {"dynamics, RBF": "rbf", "dynamics, Matérn-3/2": "matern32", "static": None}

Guess = dict[str, np.ndarray]  # the test frames by the part that had to be guessed


def run(setting: Setting) -> list[Row]:
    """Baselines, the models of every kind and seed, the printed rows."""
    data = setting.load("cmu35")
    rows = baselines(data)
    seeds = range(1 if setting.quick else setting.seeds)
    pieces = [(method, part, seed) for method in KERNELS for seed in seeds for part in PARTS]
    answers = finished(setting, guess, pieces)
    guesses: dict[str, list[Guess]] = {}
    for method in KERNELS:
        own = [{part: answers[method, part, seed] for part in PARTS} for seed in seeds]
        guesses[method] = [{part: np.array(one[part]["frames"]) for part in PARTS} for one in own]
        seconds = float(np.mean([sum(one[part]["seconds"] for part in PARTS) for one in own]))
        rows += measures(data, method, guesses[method], seconds)
        rows += measures(data, method + AVERAGED, [average(guesses[method])])
    dynamic = [found for method in KERNELS if KERNELS[method] for found in guesses[method]]
    rows += measures(data, "dynamics, fits of both kernels averaged", [average(dynamic)])
    rows += [
        printed(f"Bayesian GP-LVM, {method} (printed)", f"{part}-{name}", pair[i])
        for method, parts in PRINTED.items()
        for part, pair in parts.items()
        for i, name in enumerate(MEASURES)
    ]
    return rows


def measures(
    data: dict[str, np.ndarray], method: str, guesses: list[Guess], seconds: float = 0.0
) -> list[Row]:
    """SC and RA of some guesses of both parts, beside those printed."""
    printed_for = PRINTED.get(method.removesuffix(AVERAGED), BEST)
    return [
        summarise(
            f"Bayesian GP-LVM, {method}", f"{part}-{name}",
            [errors(data, part, found[part])[i] for found in guesses],
            seconds=seconds, ours=True, published=printed_for[part][i],
        )
        for part in PARTS
        for i, name in enumerate(MEASURES)
    ]  # fmt: skip


def average(guesses: list[Guess]) -> Guess:
    """The mean of what several fits say: each is one optimum of many."""
    return {part: np.mean([found[part] for found in guesses], axis=0) for part in PARTS}


def guess(setting: Setting, method: str, part: str, seed: int) -> dict[str, Any]:
    """The test frames by a model of all that is seen, a part of them being missing in its data.

    Q = 9, M = 100, every angle scaled to unit variance.
    """
    data, kernel = setting.load("cmu35"), KERNELS[method]
    n_inducing, search = 100, Search(stages=default_stages(400, hold=True))
    chosen = np.ones(len(data["Y_train"]), bool)
    if setting.quick:
        n_inducing, search = 20, Search(max_iter=15)
        chosen = np.isin(data["seq_id_train"], (1, 2, 17))
    model = BayesianGPLVM(
        9, n_inducing=n_inducing, scaling="column", evidence_power="auto", search=search,
        random_state=seed, signal_check="off",
    )  # fmt: skip
    given = data["Y_test"].copy()
    given[int(data["test_start_idx0"]) :, data[PARTS[part]]] = np.nan
    times: dict = {}
    if kernel is not None:
        model.set_params(time_kernel=kernel)
        when = np.concatenate([data["time_train"][chosen], data["time_test"]])
        names = np.concatenate([data["seq_id_train"][chosen], np.full(len(given), TEST)])
        times = {"times": when, "sequences": names}
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(np.concatenate([data["Y_train"][chosen], given]), **times)
        frames = np.asarray(model.impute())[-len(given) :]
    return {"frames": frames, "seconds": time.perf_counter() - began}


def errors(data: dict[str, np.ndarray], part: str, predicted: np.ndarray) -> tuple[float, float]:
    """SC and RA of whole frames predicted from the first incomplete one on."""
    missing, start = data[PARTS[part]], int(data["test_start_idx0"])
    degrees = np.rad2deg(data["Y_test"] - predicted)[start:, missing]
    scaled = degrees * data["taylor_scale"][missing + 9]  # nine channels come before the angles
    return float(np.sum(scaled**2) / len(missing)), float(np.sqrt(np.mean(degrees**2)))


def baselines(data: dict[str, np.ndarray]) -> list[Row]:
    """Nearest neighbours with and without scaling, ridge regression, the training mean.

    Once with what the paper gives them, the 31 sequences, and once with the first frames of
    the test sequence as well.
    """
    test, start = data["Y_test"], int(data["test_start_idx0"])
    both = np.concatenate([data["Y_train"], test[:start]])
    rows = []
    for Y, extra in ((data["Y_train"], ""), (both, ", first 62 frames too")):
        spread = Y.std(axis=0, ddof=1)
        for part, columns in PARTS.items():
            missing = data[columns]
            seen = np.setdiff1d(np.arange(Y.shape[1]), missing)
            for method, unit, regressor in (
                ("nearest neighbour, scaled", spread, KNeighborsRegressor(1)),
                ("nearest neighbour", np.ones_like(spread), KNeighborsRegressor(1)),
                ("5 nearest neighbours, scaled", spread, KNeighborsRegressor(5)),
                ("ridge", spread, RidgeCV(np.logspace(-2, 4, 13))),
            ):
                regressor.fit((Y / unit)[:, seen], (Y / unit)[:, missing])
                found = test.copy()
                found[:, missing] = regressor.predict((test / unit)[:, seen]) * unit[missing]
                rows += _pair(method + extra, part, errors(data, part, found))
            mean = np.tile(Y.mean(axis=0), (len(test), 1))
            rows += _pair("training mean" + extra, part, errors(data, part, mean))
    return rows


def _pair(method: str, part: str, values: tuple[float, float]) -> list[Row]:
    return [
        Row(method, f"{part}-{name}", value) for name, value in zip(MEASURES, values, strict=True)
    ]

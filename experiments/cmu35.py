"""Walks and runs with a leg or the upper body unseen (002 §5.3).

31 sequences of subject 35 train a model; of another one the first 62 frames are seen
whole, the later ones without the right leg, or without the upper body. Measures are those of
Taylor, Hinton & Roweis: SC, the squared error in their scaled space, summed over frames, per
missing angle; RA, the root mean square error in degrees. As in the paper, the noise is held
at first; this and the kernels were tried on four training sequences held out.
"""

import time
import warnings

import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.neighbors import KNeighborsRegressor

from manyviews import BayesianGPLVM
from manyviews.inference.stages import default_stages

from .setting import Setting
from .table import Row, printed, summarise

PARTS = {"legs": "leg_missing_idx0", "body": "body_missing_idx0"}
PRINTED = {
    "dynamics, RBF": {"legs": (7.76, 3.28), "body": (11.95, 1.90)},
    "dynamics, Matérn-3/2": {"legs": (6.84, 2.94), "body": (13.93, 2.24)},
    "static": {"legs": (14.22, 5.09), "body": (18.79, 2.79)},
}
KERNELS = {"dynamics, RBF": "rbf", "dynamics, Matérn-3/2": "matern32", "static": None}


def run(setting: Setting) -> list[Row]:
    """Baselines, the models of every kind and seed, the printed rows."""
    data = setting.load("cmu35")
    rows = baselines(data)
    for method, kernel in KERNELS.items():
        found: dict[str, list[tuple[float, float]]] = {part: [] for part in PARTS}
        began = time.perf_counter()
        seeds = 1 if setting.quick else min(setting.seeds, 3)
        for seed in range(seeds):
            model = fit(setting, data, kernel, seed)
            for part, value in measure(model, data, kernel is not None).items():
                found[part].append(value)
        seconds = (time.perf_counter() - began) / seeds
        for part, values in found.items():
            for i, name in enumerate(("SC", "RA")):
                rows.append(
                    summarise(
                        f"Bayesian GP-LVM, {method}", f"{part}-{name}",
                        [value[i] for value in values], seconds=seconds, ours=True,
                        published=PRINTED[method][part][i],
                    )
                )  # fmt: skip
    rows += [
        printed(f"Bayesian GP-LVM, {method} (printed)", f"{part}-{name}", pair[i])
        for method, parts in PRINTED.items()
        for part, pair in parts.items()
        for i, name in enumerate(("SC", "RA"))
    ]
    return rows


def fit(
    setting: Setting, data: dict[str, np.ndarray], kernel: str | None, seed: int
) -> BayesianGPLVM:
    """Q = 9, M = 100, every angle scaled to unit variance."""
    options: dict = {"n_inducing": 100, "stages": default_stages(400, hold=True)}
    chosen = slice(None)
    if setting.quick:
        options = {"n_inducing": 20, "max_iter": 15}
        chosen = np.isin(data["seq_id_train"], (1, 2, 17))
    model = BayesianGPLVM(
        9, scaling="column", evidence_power="auto", random_state=seed, signal_check="off", **options
    )
    times: dict = {}
    if kernel is not None:
        model.set_params(time_kernel=kernel)
        times = {"times": data["time_train"][chosen], "sequences": data["seq_id_train"][chosen]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(data["Y_train"][chosen], **times)


def measure(
    model: BayesianGPLVM, data: dict[str, np.ndarray], dynamic: bool
) -> dict[str, tuple[float, float]]:
    """SC and RA of the parts not seen."""
    times = {"times": data["time_test"], "sequences": "test"} if dynamic else {}
    found = {}
    for part, columns in PARTS.items():
        given = data["Y_test"].copy()
        given[int(data["test_start_idx0"]) :, data[columns]] = np.nan
        found[part] = errors(data, part, model.predict(given, **times))
    return found


def errors(data: dict[str, np.ndarray], part: str, predicted: np.ndarray) -> tuple[float, float]:
    """SC and RA of whole frames predicted from the first incomplete one on."""
    missing, start = data[PARTS[part]], int(data["test_start_idx0"])
    degrees = np.rad2deg(data["Y_test"] - predicted)[start:, missing]
    scaled = degrees * data["taylor_scale"][missing + 9]  # nine channels come before the angles
    return float(np.sum(scaled**2) / len(missing)), float(np.sqrt(np.mean(degrees**2)))


def baselines(data: dict[str, np.ndarray]) -> list[Row]:
    """Nearest neighbours with and without scaling, ridge regression, the training mean."""
    Y, test = data["Y_train"], data["Y_test"]
    spread = Y.std(axis=0, ddof=1)
    rows = []
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
            guess = test.copy()
            guess[:, missing] = regressor.predict((test / unit)[:, seen]) * unit[missing]
            rows += _pair(method, part, errors(data, part, guess))
        mean = np.tile(Y.mean(axis=0), (len(test), 1))
        rows += _pair("training mean", part, errors(data, part, mean))
    return rows


def _pair(method: str, part: str, values: tuple[float, float]) -> list[Row]:
    return [
        Row(method, f"{part}-{name}", value)
        for name, value in zip(("SC", "RA"), values, strict=True)
    ]

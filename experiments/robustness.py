"""Does one default fit do as well as the best of many random starts?

For every seed the bound of the default fit (three starts, from PPCA) is held against the best of
ten random starts of the same model on the same data: the published toy, and the oil flow
with its classes as a second view. Nothing but the bound is looked at.
"""

import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from manyviews import MRD, Search

from .paper_model import paper_mrd
from .pieces import tallied
from .setting import Setting
from .table import Row, summarise
from .toy_data import published_toy

N_STARTS, OIL_ROWS, OIL_SEEDS = 10, 300, 10
TOLERANCE = 0.01  # of the best bound's size


def run(setting: Setting) -> list[Row]:
    """The toy for every seed, oil for fewer."""
    few = 1 if setting.quick else OIL_SEEDS
    seeds = {"MRD, toy": setting.seeds, "MRD, oil": min(setting.seeds, few)}
    return [row for method, number in seeds.items() for row in compare(setting, method, number)]


def problem(
    setting: Setting, method: str, seed: int
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Views, and the options of the model."""
    if method == "MRD, toy":
        return published_toy(seed).views, {"n_components": 8, "kernel": "linear"}
    views = oil_views(setting.load("oil"), 60 if setting.quick else OIL_ROWS, seed)
    return views, {"n_components": 10, "n_inducing": 15 if setting.quick else 50}


def oil_views(data: dict[str, np.ndarray], n_rows: int, seed: int) -> dict[str, np.ndarray]:
    """Readings and classes (coded -1 and +1) of some samples."""
    Y, classes = data["Y_train"], data["labels_onehot_train"]
    chosen = np.random.default_rng(seed).choice(len(Y), n_rows, replace=False)
    return {"flow": Y[chosen], "class": 2.0 * classes[chosen] - 1.0}


def one_seed(setting: Setting, method: str, seed: int) -> dict[str, dict[str, float]]:
    """Bounds of the default fit, of the best random start and of the median one."""
    views, options = problem(setting, method, seed)
    search = Search(max_iter=100) if setting.quick else Search()
    began = time.perf_counter()
    default = fit(views, seed, options | {"search": search})
    middle = time.perf_counter()
    random = fit(
        views, seed,
        options | {"search": replace(search, n_restarts=starts(setting)), "init": "random"},
    )  # fmt: skip
    spread = np.array(random.fit_info_.restart_bounds)
    return {
        "default": {"bound": default.lower_bound_, "seconds": middle - began},
        "random": {
            "bound": random.lower_bound_,
            "typical": random.lower_bound_ - float(spread.max() - np.median(spread)),
            "seconds": time.perf_counter() - middle,
        },
    }


def starts(setting: Setting) -> int:
    """The number of random starts."""
    return 2 if setting.quick else N_STARTS


def compare(setting: Setting, method: str, n_seeds: int) -> list[Row]:
    """The share of seeds where the default fit comes within one per cent, and by how much."""
    found = tallied(setting, one_seed, [(method, seed) for seed in range(n_seeds)])
    default, best = found["default", "bound"], found["random", "bound"]
    gaps = np.array(default.values) - np.array(best.values)
    within = (gaps >= -TOLERANCE * np.abs(best.values)).astype(float)
    said = f"best of {starts(setting)} random starts"
    quick = {"seconds": default.seconds, "ours": True}
    return [
        summarise(method, "within-1-percent", within.tolist(), note=f"of the {said}", **quick),
        summarise(method, "bound-gain", gaps.tolist(), note=f"nats over the {said}", **quick),
        summarise(method, "bound", default.values, note="default fit", **quick),
        summarise(f"{method}, random", "bound", best.values, seconds=best.seconds, note=said),
        summarise(
            f"{method}, random", "median-bound", found["random", "typical"].values,
            note="median random start",
        ),
    ]  # fmt: skip


def fit(views: dict[str, np.ndarray], seed: int, options: dict) -> MRD:
    """One fit with the library's defaults but for the options given."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return paper_mrd(random_state=seed, **options).fit(views)

"""Poses by latent points: Shon's shared GP-LVM, and Ek's subspace GP-LVM.

The latter is what [MRD12], [MRD21] and [McGPDS23] call the shared GP-LVM: its factorisation has to
be given. The sizes of its spaces and the source of the private dimensions are chosen
on training sequences that are left out, by the distance of the poses.
"""

import time
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from manyviews import Search
from manyviews.points import SharedGPLVM, SubspaceGPLVM

from .pose_baselines import joint_distance
from .setting import Setting

if TYPE_CHECKING:
    from .pose import Frames

SHON = "shared GP-LVM (Shon)"
EK = "subspace GP-LVM (Ek)"
SIZES = ((2, 2), (3, 3), (5, 5))  # shared, private
PRIVATE = ("posterior", "nearest", "conditional")
N_INDUCING = 100


class Poses(NamedTuple):
    """Poses predicted, how long the fit took, and what was chosen."""

    mean: np.ndarray
    std: np.ndarray
    seconds: float
    note: str


def shon_poses(train: "Frames", test: "Frames", n_components: int, max_iter: int) -> Poses:
    """All dimensions belong to both views."""
    model = SharedGPLVM(n_components, search=Search(max_iter=max_iter), random_state=0)
    seconds = _fit(model, train, False)
    mean, std = _ask(model, test, False, "posterior")
    return Poses(mean, std, seconds, f"Q = {n_components}")


def ek_poses(
    setting: Setting,
    train: "Frames",
    test: "Frames",
    left_out: Sequence[np.ndarray],
    dynamic: bool = False,
) -> Poses:
    """Sizes and source of private dimensions that are best where frames are left out."""
    sizes, sources = (SIZES, PRIVATE) if not setting.quick else (SIZES[:1], PRIVATE[1:2])
    table: dict[tuple[tuple[int, int], str], list[float]] = {}
    for out in left_out[:1] if setting.quick else left_out:
        for size in sizes:
            model = _model(setting, size)
            _fit(model, train.take(~out), dynamic)
            for source in sources:
                mean, _ = _ask(model, train.take(out), dynamic, source)
                found = joint_distance(mean, train.take(out).P)
                table.setdefault((size, source), []).append(found)
    size, source = min(table, key=lambda choice: float(np.mean(table[choice])))
    model = _model(setting, size)
    seconds = _fit(model, train, dynamic)
    mean, std = _ask(model, test, dynamic, source)
    tried = ", ".join(f"{s}+{p} {how} {np.mean(d):.2f}" for ((s, p), how), d in table.items())
    note = f"{size[0]} shared, {size[1]} private, {source}; left out: {tried}"
    return Poses(mean, std, seconds, note)


def _model(setting: Setting, size: tuple[int, int]) -> SubspaceGPLVM:
    count, search = (20, Search(max_iter=20)) if setting.quick else (N_INDUCING, Search())
    return SubspaceGPLVM(*size, n_inducing=count, search=search, random_state=0)


def _fit(model: Any, train: "Frames", dynamic: bool) -> float:
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit({"silhouette": train.S, "pose": train.P}, **train.times(dynamic))
    return time.perf_counter() - began


def _ask(model: Any, test: "Frames", dynamic: bool, source: str) -> tuple[np.ndarray, np.ndarray]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mean, std = model.predict(
            {"silhouette": test.S}, "pose", private=source, return_std=True, **test.times(dynamic)
        )
    return mean, std

"""The three data sets of the peer comparison, split and scaled once for every method.

Each view is centred on the training rows and divided by their standard deviation: by one
number for pose and toy, whose columns have one unit; column by column for nutrimouse, as is
usual there. Columns that are constant in training are left out: a root joint of the pose.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .setting import Setting

JOINTS = 21


@dataclass(frozen=True)
class Problem:
    """Two views of training and test rows, and what is to be predicted from what."""

    name: str
    seed: int
    train: tuple[np.ndarray, np.ndarray]
    test: tuple[np.ndarray, np.ndarray]
    directions: dict[str, tuple[int, int]]
    """Measure prefix -> (source, target)."""
    groups: np.ndarray | None = None
    """Sequences of the training rows, which cross-validation keeps together."""
    joint_unit: float | None = None
    """What one unit of the scaled target is worth, where the target is a pose."""

    @property
    def n_train(self) -> int:
        return len(self.train[0])

    def measures(self, direction: str, mean: np.ndarray, std: np.ndarray) -> dict[str, float]:
        """Errors over all entries of the target, and the mean distance of its joints."""
        error = mean - self.test[self.directions[direction][1]]
        density = 0.5 * np.log(2 * np.pi * std**2) + 0.5 * (error / std) ** 2
        found = {
            f"{direction}-RMSE": float(np.sqrt(np.mean(error**2))),
            f"{direction}-NLPD": float(np.mean(density)),
        }
        if self.joint_unit is not None:
            full = np.zeros((len(error), 3 * JOINTS))
            full[:, -error.shape[1] :] = self.joint_unit * error  # the constant joints come first
            distance = np.linalg.norm(full.reshape(-1, JOINTS, 3), axis=2).mean()
            found[f"{direction}-joint-distance"] = float(distance)
        return found


def problems(setting: Setting, name: str) -> Iterator[Problem]:
    """A data set's problems, one per seed."""
    makers = {"pose": pose, "nutrimouse": nutrimouse, "toy": toy}
    for seed in range(1 if setting.quick else setting.seeds):
        yield makers[name](setting, seed)


def pose(setting: Setting, seed: int) -> Problem:
    """Silhouettes to poses [MRD21, §5.3]; one fixed split, so the seed is the method's alone."""
    data = setting.load("human_pose_silhouette")
    train, test = np.flatnonzero(data["mrd_train_mask"]), np.flatnonzero(data["mrd_test_mask"])
    if setting.quick:
        train, test = train[::5], test[::5]
    views = (data["silhouette_hog"], data["pose_xyz"])
    scaled, units = zip(*(scale(view, train, test, "view") for view in views), strict=True)
    kept = scaled[1][0].shape[1]
    assert np.ptp(views[1][train][:, :-kept], axis=0).max() < 1e-9, "constant joints come first"
    return Problem(
        name="pose",
        seed=seed,
        train=(scaled[0][0], scaled[1][0]),
        test=(scaled[0][1], scaled[1][1]),
        directions={"pose": (0, 1)},
        groups=data["seq_id"][train],
        joint_unit=float(units[1][0]),
    )


def nutrimouse(setting: Setting, seed: int) -> Problem:
    """Genes to lipids (``nutrimouse``) and lipids to genes (``nutrimouse-gene``), 30 to 10 mice."""
    data = setting.load("nutrimouse")
    directions = {"nutrimouse": (0, 1), "nutrimouse-gene": (1, 0)}
    return split("nutrimouse", seed, (data["gene"], data["lipid"]), 0.75, "column", directions)


def toy(setting: Setting, seed: int) -> Problem:
    """Two views of cos and sin with cos² in both [MRD21, §5.1], 80 to 20 rows.

    The sine's sign is not to be known from the first view, so 10 of 15 target columns have
    two likely values, and the best mean is near zero.
    """
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 4 * np.pi, 100)
    views = tuple(
        np.hstack([np.outer(signal, rng.normal(size=10)), np.outer(np.cos(t) ** 2, maps)])
        + 0.1 * rng.normal(size=(100, 15))
        for signal, maps in ((np.cos(t), rng.normal(size=5)), (np.sin(t), rng.normal(size=5)))
    )
    return split("toy", seed, views, 0.8, "view", {"toy": (0, 1)})


def split(
    name: str,
    seed: int,
    views: tuple[np.ndarray, ...],
    share: float,
    kind: str,
    directions: dict[str, tuple[int, int]],
) -> Problem:
    """Part the rows at random; the stream is not the one that made the data."""
    order = np.random.default_rng([seed, 1]).permutation(len(views[0]))
    train, test = np.split(order, [round(share * len(order))])
    (a, _), (b, _) = (scale(view, train, test, kind) for view in views)
    return Problem(name, seed, (a[0], b[0]), (a[1], b[1]), directions)


def scale(
    view: np.ndarray, train: np.ndarray, test: np.ndarray, kind: str
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """Training and test rows, centred and divided; and by what."""
    view = view[:, np.ptp(view[train], axis=0) > 1e-9]
    centred = view - view[train].mean(axis=0)
    unit = np.atleast_1d(centred[train].std(axis=0 if kind == "column" else None))
    return (centred[train] / unit, centred[test] / unit), unit

"""Every coordinate a view of its own [MRD21, §5.6]: do the relevance weights know the limbs?

120 poses of four walks, two one way, one back, one half circle, 30 evenly spaced frames of
each; the walks are found by where the toes point. The frames of the paper are not to be had.
The joints are clustered by k-means of their weights (x, y and z side by side) and held
against the limbs; so are they by the variance that each dimension explains, which, unlike a weight,
means the same in every dimension. Neither has a sign, so that a left limb cannot be told from
the right one, which does the same half a step later. The two root joints never move: their six
constant columns are left out.
"""

import time
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from manyviews import MRD, Search

from .setting import Setting
from .table import Row, summarise

# The skeleton, read off the distances that never change: (joint, the joint it hangs on).
BONES = (
    (2, 0), (3, 2), (4, 3), (5, 2), (6, 5), (7, 6), (8, 7), (9, 2), (10, 9), (11, 10), (12, 11),
    (13, 0), (14, 13), (15, 14), (19, 15), (16, 0), (17, 16), (18, 17), (20, 18),
)  # fmt: skip
LIMBS = {
    "head": (3, 4), "torso": (2, 5, 9), "left arm": (6, 7, 8), "right arm": (10, 11, 12),
    "left leg": (13, 14, 15, 19), "right leg": (16, 17, 18, 20),
}  # fmt: skip
ANKLES, TOES = (15, 18), (19, 20)
MOVING = np.arange(2, 21)  # joints 0 and 1 are the root, where the poses are centred
CLUSTERS = range(3, 11)
STRAIGHT, OPPOSITE, HALF_CIRCLE = 30.0, 150.0, (150.0, 210.0)  # degrees


def run(setting: Setting) -> list[Row]:
    """Clusters by weights, by correlations, by coordinates, and at random."""
    data = setting.load("human_pose_silhouette")
    pose = data["pose_xyz"].reshape(-1, 21, 3)
    frames = chosen_frames(pose, data["seq_id"], 10 if setting.quick else 30)
    Y = pose[frames][:, MOVING].reshape(len(frames), -1)
    seeds = range(min(setting.seeds, 1 if setting.quick else 3))
    began = time.perf_counter()
    models = [fit(setting, Y, seed) for seed in seeds]
    seconds = (time.perf_counter() - began) / len(models)
    correlation = per_joint(np.corrcoef(Y.T))
    coordinates = per_joint(((Y - Y.mean(axis=0)) / Y.std(axis=0)).T)
    by_data = by_features(coordinates)
    rng = np.random.default_rng(0)
    rows = []
    for method, found in {
        "FI-MRD weights": [by_model(model, model.relevance_) for model in models],
        "FI-MRD variance explained": [by_model(model, explained(model)) for model in models],
        "correlations of the coordinates": [by_features(correlation)],
        "absolute correlations": [by_features(np.abs(correlation))],
        "standardised coordinates": [by_data],
        "random": [by_features(rng.standard_normal(coordinates.shape)) for _ in range(5)],
    }.items():
        rows += rand_rows(method, found, by_data, seconds)
    best = max(models, key=lambda model: model.lower_bound_)
    draw(setting, best, pose[frames[0]])
    return rows + cost_rows(models)


def fit(setting: Setting, Y: np.ndarray, seed: int) -> MRD:
    """Q = 10 as published; 30 inducing inputs, since every view has its own."""
    n_inducing, search = 30, Search(n_restarts=1)
    if setting.quick:
        n_inducing, search = 10, replace(search, max_iter=10)
    model = MRD.per_column(
        10, n_inducing=n_inducing, search=search, random_state=seed, signal_check="off"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(Y)


def chosen_frames(pose: np.ndarray, sequence: np.ndarray, each: int) -> np.ndarray:
    """Evenly spaced frames of two straight walks, one the other way, and one half circle."""
    turn, heading = {}, {}
    for name in np.unique(sequence):
        angles = headings(pose[sequence == name])
        turn[name] = abs(angles[-10:].mean() - angles[:10].mean())
        heading[name] = angles.mean() if np.ptp(angles) < STRAIGHT else np.nan
    straight = [name for name in heading if np.isfinite(heading[name])]
    away = {n: abs((heading[n] - heading[straight[0]] + 180.0) % 360.0 - 180.0) for n in straight}
    north = [n for n in straight if away[n] < STRAIGHT][:2]
    south = [n for n in straight if away[n] > OPPOSITE][:1]
    half = [n for n in turn if HALF_CIRCLE[0] < turn[n] < HALF_CIRCLE[1]][:1]
    walks = [np.flatnonzero(sequence == name) for name in north + south + half]
    return np.concatenate([w[np.linspace(0, len(w) - 1, each).round().astype(int)] for w in walks])


def headings(pose: np.ndarray) -> np.ndarray:
    """Where the toes point in the ground plane (x, z), in degrees, over the frames."""
    toes = pose[:, TOES].sum(axis=1) - pose[:, ANKLES].sum(axis=1)
    return np.degrees(np.unwrap(np.arctan2(toes[:, 2], toes[:, 0])))


def per_joint(columns: np.ndarray) -> np.ndarray:
    """One row per joint from three rows (x, y, z)."""
    return columns.reshape(len(MOVING), -1)


def explained(model: MRD) -> pd.DataFrame:
    """Share of the variance of every coordinate that is lost without each dimension."""
    return model.variance_explained().drop(columns="total")


def limb_labels(paired: bool = False) -> np.ndarray:
    """The limb of every moving joint; left and right the same if ``paired``."""
    names = {j: limb.split()[-1] if paired else limb for limb, js in LIMBS.items() for j in js}
    return np.unique([names[j] for j in MOVING], return_inverse=True)[1]


def by_model(model: MRD, table: pd.DataFrame) -> dict[int, np.ndarray]:
    """Clusters of the joints by what a model says of their coordinates, for every k."""
    joints = np.repeat(MOVING, 3)
    return {
        k: model.cluster_views(k, by=table, groups=joints, random_state=0).to_numpy()
        for k in CLUSTERS
    }


def by_features(joints: np.ndarray) -> dict[int, np.ndarray]:
    """Clusters of the joints by their rows, for every k."""
    return {k: KMeans(k, n_init=20, random_state=0).fit_predict(joints) for k in CLUSTERS}


def rand_rows(
    method: str,
    clusters: list[dict[int, np.ndarray]],
    by_data: dict[int, np.ndarray],
    seconds: float,
) -> list[Row]:
    """Agreement with the limbs at as many clusters as limbs, and over all numbers of clusters."""
    limbs, paired = limb_labels(), limb_labels(paired=True)
    n_limbs, n_paired = limbs.max() + 1, paired.max() + 1
    found: dict[str, list[float]] = {}
    for by_k in clusters:
        mean = np.mean([adjusted_rand_score(limbs, by_k[k]) for k in CLUSTERS])
        same = np.mean([adjusted_rand_score(by_data[k], by_k[k]) for k in CLUSTERS])
        for measure, value in {
            "adjusted-rand": adjusted_rand_score(limbs, by_k[n_limbs]),
            "adjusted-rand-mean": mean,
            "adjusted-rand-paired": adjusted_rand_score(paired, by_k[n_paired]),
            "agreement-with-data": same,
        }.items():
            found.setdefault(measure, []).append(float(value))
    notes = {
        "adjusted-rand": f"K = {n_limbs} limbs",
        "adjusted-rand-mean": "mean over K = 3 ... 10",
        "adjusted-rand-paired": f"left and right as one, K = {n_paired}",
        "agreement-with-data": "with clusters of the coordinates, K = 3 ... 10",
    }
    ours = method.startswith("FI-MRD")
    return [
        summarise(m, measure, v, seconds=seconds if ours else 0.0, ours=ours, note=notes[measure])
        for m, (measure, v) in ((method, item) for item in found.items())
    ]


def cost_rows(models: list[MRD]) -> list[Row]:
    """What one view per column costs."""
    n_views = len(models[0].view_names_)
    times = {
        "compile-seconds": [model.fit_info_.compile_seconds for model in models],
        "fit-seconds": [model.fit_info_.seconds for model in models],
    }
    note = f"{n_views} views; the first fit compiles, the others reuse it"
    return [summarise("FI-MRD weights", m, v, ours=True, note=note) for m, v in times.items()]


def draw(setting: Setting, model: MRD, pose: np.ndarray) -> None:
    """Relevance of every coordinate, and the skeleton coloured by clusters of what explains it."""
    from matplotlib.figure import Figure

    from manyviews.plot.style import COLOURS

    found = by_model(model, explained(model))
    figure = Figure(figsize=(14, 7), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1, 1.6))
    axes = left.subplots()
    image = axes.imshow(model.relevance_.to_numpy(), aspect="auto", cmap="viridis")
    axes.set_yticks(3 * np.arange(len(MOVING)) + 1, [f"joint {j}" for j in MOVING], fontsize=7)
    axes.set_xlabel("latent dimension")
    left.colorbar(image, ax=axes, label="relevance")
    for panel, k in zip(np.ravel(right.subplots(2, 4)), CLUSTERS, strict=True):
        colours = dict(zip(MOVING, found[k], strict=True))
        for joint, parent in BONES:
            panel.plot(pose[[joint, parent], 2], -pose[[joint, parent], 1], color="0.7", zorder=1)
        for joint in MOVING:
            panel.scatter(pose[joint, 2], -pose[joint, 1], s=30, color=COLOURS[colours[joint]])
        panel.set(title=f"K = {k}", aspect="equal")
        panel.axis("off")
    setting.results.mkdir(parents=True, exist_ok=True)
    figure.savefig(setting.results / "fi-mrd.png", dpi=150)

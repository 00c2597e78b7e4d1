"""Pictures of poses and of what a model's size costs [McGPDS23, figures 7 and 8]."""

import numpy as np
from matplotlib.figure import Figure
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import pdist, squareform

from .setting import Setting
from .table import Row

N_JOINTS = 21


def bones(poses: np.ndarray) -> np.ndarray:
    """Pairs of joints whose distances vary least between poses: a tree over all joints."""
    lengths = np.array([pdist(pose.reshape(N_JOINTS, 3)) for pose in poses])
    steady = squareform(lengths.std(axis=0) + 0.01 * lengths.mean(axis=0))
    return np.argwhere(minimum_spanning_tree(steady).toarray() > 0)


def draw_poses(setting: Setting, images: np.ndarray, poses: dict[str, np.ndarray]) -> None:
    """A column for each frame; silhouettes above, and a row for each method."""
    tree, n_frames = bones(poses["truth"]), len(images)
    figure = Figure(figsize=(1.6 * n_frames, 1.8 * (1 + len(poses))), layout="constrained")
    panels = figure.subplots(1 + len(poses), n_frames, squeeze=False)
    for ax in panels.flat:
        ax.set_axis_off()
    for ax, image in zip(panels[0], images, strict=True):
        ax.imshow(image, cmap="gray")
    panels[0, 0].set_title("silhouette", loc="left", fontsize="small")
    for line, (name, frames) in zip(panels[1:], poses.items(), strict=True):
        for ax, frame in zip(line, frames, strict=True):
            joints = frame.reshape(N_JOINTS, 3)
            for ends in tree:
                ax.plot(*joints[ends][:, :2].T, color="0.3", linewidth=1.5)
            ax.set(xlim=(-25, 25), ylim=(10, -70), aspect="equal")
        line[0].set_title(name, loc="left", fontsize="small")
    save(setting, figure, "pose-mc-poses.png")


def draw_sizes(setting: Setting, rows: list[Row], sizes: dict[str, set[int]]) -> None:
    """Distance, density and seconds by the dimensions of a path (Q) and inducing inputs (M)."""
    found = {(row.method, row.measure): row for row in rows}
    figure = Figure(figsize=(9, 5), layout="constrained")
    panels = figure.subplots(len(sizes), 3, squeeze=False)
    for line, (letter, several) in zip(panels, sizes.items(), strict=True):
        at = sorted(several)
        for ax, (label, measure) in zip(
            line,
            (("joint distance", "joint-distance"), ("neg. log density", "NLPD"), ("seconds", "")),
            strict=True,
        ):
            shown = [found[f"McGPDS, {letter} = {size}", measure or "NLPD"] for size in at]
            ax.plot(at, [row.value if measure else row.seconds for row in shown], marker="o")
            ax.set_xlabel(letter)
            ax.set_ylabel(label)
    save(setting, figure, "pose-mc-sizes.png")


def save(setting: Setting, figure: Figure, name: str) -> None:
    """Write a picture among the results."""
    setting.results.mkdir(parents=True, exist_ok=True)
    figure.savefig(setting.results / name, dpi=150)

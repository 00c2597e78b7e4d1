"""A generated video [BGPLVM16, §5.4]: pixels restored, and the future from time stamps alone.

The scene is periodic: a ball on a Lissajous curve, a turning bar, a lamp that breathes. 60
frames train. Of the 40 frames that follow, 40 % of the pixels are given and the rest restored;
or nothing is given but their time stamps.
"""

import warnings

import matplotlib
import numpy as np
from matplotlib import animation
from matplotlib.figure import Figure
from sklearn.neighbors import KNeighborsRegressor

from manyviews import BayesianGPLVM, Search

from .pieces import tallied
from .setting import Setting
from .table import Row, summarise

SIZE, N_TRAIN, N_TEST, PERIOD, NOISE = 100, 60, 40, 23.7, 0.05
GIVEN = 0.4


def run(setting: Setting) -> list[Row]:
    """Restoration and forecast by models with and without dynamics, beside the neighbours."""
    seeds = 1 if setting.quick else min(setting.seeds, 3)
    found = tallied(setting, one_draw, [("all", seed) for seed in range(seeds)])
    notes = {"one true period ago": "told the period"}
    return [
        summarise(
            method, measure, values, ours=method.startswith("Bayesian"),
            seconds=seconds if method.startswith("Bayesian") else 0.0, note=notes.get(method, ""),
        )
        for (method, measure), (values, seconds) in found.items()
    ]  # fmt: skip


def one_draw(setting: Setting, _: str, seed: int) -> dict[str, dict[str, float]]:
    """Errors of all methods for one noise."""
    size = 24 if setting.quick else SIZE
    rng = np.random.default_rng(seed)
    clean = scene(np.arange(N_TRAIN + N_TEST), size)
    noisy = clean + NOISE * rng.standard_normal(clean.shape)
    train, test = noisy[:N_TRAIN], clean[N_TRAIN:]
    given = rng.uniform(size=clean.shape[1]) < GIVEN  # the same pixels in every frame
    partial = np.where(given, noisy[N_TRAIN:], np.nan)
    times = np.arange(N_TRAIN, N_TRAIN + N_TEST)
    dynamic = fit(setting, train, seed, np.arange(N_TRAIN))
    static = fit(setting, train, seed, None)
    restored = {
        "Bayesian GP-LVM, dynamics": dynamic.predict(partial, times=times),
        "Bayesian GP-LVM, static": static.predict(partial),
        "training mean": np.tile(train.mean(axis=0), (N_TEST, 1)),
    }
    for k in range(1, 6):
        near = KNeighborsRegressor(k).fit(train[:, given], train)
        restored[f"{k}-NN"] = near.predict(noisy[N_TRAIN:, given])
    ahead = dynamic.forecast(times)
    past = np.round(times - PERIOD * np.ceil((times - 59) / PERIOD)).astype(int)
    futures = {
        "Bayesian GP-LVM, dynamics": ahead,
        "last frame": np.tile(train[-1], (N_TEST, 1)),
        "training mean": restored["training mean"],
        "one true period ago": noisy[past],
    }
    if seed == 0:
        draw(setting, test, partial, restored["Bayesian GP-LVM, dynamics"], ahead, size)
    found: dict[str, dict[str, float]] = {}
    for method, frames in restored.items():
        error = float(np.mean((frames - test)[:, ~given] ** 2))
        found.setdefault(method, {})["MSE-pixel"] = error
    for method, frames in futures.items():
        error = float(np.mean((frames - test) ** 2))
        found.setdefault(method, {})["MSE-pixel-forecast"] = error
    return found


def scene(frames: np.ndarray, size: int) -> np.ndarray:
    """Frames x pixels, values about 0 to 1."""
    y, x = np.mgrid[0 : 1 : size * 1j, 0 : 1 : size * 1j]
    phase = 2.0 * np.pi * frames[:, None, None] / PERIOD
    ball_x, ball_y = 0.5 + 0.3 * np.cos(phase), 0.4 + 0.25 * np.sin(2.0 * phase)
    ball = np.exp(-((x - ball_x) ** 2 + (y - ball_y) ** 2) / (2 * 0.07**2))
    across = (x - 0.5) * np.sin(phase) - (y - 0.75) * np.cos(phase)
    along = (x - 0.5) * np.cos(phase) + (y - 0.75) * np.sin(phase)
    bar = np.exp(-(across**2) / (2 * 0.03**2) - along**4 / 0.18**4)
    lamp = 0.5 * (1.0 + np.sin(phase)) * np.exp(-((x - 0.85) ** 2 + (y - 0.15) ** 2) / 0.02)
    return (ball + 0.7 * bar + 0.6 * lamp).reshape(len(frames), -1)


def fit(setting: Setting, frames: np.ndarray, seed: int, times: np.ndarray | None) -> BayesianGPLVM:
    """Q = 8, M = 40; the prior is a periodic function of time that may slowly change."""
    n_inducing, search = (20, Search(max_iter=60)) if setting.quick else (40, Search())
    model = BayesianGPLVM(
        8, n_inducing=n_inducing, time_kernel="rbf * periodic", search=search, random_state=seed,
        signal_check="off",
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(frames, times=times)


def draw(
    setting: Setting,
    truth: np.ndarray,
    partial: np.ndarray,
    restored: np.ndarray,
    ahead: np.ndarray,
    size: int,
) -> None:
    """A strip of future frames, and all of them as an animation."""
    setting.results.mkdir(parents=True, exist_ok=True)
    rows = {"truth": truth, "given": partial, "restored": restored, "forecast": ahead}
    shown = np.linspace(0, N_TEST - 1, 8).astype(int)
    look = {"cmap": matplotlib.colormaps["gray"].with_extremes(bad="#6d597a"), "vmin": 0, "vmax": 1}
    figure = Figure(figsize=(12, 6.4), layout="constrained")
    axes = figure.subplots(len(rows), len(shown))
    for line, (name, frames) in zip(axes, rows.items(), strict=True):
        for ax, frame in zip(line, shown, strict=True):
            ax.imshow(frames[frame].reshape(size, size), **look)
            ax.set(xticks=[], yticks=[])
            if name == "truth":
                ax.set_title(f"+{frame + 1}")
        line[0].set_ylabel(name)
    figure.savefig(setting.results / "video.png", dpi=100)
    film = Figure(figsize=(6, 3.2), layout="constrained")
    left, right = film.subplots(1, 2)
    pictures = [
        ax.imshow(frames[0].reshape(size, size), **look)
        for ax, frames in ((left, truth), (right, ahead))
    ]
    left.set(title="truth", xticks=[], yticks=[])
    right.set(title="forecast", xticks=[], yticks=[])

    def show(frame: int) -> list:
        for picture, frames in zip(pictures, (truth, ahead), strict=True):
            picture.set_data(frames[frame].reshape(size, size))
        return pictures

    moving = animation.FuncAnimation(film, show, frames=2 if setting.quick else N_TEST)
    moving.save(setting.results / "video.gif", writer=animation.PillowWriter(fps=12))

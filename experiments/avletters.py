"""AVletters (000 §5.5): lips from voices, with sixteen views and with a view of labels.

(1) Eight speakers x {video, audio}, a row per letter and trial: the third speaker's lips for
letters never seen, from his voice and the others' lips. (2) Three speakers, views audio, video
and speaker: the third trial's lips from the voice, with and without the speaker's name, and the
speaker from half-erased lips and voice. Errors are in units of the training video's standard
deviation (the video is reduced, so the printed errors are for orientation only).

Where the start and the treatment of private dimensions come from: letters (1) or the second
trial (2) are held out of the training rows, and the choice that predicts them best is used.
"""

import time
import warnings
from itertools import product
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import f1_score

from manyviews import MRD, Stage
from manyviews.inference.new_points import nearest_rows

from .avletters_views import FRAME, Problem, Tables, labelled_views, rows_of, sixteen_views
from .faces import relevance_picture, strips
from .setting import Setting
from .table import Row, printed, summarise

STARTS = ("concatenated", "separate")
TREATMENTS = tuple(product(("posterior", "nearest", "blend", "conditional"), (1, 5)))


def run(setting: Setting) -> list[Row]:
    """Both set-ups, every prediction with the same baselines."""
    data = setting.load("avletters_small")
    if setting.quick:
        data["video_24x12x16"] = data["video_24x12x16"][:, ::6]
    return sixteen_rows(setting, data) + labelled_rows(setting, data)


def sixteen_rows(setting: Setting, data: Tables) -> list[Row]:
    """Lips of the third speaker for B, M and T."""
    problem = sixteen_views(data, 3 if setting.quick else 8)
    rows, model, guess = prediction_rows(setting, problem)
    draw(setting, "avletters-16views", problem, model, guess)
    return [
        *rows,
        printed("MRD (full video)", "RMSE-16views", 0.30),
        printed("NN (full video)", "RMSE-16views", 0.35),
    ]


def labelled_rows(setting: Setting, data: Tables) -> list[Row]:
    """Lips of the third trial, and who speaks."""
    problem = labelled_views(data)
    rows, model, guess = prediction_rows(setting, problem)
    draw(setting, "avletters-labels", problem, model, guess)
    for name, audio, both in (("MRD", 0.498, 0.434), ("NN", 0.485, 0.485), ("GP", 0.494, 0.472)):
        rows.append(printed(f"{name} (full video)", "RMSE-audio", audio))
        rows.append(printed(f"{name} (full video)", "RMSE-audio-label", both))
    return rows + speaker_rows(setting, problem, model)


# ---------------------------------------------------------------------- prediction


def prediction_rows(setting: Setting, problem: Problem) -> tuple[list[Row], MRD, np.ndarray]:
    """Ours with several seeds and the baselines; the last model and its last prediction."""
    began = time.perf_counter()
    start, chosen = choose(setting, problem)
    choosing = time.perf_counter() - began
    errors: dict[str, list[float]] = {measure: [] for measure in problem.given}
    for seed in range(setting.seeds):
        model = fit(setting, problem.train, problem.n_components, start, seed)
        for measure in problem.given:
            guess = predict(model, problem, problem.test, measure, chosen[measure])
            errors[measure].append(problem.error(guess, problem.test))
    seconds = (time.perf_counter() - began - choosing) / setting.seeds
    rows = []
    for measure, values in errors.items():
        private, modes = chosen[measure]
        note = f"{start}, {private}, {modes} mode(s): chosen in {choosing:.0f} s on training rows"
        rows.append(summarise("MRD", measure, values, seconds=seconds, ours=True, note=note))
        rows += baseline_rows(problem, measure)
    return rows, model, guess


def fit(setting: Setting, views: Tables, n_components: int, start: str, seed: int) -> MRD:
    """RBF-ARD, 50 inducing inputs (or as many as there are rows)."""
    options: dict[str, Any] = {"n_inducing": min(50, len(next(iter(views.values()))))}
    if setting.quick:
        n_components, options = 6, {"n_inducing": 10, "stages": (Stage("lbfgs", 30),)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MRD(
            n_components, init=start, random_state=seed, signal_check="off", **options
        ).fit(views)  # fmt: skip


def predict(
    model: MRD, problem: Problem, views: Tables, measure: str, how: tuple[str, int]
) -> np.ndarray:
    """The target from what the measure says is known."""
    known = {name: views[name] for name in problem.given[measure]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.predict(known, problem.target, private=how[0], n_modes=how[1])


def choose(setting: Setting, problem: Problem) -> tuple[str, dict[str, tuple[str, int]]]:
    """Start and treatment that predict held-out training rows best."""
    if setting.quick:
        return STARTS[0], dict.fromkeys(problem.given, TREATMENTS[0])
    outer, inner = (rows_of(problem.train, rows) for rows in (~problem.inner, problem.inner))
    found: dict[str, dict[str, tuple[float, tuple[str, int]]]] = {}
    for start in STARTS:
        model = fit(setting, outer, problem.n_components, start, seed=0)
        found[start] = {
            m: min(
                (problem.error(predict(model, problem, inner, m, w), inner), w) for w in TREATMENTS
            )
            for m in problem.given
        }
    best = min(found, key=lambda start: sum(e for e, _ in found[start].values()))
    return best, {measure: way for measure, (_, way) in found[best].items()}


def baseline_rows(problem: Problem, measure: str) -> list[Row]:
    """Mean, nearest neighbour, ridge and GP regression from the same known views."""
    Y = problem.train[problem.target]
    X, T = problem.inputs(measure)
    scores = PCA(30, random_state=0).fit(Y)
    kernel = ConstantKernel(1.0) * RBF(1.0) + WhiteKernel(0.1)
    gp = GaussianProcessRegressor(kernel, random_state=0)
    sd = np.sqrt(scores.explained_variance_[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        by_gp = gp.fit(X, scores.transform(Y) / sd).predict(T) * sd
    guesses = {
        "training mean": np.tile(Y.mean(axis=0), (len(T), 1)),
        "NN": Y[np.argmin(((T[:, None] - X) ** 2).sum(axis=2), axis=1)],
        "ridge": RidgeCV(10.0 ** np.arange(-4, 4)).fit(X, Y).predict(T),
        "GP regression": scores.inverse_transform(by_gp),
    }
    return [Row(name, measure, problem.error(g, problem.test)) for name, g in guesses.items()]


# ---------------------------------------------------------------------- who speaks


def speaker_rows(setting: Setting, problem: Problem, model: MRD) -> list[Row]:
    """F1 over speakers from test rows of which half of audio and video is erased."""
    truth = problem.test["speaker"].argmax(axis=1)
    scores: dict[str, list[float]] = {"MRD": [], "NN": [], "logistic regression": []}
    train = problem.train
    code = train["speaker"].argmax(axis=1)
    scale = {v: train[v].std() for v in ("audio", "video")}
    mean = {v: train[v].mean(axis=0) for v in scale}
    apart = {v: (train[v] - mean[v]) / scale[v] for v in scale}
    lines = LogisticRegression(max_iter=500).fit(np.hstack(list(apart.values())), code)
    began = time.perf_counter()
    for seed in range(setting.seeds):
        rng = np.random.default_rng(seed)
        known = {
            v: np.where(rng.uniform(size=problem.test[v].shape) < 0.5, np.nan, problem.test[v])
            for v in scale
        }
        new = {v: (known[v] - mean[v]) / scale[v] for v in scale}
        near = nearest_rows(tuple(new.values()), tuple(apart.values()), 1)[:, 0]
        guesses = {
            "MRD": model.predict(known, "speaker").argmax(axis=1),
            "NN": code[near],
            "logistic regression": lines.predict(np.nan_to_num(np.hstack(list(new.values())))),
        }
        for name, guess in guesses.items():
            scores[name].append(f1_score(truth, guess, average="macro"))
    seconds = (time.perf_counter() - began) / setting.seeds
    return [
        summarise(name, "F1", values, ours=name == "MRD", seconds=seconds if name == "MRD" else 0.0,
                  published=0.92 if name == "MRD" else None)
        for name, values in scores.items()
    ] + [printed("NN (full video)", "F1", 0.76)]  # fmt: skip


def draw(setting: Setting, name: str, problem: Problem, model: MRD, guess: np.ndarray) -> None:
    """Relevance of all views, and four test utterances above their predictions."""
    setting.results.mkdir(parents=True, exist_ok=True)
    relevance_picture(model, setting.results / f"{name}-relevance.png")
    pictures = {}
    for row in np.linspace(0, len(guess) - 1, 4).astype(int):
        for title, table in (("true", problem.test[problem.target]), ("MRD", guess)):
            frames = table[row].reshape(-1, *FRAME)
            every = frames[:: max(1, len(frames) // 8)]
            pictures[f"{title}, row {row}"] = every
    strips(pictures, setting.results / f"{name}-frames.png", FRAME, order="C")

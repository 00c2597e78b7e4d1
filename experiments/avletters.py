"""AVletters [MRD21, §5.5]: lips from voices, with sixteen views and with a view of labels.

(1) Eight speakers x {video, audio}, a row per letter and trial: the third speaker's lips for
letters never seen, from his voice and the others' lips. (2) Three speakers, views audio, video
and speaker: the third trial's lips from the voice, with and without the speaker's name, and the
speaker from half-erased lips and voice. Errors are in units of the training video's standard
deviation (the video is reduced, so the printed errors are for orientation only).

Where Q, the start and the treatment of private dimensions come from: four letters (1) or the
second trial (2) are held out of the training rows, and what predicts them best is used.
"""

import time
import warnings
from itertools import product
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from manyviews import MRD, Search, Stage
from manyviews.inference.neighbours import nearest_rows

from .avletters_views import (
    FRAME,
    Problem,
    Tables,
    baseline_rows,
    labelled_views,
    rows_of,
    sixteen_views,
)
from .faces import relevance_picture, strips
from .paper_model import paper_mrd
from .setting import Setting
from .table import Row, printed, summarise

HELD = Stage("lbfgs", 200, hold=("noise", "kernel.*variance"))
SEARCH = Search(n_restarts=1, stages=(HELD, Stage("adam", 200), Stage("lbfgs", 200)))
QUICK = Search(n_restarts=1, stages=(Stage("lbfgs", 30),))


class Choice(NamedTuple):
    """What is chosen on held-out training rows."""

    n_components: int
    start: str
    private: str
    n_modes: int

    @property
    def shape(self) -> tuple[int, str]:
        """What the fit depends on; the rest concerns prediction."""
        return self.n_components, self.start

    def __str__(self) -> str:
        return f"Q={self.n_components}, {self.start}, {self.private}, {self.n_modes} mode(s)"


TREATMENTS = ("posterior", "nearest", "blend", "conditional")
GRID = product((5, 10, 25), ("concatenated", "separate"), TREATMENTS, (1, 5))
CHOICES = tuple(Choice(*each) for each in GRID)


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


def prediction_rows(setting: Setting, problem: Problem) -> tuple[list[Row], MRD, np.ndarray]:
    """Ours with several seeds and the baselines; the last model and its last prediction."""
    began = time.perf_counter()
    chosen = choose(setting, problem)
    choosing = time.perf_counter() - began
    errors: dict[str, list[float]] = {measure: [] for measure in problem.given}
    for seed in range(setting.seeds):
        models = {c.shape: fit(setting, problem.train, c, seed) for c in chosen.values()}
        for measure, choice in chosen.items():
            model = models[choice.shape]
            guess = predict(model, problem, problem.test, measure, choice)
            errors[measure].append(problem.error(guess, problem.test))
    seconds = (time.perf_counter() - began - choosing) / setting.seeds
    rows = []
    for measure, values in errors.items():
        note = f"{chosen[measure]}; chosen in {choosing:.0f} s on training rows"
        rows.append(summarise("MRD", measure, values, seconds=seconds, ours=True, note=note))
        rows += baseline_rows(problem, measure)
    return rows, model, guess


def fit(setting: Setting, views: Tables, choice: Choice, seed: int) -> MRD:
    """RBF-ARD, 30 inducing inputs; noise and signal variance are held at first, as published."""
    n_inducing, search = (10, QUICK) if setting.quick else (30, SEARCH)
    model = paper_mrd(
        choice.n_components, n_inducing, init=choice.start, search=search, random_state=seed,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(views)


def predict(
    model: MRD, problem: Problem, views: Tables, measure: str, choice: Choice
) -> np.ndarray:
    """The target from what the measure says is known."""
    known = {name: views[name] for name in problem.given[measure]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.predict(known, problem.target, private=choice.private, n_modes=choice.n_modes)


def choose(setting: Setting, problem: Problem) -> dict[str, Choice]:
    """For every measure the choice that predicts held-out training rows best."""
    if setting.quick:
        return dict.fromkeys(problem.given, Choice(5, "concatenated", "posterior", 1))
    outer, inner = (rows_of(problem.train, rows) for rows in (~problem.inner, problem.inner))
    best = dict.fromkeys(problem.given, (np.inf, CHOICES[0]))
    models: dict[tuple[int, str], MRD] = {}
    for choice, measure in product(CHOICES, problem.given):
        if choice.shape not in models:
            models[choice.shape] = fit(setting, outer, choice, seed=0)
        guess = predict(models[choice.shape], problem, inner, measure, choice)
        best[measure] = min(best[measure], (problem.error(guess, inner), choice))
    return {measure: choice for measure, (_, choice) in best.items()}


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
                  published=0.92 if name == "MRD" else None, note="one fit; seeds erase values")
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

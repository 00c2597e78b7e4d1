"""When it pays to let new samples teach the maps: `augmented=True` on simulated tables.

    python -m experiments taught [--seeds 5] [--jobs 16]

A few samples train, 200 new ones come later. Two questions are asked about these: three tenths of
the values of a table, hidden at random; and a second view, nothing of which is known. Answers of
the model as it was trained, of the model that new samples teach, and of one fitted to all of them.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from manyviews import MRD, BayesianGPLVM

from .pieces import tallied
from .setting import Setting
from .table import Row, summarise

SIZES = (20, 40, 80, 160)
N_NEW, N_COLUMNS, HIDDEN = 200, 20, 0.3
NOISE = 0.1
TRAINED, TAUGHT = "as trained", "taught by the new samples"
REFITTED, MEAN = "fitted to all samples", "training mean"
Answers = dict[str, Callable[[], Any]]


def run(setting: Setting) -> list[Row]:
    """Errors of both questions by the number of training samples."""
    sizes = SIZES[:1] if setting.quick else SIZES
    seeds = range(1 if setting.quick else setting.seeds)
    pieces = [(question, size, seed) for seed in seeds for size in sizes for question in QUESTIONS]
    found = tallied(setting, one_question, pieces)
    return [
        summarise(method, measure, values, seconds=seconds, ours=method != MEAN)
        for (method, measure), (values, seconds) in found.items()
    ]


def world(n_samples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two views of one bent sheet: 2 latent dimensions, 20 columns each, noise of a tenth."""
    rng = np.random.default_rng([24, seed])
    frequencies, phases = rng.normal(size=(2, 2, N_COLUMNS)), rng.uniform(0, 6, (2, 1, N_COLUMNS))
    x = rng.normal(size=(n_samples, 2))
    clean = np.sin(1.5 * x @ frequencies + phases)
    left, right = clean + NOISE * rng.normal(size=clean.shape)
    return left, right


def one_question(
    setting: Setting, question: str, size: int, seed: int
) -> dict[str, dict[str, float]]:
    """Measures of every method."""
    left, right = world(max(SIZES) + N_NEW, seed)
    kept = np.r_[:size, max(SIZES) : max(SIZES) + (40 if setting.quick else N_NEW)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return QUESTIONS[question](left[kept], right[kept], size, seed)


def hidden_values(
    left: np.ndarray, right: np.ndarray, size: int, seed: int
) -> dict[str, dict[str, float]]:
    """Values of a table that new samples lack."""
    train, new = left[:size], left[size:]
    hidden = np.random.default_rng([25, seed]).uniform(size=new.shape) < HIDDEN
    given = np.where(hidden, np.nan, new)
    model, whole = (BayesianGPLVM(4, random_state=seed, signal_check="off") for _ in range(2))
    model.fit(train)
    answers: Answers = {
        TRAINED: lambda: model.impute(given),
        TAUGHT: lambda: model.impute(given, augmented=True),
        REFITTED: lambda: whole.fit(np.concatenate([train, given])).impute()[size:],
        MEAN: lambda: np.tile(train.mean(axis=0), (len(new), 1)),
    }
    return {method: timed("values", size, new, hidden, ask) for method, ask in answers.items()}


def another_view(
    left: np.ndarray, right: np.ndarray, size: int, seed: int
) -> dict[str, dict[str, float]]:
    """A view of which nothing is known of new samples, by the latent space alone."""
    known, truth = {"left": left[size:]}, right[size:]
    seen = np.concatenate([right[:size], np.full_like(truth, np.nan)])
    model, whole = (
        MRD(4, residual_link=False, random_state=seed, signal_check="off") for _ in range(2)
    )
    model.fit({"left": left[:size], "right": right[:size]})
    answers: Answers = {
        TRAINED: lambda: model.predict(known, "right"),
        TAUGHT: lambda: model.predict(known, "right", augmented=True),
        REFITTED: lambda: whole.fit({"left": left, "right": seen}).predict(known, "right"),
        MEAN: lambda: np.tile(right[:size].mean(axis=0), (len(truth), 1)),
    }
    wanted = np.ones(truth.shape, bool)
    return {method: timed("view", size, truth, wanted, ask) for method, ask in answers.items()}


def timed(
    question: str, size: int, truth: np.ndarray, wanted: np.ndarray, ask: Callable[[], Any]
) -> dict[str, float]:
    """Root mean squared error of an answer, and how long it took."""
    began = time.perf_counter()
    error = np.asarray(ask())[wanted] - truth[wanted]
    return {
        f"{question}-RMSE-{size}": float(np.sqrt(np.mean(error**2))),
        "seconds": time.perf_counter() - began,
    }


QUESTIONS: dict[str, Any] = {"values": hidden_values, "view": another_view}

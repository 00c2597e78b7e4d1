"""When it pays to let new samples teach the maps: `augmented=True` on simulated tables.

    python -m experiments taught [--seeds 5] [--jobs 16]

A few samples train, 200 new ones come later. Two questions are asked about these: three tenths of
the values of a table, hidden at random; and a second view, nothing of which is known. Answers of
the model as it was trained, of the model that new samples teach, and of one fitted to all of them.
"""

import time
import warnings
from typing import Any

import numpy as np

from manyviews import MRD, BayesianGPLVM

from .pieces import tallied
from .scores import nlpd
from .setting import Setting
from .table import Row, summarise

SIZES = (20, 40, 80, 160)
N_NEW, N_COLUMNS, HIDDEN = 200, 20, 0.3
NOISE = 0.1
TRAINED, TAUGHT = "as trained", "taught by the new samples"
REFITTED, MEAN = "fitted to all samples", "training mean"


def run(setting: Setting) -> list[Row]:
    """Errors and densities of both questions by the number of training samples."""
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

    def measured(answer: tuple[np.ndarray, np.ndarray], seconds: float) -> dict[str, float]:
        mean, std = (np.asarray(part)[-len(new) :][hidden] for part in answer)
        return measures("values", size, new[hidden], mean, std, seconds)

    model = BayesianGPLVM(4, random_state=seed, signal_check="off").fit(train)
    found = {}
    for method, augmented in ((TRAINED, False), (TAUGHT, True)):
        began = time.perf_counter()
        answer = model.impute(given, return_std=True, augmented=augmented)
        found[method] = measured(answer, time.perf_counter() - began)
    began = time.perf_counter()
    whole = BayesianGPLVM(4, random_state=seed, signal_check="off")
    whole.fit(np.concatenate([train, given]))
    found[REFITTED] = measured(whole.impute(return_std=True), time.perf_counter() - began)
    mean, std = (np.tile(part, (len(new), 1)) for part in (train.mean(axis=0), train.std(axis=0)))
    return found | {MEAN: measured((mean, std), 0.0)}


def another_view(
    left: np.ndarray, right: np.ndarray, size: int, seed: int
) -> dict[str, dict[str, float]]:
    """A view of which nothing is known of new samples."""
    train = {"left": left[:size], "right": right[:size]}
    known, truth = {"left": left[size:]}, right[size:]

    def measured(answer: tuple[np.ndarray, np.ndarray], seconds: float) -> dict[str, float]:
        return measures("view", size, truth, *answer, seconds)

    model = MRD(4, random_state=seed, signal_check="off").fit(train)
    found = {}
    for method, augmented in ((TRAINED, False), (TAUGHT, True)):
        began = time.perf_counter()
        answer = model.predict(known, "right", return_std=True, augmented=augmented)
        found[method] = measured(answer, time.perf_counter() - began)
    began = time.perf_counter()
    unknown = np.full_like(truth, np.nan)
    whole = MRD(4, random_state=seed, signal_check="off")
    whole.fit({"left": left, "right": np.concatenate([train["right"], unknown])})
    answer = whole.predict(known, "right", return_std=True)
    found[REFITTED] = measured(answer, time.perf_counter() - began)
    centre = train["right"].mean(axis=0), train["right"].std(axis=0)
    mean, std = (np.tile(part, (len(truth), 1)) for part in centre)
    return found | {MEAN: measured((mean, std), 0.0)}


def measures(
    question: str, size: int, truth: np.ndarray, mean: np.ndarray, std: np.ndarray, seconds: float
) -> dict[str, float]:
    """Root mean squared error and negative log density."""
    return {
        f"{question}-RMSE-{size}": float(np.sqrt(np.mean((truth - mean) ** 2))),
        f"{question}-NLPD-{size}": nlpd(truth, mean, std),
        "seconds": seconds,
    }


QUESTIONS: dict[str, Any] = {"values": hidden_values, "view": another_view}

"""Regression when some inputs are missing [BGPLVM16, §6.2.1]."""

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from manyviews import Search, UncertainGPRegressor

from .pieces import tallied
from .setting import Setting
from .table import Row, summarise

SHARES = (10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
SEEDS = 4
FULL = "GP on full rows"
OURS = "missing-inputs GP"
PAPERS = "missing-inputs GP, as published"


class Split(NamedTuple):
    """Full rows, rows to be partly hidden, and test rows, as one table with three numbers."""

    X: np.ndarray
    Y: np.ndarray
    n_full: int
    n_partial: int
    n_inducing: int


def run(setting: Setting) -> list[Row]:
    """Test MSE against the share of missing inputs, for both data sets."""
    seeds = 1 if setting.quick else max(setting.seeds, SEEDS)
    shares = (50,) if setting.quick else SHARES
    rows: list[Row] = []
    for name in SOURCES:
        pieces = [(FULL, name, seed, shares[0]) for seed in range(seeds)]  # it sees no others
        pieces += [
            (method, name, seed, share)
            for seed in range(seeds)
            for share in shares
            for method in methods(setting, seed)
            if method != FULL
        ]
        found = tallied(setting, one_error, pieces)
        full = found[FULL, measure(name, shares[0])]
        found |= {(FULL, measure(name, share)): full for share in shares}
        for (method, what), (values, seconds) in found.items():
            ours, note = method in {OURS, PAPERS}, ""
            if ours:
                wins = np.array(values) < np.array(full.values)
                note = f"below {FULL} in {int(wins.sum())} of {len(values)} seeds"
            rows.append(summarise(method, what, values, note=note, seconds=seconds, ours=ours))
    return rows


def measure(name: str, share: int) -> str:
    """What is measured on a data set."""
    return f"MSE-{name}-{share}"


def one_error(
    setting: Setting, method: str, name: str, seed: int, share: int
) -> dict[str, dict[str, float]]:
    """The error of one method on one split."""
    split = SOURCES[name](setting, seed)
    error = test_error(split, methods(setting, seed)[method], share, seed)
    return {method: {measure(name, share): error}}


def test_error(split: Split, predict: Callable, share: int, seed: int) -> float:
    """Mean squared error on the test rows, whose inputs are complete."""
    n_train = split.n_full + split.n_partial
    X = split.X[:n_train].copy()
    hide(X[split.n_full :], share, np.random.default_rng([seed, share]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mean = predict(X, split.Y[:n_train], split.X[n_train:], split)
    return float(np.mean((mean - split.Y[n_train:]) ** 2))


def hide(X: np.ndarray, share: int, rng: np.random.Generator) -> None:
    """Hide this percentage of all values, chosen at random."""
    hidden = rng.permutation(X.size)[: round(X.size * share / 100)]
    X.ravel()[hidden] = np.nan


def simulated(_: Setting, seed: int) -> Split:
    """Fifteen inputs drawn from a GP over one variable, five outputs from a GP over the inputs."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0.0, 1.0, 200)[:, None]
    X = draw_gp(t, 0.1, 15, rng)
    Y = draw_gp(X, np.sqrt(15.0), 5, rng) + 0.05 * rng.standard_normal((200, 5))
    order = rng.permutation(200)
    return Split(X[order], Y[order], 40, 60, 30)


def draw_gp(X: np.ndarray, length: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draws of n functions with an exponentiated quadratic covariance."""
    squares = np.sum((X[:, None] - X[None]) ** 2, axis=2)
    K = np.exp(-0.5 * squares / length**2) + 1e-8 * np.eye(len(X))
    return np.linalg.cholesky(K) @ rng.standard_normal((len(X), n))


def walking(setting: Setting, seed: int) -> Split:
    """Frames of the walks (the first sixteen recordings): 39 columns in, the first 20 out."""
    rng, data = np.random.default_rng(seed), setting.load("cmu35")
    frames = data["Y_train"][data["seq_id_train"] <= 16]
    chosen = frames[rng.permutation(len(frames))[:330]]
    return Split(chosen[:, 20:], chosen[:, :20], 50, 80, 35)


SOURCES: dict[str, Callable[[Setting, int], Split]] = {"sim": simulated, "mocap": walking}


def methods(setting: Setting, seed: int) -> dict[str, Callable]:
    """Each maps training inputs and outputs, test inputs and the split to predictions."""
    search = Search(max_iter=30) if setting.quick else Search()

    def process(X: np.ndarray, Y: np.ndarray, new: np.ndarray, split: Split, **options: str):
        model = UncertainGPRegressor(
            min(split.n_inducing, len(X)),
            scaling="view",
            search=search,
            random_state=seed,
            **options,
        )
        return model.fit(X, Y).predict(new)

    def full_rows(X: np.ndarray, Y: np.ndarray, new: np.ndarray, split: Split):
        return process(X[: split.n_full], Y[: split.n_full], new, split)

    def imputed(X: np.ndarray, Y: np.ndarray, new: np.ndarray, split: Split):
        return process(SimpleImputer().fit_transform(X), Y, new, split)

    return {
        FULL: full_rows,
        OURS: process,
        PAPERS: lambda *a: process(*a, missing_inputs="independent", learn_from="all"),
        "GP on mean-imputed inputs": imputed,
        "nearest neighbour": nearest,
        "linear, mean-imputed": lambda X, Y, new, _: (
            make_pipeline(SimpleImputer(keep_empty_features=True), LinearRegression())
            .fit(X, Y)
            .predict(new)
        ),
        "mean": lambda X, Y, new, _: np.broadcast_to(Y.mean(axis=0), (len(new), Y.shape[1])),
    }


def nearest(X: np.ndarray, Y: np.ndarray, new: np.ndarray, _: Split) -> np.ndarray:
    """The output of the training row nearest over the inputs which that row has
    [BGPLVM16, §6.2.1].
    """
    usable = ~np.isnan(X).all(axis=1)
    X, Y = X[usable], Y[usable]
    distance = np.nanmean((new[:, None] - X[None]) ** 2, axis=2)
    return Y[distance.argmin(axis=1)]

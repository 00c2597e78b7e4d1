"""Short fits of every model to many kinds of data: finite, no negative variance, honest."""

import warnings
from pathlib import Path
from typing import Any

import jax
import numpy as np

from .case import Part, Result, refused
from .generate import ROWS, UNLABELLED, as_form
from .models import FAST, MODELS, OTHERS, SEVERAL, TABLES, training

ITERATIONS = 15
FAST_ONES = 0.85  # share of the cases that models without a compiler get


def start(folder: Path) -> Any:
    """Fit any model to any data."""
    jax.config.update("jax_disable_most_optimizations", True)  # most time goes into compiling
    slow = sorted(set(MODELS) - set(FAST))

    def case(rng: np.random.Generator, number: int) -> Result:
        fast = rng.random() < FAST_ONES
        name = str(rng.choice(FAST)) if fast else slow[rng.integers(len(slow))]
        kind = str(rng.choice(sorted(DATA)))
        first, second = DATA[kind](rng)
        if name in {"CCA", "KernelCCA"}:
            first, second = np.nan_to_num(first), np.nan_to_num(second)
        model = MODELS[name]()
        _vary(model, name, rng)
        made = "array"
        if name not in OTHERS:
            made = str(rng.choice(UNLABELLED))
            try:
                first = as_form(made, first, rng)
            except ImportError:
                return Result("package not installed")
        arguments, when = training(name, first, second, rng)
        about = f"{name}, {kind}, {made}"
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                model.fit(*arguments, **when)
                told = " ".join(str(one.message) for one in said)
                return _checked(model, name, about, arguments, when, told)
            except Exception as error:
                return refused(error, about)

    return case


def _vary(model: Any, name: str, rng: np.random.Generator) -> None:
    """Options that need no program of their own."""
    known = model.get_params()
    chosen = {
        "scaling": str(rng.choice(["view", "column"])),
        "random_state": int(rng.integers(100)),
        "search__max_iter": int(rng.integers(2, ITERATIONS)),
        "search__n_restarts": int(rng.integers(1, 3)),
        "noise_floor": float(rng.choice([1e-6, 1e-3])),
    }
    if name not in OTHERS:
        model.set_params(**{k: v for k, v in chosen.items() if k in known})
    if name == "GroupFactorAnalysis":
        model.set_params(noise=str(rng.choice(["view", "column"])))


def _structure(rng: np.random.Generator, noise: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    x = rng.standard_normal((ROWS, 2))
    first = np.tanh(x) @ rng.standard_normal((2, 4))
    second = x @ rng.standard_normal((2, 3))
    return tuple(y + noise * rng.standard_normal(y.shape) for y in (first, second))  # type: ignore[return-value]


def _holes(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    first, second = _structure(rng)
    hidden = rng.random(first.shape) < 0.3
    hidden[:3] = False
    hidden[np.arange(ROWS), rng.integers(4, size=ROWS)] = False
    return np.where(hidden, np.nan, first), second


def _outliers(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    first, second = _structure(rng)
    first[rng.integers(ROWS), rng.integers(4)] = 10.0 ** rng.integers(2, 7)
    return first, second


def _rank_one(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x = rng.standard_normal((ROWS, 1))
    return x @ rng.standard_normal((1, 4)), x @ rng.standard_normal((1, 3))


def _scales(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    first, second = _structure(rng)
    return first * 10.0 ** rng.integers(-9, 9, 4), second * 10.0 ** rng.integers(-30, 30)


def _levels(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    first, second = _structure(rng)
    return np.round(first), (second > 0).astype(float)


def _duplicates(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    first, second = _structure(rng)
    return np.repeat(first[:8], 3, axis=0), np.repeat(second[:8], 3, axis=0)


DATA = {
    "structure": _structure,
    "exact structure": lambda rng: _structure(rng, 0.0),
    "noise": lambda rng: (rng.standard_normal((ROWS, 4)), rng.standard_normal((ROWS, 3))),
    "heavy tails": lambda rng: (rng.standard_cauchy((ROWS, 4)), rng.standard_cauchy((ROWS, 3))),
    "holes": _holes,
    "outliers": _outliers,
    "rank one": _rank_one,
    "scales": _scales,
    "levels": _levels,
    "duplicates": _duplicates,
    "far from zero": lambda rng: tuple(1e6 + y for y in _structure(rng)),
}


def _checked(model: Any, name: str, about: str, arguments: Any, when: Any, told: str) -> Result:
    answers: dict[str, Any] = {}
    spreads: dict[str, Any] = {}
    if name in TABLES or name in SEVERAL:
        answers["latent means"], spreads["latent std"] = model.latent_mean_, model.latent_std_
        answers["relevance"] = model.relevance_
        if name in TABLES:
            answers["filled"], spreads["std of filled"] = model.impute(return_std=True)
        else:
            filled, std = model.impute(return_std=True)
            answers |= {f"filled {k}": v for k, v in filled.items()}
            spreads |= {f"std of filled {k}": v for k, v in std.items()}
            known = {"odd": arguments[0]["odd"]}
            found = model.predict(known, "good", return_std=True, **when)
            answers["predicted"], spreads["predicted std"] = found
    elif name.endswith("Classifier"):
        answers["probabilities"] = model.predict_proba(arguments[0])
    elif name == "UncertainGPRegressor":
        answers["predicted"], spreads["predicted std"] = model.predict(
            arguments[0], return_std=True
        )
    else:
        answers["forecast"], spreads["forecast std"] = model.forecast(3, return_std=True)
    for what, answer in {**answers, **spreads}.items():
        if not np.isfinite(np.asarray(answer, dtype=float)).all():
            return Result("wrong", f"{about}: {what} are not finite")
    for what, answer in spreads.items():
        if (np.asarray(answer) < 0).any():
            return Result("wrong", f"{about}: {what} are negative")
    info = getattr(model, "fit_info_", None)
    if info is None:
        return Result("finite")
    if info.converged:
        return Result("finite, converged")
    warned = "converge" in told or "max_iter" in told or "iterations" in told
    return Result("finite, warned") if warned else Result(
        "wrong", f"{about}: not converged, and no warning"
    )  # fmt: skip


PART = Part(
    f"short fits of {len(MODELS)} models to {len(DATA)} kinds of data: finite, converged or warned",
    limit=240.0, share=3.0, start=start,
)  # fmt: skip

"""Two views of any kind of data with one shared signal and one private signal each.

Every column follows bent functions of the shared signal and of its view's own,

    f_d = a_d s + c_d (s² - 1)/√2 + b_d p + e_d (p² - 1)/√2,   a, b ~ N(0, 1),   c, e ~ N(0, 0.3²),

of unit variance over a view; values are drawn by NumPy, not by the library's likelihoods.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from manyviews.likelihoods import Binomial, Censored, Likelihood, NegativeBinomial

VIEWS = ("left", "right")
N_ROWS, N_COLUMNS = 200, 20
BEND = 0.3
TRIALS = 20
SIZE = 4.0  # of negative binomial counts
NOISE = 0.4
SIGNAL = 1.5  # standard deviation of the functions of yes or no, levels and limits

Draw = Callable[[np.random.Generator, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Kind:
    """How a view of one kind is drawn from its functions, and what the model is told.

    Attributes
    ----------
    draw
        Values from functions of unit variance, N x D.
    likelihood
        For the view of a name.
    beside
        The table that comes with it, if there is one, from the random numbers and the values.
    """

    draw: Draw
    likelihood: Callable[[str], str | Likelihood]
    beside: Callable[[np.random.Generator, np.ndarray], tuple[np.ndarray, np.ndarray]] | None = None


def _named(name: str) -> Callable[[str], str]:
    return lambda view: name


def _noise(rng: np.random.Generator, f: np.ndarray) -> np.ndarray:
    return NOISE * rng.standard_normal(f.shape)


def _chance(f: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-f))


def _levels(rng: np.random.Generator, f: np.ndarray) -> np.ndarray:
    """Five levels, cut from a logistic variable."""
    hidden = SIGNAL * f + rng.logistic(size=f.shape)
    return 1.0 + sum((hidden > cut).astype(float) for cut in (-2.0, -0.6, 0.6, 2.0))


def _categories(rng: np.random.Generator, f: np.ndarray) -> np.ndarray:
    """Three categories, whose heights are f of this column, of the next, and zero."""
    heights = np.stack([2.0 * f, 2.0 * np.roll(f, 1, axis=1), np.zeros_like(f)])
    return np.argmax(heights + rng.gumbel(size=heights.shape), axis=0).astype(float)


def _survival(rng: np.random.Generator, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Times cut off at the end of observation, and whether the event was seen."""
    end = np.quantile(y, 0.7) * rng.uniform(0.5, 1.5, size=y.shape)
    return np.minimum(y, end), (y <= end).astype(float)


def _reads(rng: np.random.Generator, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return y, np.full_like(y, TRIALS)


def _with_libraries(rng: np.random.Generator, f: np.ndarray) -> np.ndarray:
    """Counts whose rows differ in their totals for no reason that matters."""
    size = np.exp(rng.normal(0.0, 0.7, size=(len(f), 1)))
    rate = size * np.exp(1.5 + 0.8 * f)
    return rng.poisson(rate * rng.gamma(SIZE, 1.0 / SIZE, size=f.shape)).astype(float)


KINDS: dict[str, Kind] = {
    "gaussian_per_column": Kind(
        lambda rng, f: f + _noise(rng, f) * np.linspace(0.5, 2.0, f.shape[1]),
        _named("gaussian_per_column"),
    ),
    "student_t": Kind(
        lambda rng, f: f + 0.3 * rng.standard_t(1.5, size=f.shape), _named("student_t")
    ),
    "bernoulli": Kind(
        lambda rng, f: (rng.uniform(size=f.shape) < _chance(2.0 * f)).astype(float),
        _named("bernoulli"),
    ),
    "binomial": Kind(
        lambda rng, f: rng.binomial(TRIALS, _chance(f)).astype(float),
        lambda view: Binomial(trials=f"{view}_trials"),
        _reads,
    ),
    "ordinal": Kind(_levels, _named("ordinal")),
    "categorical": Kind(_categories, _named("categorical")),
    "poisson": Kind(
        lambda rng, f: rng.poisson(np.exp(1.0 + 0.8 * f)).astype(float), _named("poisson")
    ),
    "negative_binomial": Kind(
        lambda rng, f: rng.poisson(
            np.exp(1.5 + 0.8 * f) * rng.gamma(SIZE, 1.0 / SIZE, size=f.shape)
        ).astype(float),
        _named("negative_binomial"),
    ),
    "libraries": Kind(_with_libraries, lambda view: NegativeBinomial(exposure="total")),
    "hurdle": Kind(
        lambda rng, f: np.where(
            rng.uniform(size=f.shape) < _chance(1.0 + f), np.exp(f + _noise(rng, f)), 0.0
        ),
        _named("hurdle"),
    ),
    "censored": Kind(
        lambda rng, f: np.maximum(f + _noise(rng, f), -0.5), lambda view: Censored(lower=-0.5)
    ),
    "survival": Kind(
        lambda rng, f: np.exp(f + _noise(rng, f)),
        lambda view: Censored(log=True, events=f"{view}_events"),
        _survival,
    ),
}
"""Kinds by name; "libraries" are counts with totals as exposures, "survival" times with events."""

BESIDE = {"binomial": "trials", "survival": "events"}


@dataclass(frozen=True)
class Simulation:
    """Views, the tables beside them, what the model is told, and the three signals."""

    tables: dict[str, np.ndarray]
    likelihood: dict[str, str | Likelihood]
    signals: np.ndarray
    """Shared, of the left view, of the right view."""
    names: tuple[str, ...] = field(default=VIEWS)


def simulate(kind: str, seed: int, n_rows: int = N_ROWS, n_columns: int = N_COLUMNS) -> Simulation:
    """Draw two views of a kind."""
    rng = np.random.default_rng([seed, sorted(KINDS).index(kind)])
    signals = rng.standard_normal((3, n_rows))
    tables, told, made = {}, {}, KINDS[kind]
    for name, own in zip(VIEWS, signals[1:], strict=True):
        f = _functions(rng, signals[0], n_columns) + _functions(rng, own, n_columns)
        values = made.draw(rng, f / f.std())
        if made.beside is not None:
            values, tables[f"{name}_{BESIDE[kind]}"] = made.beside(rng, values)
        tables[name], told[name] = values, made.likelihood(name)
    return Simulation(tables, told, signals)


def _functions(rng: np.random.Generator, x: np.ndarray, n_columns: int) -> np.ndarray:
    """Bent functions of one signal, N x D."""
    slopes, bends = rng.standard_normal((2, n_columns))
    return slopes * x[:, None] + BEND * bends * (x[:, None] ** 2 - 1.0) / np.sqrt(2.0)

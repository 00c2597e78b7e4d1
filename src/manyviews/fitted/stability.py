"""How sure the number of shared dimensions is.

A segmentation counts dimensions whose relevance passes a threshold, which says nothing of whether
another sample of the same kind, or another start, would give the same count. Three things that a
fitted model can be asked do:

- *Restarts*: how many shared dimensions every start of the fit ended with.
- *Agreement*: whether views put samples in the same place in a shared dimension, each view alone,
  when the maps have been made to forget these samples. This is cross-validation of the segmentation
  with q(X) of the other samples and the hyperparameters held: q(U) is conditioned anew without
  every fold. A dimension that is shared by overfitting does not agree.
- *Filling*: whether shared dimensions are dependent. The local covariances of the shared
  positions [Fukunaga & Olsen 1971], less their posterior variance, are compared with those of the
  same coordinates shuffled independently. Two dimensions that hold one bent curve fill little
  more than one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtr

from ..inference.diagnostics import FitInfo
from .engine import Engine, normalised
from .segmentation import ACTIVE_THRESHOLD

FOLDS = 5
LEAST_ROWS = 20  # seen by two views, below which agreement is not measured
MOST_VIEWS = 12  # asked one by one
LEVEL = 0.05  # of the test that a dimension agrees, divided by the number of shared dimensions
NEIGHBOURS = (8, 50)  # of local covariances, fewest and most
SHUFFLES = 5
ENOUGH = 10  # samples for every orthant, below which local covariances say nothing


@dataclass(frozen=True)
class Stability:
    """What speaks for and against the dimensions that all views share.

    Attributes
    ----------
    shared : list of int
        The dimensions that all views use.
    agreement : dict of float by dimension
        Correlation between the positions that views alone give to samples the maps had
        forgotten, of each view with the mean of the others, the lowest of all views. Empty where
        it could not be measured.
    p_values : dict of float by dimension
        One-sided p-values of these correlations (Fisher's z).
    n_rows : int
        Samples that the agreement was measured on.
    filling : float
        How many dimensions the shared positions fill, from one to the number of them; NaN where
        it is not measured: with fewer than 10 · 2^n samples for n dimensions, or with time stamps.
    restarts : list of int
        The number of shared dimensions at the end of every start.
    full : bool
        Whether every dimension that the model has is in use.
    """

    shared: list[int]
    agreement: dict[int, float]
    p_values: dict[int, float]
    n_rows: int
    filling: float
    restarts: list[int]
    full: bool

    @property
    def supported(self) -> list[int]:
        """Shared dimensions in which the views agree, or all where that was not measured."""
        if not self.agreement:
            return self.shared
        return [d for d in self.shared if self.p_values[d] < LEVEL / len(self.shared)]

    @property
    def filled(self) -> int:
        """The number of dimensions that the shared positions fill, rounded."""
        n = len(self.shared)
        return n if np.isnan(self.filling) else min(n, int(np.floor(self.filling + 0.5)))

    @property
    def lower(self) -> int:
        """The number of dimensions that is beyond doubt."""
        return min(len(self.supported), self.filled)

    @property
    def sure(self) -> bool:
        """Whether restarts, agreement and filling all speak for the number found."""
        n = len(self.shared)
        return self.lower == n and all(found == n for found in self.restarts) and not self.full

    @property
    def count(self) -> str:
        """The number in words: "2", "at least 2", "about 2", "at least 1, perhaps 2"."""
        n = len(self.shared)
        if self.lower < n:
            return f"at least {self.lower}, perhaps {n}" if self.lower else f"perhaps {n}"
        if any(found != n for found in self.restarts):
            return f"about {n}"
        return f"at least {n}" if self.full and n else str(n)

    def reasons(self, labels: Mapping[int, str] | None = None) -> list[str]:
        """Sentences on how sure the number is, and why."""
        labels = labels or {}
        n, names = len(self.shared), [labels.get(d, str(d)) for d in self.shared]
        found = []
        if len(self.restarts) > 1:
            agreeing = sum(count == n for count in self.restarts)
            others = sorted({count for count in self.restarts if count != n})
            rest = f"; others, not run to the end, had {_words(others, 'or')}" if others else ""
            found.append(
                f"{agreeing} of {len(self.restarts)} starts found {n} shared "
                f"dimension{'s' * (n != 1)}{rest}."
            )
        if self.agreement:
            values = [f"{self.agreement[d]:.2f}" for d in self.shared]
            where = "it" if n == 1 else f"dimensions {_words(names, 'and')}"
            found.append(
                f"Each view alone places {self.n_rows} samples that the maps had forgotten: the "
                f"places agree with a correlation of {_words(values, 'and')} in {where}."
            )
            doubtful = [name for d, name in zip(self.shared, names, strict=True)
                        if d not in self.supported]  # fmt: skip
            if doubtful:
                found.append(
                    f"In dimension{'s' * (len(doubtful) > 1)} {_words(doubtful, 'and')} the views "
                    "agree no more than by chance."
                )
        if self.filled < n:
            found.append(
                f"The {n} shared dimensions depend on each other: they fill about "
                f"{self.filling:.1f}. A strongly curved relation can take more dimensions than it "
                "has sources."
            )
        if self.full and n:
            found.append("All latent dimensions are in use, so there may be more.")
        return found


def assess_stability(
    engine: Engine,
    info: FitInfo | None,
    n_rows: int = 200,
    how: Mapping[str, Any] | None = None,
    timed: bool = False,
) -> Stability:
    """Ask a fitted model how sure its shared dimensions are.

    ``how`` are options of ``infer``. Rows that are ``timed`` lie on paths, so how many dimensions
    they fill says nothing.
    """
    relevance = engine.relevance
    shared = _shared(relevance)
    agreement: dict[int, float] = {}
    p_values: dict[int, float] = {}
    seen = 0
    if shared and n_rows and 1 < len(relevance) <= MOST_VIEWS:
        rows, places = places_by_view(engine, n_rows, how or {})
        if len(rows):
            agreement, p_values, seen = _agreement(places, shared)
    q = engine.positions.likeliest()
    filling = np.nan
    enough = len(q.mean) >= ENOUGH * 2 ** len(shared)
    if len(shared) > 1 and enough and not timed and engine.positions.cluster is None:
        filling = filled_dimensions(q.mean[:, shared], q.variance[:, shared])
    starts = [] if info is None else [len(_shared(normalised(w))) for w in info.restart_relevance]
    n_active = int((relevance > ACTIVE_THRESHOLD).any(axis=0).sum())
    full = relevance.shape[1] > 1 and n_active == relevance.shape[1]
    return Stability(shared, agreement, p_values, seen, filling, starts, full)


def places_by_view(
    engine: Engine, n_rows: int, how: Mapping[str, Any]
) -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, "K n Q"]]:
    """Rows, and where each view alone puts them once the maps have forgotten them.

    NaN where a view lacks a row; no rows where the engine cannot forget.
    """
    data = engine.data
    there = np.stack([~np.isnan(Y).all(axis=1) for Y in data])
    rng = np.random.default_rng(0)
    rows = rng.permutation(np.flatnonzero(there.sum(axis=0) > 1))[:n_rows]
    size = len(rows) // FOLDS  # equal folds are one program for the compiler
    rows, n_all = rows[: size * FOLDS], len(data[0])
    nothing = np.empty((len(data), 0, engine.relevance.shape[1]))
    if size * FOLDS < LEAST_ROWS:
        return rows[:0], nothing
    places = np.full((len(data), len(rows), engine.relevance.shape[1]), np.nan)
    for first in range(0, len(rows), size):
        out = rows[first : first + size]
        fold = engine.keeping(np.setdiff1d(np.arange(n_all), out))
        if fold is None:
            return rows[:0], nothing
        for view in range(len(data)):
            known = there[view, out]
            if not known.any():
                continue
            alone = [np.full_like(Y[out[known]], np.nan) for Y in data]
            alone[view] = data[view][out[known]]
            at = first + np.flatnonzero(known)
            places[view, at] = fold.infer(alone, **how).likeliest().mean
    return rows, places


def _agreement(
    places: Float[np.ndarray, "K n Q"], shared: Sequence[int]
) -> tuple[dict[int, float], dict[int, float], int]:
    """The lowest correlation of a view with the mean of the others, and its p-value."""
    agreement, p_values, seen = {}, {}, 0
    for d in shared:
        found = []
        for view in range(len(places)):
            own = places[view, :, d]
            others = np.delete(places[:, :, d], view, axis=0)
            known = ~np.isnan(own) & ~np.isnan(others).all(axis=0)
            if known.sum() < LEAST_ROWS:
                continue
            mean = np.nanmean(others[:, known], axis=0)
            found.append((_correlation(own[known], mean), int(known.sum())))
        if found:
            r, n = min(found)
            agreement[d], seen = r, n
            z = np.arctanh(np.clip(r, -1 + 1e-12, 1 - 1e-12)) * np.sqrt(n - 3)
            p_values[d] = float(ndtr(-z))
    return (agreement, p_values, seen) if len(agreement) == len(shared) else ({}, {}, 0)


def _correlation(a: Float[np.ndarray, " n"], b: Float[np.ndarray, " n"]) -> float:
    if a.std() < 1e-9 or b.std() < 1e-9:
        return 0.0
    return float(np.corrcoef(a, b)[0, 1])


def filled_dimensions(mean: Float[np.ndarray, "N Q"], variance: Float[np.ndarray, "N Q"]) -> float:
    """How many dimensions positions fill, from one (a curve) to Q (independent coordinates).

    Let λ_1 ≥ λ_2 ≥ … be the average eigenvalues of the covariances of nearest neighbours, relative
    to the largest, less the posterior variance; and λ° the same after every coordinate has been
    shuffled. The answer is Σ_i min(1, λ_i / λ°_i).
    """
    spread = np.maximum(mean.std(axis=0), 1e-12)
    own_noise = variance.mean(axis=0)  # of x; that of its mean is smaller, as it is shrunk
    scaled, noise = mean / spread, own_noise / (own_noise + spread**2)
    rng = np.random.default_rng(0)
    own = _local_spectrum(scaled, noise)
    shuffled = np.mean(
        [_local_spectrum(rng.permuted(scaled, axis=0), noise) for _ in range(SHUFFLES)], axis=0
    )
    return float(np.sum(np.minimum(1.0, own / np.maximum(shuffled, 1e-9))))


def _local_spectrum(
    X: Float[np.ndarray, "N Q"], noise: Float[np.ndarray, " Q"]
) -> Float[np.ndarray, " Q"]:
    k = int(np.clip(len(X) // 5, *NEIGHBOURS))
    from sklearn.neighbors import NearestNeighbors  # slow to import

    near = NearestNeighbors(n_neighbors=min(k, len(X))).fit(X).kneighbors(return_distance=False)
    apart = X[near] - X[near].mean(axis=1, keepdims=True)
    covariances = np.einsum("nkq,nkr->nqr", apart, apart) / near.shape[1] - np.diag(noise)
    values = np.maximum(np.linalg.eigvalsh(covariances)[:, ::-1], 0.0)
    kept = values[:, 0] > 0.0
    if not kept.any():
        return np.ones(X.shape[1])
    return np.mean(values[kept] / values[kept][:, :1], axis=0)


def _shared(relevance: Float[np.ndarray, "K Q"]) -> list[int]:
    return np.flatnonzero((relevance > ACTIVE_THRESHOLD).all(axis=0)).tolist()


def _words(words: Sequence[Any], last: str) -> str:
    texts = [str(word) for word in words]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} {last} {texts[-1]}"

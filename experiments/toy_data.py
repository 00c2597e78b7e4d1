"""Toys whose shared and private signals are known: the published one, and harder ones."""

from dataclasses import dataclass

import numpy as np

NOISE = 0.1
BLOCKS = {"private": 10, "shared": 5}  # columns of a signal in the published toy
N_HARDER, N_COLUMNS = 200, 20

# Which views hold each signal: one for all, some for a few, one private to each.
PATTERNS = {
    3: ("ABC", "AB", "BC", "A", "B", "C"),
    5: ("ABCDE", "AB", "BCD", "DE", "A", "B", "C", "D", "E"),
}
# No two square roots of primes are commensurate: the signals never repeat together.
FREQUENCIES = np.sqrt([2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0, 23.0])


@dataclass(frozen=True)
class Toy:
    """Views by name, the signals behind them, and the views that hold each signal."""

    views: dict[str, np.ndarray]
    signals: np.ndarray
    users: tuple[str, ...]
    times: np.ndarray

    def rows(self, chosen: np.ndarray) -> dict[str, np.ndarray]:
        """Some of the samples of all views."""
        return {name: Y[chosen] for name, Y in self.views.items()}


def published_toy(seed: int) -> Toy:
    """Cosine private to A, sine private to B, squared cosine shared [MRD21, §5.1].

    Each signal has columns of its own; the map of the shared one is the same in both views.
    """
    rng = np.random.default_rng(seed)
    t = np.linspace(0.0, 4.0 * np.pi, 100)
    signals = np.stack([np.cos(t), np.sin(t), np.cos(t) ** 2], axis=1)
    shared = np.outer(signals[:, 2], rng.standard_normal(BLOCKS["shared"]))
    views = {}
    for name, private in zip("AB", signals.T, strict=False):
        own = np.outer(private, rng.standard_normal(BLOCKS["private"]))
        clean = np.concatenate([own, shared], axis=1)
        views[name] = clean + NOISE * rng.standard_normal(clean.shape)
    return Toy(views, signals, ("A", "B", "AB"), t)


def harder_toy(n_views: int, seed: int, *, curved: bool = False) -> Toy:
    """Sines of incommensurate frequencies, mixed in every column of the views that hold them.

    With ``curved`` maps every column bends every signal: sums of sin(a x + b).
    """
    rng = np.random.default_rng([seed, n_views])
    users = PATTERNS[n_views]
    t = np.linspace(0.0, 16.0 * np.pi, N_HARDER)
    phases = rng.uniform(0.0, 2.0 * np.pi, len(users))
    signals = np.sin(np.outer(t, FREQUENCIES[: len(users)]) + phases)
    views = {}
    for name in "ABCDE"[:n_views]:
        held = signals[:, [name in group for group in users]]
        weights = rng.standard_normal((held.shape[1], N_COLUMNS))
        slopes = rng.uniform(0.5, 2.0, weights.shape)
        offsets = rng.uniform(-np.pi, np.pi, weights.shape)
        bent = np.sin(held[:, :, None] * slopes + offsets) if curved else held[:, :, None]
        clean = np.sum(bent * weights, axis=1)
        views[name] = clean + NOISE * rng.standard_normal(clean.shape)
    return Toy(views, signals, users, t)


def correlations(signals: np.ndarray, X: np.ndarray) -> np.ndarray:
    """|correlation| of every signal (rows) with every dimension (columns)."""
    n = signals.shape[1]
    return np.nan_to_num(np.abs(np.corrcoef(signals.T, X.T)[:n, n:]))

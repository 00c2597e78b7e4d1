from dataclasses import dataclass

import numpy as np
import pytest

from manyviews.fitted import Engine, Positions
from manyviews.fitted.stability import (
    Stability,
    assess_stability,
    filled_dimensions,
    places_by_view,
)
from manyviews.inference.diagnostics import FitInfo


@dataclass(frozen=True)
class LeastSquares(Engine):
    """Views as linear functions of positions that are known, the maps fitted to some rows."""

    data: tuple[np.ndarray, ...]
    at: np.ndarray
    used: np.ndarray
    kept: np.ndarray

    @property
    def positions(self):
        return Positions.known(self.at)

    @property
    def relevance(self):
        return self.used

    def maps(self):
        for Y in self.data:
            rows = self.kept[~np.isnan(Y[self.kept]).any(axis=1)]
            yield np.linalg.lstsq(self.at[rows], Y[rows], rcond=None)[0]

    def infer(self, rows, when=None, wanted=()):
        known = [(Y, W) for Y, W in zip(rows, self.maps(), strict=True) if not np.isnan(Y).all()]
        Y, W = (np.concatenate(parts, axis=1) for parts in zip(*known, strict=True))
        return Positions.known(Y @ W.T @ np.linalg.inv(W @ W.T + 1e-3 * np.eye(len(W))))

    def moments(self, view, q, spread=None):
        mean = q.mean @ list(self.maps())[view]
        return mean, None if spread is None else np.ones_like(mean)

    def log_density(self, rows, when=None):
        return np.zeros(len(rows[0]))

    def keeping(self, rows):
        return LeastSquares(self.data, self.at, self.used, np.asarray(rows))


def engine_of(at, *views, used=None):
    used = np.ones((len(views), at.shape[1])) if used is None else used
    return LeastSquares(views, at, used, np.arange(len(at)))


@pytest.fixture
def shared(rng):
    """Positions of 60 samples, and two views of both dimensions."""
    x = rng.standard_normal((60, 2))
    views = [x @ rng.standard_normal((2, d)) for d in (5, 4)]
    return x, [Y + 0.05 * rng.standard_normal(Y.shape) for Y in views]


def test_forgotten_rows_are_placed_by_each_view_alone(shared):
    x, views = shared
    views[1][:7] = np.nan
    rows, places = places_by_view(engine_of(x, *views), 50, {})
    assert len(rows) == 50
    assert (rows > 6).all()
    np.testing.assert_allclose(places, np.stack([x[rows]] * 2), atol=0.4)


def test_forgetting_is_real(rng):
    """Maps of many columns fit any row they know; only rows they do not know show it."""
    x = rng.standard_normal((60, 1))
    views = [rng.standard_normal((60, 50)) for _ in range(2)]
    found = assess_stability(engine_of(x, *views), None)
    assert abs(found.agreement[0]) < 0.5
    assert found.supported == []
    assert found.count == "perhaps 1"
    assert "no more than by chance" in " ".join(found.reasons())


def test_agreement_supports_what_is_shared(shared):
    x, views = shared
    info = FitInfo(restart_relevance=[np.array([[1.0, 0.9, 0], [2.0, 1.0, 1.0]])] * 2)
    off = np.column_stack([x, np.zeros(60)])
    used = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
    found = assess_stability(engine_of(off, *views, used=used), info)
    assert found.shared == [0, 1]
    assert found.restarts == [2, 2]
    assert not found.full
    assert min(found.agreement.values()) > 0.95
    assert found.sure
    assert found.count == "2"
    reasons = " ".join(found.reasons({1: "1 (size)"}))
    assert "2 of 2 starts" in reasons
    assert "dimensions 0 and 1 (size)" in reasons


def test_a_row_of_one_view_and_another_engine():
    x = np.random.default_rng(0).standard_normal((60, 1))
    engine = engine_of(x, x @ np.ones((1, 3)), used=np.ones((1, 1)))
    assert assess_stability(engine, None).agreement == {}  # one view agrees with itself


@pytest.mark.parametrize(
    ("curve", "low", "high"),
    [
        (lambda s, u: [s, u], 1.8, 2.0),  # independent
        (lambda s, u: [s, s**2], 1.0, 1.3),
        (lambda s, u: [np.cos(2 * s), np.sin(2 * s)], 1.0, 1.4),  # no function of the other
        (lambda s, u: [s, u, s * u], 1.6, 2.6),
    ],
    ids=["square", "parabola", "circle", "surface"],
)
def test_dependent_dimensions_fill_less(curve, low, high, rng):
    s, u = rng.uniform(-1.5, 1.5, (2, 200))
    X = np.stack(curve(s, u), axis=1) + 0.03 * rng.standard_normal((200, 1))
    assert low <= filled_dimensions(X, np.full_like(X, 1e-3)) <= high


def test_a_bent_curve_is_not_two_dimensions(rng):
    """Both views agree on both dimensions, but these are functions of one source."""
    s = rng.uniform(-1.5, 1.5, 120)
    x = np.stack([s, s**2 - 0.75], axis=1)
    views = [x @ rng.standard_normal((2, d)) + 0.05 * rng.standard_normal((120, d)) for d in (5, 4)]
    found = assess_stability(engine_of(x, *views), None)
    assert found.supported == [0, 1]
    assert found.count == "at least 1, perhaps 2"
    assert "depend on each other" in " ".join(found.reasons())
    timed = assess_stability(engine_of(x, *views), None, timed=True)
    assert np.isnan(timed.filling)  # samples in time lie on a path anyway


def stable(**changes):
    parts = {
        "shared": [0, 1], "agreement": {0: 0.9, 1: 0.8}, "p_values": {0: 1e-9, 1: 1e-9},
        "n_rows": 50, "filling": 1.9, "restarts": [2, 2], "full": False,
    }  # fmt: skip
    return Stability(**{**parts, **changes})


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({}, "2"),
        ({"restarts": [2, 1]}, "about 2"),
        ({"full": True}, "at least 2"),
        ({"filling": 1.1}, "at least 1, perhaps 2"),
        ({"p_values": {0: 1e-9, 1: 0.3}}, "at least 1, perhaps 2"),
        ({"p_values": {0: 0.2, 1: 0.3}}, "perhaps 2"),
        ({"agreement": {}, "p_values": {}, "filling": np.nan, "restarts": []}, "2"),
    ],
)
def test_the_number_in_words(changes, count):
    found = stable(**changes)
    assert found.count == count
    assert found.sure == (count == "2")

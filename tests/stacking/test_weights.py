"""Stacking weights against brute force, EM, and their own certificate."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyviews.stacking import stacking_weights


def objective(P, w, c=0.0):
    return np.log(P @ w).sum() + np.sum(c * np.log(np.maximum(w, 1e-300)))


def by_em(P, c=0.0, n_iter=20_000):
    w = np.full(P.shape[1], 1.0 / P.shape[1])
    for _ in range(n_iter):
        share = P * w
        share /= share.sum(axis=1, keepdims=True)
        w = (share.sum(axis=0) + c) / (len(P) + np.sum(c))
    return w


@pytest.mark.parametrize("spread", [0.1, 1.0, 10.0])
def test_no_weights_on_a_fine_grid_are_better(rng, spread):
    log_p = spread * rng.standard_normal((25, 3))
    found = stacking_weights(log_p[None])
    P = np.exp(log_p)
    steps = np.linspace(0, 1, 101)
    grid = [(a, b, 1 - a - b) for a in steps for b in steps if a + b <= 1 + 1e-12]
    best = max(objective(P, np.clip(w, 0, 1)) for w in grid)
    assert objective(P, found.weights[0]) >= best - 25 * found.gap[0] - 1e-9
    assert found.gap[0] <= 1e-6


@given(st.integers(0, 10_000), st.integers(2, 40), st.integers(2, 6), st.booleans())
def test_the_certificate_bounds_what_em_can_gain(seed, n, n_members, with_prior):
    rng = np.random.default_rng(seed)
    log_p = 3.0 * rng.standard_normal((n, n_members))
    c = 2.0 * rng.dirichlet(np.ones(n_members)) if with_prior else np.zeros(n_members)
    found = stacking_weights(log_p[None], c)
    w = found.weights[0]
    assert w.sum() == pytest.approx(1.0)
    assert (w >= 0).all()
    P = np.exp(log_p)
    gain = objective(P, by_em(P, c, 500), c) - objective(P, w, c)
    assert gain <= found.gap[0] * (n + c.sum()) + 1e-8
    assert found.gap[0] <= 1e-6


def test_many_problems_at_once_are_solved_as_one_by_one(rng):
    log_p = rng.standard_normal((7, 30, 4))
    log_p[2, :5] = np.nan  # values that are missing
    together = stacking_weights(log_p)
    for place in range(7):
        own = log_p[place][~np.isnan(log_p[place]).any(axis=1)]
        alone = stacking_weights(own[None])
        P = np.exp(own)
        assert objective(P, together.weights[place]) == pytest.approx(
            objective(P, alone.weights[0]), abs=1e-4
        )


def test_a_perfect_member_gets_all_the_weight(rng):
    y = rng.standard_normal(50)
    good, bad = -0.5 * (y - y) ** 2, -0.5 * (y - 1.0) ** 2
    found = stacking_weights(np.stack([bad, good], axis=1)[None])
    np.testing.assert_allclose(found.weights, [[0.0, 1.0]], atol=1e-5)


def test_a_member_that_fails_utterly_on_some_values_does_no_harm():
    log_p = np.array([[0.0, -1.0], [-1e5, -1.0], [0.0, -1.0], [0.0, -1.0]])
    found = stacking_weights(log_p[None])
    assert 0.0 < found.weights[0, 0] < 1.0
    np.testing.assert_allclose(found.weights[0], by_em(np.exp(log_p)), atol=1e-5)


def test_values_without_any_density_say_nothing():
    log_p = np.array([[0.0, -1.0], [-np.inf, -np.inf], [-2.0, 0.0]])
    a, b = stacking_weights(log_p[None]), stacking_weights(log_p[None, [0, 2]])
    np.testing.assert_allclose(a.weights, b.weights, atol=1e-5)

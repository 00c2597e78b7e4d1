"""Shares of a mean by least squares, against a general optimiser and closed forms."""

import numpy as np
import pytest
from scipy.optimize import minimize

from manyviews.stacking.shares import LEAN, _on_simplex, mean_shares


@pytest.mark.parametrize("penalty", [0.0, 0.3])
def test_the_minimum_is_that_of_a_general_optimiser(penalty):
    rng = np.random.default_rng(0)
    for _ in range(5):
        root = rng.normal(size=(4, 4))
        products = root @ root.T
        towards = np.array([0.4, 0.3, 0.2, 0.1])
        found = _on_simplex(products, penalty, towards)

        def cost(v, products=products, towards=towards):
            return v @ products @ v + penalty * np.sum((v - towards) ** 2)

        best = minimize(
            cost, np.full(4, 0.25), method="SLSQP", bounds=[(0.0, 1.0)] * 4,
            constraints={"type": "eq", "fun": lambda v: v.sum() - 1.0}, options={"ftol": 1e-14},
        )  # fmt: skip
        assert found.sum() == pytest.approx(1.0)
        assert (found >= 0).all()
        assert cost(found) == pytest.approx(best.fun, rel=1e-6)


def test_independent_members_count_by_their_precision():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(20_000, 2))
    means = np.stack([truth + sd * rng.normal(size=truth.shape) for sd in (0.5, 1.0)])
    np.testing.assert_allclose(mean_shares(means, truth)[:, 0], [0.8, 0.2], atol=0.01)


def test_few_rows_lean_on_what_members_are_worth_alone():
    """Of two members with independent errors of sizes a and b, (b² + 2 λ u) / (a² + b² + 2 λ)."""
    truth = np.zeros((4, 1))
    means = np.array([[[1.0], [1.0], [-1.0], [-1.0]], [[2.0], [-2.0], [2.0], [-2.0]]])
    lean, alone = LEAN / 4.0, 1.0 / (1.0 + 1.0 / 4.0)
    expected = (4.0 + 2.0 * lean * alone) / (1.0 + 4.0 + 2.0 * lean)
    np.testing.assert_allclose(mean_shares(means, truth)[0], expected, rtol=1e-6)


def test_missing_and_strange_values_do_not_count():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(100, 2))
    means = np.stack([truth + rng.normal(size=truth.shape) for _ in range(3)])
    holes, strange = truth.copy(), truth.copy()
    holes[3, 1], strange[3, 1] = np.nan, 50.0
    np.testing.assert_allclose(mean_shares(means, strange), mean_shares(means, holes), atol=0.02)
    assert np.isfinite(mean_shares(means, holes, by_column=True)).all()

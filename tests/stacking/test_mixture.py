"""Moments, quantiles and draws of mixtures against Monte Carlo and scipy."""

import numpy as np
import pytest
from scipy.stats import norm

from manyviews.stacking import Mixture


@pytest.fixture
def mixture(rng):
    means, stds = rng.normal(size=(3, 4, 2)), rng.uniform(0.2, 2.0, size=(3, 4, 2))
    return Mixture(rng.dirichlet(np.ones(3), size=(4, 2)).transpose(2, 0, 1), means, stds)


def draws(mixture, n=200_000):
    rng = np.random.default_rng(1)
    S, N, D = mixture.means.shape
    values = np.empty((n, N, D))
    for i in range(N):
        for d in range(D):
            part = rng.choice(S, size=n, p=mixture.weights[:, i, d])
            noise = rng.standard_normal(n)
            values[:, i, d] = mixture.means[part, i, d] + mixture.stds[part, i, d] * noise
    return values


def test_moments_and_quantiles_are_those_of_draws(mixture):
    values = draws(mixture)
    np.testing.assert_allclose(mixture.mean, values.mean(axis=0), atol=0.02)
    np.testing.assert_allclose(mixture.std, values.std(axis=0), rtol=0.02)
    levels = [0.05, 0.5, 0.9]
    np.testing.assert_allclose(
        mixture.quantile(levels), np.quantile(values, levels, axis=0), atol=0.04
    )
    own = mixture.draw(100_000, np.random.RandomState(0))
    np.testing.assert_allclose(own.mean(axis=0), mixture.mean, atol=0.03)
    np.testing.assert_allclose(own.std(axis=0), mixture.std, rtol=0.02)


def test_quantiles_invert_the_distribution_function(mixture):
    levels = np.array([0.001, 0.3, 0.999])
    found = mixture.quantile(levels)
    for level, values in zip(levels, found, strict=True):
        np.testing.assert_allclose(mixture.cdf(values), level, atol=1e-10)


def test_densities_are_the_slope_of_the_distribution_function(mixture, rng):
    y = rng.normal(size=(4, 2))
    slope = (mixture.cdf(y + 1e-5) - mixture.cdf(y - 1e-5)) / 2e-5
    np.testing.assert_allclose(np.exp(mixture.log_density(y)), slope, rtol=1e-6)
    y[1, 0] = np.nan
    assert np.isnan(mixture.log_density(y)[1, 0])


def test_one_part_is_a_gaussian(rng):
    mean, std, y = rng.normal(size=(3, 2)), rng.uniform(1, 2, size=(3, 2)), rng.normal(size=(3, 2))
    one = Mixture.gaussian(mean, std)
    np.testing.assert_allclose(one.log_density(y), norm.logpdf(y, mean, std))
    np.testing.assert_allclose(one.quantile([0.2])[0], norm.ppf(0.2, mean, std))


def test_blends_rows_and_widths(mixture, rng):
    other = Mixture.gaussian(rng.normal(size=(4, 2)), np.ones((4, 2)))
    both = Mixture.blend([mixture, other], np.array([[0.25], [0.75]]))
    np.testing.assert_allclose(both.mean, 0.25 * mixture.mean + 0.75 * other.mean)
    np.testing.assert_allclose(both.weights.sum(axis=0), 1.0)
    factor = np.array([2.0, 0.5])
    wide = mixture.widened(factor)
    np.testing.assert_allclose(wide.mean, mixture.mean)
    np.testing.assert_allclose(wide.std, factor * mixture.std)
    rows = np.array([2, 0]), np.array([1, 3])
    pieces = [Mixture(mixture.weights[:, r], mixture.means[:, r], mixture.stds[:, r]) for r in rows]
    again = Mixture.by_rows(list(zip(rows, pieces, strict=True)), 4)
    np.testing.assert_allclose(again.std, mixture.std)


def test_columns_of_equal_weights_come_from_one_part():
    apart = Mixture(
        np.full((2, 1, 1), 0.5), np.array([[[0.0, 0.0]], [[9.0, 9.0]]]), np.ones((2, 1, 2))
    )
    drawn = apart.draw(200, np.random.RandomState(0))[:, 0] > 4.5
    assert (drawn[:, 0] == drawn[:, 1]).all()
    assert 60 < drawn[:, 0].sum() < 140

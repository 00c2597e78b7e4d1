"""Averages of functions of Gaussian variables: values, and slopes that come with them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from manyviews.likelihoods.quadrature import SMALLEST, average, gauss_hermite

FUNCTIONS = {"softplus": jax.nn.softplus, "log_ndtr": jax.scipy.special.log_ndtr, "sin": jnp.sin}


@pytest.fixture
def at(rng):
    return jnp.asarray(rng.normal(size=(4, 3))), jnp.asarray(rng.uniform(0.1, 1.0, size=(4, 3)))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_average_is_the_integral(name, at):
    mean, variance = (float(each[0, 0]) for each in at)
    found = average(FUNCTIONS[name], jnp.asarray(mean), jnp.asarray(variance))

    def density(f):
        return float(FUNCTIONS[name](f)) * norm.pdf(f, mean, np.sqrt(variance))

    np.testing.assert_allclose(found, quad(density, mean - 12, mean + 12)[0], rtol=1e-6)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_slopes_are_those_of_the_rule(name, at):
    def total(rule):
        return lambda mean, variance: jnp.sum(jnp.cos(rule(FUNCTIONS[name], mean, variance)))

    for wanted in (lambda f: f, lambda f: jax.grad(f, (0, 1)), lambda f: jax.hessian(f, (0, 1))):
        found, expected = (wanted(total(rule))(*at) for rule in (average, gauss_hermite))
        for own, other in zip(*map(jax.tree.leaves, (found, expected)), strict=True):
            np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-11)


def test_a_point_has_finite_slopes():
    slope = jax.grad(lambda v: average(jnp.exp, jnp.zeros(()), v))
    assert np.isfinite(slope(jnp.asarray(0.0)))
    np.testing.assert_allclose(slope(jnp.asarray(100 * SMALLEST)), 0.5, rtol=1e-4)

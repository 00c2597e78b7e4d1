"""Every kind against SciPy: densities, expectations, moments, quantiles, draws, deviances."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from scipy import integrate, optimize, stats

import reference as ref
from manyviews.errors import OptionError
from manyviews.likelihoods import (
    predictive_draws,
    predictive_log_density,
    predictive_moments,
    predictive_probabilities,
    predictive_quantiles,
)
from manyviews.likelihoods.quadrature import standard_nodes
from manyviews.parameters import named_parameters, split_free

from .cases import CASES, D

ROWS = 2
QUADRATURE_ERROR = {  # of narrow densities, and of a sample in three dimensions
    "student_t": 2e-3,
    "censored": 3e-5,
    "censored_lognormal": 3e-5,
    "categorical": 2e-2,
}


@pytest.fixture(params=CASES)
def world(request, rng):
    """A case with values drawn from it, where their functions are, and how surely."""
    case = CASES[request.param]
    kind = case.likelihood
    shape = (ROWS, D, kind.n_functions)
    mean, variance = rng.normal(size=shape), rng.uniform(0.05, 0.8, size=shape)
    given = None if case.given is None else jnp.asarray(case.given(rng, ROWS))
    y = kind.draw(jax.random.key(1), jnp.asarray(mean), given)
    return request.param, case, np.asarray(y), mean, variance, given


def entries(case, y, mean, variance, given):
    for n in range(ROWS):
        for d in range(D):
            g = None if given is None else float(given[n, d])
            yield (n, d), y[n, d], mean[n, d], variance[n, d], g


def average(function, mean, variance):
    """⟨g(f)⟩ by SciPy's adaptive quadrature, one dimension inside the other."""
    if len(mean) == 1:
        m, s = mean[0], np.sqrt(variance[0])
        return integrate.quad(
            lambda f: function([f]) * stats.norm.pdf(f, m, s),
            m - 10 * s, m + 10 * s, points=[m], limit=200, epsabs=1e-10, epsrel=1e-9,
        )[0]  # fmt: skip
    xi, omega = ref.hermite_nodes(len(mean), {2: 30, 3: 12}[len(mean)])
    return float(omega @ [function(f) for f in mean + np.sqrt(variance) * xi])


def test_log_density_is_that_of_scipy(world):
    _, case, y, mean, _, given = world
    found = case.likelihood.log_density(jnp.asarray(y), jnp.asarray(mean), given)
    for at, value, f, _, g in entries(case, y, mean, mean, given):
        np.testing.assert_allclose(found[at], case.log_density(value, f, at[1], g), rtol=1e-9)


def test_expected_log_density_is_that_of_adaptive_quadrature(world):
    name, case, y, mean, variance, given = world
    found = eqx.filter_jit(case.likelihood.expected_log_density)(
        jnp.asarray(y), jnp.asarray(mean), jnp.asarray(variance), given
    )
    for at, value, m, v, g in entries(case, y, mean, variance, given):
        exact = average(
            lambda f, at=at, value=value, g=g: case.log_density(value, f, at[1], g), m, v
        )
        np.testing.assert_allclose(found[at], exact, atol=QUADRATURE_ERROR.get(name, 1e-7))


def test_expected_log_density_is_that_of_a_large_sample(world, rng):
    _, case, y, mean, variance, given = world
    draws = mean + np.sqrt(variance) * rng.standard_normal((20_000, *mean.shape))
    values = np.asarray(
        eqx.filter_jit(jax.vmap(case.likelihood.log_density, in_axes=(None, 0, None)))(
            jnp.asarray(y), jnp.asarray(draws), given
        )
    )
    found = case.likelihood.expected_log_density(
        jnp.asarray(y), jnp.asarray(mean), jnp.asarray(variance), given
    )
    error = values.std(axis=0) / np.sqrt(len(values))
    assert np.all(np.abs(values.mean(axis=0) - found) < 5 * error + 5e-3)


def test_gradients_are_finite_differences(world):
    _, case, y, mean, variance, given = world
    free, fixed = split_free(case.likelihood)
    flat, back = ravel_pytree((free, jnp.asarray(mean), jnp.log(variance)))

    @eqx.filter_jit
    def total(vector):
        free, m, log_v = back(vector)
        kind = eqx.combine(free, fixed)
        return jnp.sum(kind.expected_log_density(jnp.asarray(y), m, jnp.exp(log_v), given))

    found = np.asarray(jax.grad(total)(flat))
    expected = ref.finite_differences(total, np.asarray(flat), 1e-5)
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6 * np.abs(expected).max())
    if list(named_parameters(case.likelihood)):
        assert np.abs(found[: flat.size - mean.size - variance.size]).max() > 0


def test_the_bound_holds_without_variance_and_is_below_the_log_of_the_mean(world):
    _, case, y, mean, variance, given = world
    kind, y, m = case.likelihood, jnp.asarray(y), jnp.asarray(mean)
    np.testing.assert_allclose(
        kind.expected_log_density(y, m, jnp.zeros_like(m), given),
        kind.log_density(y, m, given), rtol=1e-6, atol=1e-6,
    )  # fmt: skip
    expected = kind.expected_log_density(y, m, jnp.asarray(variance), given)
    marginal = predictive_log_density(kind, y, m[None], jnp.asarray(variance)[None], given)
    assert np.all(expected <= marginal + 1e-2)


def test_moments_are_those_of_scipy_averaged_over_f(world):
    name, case, y, mean, variance, given = world
    kind = case.likelihood
    found = kind.moments(jnp.asarray(mean), jnp.asarray(variance), given)
    rtol = 3e-2 if name == "categorical" else 1e-6
    for at, _, m, v, g in entries(case, y, mean, variance, given):
        first = average(lambda f, at=at, g=g: case.mean(f, at[1], g), m, v)
        second = average(
            lambda f, at=at, g=g: case.variance(f, at[1], g) + case.mean(f, at[1], g) ** 2, m, v
        )
        np.testing.assert_allclose(found[0][at], first, rtol=rtol, atol=1e-7)
        np.testing.assert_allclose(found[1][at], second - first**2, rtol=2 * rtol, atol=1e-6)


def test_draws_have_these_moments(world):
    name, case, _, mean, variance, given = world
    kind, count = case.likelihood, 40_000
    shape = (count, *mean.shape)
    m, v = jnp.broadcast_to(mean, shape), jnp.broadcast_to(variance, shape)
    draws = np.asarray(predictive_draws(kind, jax.random.key(0), m, v, given))
    centre, spread = kind.moments(jnp.asarray(mean), jnp.asarray(variance), given)
    slack = 0.02 * np.sqrt(spread) if name == "categorical" else 0.0
    error = draws.std(axis=0) / np.sqrt(count)
    assert np.all(np.abs(draws.mean(axis=0) - centre) < 5 * error + slack)
    if not name.startswith(("student", "hurdle", "censored_log")):  # whose fourth moments are wild
        fourth = ((draws - centre) ** 4).mean(axis=0)
        tolerance = 5 * np.sqrt(fourth / count) + 0.05 * np.asarray(spread) * (
            name == "categorical"
        )
        assert np.all(np.abs(draws.var(axis=0) - spread) < tolerance)


def test_quantiles_hold_the_share_of_draws_that_they_promise(world):
    name, case, _, mean, variance, given = world
    kind, count = case.likelihood, 20_000
    m, v = jnp.asarray(mean)[None], jnp.asarray(variance)[None]
    if name == "categorical":
        with pytest.raises(OptionError, match="no order"):
            predictive_quantiles(kind, 0.5, m, v, given)
        return
    shape = (count, *mean.shape)
    draws = np.asarray(
        predictive_draws(
            kind, jax.random.key(3), jnp.broadcast_to(mean, shape),
            jnp.broadcast_to(variance, shape), given,
        )
    )  # fmt: skip
    for p in (0.05, 0.5, 0.95):
        q = np.asarray(eqx.filter_jit(predictive_quantiles)(kind, p, m, v, given))
        error = 5 * np.sqrt(p * (1 - p) / count) + 1e-3
        assert np.all((draws <= q).mean(axis=0) > p - error)
        if kind.continuous and name != "hurdle":
            assert np.all((draws <= q).mean(axis=0) < p + error)
        else:
            assert np.all((draws < q).mean(axis=0) < p + error)


def test_a_mixture_of_parts_is_averaged(world):
    _, case, y, mean, variance, given = world
    kind = case.likelihood
    parts = [
        (jnp.asarray(mean), jnp.asarray(variance)),
        (jnp.asarray(-mean), jnp.asarray(variance)),
    ]
    m, v = (jnp.stack(a) for a in zip(*parts, strict=True))
    centre, spread = predictive_moments(kind, m, v, given)
    own = [kind.moments(*part, given) for part in parts]
    np.testing.assert_allclose(centre, (own[0][0] + own[1][0]) / 2, rtol=1e-12)
    apart = (own[0][0] - own[1][0]) ** 2 / 4
    np.testing.assert_allclose(spread, (own[0][1] + own[1][1]) / 2 + apart, rtol=1e-9, atol=1e-9)
    density = np.exp([predictive_log_density(kind, jnp.asarray(y), a[None], b[None], given)
                      for a, b in parts]).mean(axis=0)  # fmt: skip
    both = predictive_log_density(kind, jnp.asarray(y), m, v, given)
    np.testing.assert_allclose(np.exp(both), density, rtol=1e-9)


def test_probabilities_of_levels_add_up_and_are_those_of_the_density(world):
    _, case, _, mean, variance, given = world
    kind = case.likelihood
    levels = kind.level_values()
    m, v = jnp.asarray(mean)[None], jnp.asarray(variance)[None]
    if levels is None:
        with pytest.raises(OptionError, match="no levels"):
            predictive_probabilities(kind, m, v, given)
        return
    p = predictive_probabilities(kind, m, v, given)
    levels = np.broadcast_to(levels, (D, p.shape[-1]))
    np.testing.assert_allclose(p.sum(axis=-1), 1.0, rtol=1e-9)
    for place in range(p.shape[-1]):
        own = ~np.isnan(levels[:, place])
        y = np.broadcast_to(np.where(own, levels[:, place], levels[:, 0]), p.shape[:-1])
        density = np.exp(predictive_log_density(kind, jnp.asarray(y), m, v, given))
        np.testing.assert_allclose(p[:, own, place], density[:, own], rtol=2e-5, atol=1e-7)
        assert np.all(np.asarray(p[:, ~own, place]) < 1e-12)


def test_the_deviance_is_zero_at_the_best_function_and_positive_elsewhere(world):
    _, case, y, mean, _, given = world
    found = case.likelihood.deviance(jnp.asarray(y), jnp.asarray(mean), given)
    assert np.all(found >= -1e-9)
    for at, value, f, _, g in entries(case, y, mean, mean, given):
        best = optimize.minimize(
            lambda f, at=at, value=value, g=g: -case.log_density(value, f, at[1], g), f,
            method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-10, "maxiter": 4000},
        )  # fmt: skip
        exact = 2 * (-best.fun - case.log_density(value, f, at[1], g))
        np.testing.assert_allclose(found[at], exact, atol=3e-3, rtol=1e-4)


@pytest.mark.parametrize("size", [3, 5, 9])
def test_fixed_samples_have_the_moments_of_a_normal(size):
    xi, omega = standard_nodes(size)
    np.testing.assert_allclose(omega @ xi, 0.0, atol=1e-12)
    np.testing.assert_allclose((xi * omega[:, None]).T @ xi, np.eye(size), atol=1e-12)

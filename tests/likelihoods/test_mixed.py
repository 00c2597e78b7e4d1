"""Columns of several kinds: every answer is that of the column's own kind."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from manyviews.errors import DataError, OptionError
from manyviews.likelihoods import (
    Bernoulli,
    Binomial,
    Categorical,
    GaussianNoise,
    Hurdle,
    Mixed,
    Ordinal,
    guess_columns,
    predictive_log_density,
    predictive_quantiles,
)

N, COLUMNS = 60, ((3, 0), (1,), (5,), (2, 4))


@pytest.fixture(scope="module")
def world():
    """A started mixture of real values, yes or no, levels and successes, with functions."""
    rng = np.random.default_rng(0)
    Y = np.empty((N, 6))
    Y[:, [3, 0]] = rng.normal(size=(N, 2)) * [1.0, 5.0]
    Y[:, 1] = rng.integers(0, 2, N)
    Y[:, 5] = rng.integers(1, 5, N)
    Y[:, [2, 4]] = rng.binomial(9, 0.4, size=(N, 2))
    Y[3, 2] = Y[4, 5] = np.nan
    asked = Mixed(
        [GaussianNoise(per_column=True), Bernoulli(), Categorical(), Binomial(9)], COLUMNS
    )
    asked.check_data(Y, "survey")
    given = asked.given(Y)
    start = asked.start(Y, given)
    shape = (N, 6, start.likelihood.n_functions)
    mean, variance = rng.normal(size=shape), rng.uniform(0.1, 0.5, size=shape)
    y = np.where(np.isnan(Y), start.likelihood.some_value(), Y)
    return asked, start, Y, *map(jnp.asarray, (y, mean, variance, given))


def each(world):
    """Every group: its kind, its columns, and its own values, functions and what is given."""
    _, start, _, y, mean, variance, given = world
    for part, columns in zip(start.likelihood.parts, COLUMNS, strict=True):
        own = np.array(columns)
        known = given[:, own] if isinstance(part, Binomial) else None
        functions = (table[:, own, : part.n_functions] for table in (mean, variance))
        yield part, own, y[:, own], *functions, known


def test_answers_are_those_of_the_groups(world):
    _, start, _, y, mean, variance, given = world
    kind = start.likelihood
    assert kind.n_functions == 4
    whole = {
        "density": kind.log_density(y, mean, given),
        "expected": kind.expected_log_density(y, mean, variance, given),
        "moments": jnp.stack(kind.moments(mean, variance, given)),
        "conditional": jnp.stack(kind.conditional(mean, given)),
        "saturated": kind.saturated(y, given),
        "predictive": predictive_log_density(kind, y, mean[None], variance[None], given),
        "quantile": predictive_quantiles(kind, 0.8, mean[None], variance[None], given),
        "central": jnp.moveaxis(kind.central(mean[None], variance[None]), -1, 0),
    }
    for part, own, values, m, v, known in each(world):
        parts = {
            "density": part.log_density(values, m, known),
            "expected": part.expected_log_density(values, m, v, known),
            "moments": jnp.stack(part.moments(m, v, known)),
            "conditional": jnp.stack(part.conditional(m, known)),
            "saturated": part.saturated(values, known),
            "predictive": predictive_log_density(part, values, m[None], v[None], known),
        }
        for name, found in parts.items():
            np.testing.assert_allclose(whole[name][..., own], found, rtol=1e-12)
        centre = jnp.moveaxis(part.central(m[None], v[None]), -1, 0)
        np.testing.assert_allclose(whole["central"][: part.n_functions, :, own], centre)
        if isinstance(part, Categorical):
            assert np.isnan(whole["quantile"][:, own]).all()
        else:
            found = predictive_quantiles(part, 0.8, m[None], v[None], known)
            np.testing.assert_allclose(whole["quantile"][:, own], found)


def test_levels_are_those_of_the_columns_that_have_them(world):
    _, start, _, _, mean, variance, given = world
    kind = start.likelihood
    levels, p = kind.level_values(), kind.probabilities(mean, variance, given)
    assert levels.shape == (6, 4)
    assert np.isnan(levels[np.array([0, 2, 3, 4])]).all()
    np.testing.assert_array_equal(levels[5], [1, 2, 3, 4])
    np.testing.assert_array_equal(levels[1, :2], [0, 1])
    np.testing.assert_allclose(np.nansum(p[:, 1], axis=1), 1.0)
    np.testing.assert_allclose(p[:, 5].sum(axis=1), 1.0)
    assert np.isnan(p[:, 0]).all()
    with pytest.raises(OptionError, match="no column"):
        Mixed([GaussianNoise()], [[0]]).probabilities(mean[:, :1], variance[:, :1])


def test_a_start_is_that_of_the_groups(world):
    asked, start, Y, *_ = world
    for part, own in zip(asked.parts, COLUMNS, strict=True):
        given = np.full((N, 2), 9.0) if isinstance(part, Binomial) else None
        base = part.start(Y[:, list(own)], given)
        found = start.offset.value[np.array(own), : base.likelihood.n_functions]
        np.testing.assert_allclose(found, base.offset.value)
    used = start.likelihood.used(6)
    np.testing.assert_array_equal(used.sum(axis=1), [1, 1, 1, 1, 1, 4])
    np.testing.assert_array_equal(asked.groups(6), [0, 1, 3, 0, 3, 2])
    np.testing.assert_array_equal(asked.scalable(6), [1, 0, 0, 1, 0, 0])
    assert asked.working(Y, asked.given(Y)).shape == (N, 5 + 4)


def test_draws_have_the_moments_of_their_kinds(world):
    _, start, _, _, mean, _, given = world
    m = jnp.broadcast_to(mean[0], (20_000, *mean.shape[1:]))
    draws = start.likelihood.draw(jax.random.key(0), m, given[:1])
    centre, spread = start.likelihood.conditional(mean[:1], given[:1])
    assert np.all(np.abs(draws.mean(axis=0) - centre[0]) < 5 * np.sqrt(spread[0] / 20_000) + 1e-9)


def test_wrong_groups_and_values_are_named(rng):
    with pytest.raises(OptionError, match="of one group"):
        Mixed([GaussianNoise(), Bernoulli()], [[0], [0]])
    with pytest.raises(OptionError, match=r"'coverage'.*view of their own"):
        Mixed([Binomial("coverage")], [[0]])
    kind = Mixed([GaussianNoise(), Ordinal()], [[0], [1]])
    with pytest.raises(DataError, match=r"3 columns.*of 2"):
        kind.check_data(np.zeros((4, 3)), "survey")
    told = Mixed([GaussianNoise(), Bernoulli(), Hurdle()], [[0], [2], [1]])
    table = np.ones((5, 3))
    table[3, 2] = 7.0
    with pytest.raises(DataError, match=r"'survey'.*'s3'.*'smoker'"):
        told.check_data(table, "survey", ["age", "income", "smoker"], [f"s{n}" for n in range(5)])


def test_tables_of_several_kinds_are_seen_through(rng):
    n = 100
    age, sex = rng.integers(18, 80, n), rng.integers(0, 2, n)
    grade, blood = rng.integers(1, 5, n), rng.normal(size=n)
    table = np.column_stack([age, sex, blood, grade]).astype(float)
    found = {guess.kind: own for guess, own in guess_columns(table)}
    assert found == {"gaussian_per_column": [0, 2], "bernoulli": [1], "ordinal": [3]}
    found = {guess.kind: own for guess, own in guess_columns(table[:, [0, 1]])}
    assert found == {"gaussian_per_column": [0], "bernoulli": [1]}
    few = np.column_stack([age, rng.permutation(n) < 40, grade]).astype(float)  # 60 zeros
    found = {guess.kind: own for guess, own in guess_columns(few)}
    assert found == {"gaussian_per_column": [0], "bernoulli": [1], "ordinal": [2]}
    counts = rng.poisson(rng.gamma(0.5, [0.1, 1.0, 40.0, 300.0], size=(n, 4))).astype(float)
    ((guess, own),) = guess_columns(counts)
    assert (guess.kind, own) == ("negative_binomial", [0, 1, 2, 3])
    constant = np.column_stack([sex, np.ones(n), grade % 2]).astype(float)
    assert len(guess_columns(constant)) == 1
    assert len(guess_columns(rng.normal(size=(9, 3)))) == 1

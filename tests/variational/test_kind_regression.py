"""Penalised regressions of data of any kind."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from likelihoods.cases import CASES, D
from manyviews.likelihoods import Bernoulli, predictive_draws
from manyviews.variational.kind_regression import Problem, flat_start, solve

N, R = 60, 2


def problem_of(case, seed=0, n=N):
    """Rows drawn from a likelihood whose functions depend on two features and an offset."""
    rng = np.random.default_rng(seed)
    kind = case.likelihood
    C = kind.n_functions
    T = rng.normal(size=(n, R)) / np.sqrt(R)
    offset = 0.3 * rng.normal(size=(n, D, C))
    given = None if case.given is None else jnp.asarray(case.given(rng, n))
    f = offset + np.einsum("nr,drc->ndc", T, rng.normal(size=(D, R, C)))
    y = predictive_draws(
        kind, jax.random.key(seed), jnp.asarray(f), jnp.full(f.shape, 1e-12), given
    )
    mask = (rng.uniform(size=(n, D)) < 0.9).astype(float)
    return Problem(
        jnp.asarray(T), y, jnp.asarray(mask), given, jnp.asarray(offset),
        jnp.full(f.shape, 0.05), jnp.zeros((D, C)), jnp.asarray(1.0),
    )  # fmt: skip


def solved(problem, kind, penalty=1.0):
    start = flat_start(problem, kind)
    return solve(problem, kind, jnp.asarray(penalty), start)


@pytest.mark.parametrize("name", sorted(CASES))
def test_answers_without_a_row_are_those_of_a_regression_that_lacks_it(name):
    case = CASES[name]
    problem = problem_of(case)
    whole = solved(problem, case.likelihood)
    found, exact = [], []
    for row in range(0, N, 6):
        lacking = problem._replace(mask=problem.mask.at[row].set(0.0))
        exact.append(solved(lacking, case.likelihood).density[row])
        found.append(whole.density[row])
    found, exact = np.array(found), np.array(exact)
    seen = np.asarray(problem.mask)[::6] > 0
    assert np.isfinite(found[seen]).all()
    naive = np.abs(exact - exact.mean())[seen].mean()  # how much values differ in all
    assert np.abs(found - exact)[seen].mean() < 0.1 * naive + 0.01


GROUPS = [np.arange(first, min(first + 7, N)) for first in range(0, N, 7)]  # the last is shorter


def grouped(problem, groups):
    longest = max(map(len, groups))
    table = [np.pad(rows, (0, longest - len(rows)), constant_values=-1) for rows in groups]
    return problem._replace(together=jnp.asarray(table))


@pytest.mark.parametrize("name", ["gaussian", "ordinal", "poisson", "categorical", "hurdle"])
def test_answers_without_a_group_are_those_of_a_regression_that_lacks_it(name):
    case = CASES[name]
    problem = problem_of(case)
    whole = solved(grouped(problem, GROUPS), case.likelihood)
    alone = solved(problem, case.likelihood)
    found, exact, rows_alone = [], [], []
    for rows in GROUPS[::4]:
        lacking = problem._replace(mask=problem.mask.at[rows].set(0.0))
        exact.append(solved(lacking, case.likelihood).density[rows])
        found.append(whole.density[rows])
        rows_alone.append(alone.density[rows])
    found, exact, rows_alone = map(np.concatenate, (found, exact, rows_alone))
    seen = np.asarray(problem.mask)[np.concatenate(GROUPS[::4])] > 0
    error = np.abs(found - exact)[seen].mean()
    assert error < 0.1 * np.abs(exact - exact.mean())[seen].mean() + 0.01
    assert error < 0.7 * np.abs(rows_alone - exact)[seen].mean()


@pytest.mark.parametrize("name", ["bernoulli", "categorical"])
def test_groups_of_one_row_are_rows(name):
    case = CASES[name]
    problem = problem_of(case)
    groups = [np.array([row]) for row in np.random.default_rng(0).permutation(N)]
    found = solved(grouped(problem, groups), case.likelihood)
    expected = solved(problem, case.likelihood)
    np.testing.assert_allclose(found.density, expected.density, rtol=1e-6, atol=1e-8)


def test_for_gaussian_noise_they_are_exact():
    case = CASES["gaussian"]
    problem = problem_of(case)
    whole = solved(problem, case.likelihood)
    noise = np.asarray(whole.likelihood.variances())
    table = np.column_stack([np.ones(N), problem.features])
    P = np.eye(R + 1)
    for row in (0, 17, 41):
        for d in range(D):
            kept = (np.arange(N) != row) & (np.asarray(problem.mask)[:, d] > 0)
            A = table[kept].T @ table[kept] / noise[d] + P
            y = (problem.values - problem.offset[..., 0])[:, d]
            b = np.linalg.solve(A, table[kept].T @ np.asarray(y)[kept] / noise[d])
            spread = noise[d] + 0.05 + table[row] @ np.linalg.solve(A, table[row])
            error = float(y[row]) - table[row] @ b
            expected = -0.5 * (np.log(2 * np.pi * spread) + error**2 / spread)
            np.testing.assert_allclose(whole.density[row, d], expected, atol=2e-3)


def test_a_logistic_regression_is_that_of_scikit_learn():
    problem = problem_of(CASES["bernoulli"])
    problem = problem._replace(
        offset=jnp.zeros_like(problem.offset), mask=jnp.ones_like(problem.mask)
    )
    found = solved(problem, Bernoulli(), penalty=2.0)
    table = np.column_stack([np.ones(N), problem.features])
    for d in range(D):
        y = np.asarray(problem.values)[:, d]
        other = LogisticRegression(C=0.5, tol=1e-8, fit_intercept=False).fit(table, y)
        np.testing.assert_allclose(found.coefficients[d, :, 0], other.coef_[0], atol=0.01)


@pytest.mark.parametrize("name", ["negative_binomial", "ordinal", "censored_lognormal", "hurdle"])
def test_coefficients_and_parameters_are_at_the_mode(name):
    case = CASES[name]
    problem = problem_of(case)
    found = solved(problem, case.likelihood)
    table = jnp.concatenate([jnp.ones((N, 1)), problem.features], axis=1)

    def loss(B):
        f = problem.offset + jnp.einsum("nr,drc->ndc", table, B)
        density = found.likelihood.log_density(problem.values, f, problem.given)
        return -jnp.sum(jnp.where(problem.mask > 0, density, 0.0)) + 0.5 * jnp.sum(B**2)

    at = np.asarray(found.coefficients)
    value = jax.jit(jax.value_and_grad(lambda v: loss(v.reshape(at.shape))))
    best = minimize(
        lambda v: tuple(np.asarray(part) for part in value(jnp.asarray(v))), at.ravel(), jac=True
    )
    assert float(loss(jnp.asarray(at))) - best.fun < 0.02


def test_the_covariance_is_that_of_finite_differences():
    problem = problem_of(CASES["poisson"])
    found = solved(problem, CASES["poisson"].likelihood)
    table = jnp.concatenate([jnp.ones((N, 1)), problem.features], axis=1)
    for d in range(D):

        def loss(b, d=d):
            f = (problem.offset[:, d, 0] + table @ b)[:, None, None]
            density = CASES["poisson"].likelihood.log_density(problem.values[:, [d]], f)[:, 0]
            return -jnp.sum(problem.mask[:, d] * density) + 0.5 * jnp.sum(b**2)

        H = jax.hessian(loss)(found.coefficients[d, :, 0])
        np.testing.assert_allclose(found.covariance[d], np.linalg.inv(H), rtol=1e-6)

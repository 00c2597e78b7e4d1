"""Regressions against scikit-learn's and against formulas written out."""

import numpy as np
import pytest
from sklearn.cross_decomposition import PLSRegression
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.linear_model import Ridge as SklearnRidge
from sklearn.neighbors import KNeighborsRegressor

from manyviews.stacking.inputs import Inputs
from manyviews.stacking.noise import Noise
from manyviews.stacking.regressions import (
    ByRegressor,
    Foreign,
    Forest,
    GaussianProcess,
    Mean,
    Neighbours,
    PartialLeastSquares,
    Ridge,
    Separate,
    learn,
)
from manyviews.stacking.regressions.forest import Trees
from manyviews.stacking.regressions.linear import LinearMap
from manyviews.stacking.regressions.process import learn_covariance


@pytest.fixture
def problem(rng):
    X = rng.standard_normal((50, 6))
    Y = np.tanh(X[:, :2]) @ rng.standard_normal((2, 3)) + 0.3 * rng.standard_normal((50, 3))
    return X, Y, rng.standard_normal((7, 6)), np.arange(50) % 5


def test_ridge_is_scikit_learn_s_at_every_penalty(problem):
    X, Y, new, _ = problem
    recipe = Ridge((0.1, 1.0, 30.0))
    path = recipe.path(X, Y, new).means
    for place, penalty in enumerate(recipe.penalties):
        wanted = SklearnRidge(penalty).fit(X, Y).predict(new)
        np.testing.assert_allclose(path[place], wanted, atol=1e-10)
    mixed = recipe.fit(X, Y, np.array([0, 2, 1])).predict(new)
    np.testing.assert_allclose(mixed, np.stack([path[0, :, 0], path[2, :, 1], path[1, :, 2]], 1))


def test_partial_least_squares_is_scikit_learn_s_at_every_number(problem):
    X, Y, new, _ = problem
    recipe = PartialLeastSquares((1, 2, 4))
    path = recipe.path(X, Y, new).means
    for place, count in enumerate(recipe.counts):
        wanted = PLSRegression(count, scale=False).fit(X, Y).predict(new)
        np.testing.assert_allclose(path[place], wanted, atol=1e-8)
    np.testing.assert_allclose(recipe.fit(X, Y, np.array([1, 1, 1])).predict(new), path[1])


def test_neighbours_are_scikit_learn_s(problem):
    X, Y, new, _ = problem
    recipe = Neighbours((1, 4))
    wanted = [KNeighborsRegressor(k).fit(X, Y).predict(new) for k in recipe.counts]
    np.testing.assert_allclose(recipe.path(X, Y, new).means, wanted)
    found = recipe.fit(X, Y, np.array([0, 1, 0])).predict(new)
    np.testing.assert_allclose(found[:, 1], wanted[1][:, 1])


def test_the_process_is_the_textbook_s(problem):
    X, Y, new, _ = problem
    recipe = GaussianProcess(3, noises=(0.2,))
    fitted = recipe.fit(X, Y, np.zeros(3, dtype=int))
    k, noise = fitted.covariance, 0.2
    K = k(X, X) + noise * np.eye(50)
    mean = k(new, X) @ np.linalg.solve(K, Y - Y.mean(axis=0)) + Y.mean(axis=0)
    np.testing.assert_allclose(fitted.predict(new), mean, atol=1e-5)
    np.testing.assert_allclose(recipe.path(X, Y, new).means[0], fitted.predict(new), atol=1e-8)
    _, learnt = learn_covariance(X, Y - Y.mean(axis=0), 3)
    K = k(X, X) + learnt * np.eye(50)
    variance = k.diagonal(new) - np.sum(k(new, X) * np.linalg.solve(K, k(X, new)).T, axis=1)
    np.testing.assert_allclose(fitted.doubt(new) ** 2, variance, rtol=1e-3)


def test_the_process_s_hyperparameters_are_a_maximum_of_the_likelihood(problem):
    X, Y, _, _ = problem
    Y = Y - Y.mean(axis=0)
    covariance, noise = learn_covariance(X, Y, 2)

    def likelihood(scale, noise):
        K = scale * covariance(X, X) + noise * np.eye(50)
        return -0.5 * np.sum(Y * np.linalg.solve(K, Y)) - 1.5 * np.linalg.slogdet(K)[1]

    best = likelihood(1.0, noise)
    assert best >= max(likelihood(s, n * noise) for s in (0.9, 1.1) for n in (0.9, 1.1)) - 1e-3


def test_inducing_rows_stand_for_all(rng):
    X = rng.uniform(-2, 2, size=(300, 1))
    Y = np.sin(2 * X) + 0.1 * rng.standard_normal((300, 1))
    new = rng.uniform(-2, 2, size=(50, 1))
    some = GaussianProcess(1, most_rows=60, noises=(0.01,)).fit(X, Y, np.zeros(1, dtype=int))
    assert len(some.rows) == 60
    assert np.sqrt(np.mean((some.predict(new) - np.sin(2 * new)) ** 2)) < 0.06


def test_forests_are_kept_as_arrays(problem):
    X, Y, new, _ = problem
    forest = RandomForestRegressor(8, random_state=0).fit(X, Y)
    np.testing.assert_allclose(Trees.of(forest.estimators_).predict(new), forest.predict(new))
    assert Forest(5).fit(X, Y[:, :1], np.zeros(1, dtype=int)).predict(new).shape == (7, 1)


@pytest.mark.parametrize(
    "regressor",
    [
        LinearRegression(),
        SklearnRidge(2.0),
        PLSRegression(2),
        KNeighborsRegressor(3),
        RandomForestRegressor(5, random_state=0),
        HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=5),
    ],
    ids=lambda r: type(r).__name__,
)
def test_foreign_regressors_predict_as_they_do_themselves(problem, regressor):
    X, Y, new, _ = problem
    found = ByRegressor(regressor).fit(X, Y, np.zeros(3, dtype=int))
    if isinstance(regressor, HistGradientBoostingRegressor):  # takes one column
        assert isinstance(found, Separate)
        assert isinstance(found.parts[0], Foreign)
        wanted = np.stack([regressor.fit(X, y).predict(new) for y in Y.T], axis=1)
    else:
        assert not isinstance(found, Foreign)
        wanted = regressor.fit(X, Y).predict(new)
    np.testing.assert_allclose(found.predict(new), wanted, atol=1e-8)


def test_settings_are_chosen_on_rows_held_out(problem):
    X, Y, _, fold = problem
    found = learn(Ridge((1e-3, 1e6)), X, Y, fold)
    assert isinstance(found.regression, LinearMap)
    for number in range(5):
        out = fold == number
        wanted = SklearnRidge(1e-3).fit(X[~out], Y[~out]).predict(X[out])
        np.testing.assert_allclose(found.held_out[out], wanted, atol=1e-8)


@pytest.mark.parametrize(
    ("recipe", "tol"), [(Ridge(), 1e-8), (PartialLeastSquares(), 1e-3), (Neighbours(), 1e-8)]
)
def test_settings_of_components_are_those_chosen_for_turned_outputs(problem, recipe, tol):
    """Fits to the outputs' principal components, each at its own setting, and turned back."""
    X, Y, new, fold = problem
    Y = Y - Y.mean(axis=0)
    axes = np.linalg.svd(Y, full_matrices=False)[2].T
    plain, turned = learn(recipe, X, Y, fold), learn(recipe, X, Y @ axes, fold)
    both = learn(recipe, X, Y, fold, joint=True)
    for found, one, other in (
        (both.held_out, plain.held_out, turned.held_out),
        *((both.regression.predict(x), plain.regression.predict(x), turned.regression.predict(x))
          for x in (X, new)),
    ):  # fmt: skip
        np.testing.assert_allclose(found, 0.5 * (one + other @ axes.T), atol=tol)


def test_components_that_differ_in_noise_are_predicted_better_together(rng):
    X, fold = rng.standard_normal((60, 30)), np.arange(60) % 5
    B = rng.standard_normal((30, 1)) @ rng.standard_normal((1, 8))
    Y, new = X @ B + 3.0 * rng.standard_normal((60, 8)), rng.standard_normal((500, 30))
    errors = []
    for joint in (False, True):
        said = learn(Ridge(), X, Y, fold, joint).regression.predict(new)
        errors.append(np.sqrt(np.mean((said - new @ B) ** 2)))
    assert errors[1] < 0.97 * errors[0]


def test_missing_outputs(problem):
    X, Y, new, fold = problem
    Y = Y.copy()
    Y[:20, 0], Y[5, 2] = np.nan, np.nan
    found = learn(Ridge((1.0,)), X, Y, fold)
    wanted = SklearnRidge(1.0).fit(X[20:], Y[20:, 0]).predict(new)
    np.testing.assert_allclose(found.regression.predict(new)[:, 0], wanted, atol=1e-10)
    assert np.isnan(found.held_out[:20, 0]).all()
    wide = np.tile(Y, (1, 6))
    wide = learn(Mean(), X, wide - np.nanmean(wide, axis=0), fold)
    np.testing.assert_allclose(wide.regression.predict(new), 0.0, atol=1e-12)


def test_inputs_are_filled_marked_and_standardised(rng):
    X = rng.normal(3.0, 2.0, size=(40, 4))
    X[:10, 2:] = np.nan  # a view that samples lack: one mark for both columns
    X[0, 0] = np.nan  # too rare to be marked
    inputs = Inputs.fit(X)
    x = inputs(X)
    assert x.shape == (40, 5)
    np.testing.assert_allclose(x.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(x.std(axis=0), 1.0)
    np.testing.assert_allclose(x[:10, 2:4], 0.0)
    assert (x[:10, 4] > 0).all()
    assert Inputs.fit(X, marks=False)(X).shape == (40, 4)


def test_noise_follows_a_covariate_only_if_that_helps(rng):
    t, fold = rng.normal(size=(400, 1)), np.arange(400) % 5
    plain = rng.normal(size=(400, 2)) * [1.0, 0.5]
    found = Noise.fit(plain, {"distance": t}, fold)
    assert found.source == ""
    np.testing.assert_allclose(found.std(plain, None)[0], [1.0, 0.5], rtol=0.15)
    growing = plain * np.exp(0.5 * 0.8 * t)
    found = Noise.fit(growing, {"other": rng.normal(size=(400, 1)), "distance": t}, fold)
    assert found.source == "distance"
    assert found.slope / found.spread == pytest.approx(0.8, abs=0.15)
    z = growing / found.std(growing, t)
    np.testing.assert_allclose(z.std(axis=0), 1.0, rtol=0.1)

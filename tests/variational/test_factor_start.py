"""Starts from group factor analysis."""

from dataclasses import replace

import numpy as np
import pytest
from experiments.kinds_findings import compared
from experiments.kinds_simulations import simulate

from manyviews import MRD
from manyviews.inference.driver import plan_fit
from manyviews.inference.initialise import initial_kernel, residual_share, starting_kernel
from manyviews.inference.search import stages_of_kinds
from manyviews.likelihoods import Poisson
from manyviews.variational.factor_start import LEAST, factor_start, not_curves, predicted_share
from manyviews.variational.fit import FitOptions, starting_mapping


def bent_views(rng, n=150, holes=False):
    shared, a, b = rng.normal(size=(3, n))
    tables = []
    for own in (a, b):
        x = np.column_stack([shared, own])
        f = x @ rng.normal(size=(2, 12)) + 0.4 * (x**2 - 1) @ rng.normal(size=(2, 12))
        tables.append(f + 0.3 * rng.normal(size=f.shape))
    if holes:
        tables[0][rng.uniform(size=tables[0].shape) < 0.1] = np.nan
        tables[1][:10] = np.nan
    return tables, np.column_stack([shared, a, b])


@pytest.mark.parametrize("holes", [False, True])
def test_bent_signals_are_one_dimension_each_and_have_their_place(holes, rng):
    tables, signals = bent_views(rng, holes=holes)
    means, shares = factor_start(tables, 6, np.random.default_rng(0))
    used = shares > LEAST
    assert means.shape == (150, 6)
    assert sorted(map(tuple, used.T.tolist()), reverse=True) == [
        (True, True), (True, False), (False, True), *[(False, False)] * 3,
    ]  # fmt: skip
    places = [int(np.flatnonzero((want == used.T).all(axis=1))[0])
              for want in ((True, True), (True, False), (False, True))]  # fmt: skip
    for place, signal in zip(places, signals.T, strict=True):
        assert abs(np.corrcoef(means[:, place], signal)[0, 1]) > 0.85
    np.testing.assert_allclose(means[:, places].std(axis=0), 1.0)
    np.testing.assert_allclose(shares.max(axis=1), 1.0)


def test_wide_views_start_from_as_many_columns_as_rows(rng):
    x = rng.normal(size=(30, 1))
    tables = [x @ rng.normal(size=(1, 80)) + 0.1 * rng.normal(size=(30, 80)),
              x @ rng.normal(size=(1, 3)) + 0.1 * rng.normal(size=(30, 3))]  # fmt: skip
    means, shares = factor_start(tables, 3, np.random.default_rng(0))
    assert abs(np.corrcoef(means[:, 0], x[:, 0])[0, 1]) > 0.99
    np.testing.assert_allclose(shares[:, 0], 1.0)


def test_squares_and_products_are_curves_and_noise_is_none(rng):
    x = rng.normal(size=(200, 2))
    curve = x[:, 0] ** 2 + 0.5 * rng.normal(size=200)
    product = x[:, 0] * x[:, 1] + 0.3 * rng.normal(size=200)
    other = rng.normal(size=200)
    assert not_curves(np.column_stack([x, curve, other, product])) == [0, 1, 3]
    assert predicted_share(x, other) < 0.1
    assert predicted_share(x[:, :1], x[:, 0] ** 3) > 0.99


def test_kernels_start_with_these_weights(rng):
    X, shares = rng.normal(size=(40, 3)), np.array([1.0, 0.04, 1e-3])
    plain = initial_kernel("rbf + linear", X / X.std(axis=0), 2.0).parts
    found = starting_kernel("rbf + linear", X, 2.0, shares).parts
    ratio = found[0].lengthscale.value / plain[0].lengthscale.value
    np.testing.assert_allclose(ratio, shares**-0.5)
    np.testing.assert_allclose(found[1].variances.value / found[1].variances.value[0], shares)
    np.testing.assert_allclose(found[1].variances.value.sum(), plain[1].variances.value.sum())


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:the fit reached max_iter")
@pytest.mark.parametrize("kind", ["poisson", "survival"])
def test_shared_and_private_signals_are_found(kind):
    drawn = simulate(kind, 0, 120, 12)
    model = MRD(4, 15, likelihood=drawn.likelihood, random_state=0).fit(drawn.tables)
    assert compared(model, drawn.signals)["right"]


def test_noise_beside_other_kinds_starts_at_what_a_linear_model_leaves(rng):
    Y, means = rng.normal(size=(60, 20)), rng.normal(size=(60, 2))
    options = FitOptions(
        n_components=2, n_inducing=(8, 8), kernels=("rbf", "rbf"), noise_floors=(1e-6, 1e-6),
        init="pca", missing="auto", likelihoods=(None, Poisson()),
        plan=plan_fit(None, lambda search: (stages_of_kinds(10, 60),), 0),
    )  # fmt: skip
    beside = starting_mapping(0, Y, means, options, rng)
    alone = starting_mapping(0, Y, means, replace(options, likelihoods=()), rng)
    np.testing.assert_allclose(beside.noise.value, residual_share(Y, 2) * Y.var(), rtol=1e-12)
    np.testing.assert_allclose(alone.noise.value, 0.01 * Y.var(), rtol=1e-12)

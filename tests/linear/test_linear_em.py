"""Maximum likelihood: closed forms, EM, scikit-learn, and each against the others."""

import numpy as np
import pytest
from sklearn import decomposition

from manyviews.linear import FactorAnalysis
from manyviews.linear.closed_form import (
    balanced,
    canonical_directions,
    model_correlations,
    pcca,
    ppca,
    whitened,
)
from manyviews.linear.emission import CorrelatedNoise
from manyviews.linear.linear_em import expectation_maximisation
from manyviews.linear.linear_gaussian import LinearGaussian, independent


def two_views(rng, N=300, sizes=(5, 4)):
    x = rng.normal(size=(N, 2))
    return [
        x @ rng.normal(size=(2, D)) + 0.5 * rng.normal(size=(N, D)) @ rng.normal(size=(D, D)) + 1.0
        for D in sizes
    ]


def random_start(rng, tables, Q):
    return LinearGaussian(
        tuple(
            CorrelatedNoise(rng.normal(size=(Y.shape[1], Q)), np.zeros(Y.shape[1]),
                            np.cov(Y[~np.isnan(Y).any(axis=1)].T))
            for Y in tables
        )
    )  # fmt: skip


def assert_monotone(trace):
    assert np.diff(trace).min() > -1e-7 * abs(trace[-1])


def test_ppca_is_scikit_learns_but_for_the_factor_of_n(rng):
    Y = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 6)) + 0.3 * rng.normal(size=(60, 6))
    model = ppca(Y, 2, 1e-9)
    C = np.cov(Y.T, bias=True)
    values, vectors = np.linalg.eigh(C)
    sigma = values[:-2].mean()
    expected = vectors[:, -2:] * (values[-2:] - sigma) @ vectors[:, -2:].T + sigma * np.eye(6)
    W = model.views[0].loadings
    np.testing.assert_allclose(W @ W.T + np.diag(model.views[0].variance), expected, atol=1e-10)


@pytest.mark.parametrize("N", [8, 200])
def test_ppca_by_em_ends_in_the_closed_form(rng, N):
    Y = rng.normal(size=(N, 3)) @ rng.normal(size=(3, 10)) + 0.3 * rng.normal(size=(N, 10))
    closed = ppca(Y, 3, 1e-9)
    start = LinearGaussian((independent(rng.normal(size=(10, 3)), np.zeros(10), np.ones(10)),))
    found = expectation_maximisation(
        [Y], start, shared_variance=True, floor=1e-9, max_iter=3000, tol=1e-11
    )
    assert_monotone(found.trace)
    assert found.trace[-1] == pytest.approx(closed.infer([Y])[1].sum(), rel=1e-6)


def test_factor_analysis_by_em_ends_where_scikit_learn_does(rng):
    Y = (
        rng.normal(size=(400, 2)) @ rng.normal(size=(2, 7))
        + rng.normal(size=(400, 7)) * np.arange(1, 8) / 4
    )
    theirs = decomposition.FactorAnalysis(2, tol=1e-9, max_iter=3000, svd_method="lapack").fit(Y)
    start = LinearGaussian((independent(rng.normal(size=(7, 2)), np.zeros(7), np.ones(7)),))
    found = expectation_maximisation([Y], start, max_iter=1500, tol=1e-9)
    assert_monotone(found.trace)
    assert found.trace[-1] == pytest.approx(theirs.score(Y) * 400, abs=0.1)


@pytest.mark.parametrize("noise", [0.3, 0.0])
def test_the_trace_of_factor_analysis_climbs_to_its_end(noise, rng):
    Y = rng.normal(size=(15, 1)) @ rng.normal(size=(1, 5)) + 0.3 * rng.normal(size=(15, 5))
    Y[:, 1] = Y[:, 0] + noise * Y[:, 1]  # without noise, a column that a factor explains
    model = FactorAnalysis(2).fit(Y)
    assert_monotone(model.fit_info_.bound_trace)
    assert model.score_samples(Y).sum() == pytest.approx(model.lower_bound_, rel=1e-9)


@pytest.mark.parametrize("ridge", [0.0, 0.4])
def test_pcca_by_em_ends_in_the_closed_form_and_its_correlations_are_ccas(rng, ridge):
    tables = two_views(rng)
    ridges = [ridge, ridge / 2]
    closed = pcca(tables, 2, ridges, ["a", "b"])
    found = expectation_maximisation(
        tables, random_start(rng, tables, 2), ridges=ridges, max_iter=1000, tol=1e-12
    )
    assert_monotone(found.trace)
    a, b = closed.canonical(), balanced(found.model).canonical()
    for mine, theirs in zip(a.views, b.views, strict=True):
        np.testing.assert_allclose(mine.covariance, theirs.covariance, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(mine.loadings, theirs.loadings, rtol=1e-3, atol=2e-4)
        np.testing.assert_allclose(mine.mean, theirs.mean, atol=1e-4)
    np.testing.assert_allclose(
        balanced(found.model).infer(tables)[1], found.model.infer(tables)[1], atol=1e-8
    )
    expected = canonical_directions(tables, 2, ridges, ["a", "b"]).correlations
    np.testing.assert_allclose(model_correlations(closed), expected, atol=1e-10)
    np.testing.assert_allclose(model_correlations(found.model), expected, atol=1e-5)


def test_the_printed_formula_of_the_thesis_is_not_the_maximum(rng):
    """[Leen08] prints W = Σ U P where P^½ belongs (erratum E5)."""
    tables = two_views(rng)
    right = pcca(tables, 2, [0.0, 0.0], ["a", "b"])
    wrong = []
    for view, rho in zip(right.views, [model_correlations(right)] * 2, strict=True):
        S = view.loadings @ view.loadings.T + view.covariance
        W = view.loadings * np.sqrt(rho)
        wrong.append(CorrelatedNoise(W, view.mean, S - W @ W.T))
    assert right.infer(tables)[1].sum() > LinearGaussian(tuple(wrong)).infer(tables)[1].sum() + 10


def test_three_views_with_holes_everywhere_climb_to_a_stationary_point(rng):
    tables = two_views(rng, 80, (4, 3, 3))
    for Y in tables:
        for column, rows in enumerate(np.split(rng.permutation(80)[:30], 3)):
            Y[rows, column] = np.nan
    tables[0][:20] = np.nan
    tables[2][30:50] = np.nan
    start = random_start(rng, tables, 2)
    found = expectation_maximisation(tables, start, max_iter=300, tol=1e-7)
    assert_monotone(found.trace)
    best = found.trace[-1]
    assert best > found.trace[0] + 10
    for k, v in enumerate(found.model.views):
        for _ in range(4):
            views = list(found.model.views)
            step = 1e-2 * rng.normal(size=v.loadings.shape)
            shift = 1e-2 * rng.normal(size=v.mean.shape)
            A = np.eye(len(v.mean)) + 1e-2 * rng.normal(size=v.covariance.shape)
            views[k] = CorrelatedNoise(v.loadings + step, v.mean + shift, A @ v.covariance @ A.T)
            assert LinearGaussian(tuple(views)).infer(tables)[1].sum() < best + 1e-2


def test_holes_at_random_hardly_move_the_answer(rng):
    Y = rng.normal(size=(4000, 2)) @ rng.normal(size=(2, 6)) + 0.5 * rng.normal(size=(4000, 6)) + 3
    holes = np.where(rng.random(Y.shape) < 0.3, np.nan, Y)
    start = ppca(np.where(np.isnan(holes), np.nanmean(holes, axis=0), holes), 2, 1e-9)
    found = expectation_maximisation([holes], start, shared_variance=True)
    view, full = found.model.views[0], ppca(Y, 2, 1e-9).views[0]
    np.testing.assert_allclose(
        view.loadings @ view.loadings.T, full.loadings @ full.loadings.T, atol=0.15
    )
    np.testing.assert_allclose(view.mean, full.mean, atol=0.1)
    assert view.variance[0] == pytest.approx(full.variance[0], rel=0.03)


def test_pcca_is_ppca_of_unit_noise_on_whitened_views(rng):
    tables = two_views(rng)
    model = pcca(tables, 2, [0.0, 0.0], ["a", "b"])
    for view in model.views:
        V, root = whitened(view)
        np.testing.assert_allclose(root @ root, view.covariance, atol=1e-10)
        np.testing.assert_allclose(root @ V, view.loadings, atol=1e-10)

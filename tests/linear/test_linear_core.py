"""The linear-Gaussian core against the textbook conditional on the full joint covariance."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import block_diag
from scipy.stats import multivariate_normal

from manyviews.data.patterns import find_patterns
from manyviews.fitted import Positions
from manyviews.linear.emission import CorrelatedNoise, IndependentNoise
from manyviews.linear.linear_gaussian import LinearGaussian, independent
from manyviews.linear.variational_loadings import small_inverses


def random_model(rng, sizes=(4, 3, 2), Q=2, kinds=("full", "diagonal", "full")):
    views = []
    for D, kind in zip(sizes, kinds, strict=True):
        W, mean = rng.normal(size=(D, Q)), rng.normal(size=D)
        if kind == "full":
            A = rng.normal(size=(D, D))
            views.append(CorrelatedNoise(W, mean, A @ A.T + 0.1 * np.eye(D)))
        else:
            views.append(independent(W, mean, rng.uniform(0.1, 2.0, size=D)))
    return LinearGaussian(tuple(views))


def joint(model):
    """Mean and covariance of (x, all y)."""
    W = np.vstack([v.loadings for v in model.views])
    noise = block_diag(
        *(v.covariance if isinstance(v, CorrelatedNoise) else np.diag(v.variance)
          for v in model.views)
    )  # fmt: skip
    mean = np.concatenate([np.zeros(W.shape[1]), *(v.mean for v in model.views)])
    cov = np.block([[np.eye(W.shape[1]), W.T], [W, W @ W.T + noise]])
    return mean, cov


def condition(mean, cov, y, wanted):
    """Moments of some coordinates given the others that are not NaN."""
    seen = np.flatnonzero(~np.isnan(y))
    gain = cov[np.ix_(wanted, seen)] @ np.linalg.inv(cov[np.ix_(seen, seen)])
    m = mean[wanted] + gain @ (y[seen] - mean[seen])
    return m, cov[np.ix_(wanted, wanted)] - gain @ cov[np.ix_(seen, wanted)]


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), share=st.floats(0.0, 0.9))
def test_posterior_density_and_holes_are_the_gaussian_conditionals(seed, share):
    rng = np.random.default_rng(seed)
    model = random_model(rng)
    Y = [rng.normal(size=(6, 4)), rng.normal(size=(6, 3)), rng.normal(size=(6, 2))]
    Y = [np.where(rng.random(y.shape) < share, np.nan, y) for y in Y]
    Y[1][2] = np.nan
    q, density = model.infer(Y)
    filled = [v.fill(y, q) for v, y in zip(model.views, Y, strict=True)]
    mean, cov = joint(model)
    for n in range(6):
        row = np.concatenate([np.full(2, np.nan), *(y[n] for y in Y)])
        m, V = condition(mean, cov, row, np.arange(2))
        np.testing.assert_allclose(q.mean[n], m, atol=1e-8)
        np.testing.assert_allclose(q.covariance[q.kind[n]], V, atol=1e-8)
        seen = np.flatnonzero(~np.isnan(row))
        expected = 0.0
        if seen.size:
            expected = multivariate_normal(mean[seen], cov[np.ix_(seen, seen)]).logpdf(row[seen])
        assert density[n] == pytest.approx(expected, abs=1e-7)
        lost = np.flatnonzero(np.isnan(row[2:])) + 2
        m, V = condition(mean, cov, row, lost)
        got = np.concatenate([part[0][n] for part in filled])[lost - 2]
        spread = np.concatenate([part[1][n] for part in filled])[lost - 2]
        np.testing.assert_allclose(got, m, atol=1e-7)
        np.testing.assert_allclose(spread, np.diag(V), atol=1e-7)


def test_a_view_from_the_others_has_the_conditional_mean_and_covariance(rng):
    model = random_model(rng)
    Y = [rng.normal(size=(5, 4)), rng.normal(size=(5, 3)), np.full((5, 2), np.nan)]
    q, _ = model.infer(Y)
    mean, cov = joint(model)
    target = model.views[2]
    for n in range(5):
        row = np.concatenate([np.full(2, np.nan), *(y[n] for y in Y)])
        m, V = condition(mean, cov, row, np.array([9, 10]))
        np.testing.assert_allclose(target.expected(q)[n], m, atol=1e-9)
        np.testing.assert_allclose(target.covariances(q)[n], V, atol=1e-9)
        np.testing.assert_allclose(target.variances(q)[n], np.diag(V), atol=1e-9)


def test_uncertain_loadings_by_monte_carlo(rng):
    """⟨log p(y|x)⟩ over W and μ, and the moments of y at a Gaussian position."""
    D, Q = 3, 2
    W, mean = rng.normal(size=(D, Q)), rng.normal(size=D)
    root = 0.4 * rng.normal(size=(D, Q + 1, Q + 1))
    view = IndependentNoise(
        W, mean, np.array([0.5, 1.0, 2.0]), np.log([0.4, 0.9, 1.8]), root @ root.transpose(0, 2, 1)
    )
    draws = np.einsum("dij,sdj->sdi", root, rng.normal(size=(200_000, D, Q + 1)))
    loadings, offsets = W + draws[..., :Q], mean + draws[..., Q]
    y, x = np.array([[0.3, np.nan, -1.0]]), np.array([0.7, -0.4])
    evidence = view.evidence(y, ~np.isnan(y), np.zeros(1, int))
    quadratic = evidence.constant[0] + evidence.linear[0] @ x - 0.5 * x @ evidence.precision[0] @ x
    misfit = (y[0] - loadings @ x - offsets) ** 2 / view.variance
    logs = -0.5 * (np.log(2 * np.pi) + view.log_variance + misfit)
    assert quadratic == pytest.approx(np.nansum(logs.mean(axis=0)), abs=0.02)
    A = rng.normal(size=(Q, Q))
    q = Positions(x[None], (A @ A.T)[None], np.zeros(1, int))
    at = x + rng.normal(size=(200_000, Q)) @ A.T
    outputs = np.einsum("sdq,sq->sd", loadings, at) + offsets
    outputs += np.sqrt(view.variance) * rng.normal(size=outputs.shape)
    np.testing.assert_allclose(view.expected(q)[0], outputs.mean(axis=0), atol=0.05)
    np.testing.assert_allclose(view.variances(q)[0], outputs.var(axis=0), rtol=0.03)
    np.testing.assert_allclose(
        np.diagonal(view.covariances(q)[0]), view.variances(q)[0], rtol=1e-12
    )


def test_rotation_leaves_the_density_alone_and_canonical_is_idempotent(rng):
    model = random_model(rng)
    Y = [rng.normal(size=(5, v.loadings.shape[0])) for v in model.views]
    turned = model.canonical()
    np.testing.assert_allclose(turned.infer(Y)[1], model.infer(Y)[1], rtol=1e-10)
    again = turned.canonical()
    for a, b in zip(turned.views, again.views, strict=True):
        np.testing.assert_allclose(a.loadings, b.loadings, atol=1e-10)


@given(seed=st.integers(0, 1000))
def test_order_of_rows_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng)
    Y = [np.where(rng.random((7, D)) < 0.4, np.nan, rng.normal(size=(7, D))) for D in (4, 3, 2)]
    order = rng.permutation(7)
    q, density = model.infer(Y)
    q2, density2 = model.infer([y[order] for y in Y])
    np.testing.assert_allclose(q2.mean, q.mean[order], atol=1e-12)
    np.testing.assert_allclose(q2.variance, q.variance[order], atol=1e-12)
    np.testing.assert_allclose(density2, density[order], atol=1e-12)


def test_rows_alike_share_a_pattern():
    a = np.array([[1.0, np.nan], [2.0, np.nan], [1.0, 2.0]])
    found = find_patterns([a, np.ones((3, 1))])
    assert found.rows[0] == found.rows[1] != found.rows[2]
    assert len(found.masks[0]) == 2


def test_draws_have_the_moments(rng):
    A = rng.normal(size=(2, 3, 3))
    q = Positions(rng.normal(size=(2, 3)), A @ A.transpose(0, 2, 1), np.array([1, 0]))
    draws = q.draw(100_000, np.random.RandomState(0))
    for n in range(2):
        np.testing.assert_allclose(draws[:, n].mean(axis=0), q.mean[n], atol=0.05)
        np.testing.assert_allclose(np.cov(draws[:, n].T), q.covariance[q.kind[n]], atol=0.2)


@pytest.mark.parametrize(("count", "size"), [(3, 1), (700, 5), (513, 12)])
def test_small_inverses(rng, count, size):
    A = rng.normal(size=(count, size, size + 3))
    A = A @ A.transpose(0, 2, 1) + 0.1 * np.eye(size)
    inverses, volumes = small_inverses(A)
    np.testing.assert_allclose(inverses, np.linalg.inv(A), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(volumes, np.linalg.slogdet(A)[1], rtol=1e-9, atol=1e-9)

"""Sparse GPLVM-CCA and shared/private models: exact where they must be, linear in the rows."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_points import toy_x1
from test_points_divided import correlation

import reference as ref
from manyviews import Search
from manyviews.errors import OptionError
from manyviews.expectations import Gaussian
from manyviews.inference.bound import Model, evidence_bound
from manyviews.kernels import RBF, Polynomial
from manyviews.latent import Points
from manyviews.linear import CCA
from manyviews.mappings import (
    CorrelatedGP,
    ExactGP,
    NoisePrior,
    PrunedGP,
    SparseGP,
    make_outputs,
)
from manyviews.points import GPLVMCCA, SharedPrivateGPLVM

NOISE, N0 = 0.3, 4.0
S0 = np.array([[1.0, 0.3, 0.0], [0.3, 0.8, 0.1], [0.0, 0.1, 1.2]])


def at(X):
    return Gaussian(jnp.asarray(X), jnp.zeros(X.shape))


def correlated(process, diagonal=False):
    return CorrelatedGP(process, NoisePrior(S0, N0), diagonal=diagonal)


@pytest.fixture
def world(rng):
    return rng.normal(size=(12, 2)), rng.normal(size=(12, 3)), rng.normal(size=(5, 2))


@pytest.mark.parametrize("diagonal", [False, True])
def test_the_sparse_correlated_bound_is_the_printed_one_at_the_best_psi(world, rng, diagonal):
    X, Y, Z = world
    Y[4] = np.nan
    view = correlated(SparseGP(RBF(1.3, 0.9), Z, NOISE, jitter=1e-12), diagonal)
    outputs, there = make_outputs(Y), ~np.isnan(Y[:, 0])
    kernel = ref.rbf(1.3, 0.9)
    Kxx, Kxz = ref.matrix(kernel, X[there], X[there]), ref.matrix(kernel, X[there], Z)
    Kzz = ref.matrix(kernel, Z, Z)

    def slow(psi):
        bound = ref.sparse_matrix_normal_bound(Y[there], Kxx, Kxz, Kzz, NOISE, psi)
        return bound + ref.inverse_wishart(NOISE * psi, S0, N0)

    psi = np.asarray(view.column_covariance(at(X), outputs))
    found = float(view.expected_log_likelihood(at(X), outputs).value)
    assert found == pytest.approx(slow(psi), abs=1e-7)
    for _ in range(5):
        move = 0.02 * rng.normal(size=(3, 3))
        assert slow(psi + (np.diag(np.diag(move)) if diagonal else move + move.T)) < found


def test_with_an_inducing_input_at_every_point_it_is_the_exact_model(world, rng):
    X, Y, Z = world
    outputs, q, new = make_outputs(Y), at(X), jnp.asarray(rng.normal(size=(4, 2)))
    exact = correlated(ExactGP(RBF(), 2, NOISE, jitter=0.0))
    full = correlated(SparseGP(RBF(), X, NOISE, jitter=1e-12))
    part = correlated(SparseGP(RBF(), Z, NOISE))
    values = [float(v.expected_log_likelihood(q, outputs).value) for v in (exact, full, part)]
    assert values[1] == pytest.approx(values[0], abs=1e-6)
    assert values[2] < values[0]
    a, b = exact.posterior(q, outputs), full.posterior(q, outputs)
    np.testing.assert_allclose(b.columns, a.columns, rtol=1e-6)
    np.testing.assert_allclose(b.at(new)[0], a.at(new)[0], atol=1e-6)
    np.testing.assert_allclose(b.variance(new), a.variance(new), atol=1e-6)


def test_the_pruned_one_is_the_sparse_gp_with_its_prior(world):
    X, Y, Z = world
    outputs, q = make_outputs(Y), at(X)
    kernel = Polynomial(2, np.array([0.7, 1.1]), 0.4)
    sparse = SparseGP(kernel, Z, NOISE)
    plain = float(sparse.expected_log_likelihood(q, outputs).value)
    found = float(PrunedGP(sparse, 0.5).expected_log_likelihood(q, outputs).value)
    assert found == pytest.approx(plain - 0.5 * (0.7 + 1.1) / 0.25, abs=1e-9)
    few, q = make_outputs(Y[:6]), at(X[:6])  # a quadratic of two dimensions has six coefficients
    full = PrunedGP(SparseGP(kernel, X[:6], NOISE, jitter=1e-13), 0.5)
    exact = PrunedGP(ExactGP(kernel, 2, NOISE, jitter=0.0), 0.5)
    assert float(full.expected_log_likelihood(q, few).value) == pytest.approx(
        float(exact.expected_log_likelihood(q, few).value), abs=1e-6
    )


def sizes(jaxpr):
    """Numbers in every array that a program makes, also in those that it calls."""
    for equation in jaxpr.eqns:
        yield from (int(np.prod(out.aval.shape)) for out in equation.outvars)
        for value in equation.params.values():
            inner = value if isinstance(value, tuple | list) else [value]
            for each in inner:
                if hasattr(each, "jaxpr"):
                    yield from sizes(each.jaxpr)
                elif hasattr(each, "eqns"):
                    yield from sizes(each)


@pytest.mark.parametrize("around", [correlated, lambda process: PrunedGP(process, 1.0)])
def test_no_array_of_a_sparse_evaluation_grows_faster_than_the_rows(rng, around):
    def largest(n, sparse):
        X, outputs = rng.normal(size=(n, 2)), make_outputs(rng.normal(size=(n, 3)))
        process = SparseGP(RBF(), X[:4], NOISE) if sparse else ExactGP(RBF(), 2, NOISE)
        views = (around(process),)

        def bound(x):
            return evidence_bound(Model(Points(x), views), (outputs,)).total

        return max(sizes(jax.make_jaxpr(jax.grad(bound))(jnp.asarray(X)).jaxpr))

    assert largest(800, sparse=True) == 2 * largest(400, sparse=True)
    assert largest(800, sparse=False) == 4 * largest(400, sparse=False)


@pytest.mark.parametrize("psi", ["full", pytest.param("identity", marks=pytest.mark.long)])
def test_sparse_gplvm_cca_finds_what_views_share(psi):
    x, views = toy_x1(0)
    options = {"kernel": "linear", "psi": psi, "random_state": 0}
    model = GPLVMCCA(1, n_inducing={"a": 10, "b": 8}, **options).fit(views)
    assert [p.Z.shape[0] for p in model.engine_.posteriors] == [10, 8]
    by_view = model.latent_by_view()
    found = abs(np.corrcoef(by_view["a"][:, 0], by_view["b"][:, 0])[0, 1])
    if psi == "identity":
        assert found < 0.6
        return
    assert found == pytest.approx(CCA(1).fit(views).canonical_correlations_[0], abs=0.03)
    assert correlation(model.latent_mean_[:, 0], x) > 0.9
    with pytest.raises(OptionError, match="n_inducing=201 is more than the 200"):
        GPLVMCCA(1, n_inducing=201).fit(views)


@pytest.mark.long
def test_sparse_components_add_up_and_find_the_truth():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 3))
    views = {
        name: x[:, own] @ rng.normal(size=(2, 4)) + 0.05 * rng.normal(size=(80, 4))
        for name, own in {"left": [0, 1], "right": [0, 2]}.items()
    }
    model = SharedPrivateGPLVM(
        1, 1, n_inducing=20, n_rounds=2, search=Search(tol=1e-3), random_state=0
    ).fit(views)
    for place, name in enumerate(views):
        shared, spread = model.component(name, "shared", return_std=True)
        private = model.component(name, "private")
        whole = model.inverse_transform(model.latent_mean_, name)
        np.testing.assert_allclose(model.scalings_[place].centre + shared + private, whole)
        assert (spread > 0).all()
    assert correlation(model.latent_mean_[:, 0], x[:, 0]) > 0.9
    assert (model.variance_explained()["total"] > 0.9).all()

"""The collaborative mapping: exactness, the published claim, prediction, rows."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import multivariate_normal

from manyviews.expectations import Gaussian
from manyviews.inference.bound import Model
from manyviews.inference.objective import Objective, sampled_negative_bound
from manyviews.kernels import RBF, Linear
from manyviews.latent import StandardNormal
from manyviews.mappings import CollaborativeGP, CollapsedGP, make_outputs
from manyviews.mappings.rows import row_evidence

N, Q, D = 12, 2, 4
BETA = 20.0

evidence_of = eqx.filter_jit(
    lambda view, q, outputs: view.expected_log_likelihood(q, outputs).value
)
posterior_of = eqx.filter_jit(lambda view, q, outputs: view.posterior(q, outputs))
moments_of = eqx.filter_jit(lambda p, q: (p.mean(q), p.variance(q), p.covariance(q)))
rows_of = eqx.filter_jit(lambda rows, q: rows(q))


def local_kernels(J):
    return [RBF(0.7 + 0.2 * j, np.array([0.5 + 0.3 * j, 0.9])) for j in range(J)]


def mapping(rng, J, Z=None, W=None, M=5, jitter=1e-12):
    draw = (lambda: rng.normal(size=(M, Q))) if Z is None else (lambda: Z)
    W = rng.normal(size=(D, J)) if W is None else W
    kernel = RBF(1.3, np.array([0.8, 1.4]))
    return CollaborativeGP(
        kernel, draw(), local_kernels(J), [draw() for _ in range(J)], W, 1.0 / BETA, jitter
    )


def exact_evidence(view, X, Y):
    """Σ_d log N(y_d | 0, k + Σ_j w_dj² k_j + noise), over what is observed."""
    total = 0.0
    grams = [np.asarray(k.gram(jnp.asarray(X))) for k in (view.kernel, *view.local_kernels)]
    for d, y in enumerate(Y.T):
        weights = [1.0, *np.asarray(view.mixing.value)[d] ** 2]
        K = sum(w * g for w, g in zip(weights, grams, strict=True)) + np.eye(len(X)) / BETA
        seen = ~np.isnan(y)
        total += multivariate_normal(np.zeros(seen.sum()), K[np.ix_(seen, seen)]).logpdf(y[seen])
    return total


def points(X, variance=0.0):
    return Gaussian(jnp.asarray(X), jnp.full(X.shape, variance))


@pytest.mark.parametrize("J", [0, 1, 2])
def test_all_inputs_inducing_and_no_variance_give_the_exact_marginal(rng, J):
    X, Y = rng.normal(size=(N, Q)), rng.normal(size=(N, D))
    view = mapping(rng, J, Z=X)
    found = evidence_of(view, points(X), make_outputs(Y))
    assert float(found) == pytest.approx(exact_evidence(view, X, Y), abs=1e-5)


@pytest.mark.parametrize("J", [0, 1, 2])
def test_the_bound_is_below_the_exact_marginal_for_any_inducing_inputs(rng, J):
    for _ in range(20):
        X, Y = rng.normal(size=(N, Q)), rng.normal(size=(N, D))
        view = mapping(rng, J, M=4)
        found = evidence_of(view, points(X), make_outputs(Y))
        assert float(found) < exact_evidence(view, X, Y)


def test_the_published_bound_exceeds_the_marginal_where_ours_equals_it():
    """One data point, h = w²g = 1/β: the claimed precision of y is zero [McGPDS23, eq. 10]."""
    beta, h, g, y = 1.0, 1.0, 1.0, 3.0
    claimed = beta * (1 - beta * g / (1 + beta * g) - beta * h / (1 + beta * h))
    published = -0.5 * (np.log(2 * np.pi) + np.log((1 + h) * (1 + g)) + claimed * y**2)
    truth = -0.5 * (np.log(2 * np.pi * (1 + h + g)) + y**2 / (1 + h + g))
    Z = np.zeros((1, 1))
    view = CollaborativeGP(RBF(h), Z, [RBF(g)], [Z], np.ones((1, 1)), 1.0 / beta, 1e-12)
    ours = evidence_of(view, points(Z), make_outputs(np.array([[y]])))
    assert claimed == 0.0
    assert published > truth
    assert float(ours) == pytest.approx(truth, abs=1e-9)


@pytest.mark.long
def test_uncertain_inputs_stay_below_the_expected_evidence(rng):
    """F ≤ ⟨log p(Y | X)⟩ for uncertain X, by Monte Carlo."""
    X, Y = rng.normal(size=(N, Q)), rng.normal(size=(N, D))
    for J in (1, 2):
        view = mapping(rng, J)
        found = float(evidence_of(view, points(X, 0.1), make_outputs(Y)))
        draws = [
            exact_evidence(view, X + np.sqrt(0.1) * rng.normal(size=X.shape), Y) for _ in range(200)
        ]
        assert found < np.mean(draws) - 3 * np.std(draws) / np.sqrt(200)


def test_without_local_processes_it_is_the_plain_mapping(rng):
    X, Y = rng.normal(size=(N, Q)), rng.normal(size=(N, D))
    Y[:3, 0] = np.nan
    view = mapping(rng, 0)
    plain = CollapsedGP(view.kernel, view.inducing.value, 1.0 / BETA, 1e-12)
    q, outputs = points(X, 0.2), make_outputs(Y)
    evidences = [evidence_of(v, q, outputs) for v in (view, plain)]
    assert float(evidences[0]) == pytest.approx(float(evidences[1]), rel=1e-10)
    ours, theirs = (posterior_of(v, q, outputs) for v in (view, plain))
    new = points(rng.normal(size=(5, Q)), 0.3)
    for first, second in zip(moments_of(ours, new), moments_of(theirs, new), strict=True):
        np.testing.assert_allclose(first, second, atol=1e-8)
    rows = rng.normal(size=(5, D)), rng.uniform(size=(5, D)) > 0.3
    rows = np.where(rows[1], rows[0], 0.0), rows[1]
    np.testing.assert_allclose(
        rows_of(row_evidence(ours, *rows), new),
        rows_of(row_evidence(theirs, *rows), new),
        rtol=1e-8,
    )


@pytest.mark.long
def test_weights_of_zero_are_the_plain_mapping(rng):
    X, Y = rng.normal(size=(N, Q)), rng.normal(size=(N, D))
    for J in (1, 2):
        view = mapping(rng, J, W=np.zeros((D, J)))
        plain = CollapsedGP(view.kernel, view.inducing.value, 1.0 / BETA, 1e-12)
        pair = [evidence_of(v, points(X, 0.2), make_outputs(Y)) for v in (view, plain)]
        assert float(pair[0]) == pytest.approx(float(pair[1]), rel=1e-9)


@pytest.mark.long
def test_a_second_process_without_weight_changes_nothing(rng):
    """The spectral form (J = 1) and the Cholesky form (J = 2) agree."""
    X, Y = rng.normal(size=(N, Q)), rng.normal(size=(N, D))
    Y[4:6, 1] = np.nan
    one = mapping(rng, 1)
    W = np.concatenate([one.mixing.value, np.zeros((D, 1))], axis=1)
    Z = [one.local_inducing[0].value, rng.normal(size=(5, Q))]
    two = CollaborativeGP(
        one.kernel, one.inducing.value, [one.local_kernels[0], RBF(1.0, np.ones(Q))], Z, W,
        1.0 / BETA, 1e-12,
    )  # fmt: skip
    q, outputs = points(X, 0.2), make_outputs(Y)
    pair = [evidence_of(v, q, outputs) for v in (one, two)]
    assert float(pair[0]) == pytest.approx(float(pair[1]), rel=1e-9)
    new = points(rng.normal(size=(5, Q)), 0.3)
    posteriors = [posterior_of(v, q, outputs) for v in (one, two)]
    for first, second in zip(*(moments_of(p, new) for p in posteriors), strict=True):
        np.testing.assert_allclose(first, second, atol=1e-8)
    rows = rng.normal(size=(5, D)), np.ones((5, D), bool)
    np.testing.assert_allclose(
        *[rows_of(row_evidence(p, *rows), new) for p in posteriors], rtol=1e-8
    )


@pytest.mark.parametrize("J", [1, pytest.param(2, marks=pytest.mark.long)])
def test_gradients_against_finite_differences(rng, J):
    X, Y = rng.normal(size=(N, Q)), rng.normal(size=(N, D))
    Y[:2, 2] = np.nan
    view, outputs = mapping(rng, J), make_outputs(Y)
    leaves, structure = jax.tree_util.tree_flatten((view, points(X, 0.2)))

    @jax.jit
    def value(leaves):
        mapped, q = jax.tree_util.tree_unflatten(structure, leaves)
        return mapped.expected_log_likelihood(q, outputs).value

    slopes = jax.grad(value)(leaves)
    for _ in range(3):
        push = [jnp.asarray(rng.normal(size=leaf.shape)) for leaf in leaves]
        push[-1] = jnp.zeros_like(leaves[-1]) if leaves[-1].ndim == 0 else push[-1]
        step = 1e-5
        ends = [
            value([x + s * step * p for x, p in zip(leaves, push, strict=True)]) for s in (1, -1)
        ]
        along = sum(float(jnp.sum(g * p)) for g, p in zip(slopes, push, strict=True))
        assert float(ends[0] - ends[1]) / (2 * step) == pytest.approx(along, rel=1e-5)


@pytest.mark.parametrize("J", [1, pytest.param(2, marks=pytest.mark.long)])
def test_prediction_is_that_of_exact_regression_where_all_inputs_are_inducing(rng, J):
    X, Y = rng.normal(size=(N, Q)), rng.normal(size=(N, D))
    Y[:4, 1] = np.nan
    view = mapping(rng, J, Z=X)
    new = rng.normal(size=(6, Q))
    posterior = posterior_of(view, points(X), make_outputs(Y))
    mean, variance, _ = moments_of(posterior, points(new))
    kernels = (view.kernel, *view.local_kernels)
    for d in range(D):
        seen = ~np.isnan(Y[:, d])
        weights = [1.0, *np.asarray(view.mixing.value)[d] ** 2]
        K, k, own = (
            sum(w * np.asarray(part) for w, part in zip(weights, parts, strict=True))
            for parts in (
                [kernel.gram(jnp.asarray(X[seen])) for kernel in kernels],
                [kernel.cross(jnp.asarray(new), jnp.asarray(X[seen])) for kernel in kernels],
                [kernel.diagonal(jnp.asarray(new)) for kernel in kernels],
            )
        )
        solved = np.linalg.solve(K + np.eye(seen.sum()) / BETA, k.T)
        np.testing.assert_allclose(mean[:, d], solved.T @ Y[seen, d], atol=1e-5)
        np.testing.assert_allclose(variance[:, d], own - np.sum(k.T * solved, axis=0), atol=1e-5)


@pytest.mark.parametrize("J", [1, pytest.param(2, marks=pytest.mark.long)])
def test_moments_are_those_of_draws(rng, J):
    X, Y = rng.normal(size=(N, Q)), rng.normal(size=(N, D))
    posterior = posterior_of(mapping(rng, J), points(X, 0.1), make_outputs(Y))
    new = points(rng.normal(size=(3, Q)), 0.3)
    sample = eqx.filter_jit(lambda p, q: p.sample(q, 20_000, jax.random.key(0)))
    draws = np.asarray(sample(posterior, new))
    mean, variance, covariance = (np.asarray(part) for part in moments_of(posterior, new))
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=0.03)
    np.testing.assert_allclose(draws.var(axis=0), variance, rtol=0.06, atol=0.01)
    np.testing.assert_allclose(np.diagonal(covariance, axis1=1, axis2=2), variance, rtol=1e-8)
    np.testing.assert_allclose(covariance[0], np.cov(draws[:, 0].T), atol=0.08)


@pytest.mark.parametrize("J", [1, 2])
def test_evidence_of_rows_is_the_expected_log_density(rng, J):
    """⟨log N(y | f(x), 1/β)⟩ under q(f | x) q(x), written out for every output."""
    X, Y = rng.normal(size=(N, Q)), rng.normal(size=(N, D))
    posterior = posterior_of(mapping(rng, J), points(X, 0.1), make_outputs(Y))
    new, rows = points(rng.normal(size=(4, Q)), 0.2), rng.normal(size=(4, D))
    seen = rng.uniform(size=rows.shape) > 0.3
    mean, variance = (np.asarray(part) for part in moments_of(posterior, new)[:2])
    each = 0.5 * np.log(BETA / (2 * np.pi)) - 0.5 * BETA * ((rows - mean) ** 2 + variance)
    found = rows_of(row_evidence(posterior, np.where(seen, rows, 0.0), seen), new)
    np.testing.assert_allclose(found, np.sum(each * seen, axis=1), rtol=1e-8)


@pytest.mark.long
def test_any_kernels_can_be_mixed(rng):
    """Linear and RBF: cross statistics of different families."""
    X, Y = rng.normal(size=(N, Q)), rng.normal(size=(N, D))
    view = CollaborativeGP(
        Linear(np.ones(Q)), X, [RBF(0.5, np.ones(Q))], [X], rng.normal(size=(D, 1)), 1.0 / BETA,
        1e-10,
    )  # fmt: skip
    found = evidence_of(view, points(X), make_outputs(Y))
    assert float(found) == pytest.approx(exact_evidence(view, X, Y), abs=1e-4)
    new = points(X[:3], 0.1)
    posterior = posterior_of(view, points(X, 0.1), make_outputs(Y))
    mean, variance = (np.asarray(part) for part in moments_of(posterior, new)[:2])
    each = 0.5 * np.log(BETA / (2 * np.pi)) - 0.5 * BETA * ((Y[:3] - mean) ** 2 + variance)
    rows = rows_of(row_evidence(posterior, Y[:3], np.ones((3, D), bool)), new)
    np.testing.assert_allclose(rows, each.sum(axis=1), rtol=1e-7)


@pytest.mark.parametrize("J", [1, pytest.param(2, marks=pytest.mark.long)])
def test_random_outputs_give_an_unbiased_bound_and_gradient(rng, J):
    """The mean over all draws of single outputs is the bound of all of them."""
    X, Y = rng.normal(size=(N, Q)), rng.normal(size=(N, D))
    Y[:3, 1] = np.nan
    model = Model(StandardNormal(X, 0.2), (mapping(rng, J),))
    whole = Objective(model, (make_outputs(Y, "exact"),))
    value, slope = whole(whole.start)
    draws, found = {}, eqx.filter_jit(jax.value_and_grad(sampled_negative_bound))
    for seed in range(200):  # until every output has been drawn once
        key = jax.random.key(seed)
        drawn = int(jax.random.choice(jax.random.fold_in(key, 0), D, (1,), replace=False)[0])
        if drawn not in draws:
            estimate, gradient = found(whole.free, whole.context, key, 1)
            draws[drawn] = (float(estimate), whole.flat(gradient))
        if len(draws) == D:
            break
    assert len(draws) == D
    found = list(draws.values())
    assert np.mean([v for v, _ in found]) == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(np.mean([g for _, g in found], axis=0), slope, rtol=1e-6, atol=1e-8)

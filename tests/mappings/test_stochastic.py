"""The stochastic mapping: its bound, its steps, its batches, its predictions."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm

import reference as ref
from likelihoods.cases import CASES
from manyviews.expectations import Gaussian
from manyviews.kernels import RBF
from manyviews.likelihoods import (
    Bernoulli,
    Binomial,
    GaussianNoise,
    NegativeBinomial,
    Poisson,
)
from manyviews.mappings import CollapsedGP, StochasticGP, make_observations, make_outputs
from manyviews.mappings.natural import natural_step, settle
from manyviews.mappings.observations import row_nodes
from manyviews.mappings.rows import row_evidence
from manyviews.mappings.stochastic import packed_root, unpacked_root
from manyviews.parameters import split_free

N, Q, M, D = 8, 2, 4, 3
ELL, NOISE = np.array([0.9, 1.7]), np.array([0.2, 0.4, 0.1])
KERNEL = RBF(1.3, ELL)


@eqx.filter_jit
def evidence(mapping, q, outputs):
    return mapping.expected_log_likelihood(q, outputs).value


def observations(case, rng, rows=N, nodes=3):
    """Rows drawn from a likelihood, with a hole, and the data as a table."""
    kind = case.likelihood
    given = None if case.given is None else case.given(rng, rows)
    f = jnp.asarray(rng.normal(size=(rows, D, kind.n_functions)))
    y = np.array(kind.draw(jax.random.key(0), f, None if given is None else jnp.asarray(given)))
    y[1, 2] = np.nan
    outputs = make_observations(np.nan_to_num(y, nan=1.0), GaussianNoise(), Q)
    return eqx.tree_at(
        lambda o: (o.values, o.mask, o.given, o.nodes),
        outputs,
        (
            jnp.asarray(np.where(np.isnan(y), kind.some_value(), y)),
            jnp.asarray(~np.isnan(y), float),
            None if given is None else jnp.asarray(given),
            jnp.asarray(row_nodes(rows, Q, nodes)),
        ),
        is_leaf=lambda leaf: leaf is None,
    )


def explicit(kind, rng, groups=1):
    """A mapping with some q(U), one covariance per group."""
    C = kind.n_functions
    F = D * C
    A = 0.3 * rng.normal(size=(groups, M, M))
    S = A @ np.swapaxes(A, 1, 2) + 0.2 * np.eye(M)
    return StochasticGP(
        KERNEL, rng.normal(size=(M, Q)), kind, 0.3 * rng.normal(size=(D, C)),
        rng.normal(size=(M, F)), np.linalg.cholesky(S), np.arange(F) % groups,
    )  # fmt: skip


@pytest.fixture
def q(rng):
    mean, variance = rng.normal(size=(N, Q)), rng.uniform(0.02, 0.2, size=(N, Q))
    return Gaussian(jnp.asarray(mean), jnp.asarray(variance))


# ---------------------------------------------------------------- Gaussian noise, closed form


@pytest.mark.parametrize("groups", [1, 2])
def test_gaussian_bound_is_the_printed_one_for_any_q_of_u(groups, q, rng):
    Y = rng.normal(size=(N, D))
    Y[[1, 4, 4], [0, 1, 2]] = np.nan
    view = explicit(GaussianNoise(0.3), rng, groups)
    view = eqx.tree_at(lambda v: v.offset, view, view.offset.with_value(np.zeros((D, 1))))
    found = evidence(view, q, make_observations(Y, view.likelihood, Q))
    Z = np.asarray(view.inducing.value)
    formula = ref.rbf(1.3, ELL)
    K = ref.matrix(formula, Z, Z) + 1e-6 * 1.3 * np.eye(M)
    L = np.linalg.cholesky(K)
    stats = ref.psi_rows(formula, Z, np.asarray(q.mean), np.asarray(q.variance),
                         ref.hermite_nodes(Q, 30))  # fmt: skip
    means = [L @ m for m in np.asarray(view.mean.value).T]
    S = np.asarray(view.covariances())
    covariances = [L @ S[g] @ L.T for g in np.asarray(view.group_of_function)]
    expected = ref.uncollapsed_bound(Y, K, *stats, 1 / 0.3, means, covariances)
    np.testing.assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.parametrize("holes", [False, True])
def test_one_natural_step_reaches_the_collapsed_bound(holes, q, rng):
    Y = rng.normal(size=(N, D))
    if holes:
        Y[[1, 4]] = np.nan
    Z = rng.normal(size=(M, Q))
    collapsed = CollapsedGP(KERNEL, Z, 0.3)
    exact = collapsed.expected_log_likelihood(q, make_outputs(Y)).value
    view = StochasticGP(KERNEL, Z, GaussianNoise(0.3), np.zeros((D, 1)))
    outputs = make_observations(Y, view.likelihood, Q)
    assert evidence(view, q, outputs) < exact
    stepped = eqx.filter_jit(natural_step)(view, q, outputs, 1.0)
    np.testing.assert_allclose(evidence(stepped, q, outputs), exact, rtol=1e-9)
    posterior, other = stepped.posterior(q, outputs), collapsed.posterior(q, make_outputs(Y))
    at = Gaussian(jnp.asarray(rng.normal(size=(2, Q))), jnp.zeros((2, Q)))
    np.testing.assert_allclose(posterior.mean(at), other.mean(at), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(posterior.variance(at), other.variance(at) + 0.3, rtol=1e-6)


def test_noise_per_column(q, rng):
    Y = rng.normal(size=(N, D))
    view = explicit(GaussianNoise(NOISE, per_column=True), rng)
    found = evidence(view, q, make_observations(Y, view.likelihood, Q))
    nodes = make_observations(Y, Bernoulli(), Q, log2_nodes=11)
    sampled = eqx.filter_jit(view._block_terms)(
        jnp.linalg.cholesky(KERNEL.gram(view.inducing.value) + 1.3e-6 * jnp.eye(M)),
        q, nodes, view.mean.value, view.covariances(),
    )  # fmt: skip
    np.testing.assert_allclose(found, sampled.sum() - view.kl(), rtol=3e-3)


# ---------------------------------------------------------------- every kind


@pytest.mark.parametrize("name", ["bernoulli", "categorical", "negative_binomial", "hurdle"])
def test_bound_is_a_plain_average_over_draws(name, q, rng):
    case = CASES[name]
    view, outputs = explicit(case.likelihood, rng, 2), observations(case, rng, nodes=6)
    found = float(evidence(view, q, outputs))
    posterior, count = view.posterior(q, outputs), 4000
    x = q.mean + jnp.sqrt(q.variance) * jax.random.normal(jax.random.key(1), (count, N, Q))
    m, v = eqx.filter_jit(jax.vmap(posterior.functions))(x)
    f = m + jnp.sqrt(v) * jax.random.normal(jax.random.key(2), m.shape)
    density = case.likelihood.log_density(
        jnp.broadcast_to(outputs.values, f.shape[:-1]), f, outputs.given
    )
    totals = np.asarray((outputs.mask * density).sum(axis=(1, 2)))
    error = totals.std() / np.sqrt(count)
    assert abs(totals.mean() - float(view.kl()) - found) < 5 * error + 2e-3 * abs(found)


@pytest.mark.parametrize("name", ["ordinal", "student_t", "poisson, exposed"])
def test_gradients_are_finite_differences(name, q, rng):
    case = CASES[name]
    view, outputs = explicit(case.likelihood, rng), observations(case, rng)
    free, fixed = split_free(view)
    flat, back = ravel_pytree((free, q))

    @eqx.filter_jit
    def bound(vector):
        free, q = back(vector)
        return evidence(eqx.combine(free, fixed), q, outputs)

    found = np.asarray(jax.grad(bound)(flat))
    chosen = rng.choice(flat.size, 25, replace=False)

    def along(values):
        return bound(jnp.asarray(flat).at[chosen].set(values))

    expected = ref.finite_differences(along, np.asarray(flat)[chosen], 1e-5)
    np.testing.assert_allclose(found[chosen], expected, rtol=1e-5, atol=1e-5 * np.abs(found).max())


@pytest.mark.parametrize("name", ["gaussian", "binomial"])
def test_the_average_of_all_batches_is_the_whole(name, q, rng):
    case = CASES[name]
    view = explicit(case.likelihood, rng)
    outputs = observations(case, rng)
    if name == "gaussian":
        outputs = make_observations(np.asarray(outputs.values), view.likelihood, Q)
    free, fixed = split_free(view)

    @eqx.filter_jit
    def slope(free, rows):
        def bound(free):
            return evidence(eqx.combine(free, fixed), q[rows], outputs.rows(rows))

        return ravel_pytree(jax.grad(bound)(free))[0]

    whole = slope(free, jnp.arange(N))
    order = rng.permutation(N).reshape(4, 2)
    parts = [slope(free, jnp.asarray(rows)) for rows in order]
    np.testing.assert_allclose(np.mean(parts, axis=0), whole, rtol=1e-9, atol=1e-9)


def test_blocks_of_rows_change_nothing(q, rng, monkeypatch):
    case = CASES["bernoulli"]
    view, outputs = explicit(case.likelihood, rng), observations(case, rng)
    before = view.expected_log_likelihood(q, outputs).value
    monkeypatch.setattr("manyviews.mappings.stochastic.BLOCK_ENTRIES", 16 * M * 3)
    np.testing.assert_allclose(view.expected_log_likelihood(q, outputs).value, before, rtol=1e-12)


def test_roots_are_packed_and_unpacked(rng):
    R = np.linalg.cholesky(np.cov(rng.normal(size=(4, 50))) + 0.1 * np.eye(4))[None]
    np.testing.assert_allclose(unpacked_root(packed_root(jnp.asarray(R))), R, rtol=1e-12)


@pytest.mark.parametrize("name", ["bernoulli", "categorical", "ordinal, probit", "poisson"])
def test_every_level_counts_as_half_an_observation_of_the_mean_function(name, rng):
    kind = CASES[name].likelihood
    view = explicit(kind, rng)
    S, m = np.asarray(view.covariances())[0], np.asarray(view.mean.value)
    per_function = np.trace(S) - M - np.linalg.slogdet(S)[1] + (m**2).sum(axis=0)
    expected = 0.5 * per_function[np.asarray(view.used, bool)].sum()
    levels = kind.level_values()
    if levels is not None:
        share = np.asarray(kind.level_probabilities(view.offset.value))
        there = np.broadcast_to(~np.isnan(levels), share.shape)
        np.testing.assert_allclose(np.where(there, share, 0.0).sum(axis=1), 1.0)
        expected -= 0.5 * np.log(share[there]).sum()
    np.testing.assert_allclose(view.kl(), expected, rtol=1e-9)


# ---------------------------------------------------------------- a bound that is one


@pytest.mark.parametrize("name", [n for n in CASES if "," not in n])
def test_the_bound_is_below_the_evidence(name, rng):
    """log p(Y) by importance sampling of all positions and function values."""
    case, n = CASES[name], 4
    kind = case.likelihood
    outputs = observations(case, rng, rows=n, nodes=5)
    q = Gaussian(jnp.asarray(0.5 * rng.normal(size=(n, Q))), jnp.full((n, Q), 0.1))
    view = StochasticGP(KERNEL, q.mean, kind, np.zeros((D, kind.n_functions)))
    view = settle(view, q, outputs)
    kl = float(jnp.sum(q.kl(Gaussian(jnp.zeros((n, Q)), jnp.ones((n, Q))))))
    bound = float(evidence(view, q, outputs)) - kl
    count, C = 3000, kind.n_functions
    spread = np.sqrt(np.asarray(q.variance))
    x = np.asarray(q.mean) + spread * rng.standard_normal((count, n, Q))
    weights = (norm.logpdf(x) - norm.logpdf(x, np.asarray(q.mean), spread)).sum(axis=(1, 2))
    formula, Z = ref.rbf(1.3, ELL), np.asarray(view.inducing.value)
    K = ref.matrix(formula, Z, Z) + 1.3e-6 * np.eye(n)
    L, S, m = np.linalg.cholesky(K), np.asarray(view.covariances())[0], np.asarray(view.mean.value)
    f = np.empty((count, n, D * C))
    for s, points in enumerate(x):
        prior = formula(points[:, None], points[None]) + 1e-8 * np.eye(n)
        A = np.linalg.solve(L, formula(Z[:, None], points[None])).T
        cov = prior - A @ A.T + A @ S @ A.T + 1e-8 * np.eye(n)
        mean = A @ m
        f[s] = mean + np.linalg.cholesky(cov) @ rng.standard_normal((n, D * C))
        used = np.asarray(view.used, bool)
        weights[s] += multivariate_normal.logpdf(f[s].T[used], np.zeros(n), prior).sum()
        weights[s] -= multivariate_normal.logpdf((f[s] - mean).T[used], np.zeros(n), cov).sum()
    density = eqx.filter_jit(kind.log_density)(
        jnp.broadcast_to(outputs.values, (count, n, D)),
        jnp.asarray(f.reshape(count, n, D, C)), outputs.given,
    )  # fmt: skip
    weights += np.asarray((outputs.mask * density).sum(axis=(1, 2)))
    estimate = logsumexp(weights) - np.log(count)
    relative = np.exp(weights - estimate)
    error = relative.std() / np.sqrt(count)
    assert bound < estimate + 3 * error
    assert bound > estimate - 30.0  # and not far below it, for a q(X) that was not fitted


# ---------------------------------------------------------------- prediction


def test_posterior_predicts_values_and_row_evidence_is_the_bound_of_a_row(q, rng):
    case = CASES["negative_binomial"]
    view, outputs = explicit(NegativeBinomial(size=np.ones(D)), rng), observations(case, rng)
    outputs = eqx.tree_at(lambda o: o.given, outputs, None)
    posterior = view.posterior(q, outputs)
    mean, variance = posterior.mean(q), posterior.variance(q)
    draws = np.asarray(eqx.filter_jit(posterior.sample)(q, 4000, jax.random.key(0)))
    error = 5 * draws.std(axis=0) / np.sqrt(4000) + 0.02 * np.asarray(mean)
    assert np.all(np.abs(draws.mean(axis=0) - mean) < error)
    np.testing.assert_allclose(
        np.diagonal(posterior.covariance(q), axis1=1, axis2=2), variance, rtol=1e-8
    )
    low, high = (eqx.filter_jit(posterior.quantiles)(q, p) for p in (0.05, 0.95))
    inside = ((draws >= low) & (draws <= high)).mean(axis=0)
    assert np.all(inside > 0.88)
    seen = np.asarray(outputs.mask, bool)
    rows = row_evidence(posterior, np.where(seen, outputs.values, 0.0), seen)
    found = rows(q)
    whole = evidence(view, q, outputs.with_nodes(jnp.tile(rows.nodes, (N, 1, 1))))
    np.testing.assert_allclose(jnp.sum(found), whole + view.kl(), rtol=1e-9)
    order = jnp.array([3, 0, 3])
    np.testing.assert_allclose(rows.take(order)(q[order]), found[order], rtol=1e-12)
    assert (rows.n_rows, rows.n_inducing) == (N, M)


def test_typical_givens_where_nothing_is_known(q, rng):
    for kind, expected in ((Binomial(7), 7.0), (Binomial("reads"), 1.0)):
        posterior = explicit(kind, rng).posterior(q, None)
        p = kind.success_probability(*(a[0] for a in posterior.parts(q)))
        assert p.shape == (N, D)
        assert np.all(posterior.mean(q) <= expected)
    posterior = explicit(Poisson("hours"), rng).posterior(q, None)
    twice = posterior.mean(q, jnp.full((N, D), np.log(2.0)))
    np.testing.assert_allclose(twice, 2 * posterior.mean(q), rtol=1e-12)

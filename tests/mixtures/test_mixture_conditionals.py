"""Every conditional of the Dirichlet process mixture against ratios of the joint density."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import gammaln

from manyviews.mixtures import conditionals as given
from manyviews.mixtures import draws, gibbs, hierarchy, indicators, numbers

N, K, Q, SIZES = 14, 4, 2, (2, 3)
ACTIVE = np.array([True, True, False, True])
LABELS = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 3, 3, 3, 3, 3])


def positive(rng, m):
    half = rng.normal(size=(m, m + 2))
    return half @ half.T / m


def precision_of(rng, m, d):
    """A positive matrix, or for d = 1 a multiple of I."""
    return positive(rng, d) * np.eye(m // d)


@pytest.fixture(scope="module", params=[False, True], ids=["full noise", "one variance"])
def problem(request):
    rng = np.random.default_rng(0)
    views, components, hypers, Y = [], [], [], []
    for m in SIZES:
        covariance = positive(rng, m)
        d = 1 if request.param else m
        views.append(hierarchy.view_prior(rng.normal(size=m), covariance, request.param))
        A = np.stack([precision_of(rng, m, d) for _ in range(K)])
        parts = (rng.normal(size=(K, m)), np.linalg.cholesky(A), np.linalg.slogdet(A)[1],
                 rng.normal(size=(K, m, Q)))  # fmt: skip
        components.append(hierarchy.Components(*map(jnp.asarray, parts)))
        values = (rng.normal(size=m), positive(rng, m), positive(rng, d), d + 1.3, 0.7,
                  rng.normal(size=(m, Q)))  # fmt: skip
        hypers.append(hierarchy.Hyper(*map(jnp.asarray, values)))
        Y.append(jnp.asarray(rng.normal(size=(N, m))))
    prior = hierarchy.Prior(tuple(views), jnp.asarray(0.8))
    state = hierarchy.State(
        tuple(components), tuple(hypers), jnp.asarray(rng.normal(size=(N, Q))),
        jnp.asarray(LABELS), jnp.asarray(1.4),
    )  # fmt: skip
    return prior, state, tuple(Y)


@pytest.fixture(scope="module")
def joint(problem):
    prior, _, Y = problem
    return jax.jit(lambda state: hierarchy.log_joint(prior, state, Y))


def with_component(state, view, k, **values):
    own = state.components[view]
    if "A" in values:
        A = values.pop("A")
        values |= {"factor": np.linalg.cholesky(A), "log_det": np.linalg.slogdet(A)[1]}
    own = own._replace(**{name: getattr(own, name).at[k].set(v) for name, v in values.items()})
    return state._replace(components=replaced(state.components, view, own))


def with_hyper(state, view, **values):
    values = {name: jnp.asarray(value) for name, value in values.items()}
    return state._replace(hyper=replaced(state.hyper, view, state.hyper[view]._replace(**values)))


def replaced(items, place, new):
    return tuple(new if i == place else item for i, item in enumerate(items))


def sums_of(state, Y, view, k):
    member = (state.c == k).astype(jnp.float64)
    return gibbs.component_sums(member, Y[view], state.x)


def gaussian_log(conditional, value):
    P = np.asarray(conditional.precision)
    return stats.multivariate_normal(
        np.linalg.solve(P, conditional.linear), np.linalg.inv(P)
    ).logpdf(value)


def wishart_log(conditional, value):
    return stats.wishart(float(conditional.df), np.linalg.inv(conditional.inverse_scale)).logpdf(
        value
    )


def agree(joint, changed, log_density, values):
    """Log joint and log conditional differ by one and the same constant at all values."""
    apart = [float(joint(changed(value))) - log_density(value) for value in values]
    np.testing.assert_allclose(apart, apart[0], rtol=0, atol=1e-8)


def test_log_joint_is_the_sum_of_scipys_densities(problem, joint):
    prior, state, Y = problem
    total = stats.norm.logpdf(state.x).sum()
    alpha = float(state.alpha)
    sizes = np.bincount(LABELS, minlength=K)[ACTIVE]
    total += len(sizes) * np.log(alpha) + gammaln(sizes).sum()
    total += gammaln(alpha) - gammaln(alpha + N) + stats.gamma(0.5, scale=2.0).logpdf(alpha)
    for constants, own, hyper, table in zip(
        prior.views, state.components, state.hyper, Y, strict=True
    ):
        m, d = len(constants.mean), len(hyper.C)
        excess = float(hyper.beta) - d + 1.0
        normal = stats.multivariate_normal
        total += normal(constants.mean, constants.covariance).logpdf(hyper.lam)
        total += stats.wishart(m, np.asarray(constants.precision) / m).logpdf(hyper.R)
        sigma = np.asarray(constants.covariance)
        sigma = sigma if d == m else np.trace(sigma).reshape(1, 1) / m
        total += stats.wishart(d, sigma / d).logpdf(hyper.C)
        total += stats.gamma(0.5, scale=2.0).logpdf(1.0 / excess) - 2.0 * np.log(excess)
        total += stats.gamma(0.5, scale=2.0).logpdf(float(hyper.v))
        total += stats.norm(0, 1 / np.sqrt(0.8)).logpdf(hyper.gamma).sum()
        for k in np.flatnonzero(ACTIVE):
            A = np.asarray(own.precision()[k])
            beta, v = float(hyper.beta), float(hyper.v)
            total += normal(hyper.lam, np.linalg.inv(hyper.R)).logpdf(own.mu[k])
            total += stats.wishart(beta, np.linalg.inv(hyper.C) / beta).logpdf(A[:d, :d])
            total += stats.norm(hyper.gamma, 1 / np.sqrt(v)).logpdf(own.W[k]).sum()
            for n in np.flatnonzero(k == LABELS):
                centre = own.W[k] @ state.x[n] + own.mu[k]
                total += normal(centre, np.linalg.inv(A)).logpdf(table[n])
    np.testing.assert_allclose(joint(state), total, rtol=1e-11)


@pytest.mark.parametrize("view", [0, 1])
@pytest.mark.parametrize("k", [0, 1])
def test_conditionals_of_a_component(problem, joint, rng, view, k):
    _, state, Y = problem
    own, hyper, m = state.components[view], state.hyper[view], SIZES[view]
    d = len(hyper.C)
    sums, A = sums_of(state, Y, view, k), own.precision()[k]
    mean = given.mean_given_rest(sums, A, own.W[k], hyper)
    agree(joint, lambda mu: with_component(state, view, k, mu=mu),
          lambda mu: gaussian_log(mean, mu), rng.normal(size=(4, m)))  # fmt: skip
    noise = given.noise_given_rest(sums, own.mu[k], own.W[k], hyper)
    agree(joint, lambda A: with_component(state, view, k, A=A),
          lambda A: wishart_log(noise, A[:d, :d]),
          [precision_of(rng, m, d) for _ in range(4)])  # fmt: skip
    rotated = given.loadings_given_rest(sums, own.mu[k], A, hyper)

    def loadings_log(W):
        Z = np.asarray(rotated.left.T @ W @ rotated.right)
        return stats.norm(rotated.mean, 1 / np.sqrt(rotated.precision)).logpdf(Z).sum()

    agree(joint, lambda W: with_component(state, view, k, W=W), loadings_log,
          rng.normal(size=(4, m, Q)))  # fmt: skip


@pytest.mark.parametrize("view", [0, 1])
def test_conditionals_of_the_hyperparameters(problem, joint, rng, view):
    prior, state, _ = problem
    own, hyper, m = state.components[view], state.hyper[view], SIZES[view]
    d = len(hyper.C)
    constants, active = prior.views[view], jnp.asarray(ACTIVE)
    lam = given.lambda_given_rest(own.mu, active, hyper, constants)
    agree(joint, lambda value: with_hyper(state, view, lam=value),
          lambda value: gaussian_log(lam, value), rng.normal(size=(4, m)))  # fmt: skip
    matrices = [positive(rng, m) for _ in range(4)]
    R = given.spread_given_rest(own.mu, active, hyper, constants)
    agree(joint, lambda value: with_hyper(state, view, R=value),
          lambda value: wishart_log(R, value), matrices)  # fmt: skip
    C = given.noise_scale_given_rest(own.precision(), active, hyper, constants)
    agree(joint, lambda value: with_hyper(state, view, C=value),
          lambda value: wishart_log(C, value),
          [positive(rng, d) for _ in range(4)])  # fmt: skip
    v = given.loading_precision_given_rest(own.W, active, hyper)
    agree(joint, lambda value: with_hyper(state, view, v=value),
          stats.gamma(v.shape, scale=1 / v.rate).logpdf, [0.1, 0.9, 4.0])  # fmt: skip
    mean, precision = given.loading_mean_given_rest(own.W, active, hyper.v, prior)
    agree(joint, lambda value: with_hyper(state, view, gamma=value),
          lambda value: stats.norm(mean, 1 / np.sqrt(precision)).logpdf(value).sum(),
          rng.normal(size=(4, m, Q)))  # fmt: skip
    sums = given.noise_sums(own, active, hyper.C, jnp.linalg.slogdet(hyper.C)[1])
    agree(joint, lambda u: with_hyper(state, view, beta=np.exp(u) + d - 1.0),
          lambda u: float(given.log_beta_given_rest(jnp.asarray(u), sums, 3)) - u,
          [-2.0, 0.1, 1.0, 4.0])  # fmt: skip


def test_conditional_of_a_latent_position(problem, joint, rng):
    _, state, Y = problem
    precision, gains = given.latent_given_rest(state.components)
    n, k = 6, 1
    linear = sum(gain[k].T @ (table[n] - own.mu[k])
                 for gain, table, own in zip(gains, Y, state.components, strict=True))  # fmt: skip
    conditional = given.Gaussian(precision[k], linear)
    agree(joint, lambda x: state._replace(x=state.x.at[n].set(x)),
          lambda x: gaussian_log(conditional, x), rng.normal(size=(4, Q)))  # fmt: skip


def test_conditional_of_an_indicator(problem):
    """CRP weights times the density with x integrated out, as ratios of p(c | α) p(y | c)."""
    _, state, Y = problem
    alpha, n = state.alpha, 0
    density = np.stack([indicators.log_likelihood(Y, state.components, k) for k in range(K)])
    for k in range(K):
        loadings = np.concatenate([own.W[k] for own in state.components])
        blocks = [np.linalg.inv(own.precision()[k]) for own in state.components]
        covariance = loadings @ loadings.T
        covariance[:2, :2] += blocks[0]
        covariance[2:, 2:] += blocks[1]
        mean = np.concatenate([own.mu[k] for own in state.components])
        expected = stats.multivariate_normal(mean, covariance).logpdf(np.concatenate(Y, axis=1))
        np.testing.assert_allclose(density[k], expected, rtol=1e-9)
    others = np.bincount(np.delete(LABELS, n), minlength=K)
    log_prior = [
        float(hierarchy.log_partition(jnp.asarray(others + np.eye(K, dtype=int)[k]), alpha))
        for k in range(K)
    ]
    weights = np.log([4.0, 4.0, float(alpha), 5.0])  # component 2 is empty: a new one
    np.testing.assert_allclose(np.diff(log_prior), np.diff(weights), atol=1e-10)


def test_concentration_has_its_conditional(problem):
    n_active, n = 3, 14

    def log_density(alpha):
        rising = gammaln(alpha) - gammaln(alpha + n)
        return (n_active - 0.5) * np.log(alpha) + rising - 0.5 * alpha

    def step(alpha, key):
        alpha = given.concentration_given_rest(key, alpha, jnp.asarray(n_active), n)
        return alpha, alpha

    keys = numbers.split(numbers.as_seed(0), 40_000)
    chain = np.asarray(jax.jit(lambda: jax.lax.scan(step, jnp.asarray(1.0), keys))()[1])[::4]
    total = integrate.quad(lambda a: np.exp(log_density(a)), 0, 60)[0]
    for level in (0.2, 0.5, 1.0, 2.0):
        share = integrate.quad(lambda a: np.exp(log_density(a)), 0, level)[0] / total
        error = np.sqrt(share * (1 - share) / len(chain))
        assert abs(np.mean(chain < level) - share) < 4 * error


def test_missing_values_have_their_conditional(problem):
    _, state, Y = problem
    hidden = np.zeros((N, 3), dtype=bool)
    hidden[2, [0, 2]] = True
    masks = (jnp.zeros((N, 2), dtype=bool), jnp.asarray(hidden))
    keys = numbers.split(numbers.as_seed(0), 20_000)
    draw = jax.jit(lambda ks: jax.lax.map(
        lambda key: gibbs.update_missing(key, state, Y, masks)[1][2], ks))  # fmt: skip
    drawn = np.asarray(draw(keys))
    own, x, y = state.components[1], state.x[2], np.asarray(Y[1][2])
    centre, psi = np.asarray(own.W[0] @ x + own.mu[0]), np.linalg.inv(own.precision()[0])
    gain = psi[[0, 2], 1] / psi[1, 1]
    mean = centre[[0, 2]] + gain * (y[1] - centre[1])
    covariance = psi[np.ix_([0, 2], [0, 2])] - np.outer(gain, psi[1, [0, 2]])
    np.testing.assert_array_equal(drawn[:, 1], y[1])
    scale = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose((drawn[:, [0, 2]].mean(0) - mean) / scale, 0, atol=0.03)
    chance = 4.0 * np.outer(scale, scale) / np.sqrt(len(drawn))
    assert (np.abs(np.cov(drawn[:, [0, 2]].T) - covariance) < 1.5 * chance).all()


def test_random_numbers():
    z = np.asarray(numbers.normals(numbers.as_seed(0), 200_001))
    assert stats.kstest(z, "norm").pvalue > 1e-3
    assert abs(np.corrcoef(z[:100_000], z[100_001:])[0, 1]) < 0.012
    x = np.exp(np.random.default_rng(0).uniform(-200, 200, 10_000))
    np.testing.assert_allclose(numbers.fast_log(jnp.asarray(x)), np.log(x), rtol=4e-16, atol=1e-15)
    shapes = np.array([0.03, 0.5, 1.0, 2.5, 40.0])
    logs = np.asarray(
        draws.log_gamma(numbers.as_seed(1), jnp.tile(jnp.asarray(shapes), (40_000, 1)))
    )
    for column, shape in zip(logs.T, shapes, strict=True):
        assert stats.kstest(column, stats.loggamma(shape).cdf).pvalue > 1e-3
    assert np.isnan(draws.log_gamma(numbers.as_seed(0), jnp.array([-1.0, 2.0]))[0])


@pytest.mark.long
def test_wishart_and_slice_draws(rng):
    m, df = 3, 4.5
    B = positive(rng, m)
    keys = numbers.split(numbers.as_seed(0), 2)
    n = 20_000
    below = numbers.normals(keys[0], n * m * m).reshape(n, m, m)
    shapes = jnp.broadcast_to(draws.chi_square_shapes(jnp.asarray(df), m), (n, m))
    T = draws.bartlett(below, draws.log_chi_square(draws.log_gamma(keys[1], shapes)))
    F, log_det = jax.jit(
        lambda T: jax.lax.map(lambda t: draws.wishart_factor(t, jnp.asarray(B)), T)
    )(T)
    A = np.asarray(F @ np.swapaxes(F, 1, 2))
    scale = np.linalg.inv(B)
    np.testing.assert_allclose(A.mean(0), df * scale, atol=0.03 * df * np.abs(scale).max())
    np.testing.assert_allclose(log_det[:50], np.linalg.slogdet(A[:50])[1], rtol=1e-8, atol=1e-8)
    exact = stats.wishart(df, scale).rvs(20_000, random_state=0)
    assert stats.ks_2samp(log_det, np.linalg.slogdet(exact)[1]).pvalue > 1e-3

    def step(value, key):
        value = draws.slice_sample(key, value, lambda u: u - jnp.exp(u))
        return value, value

    keys = numbers.split(numbers.as_seed(2), 30_000)
    chain = np.asarray(jax.jit(lambda: jax.lax.scan(step, jnp.asarray(0.0), keys))()[1])
    assert stats.kstest(chain[::10], stats.loggamma(1.0).cdf).pvalue > 1e-3

"""Geweke's joint distribution test of the whole Gibbs sweep (Geweke 2004).

Parameters and data are drawn together in two ways: from the prior, and by a chain that alternates
a sweep given the data with new data given the parameters. If every conditional is right, both have
one distribution. The test is tested: the text's own errors must be found.

The prior of β is so vague that data of its own making overflow: noise with a degree of freedom
hardly above the least is all but singular. Both ways therefore keep to β - m + 1 > 2.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import erf, erfinv

from manyviews.mixtures import conditionals as given
from manyviews.mixtures import gibbs, hierarchy, indicators
from manyviews.mixtures.draws import log_gamma
from manyviews.mixtures.numbers import as_seed, normals, split, uniforms

pytestmark = pytest.mark.slow

N, Q, H = 5, 2, 2
TWO_VIEWS, ONE_TABLE = ((1, 2), False), ((3,), True)  # widths, and noise of one variance or full
SLOTS = N + H + 1  # room for all
STEPS, PRIOR_DRAWS, CHAINS = 100_000, 60_000, 25
LEAST = 2.0  # of β - m + 1


@pytest.fixture(autouse=True)
def truncated(monkeypatch):
    right = given.log_beta_given_rest

    def log_density(u, sums, widest):
        return jnp.where(u > np.log(LEAST), right(u, sums, widest), -jnp.inf)

    monkeypatch.setattr(given, "log_beta_given_rest", log_density)


def constants(sizes, shared_variance):
    views = []
    for m in sizes:
        covariance = 0.5 * np.eye(m) + 0.5
        views.append(hierarchy.view_prior(np.full(m, 0.3), covariance, shared_variance))
    return hierarchy.Prior(tuple(views), jnp.asarray(1.5, jnp.float64))


def draw_data(key, state):
    tables = []
    n_views = len(state.components)
    for own_key, own in zip(split(key, n_views), state.components, strict=True):
        m = own.mu.shape[1]
        centre = own.mu[state.c] + jnp.einsum("nmq,nq->nm", own.W[state.c], state.x)
        noise = normals(own_key, N * m).reshape(N, m)
        solved = [jnp.linalg.solve(own.factor[state.c[n]].T, noise[n]) for n in range(N)]
        tables.append(centre + jnp.stack(solved))
    return tuple(tables)


def draw_prior(key, prior):
    """Hyperparameters, then what depends on them."""
    keys = split(key, 4)
    hyper = tuple(
        hierarchy.draw_hyper(own, view, prior.tau, Q)
        for own, view in zip(split(keys[0], len(prior.views)), prior.views, strict=True)
    )
    # 1 / (β - d + 1) is the square of a normal number, here one below 1 / LEAST
    top = erf(np.sqrt(0.5 / LEAST))
    root = np.sqrt(2.0) * erfinv(top * uniforms(keys[1], len(hyper)))
    hyper = tuple(
        own._replace(beta=len(own.C) - 1.0 + 1.0 / z**2) for own, z in zip(hyper, root, strict=True)
    )
    alpha = 2.0 * jnp.exp(log_gamma(keys[2], jnp.array([0.5]))[0])
    return draw_rest(keys[3], hyper, alpha)


def draw_rest(key, hyper, alpha):
    """Seats in the restaurant, positions, components, then data."""
    keys = split(key, 4)
    uniform = uniforms(keys[0], N)
    c = jnp.zeros(N, jnp.int64)
    for n in range(1, N):
        counts = jnp.zeros(N).at[c[:n]].add(1.0)
        opened = jnp.sum(counts > 0)
        weights = jnp.where(jnp.arange(N) == opened, alpha, counts) / (n + alpha)
        c = c.at[n].set(jnp.searchsorted(jnp.cumsum(weights), uniform[n]).clip(0, N - 1))
    x = normals(keys[1], N * Q).reshape(N, Q)
    state = hierarchy.State((), hyper, x, c, alpha)
    state = state._replace(components=indicators.draw_auxiliary(keys[2], state, SLOTS))
    return state, draw_data(keys[3], state)


def features(state, Y):
    """Bounded functions of everything: heavy tails have no moments."""
    first, second = state.c[0], state.c[1]
    values = [
        jnp.log(state.alpha), jnp.sum(state.counts() > 0) - 2.0, 1.0 * (first == second),
        state.x[0, 0], state.x[1, 1] ** 2 - 1.0,
    ]  # fmt: skip
    for own, hyper, y in zip(state.components, state.hyper, Y, strict=True):
        m = len(hyper.lam)
        values += [
            jnp.log(hyper.beta - len(hyper.C) + 1.0), jnp.log(hyper.v), hyper.lam[0],
            hyper.gamma[0, 0], hyper.gamma[-1, 1] ** 2, jnp.log(hyper.R[0, 0]),
            jnp.log(hyper.C[0, 0]),
            own.log_det[first] / m, own.mu[first, 0], own.W[first, 0, 0],
            jnp.log(jnp.sum(own.W[second] ** 2)), y[0, 0], jnp.log(jnp.abs(y[1, -1])),
            own.mu[first, 0] * y[0, 0], own.W[first, -1, 1] * state.x[0, 1] * y[0, -1],
            jnp.log(own.precision()[second, 0, 0]),
        ]  # fmt: skip
    return jnp.tanh(0.5 * jnp.stack(values))


def z_scores(setting=TWO_VIEWS, seed=0):
    """Of the whole sweep, with moves."""
    prior = constants(*setting)

    def sweep(key, state, Y):
        state, _, trace = gibbs.sweep(key, state, Y, None, prior, gibbs.SweepOptions(H, 0.8))
        return state, trace.overflow

    return differences(lambda key: draw_prior(key, prior), sweep, seed, STEPS, PRIOR_DRAWS)


def differences(draw, step, seed, n_steps, n_draws):
    """Differences of the means in standard errors.

    The chain is many short ones, each from a draw of its own of the prior and its data: that is
    where they stay if all is right, and their means are independent however slowly they mix.
    """

    def chain(keys):
        def successive(carry, key):
            step_key, data_key = split(key)
            state, no_room = step(step_key, *carry)
            Y = draw_data(data_key, state)
            return (state, Y), (features(state, Y), no_room)

        seen, no_room = jax.lax.scan(successive, draw(keys[0]), keys[1:])[1]
        return seen.mean(axis=0), no_room.any()

    keys = split(as_seed(seed), 2)
    exact = np.asarray(jax.jit(lambda k: jax.lax.map(lambda key: features(*draw(key)), k))(
        split(keys[0], n_draws)))  # fmt: skip
    length = n_steps // CHAINS + 1
    own_keys = split(keys[1], CHAINS * length).reshape(CHAINS, length)
    means, no_room = jax.jit(lambda k: jax.lax.map(chain, k))(own_keys)
    assert not no_room.any()
    means = np.asarray(means)
    error = np.sqrt(means.var(axis=0, ddof=1) / CHAINS + exact.var(axis=0) / n_draws)
    return (means.mean(axis=0) - exact.mean(axis=0)) / error


@pytest.mark.long
@pytest.mark.parametrize(("setting", "n_features"), [(TWO_VIEWS, 37), (ONE_TABLE, 21)])
def test_prior_and_chain_agree(setting, n_features):
    z = z_scores(setting)
    assert len(z) == n_features
    assert np.abs(z).max() < 5.0  # one in a thousand for 37 t-values of 24 degrees of freedom
    assert np.mean(z**2) < 2.0


@pytest.mark.long
@pytest.mark.parametrize("mistake", ["noise", "loadings"])
def test_the_errors_of_the_text_are_found(monkeypatch, mistake):
    if mistake == "noise":  # 5.66: N_k S instead of S
        right = given.noise_given_rest

        def wrong(sums, mu, W, hyper):
            conditional = right(sums, mu, W, hyper)
            S = conditional.inverse_scale - hyper.beta * hyper.C
            return conditional._replace(inverse_scale=sums.n * S + hyper.beta * hyper.C)

        monkeypatch.setattr(given, "noise_given_rest", wrong)
    else:  # 5.93: no q
        right = given.loading_precision_given_rest

        def wrong(W, active, hyper):
            conditional = right(W, active, hyper)
            return conditional._replace(shape=0.5 * (W.shape[1] * jnp.sum(active) + 1.0))

        monkeypatch.setattr(given, "loading_precision_given_rest", wrong)
    assert np.nanmax(np.abs(z_scores())) > 6.0


@pytest.mark.long
def test_a_pass_over_indicators_leaves_the_posterior_of_partitions():
    """Three samples, hyperparameters fixed: shares of the five partitions against integration."""
    alpha = 1.2
    hypers = tuple(
        hierarchy.Hyper(jnp.zeros(1), 0.5 * jnp.eye(1), 0.5 * jnp.eye(1), jnp.asarray(4.0),
                        jnp.asarray(1.0), jnp.zeros((1, 1))) for _ in range(2)
    )  # fmt: skip
    Y = (jnp.array([[0.0], [0.6], [2.5]]), jnp.array([[0.3], [0.2], [-1.5]]))
    state = hierarchy.State((), hypers, jnp.zeros((3, 1)), jnp.array([0, 0, 1]), jnp.asarray(alpha))
    state = state._replace(components=indicators.draw_auxiliary(as_seed(3), state, 7))
    fresh = indicators.draw_auxiliary(as_seed(9), state, 200_000)
    density = jax.jit(lambda ks: jax.lax.map(lambda k: indicators.log_likelihood(Y, fresh, k), ks))(
        jnp.arange(200_000)
    )
    parts = np.exp(np.asarray(density)).reshape(20, -1, 3)

    def evidence(*samples):
        return parts[:, :, list(samples)].prod(axis=2).mean(axis=1)

    one, two, three = evidence(0), evidence(1), evidence(2)
    weights = np.stack([
        2.0 * alpha * evidence(0, 1, 2), alpha**2 * evidence(0, 1) * three,
        alpha**2 * evidence(0, 2) * two, alpha**2 * evidence(1, 2) * one,
        alpha**3 * one * two * three,
    ])  # fmt: skip
    shares = weights / weights.sum(axis=0)

    def step(state, seed):
        state, _, overflow = indicators.update_indicators(seed, state, Y, H)
        a, b, c = state.c
        pairs = (1 * (a == b) + 2 * (a == c) + 4 * (b == c)) % 7  # 0: all differ; 7: all agree
        return state, (jnp.where((a == b) & (b == c), 7, pairs), overflow)

    run = jax.jit(lambda seeds: jax.lax.scan(step, state, seeds)[1])
    found, overflow = run(split(as_seed(77), 200_000))
    assert not overflow.any()
    batches = np.stack([
        (np.asarray(found).reshape(25, -1) == kind).mean(axis=1) for kind in (7, 1, 2, 4, 0)
    ])  # fmt: skip
    error = np.hypot(batches.std(axis=1, ddof=1) / 5.0, shares.std(axis=1, ddof=1) / np.sqrt(20))
    z = (batches.mean(axis=1) - shares.mean(axis=1)) / error
    assert np.abs(z).max() < 4.5

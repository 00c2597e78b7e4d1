"""The bound of training and new rows together, against bounds of models that hold them all."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reference as ref
from manyviews.errors import OptionError
from manyviews.expectations import Gaussian
from manyviews.kernels import RBF, Bias, Linear
from manyviews.mappings import CollapsedGP, augmented, make_outputs
from manyviews.mappings.augmented import augmented_rows
from manyviews.mappings.rows import row_evidence

N, NEW, Q, M, D = 8, 3, 2, 4, 3
NOISE, ELL, VAR = 0.2, np.array([0.9, 1.7]), np.array([0.6, 1.2])
KERNELS = {
    "rbf": (RBF(1.3, ELL), ref.rbf(1.3, ELL)),
    "rbf+linear+bias": (
        RBF(1.3, ELL) + Linear(VAR) + Bias(0.5),
        ref.total(ref.rbf(1.3, ELL), ref.linear(VAR), ref.bias(0.5)),
    ),
}
FINE = ref.hermite_nodes(Q, 40)
ONE = np.ones(NEW)

evaluated = eqx.filter_jit(lambda rows, q: rows(q))
conditioned = eqx.filter_jit(lambda rows, q: rows.posterior(q))
evidence = eqx.filter_jit(lambda mapping, q, outputs: mapping.expected_log_likelihood(q, outputs))
train = eqx.filter_jit(lambda mapping, q, outputs: mapping.posterior(q, outputs))


class World:
    """Training rows, new rows, and a mapping; some values of both may be missing."""

    def __init__(self, rng, kernel=KERNELS["rbf"][0], holes="none", width=D):
        Z = rng.normal(size=(M, Q))
        self.mapping = CollapsedGP(kernel, Z, NOISE)
        self.mean, self.variance = rng.normal(size=(N, Q)), rng.uniform(0.05, 0.5, (N, Q))
        self.new = rng.normal(size=(NEW, Q)), rng.uniform(0.05, 0.5, (NEW, Q))
        self.Y, self.Y_new = rng.normal(size=(N, width)), rng.normal(size=(NEW, width))
        if holes != "none":
            self.Y[:3, 0] = np.nan
            self.Y_new[1, 1] = self.Y_new[2, :2] = np.nan
        if holes == "scattered":
            self.Y[[4, 5, 6], [0, 1, 2]] = np.nan

    @property
    def q(self):
        return Gaussian(jnp.asarray(self.mean), jnp.asarray(self.variance))

    @property
    def q_new(self):
        return Gaussian(*map(jnp.asarray, self.new))

    @property
    def everyone(self):
        mean, variance = (
            np.vstack([self.mean, self.new[0]]),
            np.vstack([self.variance, self.new[1]]),
        )
        return Gaussian(jnp.asarray(mean), jnp.asarray(variance)), np.vstack([self.Y, self.Y_new])

    def rows(self, counts=ONE, missing="auto"):
        posterior = train(self.mapping, self.q, make_outputs(self.Y, missing))
        return augmented_rows(posterior, self.q, self.Y, self.Y_new, counts)


@pytest.mark.parametrize(
    ("name", "holes"), [("rbf", "none"), ("rbf", "scattered"), ("rbf+linear+bias", "patterns")]
)
def test_it_is_the_bound_with_the_rows_appended(name, holes, rng):
    kernel, formula = KERNELS[name]
    world = World(rng, kernel, holes)
    q, Y = world.everyone
    Z = np.asarray(world.mapping.inducing.value)
    K = ref.matrix(formula, Z, Z)
    K = K + 1e-6 * np.mean(np.diag(K)) * np.eye(M)
    statistics = ref.psi_rows(formula, Z, np.asarray(q.mean), np.asarray(q.variance), FINE)
    expected = ref.collapsed_bound_with_holes(Y, K, *statistics, 1 / NOISE)
    rows = world.rows()
    np.testing.assert_allclose(evaluated(rows, world.q_new), expected, rtol=1e-7)
    before = evidence(world.mapping, world.q, make_outputs(world.Y, "exact")).value
    np.testing.assert_allclose(evaluated(rows.first(0), world.q_new), before, rtol=1e-9)


def test_columns_wider_than_rows_are_compressed(rng):
    world = World(rng, width=30)
    q, Y = world.everyone
    rows = world.rows()
    assert rows.cells.factors.shape == (1, NEW, N + NEW)
    expected = evidence(world.mapping, q, make_outputs(Y)).value
    np.testing.assert_allclose(evaluated(rows, world.q_new), expected, rtol=1e-9)


def test_training_values_that_share_a_covariance_are_treated_exactly(rng):
    world = World(rng, holes="scattered")
    shared = evaluated(world.rows(missing="shared"), world.q_new)
    np.testing.assert_allclose(shared, evaluated(world.rows(), world.q_new), rtol=1e-12)


def test_many_patterns_are_columns_by_themselves(rng, monkeypatch):
    world = World(rng, holes="patterns", width=5)
    few = world.rows()
    assert len(few.n_columns) == 3
    monkeypatch.setattr(augmented, "MAX_EXACT_PATTERNS", 2)
    many = world.rows()
    assert len(many.n_columns) == 5
    np.testing.assert_allclose(
        evaluated(many, world.q_new), evaluated(few, world.q_new), rtol=1e-10
    )
    np.testing.assert_allclose(
        jax.jit(lambda r, q: r.posterior(q).weights)(many, world.q_new),
        conditioned(few, world.q_new).weights,
        rtol=1e-8,
    )


def test_two_rows_that_count_half_are_one(rng):
    world = World(rng, holes="patterns")
    once = world.rows()
    q = world.q_new
    world.Y_new = np.repeat(world.Y_new, 2, axis=0)
    world.new = tuple(np.repeat(part, 2, axis=0) for part in world.new)
    twice = world.rows(np.full(2 * NEW, 0.5))
    np.testing.assert_allclose(evaluated(twice, world.q_new), evaluated(once, q), rtol=1e-10)
    np.testing.assert_allclose(
        conditioned(twice, world.q_new).weights, conditioned(once, q).weights, rtol=1e-8
    )


@pytest.mark.parametrize("holes", ["none", "patterns"])
def test_the_posterior_is_that_of_all_rows(holes, rng):
    world = World(rng, holes=holes)
    q, Y = world.everyone
    expected = train(world.mapping, q, make_outputs(Y, "exact"))
    found = conditioned(world.rows(), world.q_new)
    np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-7, atol=1e-9)
    for name in ("mean", "variance"):
        ours, theirs = getattr(found, name)(world.q_new), getattr(expected, name)(world.q_new)
        np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-9)


def test_gradients(rng):
    world = World(rng, holes="patterns")
    rows = world.rows()

    def value(x):
        mean, log_variance = x.reshape(2, NEW, Q)
        return rows(Gaussian(mean, jnp.exp(log_variance)))

    x = np.concatenate([world.new[0].ravel(), np.log(world.new[1]).ravel()])
    gradient = jax.jit(jax.grad(value))(jnp.asarray(x))
    np.testing.assert_allclose(
        gradient, ref.finite_differences(jax.jit(value), x), rtol=1e-5, atol=1e-7
    )


@pytest.mark.parametrize("surprise", [0.3, 1.0, 10.0])
def test_an_optimal_posterior_never_lowers_the_bound(surprise, rng):
    world = World(rng, holes="patterns")
    world.Y_new = surprise * world.Y_new
    posterior = train(world.mapping, world.q, make_outputs(world.Y, "exact"))
    held = row_evidence(posterior, np.nan_to_num(world.Y_new), ~np.isnan(world.Y_new))
    rows = world.rows()
    gain = evaluated(rows, world.q_new) - evaluated(rows.first(0), world.q_new)
    assert gain > np.sum(held(world.q_new))


def test_too_many_patterns_are_refused(rng, monkeypatch):
    monkeypatch.setattr(augmented, "MOST_ENTRIES", 2 * M**2)
    with pytest.raises(OptionError, match="3 patterns of missing values"):
        World(rng, holes="patterns").rows()

"""The temporal latent space: dense and state-space paths against slow obvious formulas."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manyviews.errors import OptionError
from manyviews.kernels import RBF, Bias, Linear, Matern12, Matern32, Matern52, Periodic, White
from manyviews.latent import StandardNormal, Temporal, make_sequences, marginals
from manyviews.latent.kalman import small_inverse
from manyviews.parameters import named_parameters, split_free

KERNELS = {
    "rbf": RBF(1.3, 0.7),
    "matern12": Matern12(0.8, 0.5),
    "matern32": Matern32(1.1, 0.9),
    "matern52": Matern52(1.0, 1.4),
    "periodic": Periodic(1.0, 0.8, 1.7),
    "linear + bias": Linear(0.4) + Bias(0.3),
    "rbf * periodic + white": RBF(1.0, 2.0) * Periodic() + White(0.05),
}
MARKOV = {
    "matern12": Matern12(0.8, 0.5),
    "matern32": Matern32(1.1, 0.9),
    "matern52": Matern52(1.0, 1.4),
    "matern52 + matern12": Matern52(1.0, 1.4) + Matern12(0.3, 0.2),
    "matern32 + bias + white": Matern32(0.7, 0.6) + Bias(0.5) + White(0.1),
}
Q = 3
infer = eqx.filter_jit(lambda latent: latent.infer())


def make_world(rng, lengths=(7, 4, 11, 1), n_inputs=1):
    """Sequences of various lengths, their rows shuffled, irregular and repeated times."""
    code = np.repeat(np.arange(len(lengths)), lengths)
    inputs = rng.uniform(0, 4, (len(code), n_inputs))
    inputs[1] = inputs[0]  # repeated
    shuffle = rng.permutation(len(code))
    target = rng.normal(size=(len(code), Q))
    precision = rng.uniform(0.05, 20.0, (len(code), Q))
    return inputs[shuffle], code[shuffle], target, precision


def slow_posterior(kernel, inputs, code, target, precision):
    """N(Kμ̄, (K⁻¹+Λ)⁻¹) and KL by the textbook, one N x N matrix, one dimension."""
    same = code[:, None] == code[None]
    K = np.asarray(kernel.gram(jnp.asarray(inputs))) * same
    V = K - K @ np.linalg.solve(K + np.diag(1.0 / precision), K)
    mean = K @ np.linalg.solve(K + np.diag(1.0 / precision), target)
    # KL(q‖p) through the evidence of the sites: ⟨log sites⟩ - log ∫ p sites
    C = K + np.diag(1.0 / precision)
    log_evidence = -0.5 * (
        np.linalg.slogdet(2 * np.pi * C)[1] + target @ np.linalg.solve(C, target)
    )
    sites = 0.5 * np.log(precision / (2 * np.pi)) - 0.5 * precision * (
        (target - mean) ** 2 + np.diag(V)
    )
    return mean, V, sites.sum() - log_evidence


def check(kernels, world, path):
    inputs, code, target, precision = world
    latent = Temporal(make_sequences(inputs, code), kernels, target, precision, path)
    q, kl = infer(latent)
    total = 0.0
    for d in range(Q):
        kernel = latent.kernels[d % len(latent.kernels)]
        mean, V, part = slow_posterior(kernel, inputs, code, target[:, d], precision[:, d])
        np.testing.assert_allclose(q.mean[:, d], mean, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(q.variance[:, d], np.diag(V), rtol=1e-6, atol=1e-9)
        total += part
    np.testing.assert_allclose(kl, total, rtol=1e-7)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_dense_path_agrees_with_the_textbook(kernel, rng):
    check((kernel,), make_world(rng), "dense")


@pytest.mark.parametrize("kernel", MARKOV.values(), ids=MARKOV)
def test_state_space_path_agrees_with_the_textbook(kernel, rng):
    check((kernel,), make_world(rng), "state-space")


@pytest.mark.parametrize("path", ["dense", "state-space"])
def test_every_dimension_may_have_its_own_kernel(path, rng):
    check((Matern12(), Matern32(0.5, 2.0), Matern52() + Bias()), make_world(rng), path)


def test_several_input_columns(rng):
    check((RBF(1.0, np.array([0.5, 2.0])),), make_world(rng, n_inputs=2), "dense")


@settings(max_examples=4, deadline=None)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=4),
    st.sampled_from(sorted(MARKOV)),
    st.integers(0, 1000),
)
def test_paths_agree_for_any_lengths(lengths, name, seed):
    inputs, code, target, precision = make_world(np.random.default_rng(seed), [*lengths, 2])
    found = [
        infer(Temporal(make_sequences(inputs, code), (MARKOV[name],), target, precision, path))
        for path in ("dense", "state-space")
    ]
    np.testing.assert_allclose(found[0].marginals.mean, found[1].marginals.mean, atol=1e-8)
    np.testing.assert_allclose(found[0].marginals.variance, found[1].marginals.variance, atol=1e-8)
    np.testing.assert_allclose(found[0].kl, found[1].kl, rtol=1e-7)


def test_permuting_rows_with_their_times_changes_nothing(rng):
    inputs, code, target, precision = make_world(rng)
    new = rng.permutation(len(code))
    for path in ("dense", "state-space"):
        a = infer(Temporal(make_sequences(inputs, code), (Matern32(),), target, precision, path))
        shuffled = make_sequences(inputs[new], code[new])
        b = infer(Temporal(shuffled, (Matern32(),), target[new], precision[new], path))
        np.testing.assert_allclose(a.marginals.mean[new], b.marginals.mean, atol=1e-12)
        np.testing.assert_allclose(a.kl, b.kl, rtol=1e-12)


def test_sequences_are_independent_models(rng):
    inputs, code, target, precision = make_world(rng)
    whole = infer(Temporal(make_sequences(inputs, code), (RBF(),), target, precision))
    total = 0.0
    for name in np.unique(code):
        own = code == name
        sequences = make_sequences(inputs[own], code[own])
        part = infer(Temporal(sequences, (RBF(),), target[own], precision[own]))
        np.testing.assert_allclose(whole.marginals.mean[own], part.marginals.mean, atol=1e-12)
        total += part.kl
    np.testing.assert_allclose(whole.kl, total, rtol=1e-12)


def test_white_prior_of_unit_variance_is_the_standard_normal(rng):
    inputs, code, target, precision = make_world(rng)
    latent = Temporal(make_sequences(inputs, code), (White(1.0),), target, precision)
    q, kl = infer(latent)
    other = StandardNormal(q.mean, q.variance)
    np.testing.assert_allclose(q.variance, 1.0 / (1.0 + precision), rtol=1e-10)
    np.testing.assert_allclose(kl, other.kl(), rtol=1e-10)


@pytest.mark.parametrize(
    ("kernel", "path"),
    [(KERNELS["rbf * periodic + white"], "dense"), (MARKOV["matern52 + matern12"], "dense"),
     (MARKOV["matern52 + matern12"], "state-space")],
)  # fmt: skip
def test_gradients_agree_with_finite_differences(kernel, path, rng):
    inputs, code, target, precision = make_world(rng, (5, 3))
    latent = Temporal(make_sequences(inputs, code), (kernel,), target, precision, path)
    free, fixed = split_free(latent)
    leaves, structure = jax.tree_util.tree_flatten(free)
    assert len(leaves) == len(list(named_parameters(latent)))
    weights = rng.normal(size=(2, *target.shape))

    @jax.jit
    def value(leaves):
        q, kl = eqx.combine(jax.tree_util.tree_unflatten(structure, leaves), fixed).infer()
        return kl + (weights[0] * q.mean + weights[1] * q.variance).sum()

    slopes = jax.jit(jax.grad(value))(leaves)
    for place, leaf in enumerate(leaves):
        direction = rng.normal(size=leaf.shape)
        h = 1e-5
        up, down = list(leaves), list(leaves)
        up[place], down[place] = leaf + h * direction, leaf - h * direction
        expected = (value(up) - value(down)) / (2 * h)
        np.testing.assert_allclose(
            np.sum(slopes[place] * direction), expected, rtol=1e-5, atol=1e-7
        )


@pytest.mark.parametrize("path", ["dense", "state-space"])
def test_new_rows_without_sites_are_gp_predictions(path, rng):
    inputs, code, target, precision = make_world(rng)
    kernel = Matern32(1.1, 0.9)
    latent = Temporal(make_sequences(inputs, code), (kernel,), target, precision, path)
    new, new_code = rng.uniform(-1, 6, (6, 1)), np.array([0, 0, 2, 2, 9, 9])
    joint = latent.extended(new, new_code, np.arange(len(code)))
    q = marginals(joint)[np.arange(len(code), len(code) + 6)]
    everything, codes = np.concatenate([inputs, new]), np.concatenate([code, new_code])
    for d in range(Q):
        lam = np.append(precision[:, d], np.full(6, 1e-12))
        m = np.append(target[:, d], np.zeros(6))
        mean, V, _ = slow_posterior(kernel, everything, codes, m, lam)
        np.testing.assert_allclose(q.mean[:, d], mean[-6:], atol=1e-7)
        np.testing.assert_allclose(q.variance[:, d], np.diag(V)[-6:], atol=1e-7)
    np.testing.assert_allclose(q.variance[-2:], 1.1, rtol=1e-8)  # a sequence never seen


@pytest.mark.parametrize("path", ["dense", "state-space"])
def test_sampled_paths_have_the_joint_posterior(path, rng):
    inputs, code, target, precision = make_world(rng, (4, 2))
    kernel = Matern52(1.2, 1.5) + Bias(0.2)
    latent = Temporal(make_sequences(inputs, code), (kernel,), target, precision, path)
    draws = np.asarray(eqx.filter_jit(lambda z: z.sample(jax.random.key(0), 40_000))(latent))
    for d in range(Q):
        mean, V, _ = slow_posterior(kernel, inputs, code, target[:, d], precision[:, d])
        error = 5.0 / np.sqrt(len(draws))
        np.testing.assert_allclose(draws[..., d].mean(axis=0), mean, atol=error)
        np.testing.assert_allclose(np.cov(draws[..., d].T), V, atol=2 * error)


def test_kl_agrees_with_monte_carlo(rng):
    inputs, code, target, precision = make_world(rng, (3, 2))
    kernel = Matern32(1.1, 0.9) + White(0.1)
    latent = Temporal(make_sequences(inputs, code), (kernel,), target, precision)
    total, variance = 0.0, 0.0
    for d in range(Q):
        mean, V, _ = slow_posterior(kernel, inputs, code, target[:, d], precision[:, d])
        K = np.asarray(latent.kernels[0].gram(jnp.asarray(inputs))) * (code[:, None] == code[None])
        x = rng.multivariate_normal(mean, V, 100_000)

        def log_density(centre, C, x=x):
            apart = x - centre
            return -0.5 * (
                np.linalg.slogdet(2 * np.pi * C)[1]
                + np.einsum("ni,ni->n", apart, np.linalg.solve(C, apart.T).T)
            )

        ratio = log_density(mean, V) - log_density(np.zeros_like(mean), K)
        total += ratio.mean()
        variance += ratio.var() / len(x)
    np.testing.assert_allclose(infer(latent).kl, total, atol=5 * np.sqrt(variance))


def test_the_path_is_chosen_by_length_and_kernel(rng):
    long = make_sequences(np.arange(400.0)[:, None], np.zeros(400, int))
    short = make_sequences(np.arange(40.0)[:, None], np.zeros(40, int))
    for sequences, kernel, path in [
        (long, Matern32(), "state-space"), (short, Matern32(), "dense"), (long, RBF(), "dense"),
    ]:  # fmt: skip
        n = sequences.inputs.shape[0]
        assert Temporal(sequences, (kernel,), rng.normal(size=(n, 2))).path == path
    with pytest.raises(OptionError, match="state-space path needs"):
        Temporal(short, (RBF(),), rng.normal(size=(40, 2)), path="state-space")
    endless = make_sequences(np.arange(20_001.0)[:, None], np.zeros(20_001, int))
    with pytest.raises(OptionError, match="too long for this prior over time"):
        Temporal(endless, (RBF(),), np.zeros((20_001, 1)))
    with pytest.raises(OptionError, match="one kernel for all 2 dimensions"):
        Temporal(short, (RBF(),) * 3, rng.normal(size=(40, 2)))


def test_small_inverse_pivots(rng):
    matrices = jnp.asarray(np.concatenate([rng.normal(size=(50, 5, 5)), np.eye(5)[None, ::-1]]))
    np.testing.assert_allclose(small_inverse(matrices), np.linalg.inv(matrices), rtol=1e-8)
    slope = jax.grad(lambda m: small_inverse(m).sum())(matrices)
    inverse = np.linalg.inv(matrices).transpose(0, 2, 1)
    np.testing.assert_allclose(slope, -inverse @ np.ones((5, 5)) @ inverse, rtol=1e-7)

"""The collaborative latent space against slow obvious formulas, for one view to four."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import multivariate_normal

from manyviews.errors import OptionError
from manyviews.kernels import RBF, Matern32, White
from manyviews.latent import Collaborative, Temporal, make_sequences
from manyviews.latent.path_kernels import kernels_of
from manyviews.parameters import parameter

Q = 2
infer = eqx.filter_jit(lambda latent: (latent.infer(), latent.everything()))


def world(rng, K, lengths=(5, 3), alpha=None, factorised=False, by_dimension=False):
    """Of kernels that differ by view; ``by_dimension``, in the shared path and view 1, too."""
    code = np.repeat(np.arange(len(lengths)), lengths)
    inputs = rng.uniform(0, 4, (len(code), 1))
    shuffle = rng.permutation(len(code))
    alpha = rng.uniform(0.1, 0.9, (K, Q)) if alpha is None else alpha
    kernels = [RBF(1.0, 0.7), Matern32(1.0, 0.9), RBF(0.8, 2.0), White(1.0)][:K]
    shared = Matern32(1.2, 1.5)
    if by_dimension:
        shared, kernels[0] = (shared, RBF(0.6, 0.4)), (kernels[0], White(1.4))
    return Collaborative(
        make_sequences(inputs[shuffle], code[shuffle]), shared, tuple(kernels),
        rng.normal(size=(len(code), K * Q)), rng.uniform(0.1, 20.0, (len(code), K * Q)), alpha,
        rng.uniform(0.01, 0.2, K), factorised,
    )  # fmt: skip


def of_dimension(kernel, q):
    """The kernel of one dimension of a path."""
    each = kernels_of(kernel)
    return each[q] if len(each) > 1 else each[0]


def joint_prior(latent, q):
    """Covariance of [x^1, …, x^K, x^s] of all rows, one dimension, written out."""
    K, N = latent.n_views, latent.target.raw.shape[0]
    code = np.asarray(latent.sequences.code)
    same = code[:, None] == code[None]
    inputs = latent.sequences.inputs
    shared = np.asarray(of_dimension(latent.shared_kernel, q).gram(inputs)) * same
    alpha = np.broadcast_to(np.asarray(latent.alpha.value), (K, Q))[:, q]
    b = np.append(1.0 - alpha, 1.0)
    C = np.kron(np.outer(b, b), shared)
    for k, kernel in enumerate(latent.private_kernels):
        A = alpha[k] ** 2 * np.asarray(of_dimension(kernel, q).gram(inputs)) * same
        A += (1 - alpha[k]) ** 2 * float(latent.spread.value[k]) * np.eye(N)
        C[k * N : (k + 1) * N, k * N : (k + 1) * N] += A
    return C


def sites(latent, q):
    """Targets and precisions of one dimension, view after view."""
    columns = [k * Q + q for k in range(latent.n_views)]
    target, precision = np.asarray(latent.target.value), np.asarray(latent.precision.value)
    return target[:, columns].T.ravel(), precision[:, columns].T.ravel()


def gaussian_kl(mean, covariance, prior):
    inverse = np.linalg.inv(prior)
    return 0.5 * (
        np.trace(inverse @ covariance) + mean @ inverse @ mean - len(mean)
        + np.linalg.slogdet(prior)[1] - np.linalg.slogdet(covariance)[1]
    )  # fmt: skip


@pytest.mark.parametrize(("K", "by_dimension"), [(1, False), (3, False), (4, False), (2, True)])
@pytest.mark.parametrize("lengths", [(5, 3), (1, 1, 1, 1)])
def test_the_joint_posterior_is_the_textbook_one(rng, K, by_dimension, lengths):
    latent = world(rng, K, lengths, by_dimension=by_dimension)
    (q, kl), everything = infer(latent)
    N, total = sum(lengths), 0.0
    for d in range(Q):
        C = joint_prior(latent, d)
        m, lam = sites(latent, d)
        H = np.eye(K * N, (K + 1) * N)
        gain = C @ H.T @ np.linalg.inv(H @ C @ H.T + np.diag(1 / lam))
        mean, V = gain @ m, C - gain @ H @ C
        columns = [k * Q + d for k in range(K + 1)]
        np.testing.assert_allclose(everything.mean[:, columns].T.ravel(), mean, atol=1e-9)
        np.testing.assert_allclose(everything.variance[:, columns].T.ravel(), np.diag(V), atol=1e-9)
        np.testing.assert_allclose(q.mean[:, columns[:-1]].T.ravel(), mean[: K * N], atol=1e-9)
        seen = slice(0, K * N)
        total += gaussian_kl(mean[seen], V[seen, seen], C[seen, seen])
    assert float(kl) == pytest.approx(total, rel=1e-7)


@pytest.mark.parametrize(("K", "by_dimension"), [(2, False), (3, False), (2, True)])
def test_the_factorised_family_is_that_of_the_paper(rng, K, by_dimension):
    """[McGPDS23, eq. 9, 12, 13] and S_k = (A_k⁻¹ + Λ_k)⁻¹, with matrices inverted without shame."""
    latent = world(rng, K, factorised=True, by_dimension=by_dimension)
    (q, kl), everything = infer(latent)
    N, total = 8, 0.0
    for d in range(Q):
        C = joint_prior(latent, d)
        _, lam = sites(latent, d)
        b = 1.0 - np.asarray(latent.alpha.value)[:, d]
        shared = C[-N:, -N:]
        A = [C[k * N : (k + 1) * N, k * N : (k + 1) * N] - b[k] ** 2 * shared for k in range(K)]
        mean = [np.asarray(q.mean)[:, k * Q + d] for k in range(K)]
        S = [np.linalg.inv(np.linalg.inv(a) + np.diag(lam[k * N : (k + 1) * N]))
             for k, a in enumerate(A)]  # fmt: skip
        S_s = np.linalg.inv(
            np.linalg.inv(shared) + sum(w**2 * np.linalg.inv(a) for w, a in zip(b, A, strict=True))
        )
        mu_s = S_s @ sum(w * np.linalg.solve(a, m) for w, a, m in zip(b, A, mean, strict=True))
        total += gaussian_kl(mu_s, S_s, shared)
        for w, a, m, s in zip(b, A, mean, S, strict=True):
            total += gaussian_kl(m - w * mu_s, s, a)
            total += 0.5 * w**2 * np.trace(np.linalg.solve(a, S_s))
        np.testing.assert_allclose(everything.mean[:, K * Q + d], mu_s, atol=1e-6)
        np.testing.assert_allclose(everything.variance[:, K * Q + d], np.diag(S_s), rtol=1e-5)
        for k in range(K):
            np.testing.assert_allclose(q.variance[:, k * Q + d], np.diag(S[k]), rtol=1e-6)
    assert float(kl) == pytest.approx(total, rel=1e-6)


def test_both_families_have_the_same_means_and_the_joint_one_more_variance(rng):
    latent = world(rng, 2)
    other = Collaborative(
        latent.sequences, latent.shared_kernel, latent.private_kernels, latent.target.value,
        latent.precision.value, latent.alpha.value, latent.spread.value, factorised=True,
    )  # fmt: skip
    (_, _), joint = infer(latent)
    (_, _), factorised = infer(other)
    np.testing.assert_allclose(joint.mean, factorised.mean, atol=1e-6)
    assert np.all(np.asarray(joint.variance) > np.asarray(factorised.variance) - 1e-9)


def test_the_best_joint_bound_is_at_least_the_best_factorised_one(rng):
    """With Gaussian evidence the joint family holds the exact posterior: its bound is log p."""
    latent = world(rng, 2, (4, 3))
    m, lam = latent.target.value, latent.precision.value

    def bound(space):
        (q, kl), _ = infer(space)
        fit = 0.5 * jnp.log(lam / (2 * np.pi)) - 0.5 * lam * ((m - q.mean) ** 2 + q.variance)
        return float(jnp.sum(fit) - kl)

    exact = 0.0
    for d in range(Q):
        C = joint_prior(latent, d)[: 2 * 7, : 2 * 7]
        targets, precision = sites(latent, d)
        exact += multivariate_normal(np.zeros(14), C + np.diag(1 / precision)).logpdf(targets)
    other = eqx.tree_at(lambda s: s.target, latent, parameter(latent.target.value))
    other = Collaborative(
        other.sequences, other.shared_kernel, other.private_kernels, m, lam, other.alpha.value,
        other.spread.value, factorised=True,
    )  # fmt: skip
    assert bound(latent) == pytest.approx(exact, rel=1e-8)
    assert bound(other) < exact


@pytest.mark.parametrize("K", [2, 4])
def test_weights_of_one_are_independent_models(rng, K):
    """α → 1: the KL is the sum of those of K temporal spaces, and the shared path is its prior."""
    latent = world(rng, K, alpha=np.full((K, Q), 1 - 1e-9))
    (q, kl), everything = infer(latent)
    total = 0.0
    for k, kernel in enumerate(latent.private_kernels):
        part = latent.dimensions(k)
        alone = Temporal(
            latent.sequences, (kernel,), latent.target.value[:, part],
            latent.precision.value[:, part], path="dense",
        )  # fmt: skip
        found, own = alone.infer()
        total += float(own)
        np.testing.assert_allclose(q.mean[:, part], found.mean, atol=1e-6)
        np.testing.assert_allclose(q.variance[:, part], found.variance, atol=1e-6)
    assert float(kl) == pytest.approx(total, rel=1e-6)
    np.testing.assert_allclose(everything.mean[:, latent.shared_dimensions()], 0.0, atol=1e-6)
    np.testing.assert_allclose(everything.variance[:, latent.shared_dimensions()], 1.2, rtol=1e-6)


def test_gradients_against_finite_differences(rng):
    for factorised in (False, True):
        latent = world(rng, 2, (3, 1), factorised=factorised)
        arrays, static = eqx.partition(latent, eqx.is_inexact_array)

        @jax.jit
        def value(arrays, static=static):
            q, kl = eqx.combine(arrays, static).infer()
            return kl + jnp.sum(jnp.sin(q.mean)) + jnp.sum(q.variance**2)

        slopes = jax.grad(value)(arrays)
        leaves, structure = jax.tree_util.tree_flatten(arrays)
        push = [jnp.asarray(rng.normal(size=leaf.shape)) for leaf in leaves]
        for place, leaf in enumerate(leaves):
            if leaf.shape == latent.sequences.step.shape or leaf is latent.sequences.inputs:
                push[place] = jnp.zeros_like(leaf)
        ends = [
            value(jax.tree_util.tree_unflatten(
                structure, [x + s * 1e-6 * p for x, p in zip(leaves, push, strict=True)]))
            for s in (1, -1)
        ]  # fmt: skip
        along = sum(
            float(jnp.sum(g * p))
            for g, p in zip(jax.tree_util.tree_leaves(slopes), push, strict=True)
        )
        assert float(ends[0] - ends[1]) / 2e-6 == pytest.approx(along, rel=1e-5)


def test_added_rows_are_predictions(rng):
    """A view that a new row lacks is predicted from the one it has, through the shared path."""
    latent = world(rng, 2, alpha=np.full((2, Q), 0.05))
    joint = latent.extended(np.array([[1.0], [1.5]]), np.array([7, 7]), np.arange(0))
    m, lam = np.zeros((2, 2 * Q)), np.full((2, 2 * Q), 1e-17)
    m[:, :Q], lam[:, :Q] = 1.0, 1e4
    seen = joint.with_rows(joint.sequences, m, lam)
    (q, _), _ = infer(seen)
    assert np.all(np.asarray(q.mean)[:, Q:] > 0.8)
    (nothing, kl), _ = infer(joint)
    np.testing.assert_allclose(nothing.mean, 0.0, atol=1e-9)
    assert abs(float(kl)) < 1e-9
    np.testing.assert_allclose(nothing.variance, latent.prior(2).variance, rtol=1e-9)


def test_a_kernel_given_for_every_dimension_is_one_for_all(rng):
    latent = world(rng, 2)
    twice = Collaborative(
        latent.sequences, (latent.shared_kernel,) * Q,
        tuple((kernel,) * Q for kernel in latent.private_kernels),
        latent.target.value, latent.precision.value, latent.alpha.value, latent.spread.value,
    )  # fmt: skip
    for found, expected in zip(
        jax.tree.leaves(infer(twice)), jax.tree.leaves(infer(latent)), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_the_prior_has_the_variances_of_each_dimension(rng):
    latent = world(rng, 2, by_dimension=True)
    alpha, spread = np.asarray(latent.alpha.value), np.asarray(latent.spread.value)[:, None]
    expected = (1 - alpha) ** 2 * (np.array([1.2, 0.6]) + spread)
    expected += alpha**2 * np.array([[1.0, 1.4], [1.0, 1.0]])
    np.testing.assert_allclose(latent.prior(1).variance[0], expected.ravel())


@pytest.mark.long
@pytest.mark.parametrize("by_dimension", [False, True])
def test_draws_have_the_moments_of_the_posterior(rng, by_dimension):
    latent = world(rng, 2, (4, 2), by_dimension=by_dimension)
    (_, _), q = infer(latent)
    draws = np.asarray(eqx.filter_jit(lambda s: s.sample(jax.random.key(0), 4000))(latent))
    np.testing.assert_allclose(draws.mean(axis=0), q.mean, atol=0.08)
    np.testing.assert_allclose(draws.var(axis=0), q.variance, rtol=0.12, atol=0.01)


def test_a_weight_counts_the_kl_so_many_times_and_new_rows_do_not_take_it_over(rng):
    latent = world(rng, 2)
    heavy = Collaborative(
        latent.sequences, latent.shared_kernel, latent.private_kernels, latent.target.value,
        latent.precision.value, latent.alpha.value, latent.spread.value, kl_weight=10.0,
    )  # fmt: skip
    (plain, kl), _ = infer(latent)
    (same, weighted), _ = infer(heavy)
    np.testing.assert_allclose(same.mean, plain.mean)
    assert float(weighted) == pytest.approx(10.0 * float(kl), rel=1e-12)
    assert heavy.extended(np.array([[1.0]]), np.array([7]), np.arange(8)).kl_weight == 1.0
    assert heavy.only((1,)).kl_weight == 1.0


def test_bad_input_is_refused(rng):
    sequences = make_sequences(np.zeros((3, 1)), np.arange(3))
    with pytest.raises(OptionError, match="share evenly"):
        Collaborative(sequences, RBF(), (RBF(), RBF()), np.zeros((3, 3)))
    with pytest.raises(OptionError, match="alpha"):
        Collaborative(
            sequences, RBF(), (RBF(), RBF()), np.zeros((3, 4)), alpha=np.full((2, 3), 0.5)
        )
    with pytest.raises(OptionError, match="one for each, is needed; got 3"):
        Collaborative(sequences, RBF(), ((RBF(),) * 3, RBF()), np.zeros((3, 4)))

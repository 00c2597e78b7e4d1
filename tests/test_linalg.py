import jax
import jax.numpy as jnp
import numpy as np
import pytest

from manyviews.linalg import MAX_JITTER, log_determinant, safe_cholesky, safe_quadratic, whiten
from reference import finite_differences

factor = jax.jit(safe_cholesky, static_argnums=1)


def with_eigenvalues(values, rng):
    Q, _ = np.linalg.qr(rng.normal(size=(len(values), len(values))))
    return Q @ np.diag(values) @ Q.T


def padded(K, rung):
    return K + rung * np.mean(np.diag(K)) * np.eye(len(K))


def test_well_conditioned_matrix_gets_the_foot_of_the_ladder(rng):
    K = with_eigenvalues([5.0, 2.0, 1.0, 0.5], rng)
    for jitter in (1e-6, 1e-10):
        L, rung = factor(K, jitter)
        assert float(rung) == jitter
        np.testing.assert_allclose(L @ L.T, padded(K, jitter), rtol=1e-13, atol=1e-13)
        assert np.all(np.triu(L, 1) == 0)


def test_without_jitter_the_matrix_itself_is_factored(rng):
    K = with_eigenvalues([5.0, 2.0, 1.0, 0.5], rng)
    L, rung = factor(K, 0.0)
    assert float(rung) <= 2 * np.finfo(float).eps
    np.testing.assert_allclose(L, np.linalg.cholesky(K), rtol=1e-12, atol=1e-13)


def test_jitter_is_relative_to_the_scale_of_the_matrix(rng):
    K = with_eigenvalues([5.0, 2.0, 1.0, 0.5], rng)
    small, large = factor(1e-8 * K, 1e-6)[0], factor(1e8 * K, 1e-6)[0]
    np.testing.assert_allclose(1e4 * small, 1e-4 * large, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("lowest", [-3e-6, -3e-5, -3e-4, -3e-3])
def test_the_ladder_is_climbed_to_the_first_rung_that_works(lowest, rng):
    K = with_eigenvalues([1.0, 1.0, 1.0, lowest], rng)
    L, rung = factor(K, 1e-6)
    np.testing.assert_allclose(np.log10(rung), np.round(np.log10(rung)), atol=1e-12)
    assert np.linalg.eigvalsh(padded(K, float(rung))).min() > 0
    assert np.linalg.eigvalsh(padded(K, float(rung) / 10)).min() < 0
    np.testing.assert_allclose(L @ L.T, padded(K, float(rung)), rtol=1e-12, atol=1e-13)


def test_a_singular_matrix_is_factored_and_the_rung_reported():
    K = np.ones((4, 4))
    L, rung = factor(K, 1e-10)
    assert np.isfinite(L).all()
    assert 1e-10 <= float(rung) <= 1e-8
    np.testing.assert_allclose(L @ L.T, padded(K, float(rung)), rtol=1e-13)


@pytest.mark.parametrize(
    "K",
    [
        np.diag([1.0, 1.0, 1.0, -1.0]),
        -np.eye(4),
        np.zeros((4, 4)),
        np.full((4, 4), np.nan),
        np.full((4, 4), np.inf),
    ],
    ids=["indefinite", "negative", "zero", "nan", "inf"],
)
def test_a_hopeless_matrix_gives_nan_and_the_top_rung(K):
    L, rung = factor(K, 1e-6)
    assert not np.isfinite(L).all() if np.isinf(K).any() else np.isnan(L).any()
    np.testing.assert_allclose(rung, MAX_JITTER, rtol=1e-12)


@pytest.mark.parametrize("jitter", [1e-6, 3e-7, 1e-10, 0.05])
def test_no_rung_lies_above_the_top_of_the_ladder(jitter):
    _, rung = factor(-np.eye(4), jitter)
    assert float(rung) <= MAX_JITTER * (1 + 1e-12)


@pytest.mark.parametrize("lowest", [0.2, -3e-5])
def test_gradient_through_the_factor_agrees_with_finite_differences(lowest, rng):
    base = with_eigenvalues([2.0, 1.0, 1.0, lowest], rng)
    directions = rng.normal(size=(3, 4, 4))
    directions = directions + directions.transpose(0, 2, 1)

    def value(t):
        K = base + jnp.tensordot(t, 1e-3 * directions, 1)
        L, _ = safe_cholesky(K, 1e-6)
        return log_determinant(L) + jnp.sum(L[1] ** 3)

    gradient = jax.jit(jax.grad(value))(jnp.zeros(3))
    expected = finite_differences(jax.jit(value), np.zeros(3), step=1e-4)
    np.testing.assert_allclose(gradient, expected, rtol=1e-4)


def test_whiten_and_log_determinant_against_explicit_inverses(rng):
    K, S = with_eigenvalues([3.0, 2.0, 1.0], rng), with_eigenvalues([1.0, 0.1, 4.0], rng)
    L = jnp.linalg.cholesky(K)
    inverse = np.linalg.inv(L)
    np.testing.assert_allclose(
        whiten(L, jnp.asarray(S)), inverse @ S @ inverse.T, rtol=1e-12, atol=1e-13
    )
    np.testing.assert_allclose(log_determinant(L), np.linalg.slogdet(K)[1], rtol=1e-12)


def test_quadratic_value_and_gradient():
    """log|K| and YᵀK⁻¹Y, and the gradient of a function of both against plain autodiff."""
    rng = np.random.default_rng(0)
    A, Y, T = (jnp.asarray(rng.normal(size=shape)) for shape in ((7, 7), (7, 3), (3, 3)))
    K = jnp.asarray(A @ A.T + np.eye(7))

    def ours(K, Y):
        log_det, scatter, _ = safe_quadratic(K, Y, 1e-14)
        return log_det**2 + jnp.sum(T * scatter)

    def plain(K, Y):
        return jnp.linalg.slogdet(K)[1] ** 2 + jnp.sum(T * (Y.T @ jnp.linalg.solve(K, Y)))

    found, expected = jax.grad(ours, (0, 1))(K, Y), jax.grad(plain, (0, 1))(K, Y)
    assert float(ours(K, Y)) == pytest.approx(float(plain(K, Y)), rel=1e-10)
    symmetric = 0.5 * (expected[0] + expected[0].T)  # of symmetric K only that part matters
    np.testing.assert_allclose(0.5 * (found[0] + found[0].T), symmetric, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-7, atol=1e-9)

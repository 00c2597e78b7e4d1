from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import qmc

import reference as ref
from manyviews.expectations import (
    Gaussian,
    cross_psi2,
    cross_psi2_rows,
    exp_sum,
    expectation_error,
    psi0,
    psi1,
    psi2,
    psi2_rows,
    quadrature,
    table,
)
from manyviews.expectations.rbf import pairs_in_order
from manyviews.kernels import (
    RBF,
    Bias,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    Periodic,
    Polynomial,
    White,
)

ELL, OTHER, VAR = np.array([0.9, 1.7]), np.array([1.4, 0.8]), np.array([0.6, 1.2])
NOISE = 0.3

RBF_ = (RBF(1.3, ELL), ref.rbf(1.3, ELL))
RBF_2 = (RBF(0.7, OTHER), ref.rbf(0.7, OTHER))
LINEAR = (Linear(VAR), ref.linear(VAR))
BIAS = (Bias(0.5), ref.bias(0.5))
WHITE = (White(NOISE), ref.white())


def plus(*pairs):
    total = pairs[0][0]
    for kernel, _ in pairs[1:]:
        total = total + kernel
    return total, ref.total(*[formula for _, formula in pairs])


CLOSED = {
    "rbf": RBF_,
    "linear": LINEAR,
    "bias": BIAS,
    "white": WHITE,
    "rbf+rbf": plus(RBF_, RBF_2),
    "rbf+linear": plus(RBF_, LINEAR),
    "linear+rbf": plus(LINEAR, RBF_),
    "rbf+bias": plus(RBF_, BIAS),
    "rbf+white": plus(RBF_, WHITE),
    "linear+bias": plus(LINEAR, BIAS),
    "linear+white": plus(LINEAR, WHITE),
    "bias+white": plus(BIAS, WHITE),
    "linear+linear": plus(LINEAR, (Linear(OTHER), ref.linear(OTHER))),
    "rbf+linear+bias": plus(RBF_, LINEAR, BIAS),
    "bias*rbf": (Bias(0.5) * RBF_[0], ref.times(BIAS[1], RBF_[1])),
    "(rbf+linear)*bias*bias": (
        (RBF_[0] + LINEAR[0]) * Bias(0.5) * Bias(3.0),
        ref.times(ref.total(RBF_[1], LINEAR[1]), ref.bias(1.5)),
    ),
    "bias*linear+rbf": (
        Bias(0.5) * LINEAR[0] + RBF_[0],
        ref.total(ref.times(BIAS[1], LINEAR[1]), RBF_[1]),
    ),
}

FINE = ref.hermite_nodes(2, 40)


@pytest.fixture
def points(rng):
    mean, variance = rng.normal(size=(5, 2)), rng.uniform(0.05, 0.6, size=(5, 2))
    Z, other_Z = rng.normal(size=(4, 2)), rng.normal(size=(3, 2))
    W = np.array([[1.0, 1, 1, 1, 1], [0, 1, 0, 1, 0], [0.5, 0.25, 2.0, 0, 1], [0, 0, 0, 0, 0]])
    return mean, variance, Z, other_Z, W


@eqx.filter_jit
def statistics(kernel, Z, q, W):
    return psi0(kernel, q), psi1(kernel, Z, q), psi2(kernel, Z, q, W)


cross = eqx.filter_jit(cross_psi2)


def gaussian(mean, variance):
    return Gaussian(jnp.asarray(mean), jnp.asarray(variance))


def relative(found, truth):
    return float(np.linalg.norm(found - truth) / max(np.linalg.norm(truth), 1e-300))


@pytest.mark.parametrize("name", CLOSED)
def test_closed_forms_equal_high_order_quadrature(name, points):
    kernel, formula = CLOSED[name]
    mean, variance, Z, _, W = points
    zero, first, second = ref.psi_rows(formula, Z, mean, variance, FINE)
    zero = zero + (NOISE if "white" in name else 0.0)
    found = statistics(kernel, Z, gaussian(mean, variance), W)
    np.testing.assert_allclose(found[0], zero, rtol=1e-11)
    np.testing.assert_allclose(found[1], first, rtol=1e-10, atol=1e-12)
    summed = np.einsum("gn,nml->gml", W, second)
    np.testing.assert_allclose(found[2], summed, rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(found[2][3], np.zeros((4, 4)))
    assert expectation_error(kernel, jnp.asarray(Z), gaussian(mean, variance)) == 0.0


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (RBF_, RBF_2),
        (RBF_, LINEAR),
        (LINEAR, RBF_),
        (BIAS, RBF_),
        (LINEAR, BIAS),
        (WHITE, RBF_),
        (BIAS, WHITE),
        (plus(RBF_, BIAS), plus(LINEAR, RBF_2)),
        ((Bias(2.0) * RBF_[0], ref.times(ref.bias(2.0), RBF_[1])), RBF_),
    ],
)
def test_cross_statistics_of_two_kernels_with_inputs_of_their_own(a, b, points):
    mean, variance, Z, other_Z, W = points
    rows = ref.cross_psi2_rows(a[1], Z, b[1], other_Z, mean, variance, FINE)
    found = cross(a[0], Z, b[0], other_Z, gaussian(mean, variance), W)
    expected = np.einsum("gn,nml->gml", W, rows)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_cross_statistic_of_a_kernel_with_itself_is_psi2(points):
    mean, variance, Z, _, W = points
    kernel, q = CLOSED["rbf+linear+bias"][0], gaussian(mean, variance)
    found = cross(kernel, Z, kernel, Z, q, W)
    np.testing.assert_allclose(found, statistics(kernel, Z, q, W)[2], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    "name", ["rbf", "linear", "bias*rbf", "linear+linear", "rbf+white", "rbf+linear+bias"]
)
@pytest.mark.parametrize("n_matrices", [1, 3])
def test_psi2_rows_is_the_trace_of_each_row_with_its_matrix(name, n_matrices, points, rng):
    kernel, formula = CLOSED[name]
    mean, variance, Z, _, _ = points
    T = rng.normal(size=(n_matrices, 4, 4))
    T = T + T.transpose(0, 2, 1)
    which = np.array([0, 2, 1, 1, 0]) % n_matrices
    rows = ref.psi_rows(formula, Z, mean, variance, FINE)[2]
    expected = [np.sum(T[w] * row) for w, row in zip(which, rows, strict=True)]
    q = gaussian(mean, variance)
    found = eqx.filter_jit(psi2_rows)(kernel, jnp.asarray(Z), q, jnp.asarray(T), jnp.asarray(which))
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (RBF_, LINEAR),
        (LINEAR, BIAS),
        (plus(RBF_, LINEAR), plus(WHITE, RBF_2)),
        (plus(LINEAR, BIAS), plus(LINEAR, BIAS)),
    ],
)
@pytest.mark.parametrize("n_matrices", [1, 2])
def test_cross_psi2_rows_is_the_trace_of_each_row_with_its_matrix(a, b, n_matrices, points, rng):
    mean, variance, Z, other_Z, _ = points
    T = rng.normal(size=(n_matrices, 4, 3))
    which = np.array([0, 1, 1, 0, 1]) % n_matrices
    rows = ref.cross_psi2_rows(a[1], Z, b[1], other_Z, mean, variance, FINE)
    expected = [np.sum(T[w] * row) for w, row in zip(which, rows, strict=True)]
    Z, other_Z, T, which = map(jnp.asarray, (Z, other_Z, T, which))
    q = gaussian(mean, variance)
    found = eqx.filter_jit(cross_psi2_rows)(a[0], Z, b[0], other_Z, q, T, which)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize(
    "kernel", [RBF_[0], CLOSED["rbf+linear+bias"][0], Matern32(1.3, ELL), Periodic(1.0, ELL, 3.0)]
)
def test_without_variance_the_statistics_are_kernel_matrices(kernel, points):
    mean, _, Z, _, W = points
    q = gaussian(mean, np.zeros_like(mean))
    zero, first, second = statistics(kernel, Z, q, W)
    K = np.asarray(kernel.cross(jnp.asarray(mean), jnp.asarray(Z)))
    np.testing.assert_allclose(zero, kernel.diagonal(jnp.asarray(mean)), rtol=1e-12)
    np.testing.assert_allclose(first, K, rtol=1e-12, atol=1e-14)
    expected = np.einsum("gn,nm,nl->gml", W, K, K)
    np.testing.assert_allclose(second, expected, rtol=1e-12, atol=1e-13)


def test_an_irrelevant_dimension_drops_out(points):
    mean, variance, Z, other_Z, W = points
    a, b = RBF(1.3, np.array([0.9, 1e8])), RBF(0.7, np.array([1.4, 1e8]))
    one_a, one_b = RBF(1.3, np.array([0.9])), RBF(0.7, np.array([1.4]))
    q, q_one = gaussian(mean, variance), gaussian(mean[:, :1], variance[:, :1])
    for found, expected in zip(
        statistics(a, Z, q, W), statistics(one_a, Z[:, :1], q_one, W), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-13)
    found = cross(a, Z, b, other_Z, q, W)
    np.testing.assert_allclose(
        found, cross(one_a, Z[:, :1], one_b, other_Z[:, :1], q_one, W), rtol=1e-13
    )


@jax.jit
@jax.grad
def gradient_of_everything(everything, W):
    a, b, Z, other_Z, q = everything
    alone = jnp.sum(psi1(a, Z, q)) + jnp.sum(psi2(a, Z, q, W))
    return alone + jnp.sum(cross_psi2(a, Z, b, other_Z, q, W))


@pytest.mark.parametrize("lengthscale", [1e8, 1e17])
def test_gradients_are_finite_where_all_weights_vanish(lengthscale, points):
    mean, variance, Z, other_Z, W = points
    a, b = RBF(1.3, np.array([lengthscale, 0.9])), RBF(0.7, np.array([lengthscale, 1.5]))
    everything = (a, b, Z, other_Z, gaussian(mean, variance))
    leaves = jax.tree_util.tree_leaves(gradient_of_everything(everything, W))
    assert all(np.isfinite(leaf).all() for leaf in leaves)


def test_a_far_origin_changes_nothing(points):
    mean, variance, Z, other_Z, W = points
    near, far = gaussian(mean, variance), gaussian(mean + 1e4, variance)
    for found, expected in zip(
        statistics(RBF_[0], Z + 1e4, far, W), statistics(RBF_[0], Z, near, W), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-8)
    np.testing.assert_allclose(
        cross(RBF_[0], Z + 1e4, RBF_2[0], other_Z + 1e4, far, W),
        cross(RBF_[0], Z, RBF_2[0], other_Z, near, W),
        rtol=1e-8,
    )


@pytest.mark.parametrize("n_rows", [17, 48])
def test_the_sum_in_blocks_equals_the_sum_in_one_piece(n_rows, monkeypatch, rng):
    monkeypatch.setattr(exp_sum, "BLOCK_ENTRIES", 1)
    A, B = jnp.asarray(0.3 * rng.normal(size=(n_rows, 5))), jnp.asarray(rng.normal(size=(5, 6)))
    W = rng.uniform(size=(2, n_rows)) * (rng.uniform(size=(2, n_rows)) < 0.7)
    cotangent = rng.normal(size=(2, 6))

    def plain(A, B, W):
        return W @ jnp.exp(A @ B)

    values, gradients = [], []
    for function in (exp_sum.weighted_exp_sum, plain):
        value, pull = jax.vjp(partial(function, W=jnp.asarray(W)), A, B)
        values.append(value)
        gradients.append(pull(jnp.asarray(cotangent)))
    np.testing.assert_allclose(values[0], values[1], rtol=1e-12)
    for found, expected in zip(*gradients, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


def test_pairs_in_order_are_the_pairs_and_their_gradient_is_the_same(rng):
    Z, G = jnp.asarray(rng.standard_normal((7, 3))), rng.standard_normal((2, 28, 3))
    first, second = np.triu_indices(7)

    def weighted(Z, pairs):
        return sum(jnp.sum(g * part) for g, part in zip(G, pairs(Z), strict=True))

    plain = jax.value_and_grad(weighted)(Z, lambda Z: (Z[first], Z[second]))
    ordered = jax.value_and_grad(weighted)(Z, lambda Z: pairs_in_order(Z, first, second))
    for a, b in zip(plain, ordered, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)


def test_psi2_in_blocks_equals_psi2_in_one_piece(monkeypatch, rng):
    q = gaussian(rng.normal(size=(37, 2)), rng.uniform(0.05, 0.6, size=(37, 2)))
    Z, W = jnp.asarray(rng.normal(size=(4, 2))), jnp.asarray(rng.uniform(size=(2, 37)))

    def value(kernel, Z, q, W):
        return jnp.sum(jnp.sin(psi2(kernel, Z, q, W)))

    def gradient():
        return jax.jit(jax.value_and_grad(lambda *a: value(*a), (0, 1, 2, 3)))(RBF_[0], Z, q, W)

    whole = gradient()
    monkeypatch.setattr(exp_sum, "BLOCK_ENTRIES", 1)
    blocked = gradient()
    for found, expected in zip(
        jax.tree_util.tree_leaves(blocked), jax.tree_util.tree_leaves(whole), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


def ard(n_dimensions):
    return np.linspace(0.8, 1.6, n_dimensions)


OPEN = {
    "matern12": lambda q: (Matern12(1.3, ard(q)), ref.matern12(1.3, ard(q))),
    "matern32": lambda q: (Matern32(1.3, ard(q)), ref.matern32(1.3, ard(q))),
    "matern52": lambda q: (Matern52(1.3, ard(q)), ref.matern52(1.3, ard(q))),
    "periodic": lambda q: (Periodic(1.3, ard(q), 3.0), ref.periodic(1.3, ard(q), 3.0)),
    "polynomial": lambda q: (Polynomial(2, ard(q), 0.8), ref.polynomial(2, ard(q), 0.8)),
    "rbf*linear": lambda q: (
        RBF(1.3, ard(q)) * Linear(0.7),
        ref.times(ref.rbf(1.3, ard(q)), ref.linear(0.7)),
    ),
}
FINE_ORDER = {1: 250, 2: 90, 3: 36}


def fine_rule(n_dimensions):
    if n_dimensions in FINE_ORDER:
        return ref.hermite_nodes(n_dimensions, FINE_ORDER[n_dimensions])
    half = ndtri(qmc.Sobol(n_dimensions, scramble=True, rng=99).random_base2(15))
    xi = np.concatenate([half, -half])
    return xi, np.full(len(xi), 1 / len(xi))


@pytest.mark.parametrize(
    ("name", "n_dimensions"),
    [
        ("matern12", 1),
        ("periodic", 1),
        ("matern32", 2),
        ("rbf*linear", 2),
        ("matern52", 3),
        ("matern32", 6),
        ("polynomial", 6),
    ],
)
def test_the_fallback_is_as_good_as_it_says(name, n_dimensions, rng):
    kernel, formula = OPEN[name](n_dimensions)
    mean = rng.normal(size=(4, n_dimensions))
    variance = rng.uniform(0.05, 0.6, size=(4, n_dimensions))
    Z, q = rng.normal(size=(3, n_dimensions)), gaussian(mean, variance)
    W = np.concatenate([np.ones((1, 4)), np.eye(4)])
    zero, first, second = ref.psi_rows(formula, Z, mean, variance, fine_rule(n_dimensions))
    found = statistics(kernel, Z, q, W)
    reported = expectation_error(kernel, jnp.asarray(Z), q)
    assert 0.0 < reported < 0.05
    assert relative(found[0], zero) <= 5 * reported + 1e-13
    assert relative(found[1], first) <= 5 * reported + 1e-13
    assert relative(found[2][0], second.sum(axis=0)) <= 5 * reported + 1e-13
    for alone, psi in zip(found[2][1:], found[1], strict=True):
        spread = np.asarray(alone - jnp.outer(psi, psi))
        assert np.linalg.eigvalsh(spread).min() > -1e-13


@pytest.mark.parametrize("n_dimensions", [1, 2, 3])
def test_the_fallback_is_exact_for_polynomials_up_to_three_dimensions(n_dimensions, rng):
    kernel, formula = OPEN["polynomial"](n_dimensions)
    mean, variance = rng.normal(size=(2, 4, n_dimensions)) ** [[[1]], [[2]]]
    Z, W = rng.normal(size=(3, n_dimensions)), np.ones((1, 4))
    rule = ref.hermite_nodes(n_dimensions, 8)
    zero, first, second = ref.psi_rows(formula, Z, mean, variance, rule)
    found = statistics(kernel, Z, gaussian(mean, variance), W)
    np.testing.assert_allclose(found[0], zero, rtol=1e-11)
    np.testing.assert_allclose(found[1], first, rtol=1e-11)
    np.testing.assert_allclose(found[2][0], second.sum(axis=0), rtol=1e-11)


@pytest.mark.parametrize(("n_dimensions", "tolerance"), [(1, 1e-11), (2, 1e-5), (6, 0.02)])
def test_the_fallback_applied_to_an_rbf_agrees_with_its_closed_form(n_dimensions, tolerance, rng):
    kernel = RBF(1.3, ard(n_dimensions))
    Z, W = rng.normal(size=(3, n_dimensions)), jnp.array([[1.0, 0.5, 0.0, 1.0]])
    q = gaussian(rng.normal(size=(4, n_dimensions)), rng.uniform(0.05, 0.6, size=(4, n_dimensions)))
    Z = jnp.asarray(Z)
    exact = statistics(kernel, Z, q, W)
    tolerance = min(tolerance, 5 * quadrature.relative_error(kernel, Z, q) + 1e-13)
    assert relative(quadrature.psi0(kernel, q), exact[0]) < 1e-13
    assert relative(quadrature.psi1(kernel, Z, q), exact[1]) <= tolerance
    assert relative(quadrature.cross_psi2(kernel, Z, kernel, Z, q, W), exact[2]) <= tolerance


def test_cross_statistics_with_a_kernel_without_closed_form(points):
    mean, variance, Z, other_Z, W = points
    kernel, formula = Polynomial(2, VAR, 0.8), ref.polynomial(2, VAR, 0.8)
    rows = ref.cross_psi2_rows(formula, Z, LINEAR[1], other_Z, mean, variance, FINE)
    found = cross(kernel, Z, LINEAR[0], other_Z, gaussian(mean, variance), W)
    np.testing.assert_allclose(found, np.einsum("gn,nml->gml", W, rows), rtol=1e-11, atol=1e-12)


class Slope(Linear):
    """A family of a user's own, registered without cross terms."""


def test_a_sum_whose_cross_terms_need_the_fallback_reports_its_error(points, monkeypatch):
    mean, variance, Z, _, W = points
    monkeypatch.setitem(table.CLOSED_FORMS, Slope, table.CLOSED_FORMS[Linear])
    q, Z = gaussian(mean, variance), jnp.asarray(Z)
    kernel, formula = Slope(VAR) + RBF_[0], ref.total(LINEAR[1], RBF_[1])
    assert expectation_error(Slope(VAR), Z, q) == 0.0
    rows = ref.psi_rows(formula, np.asarray(Z), mean, variance, FINE)[2]
    found = psi2(kernel, Z, q, jnp.asarray(W))
    error = relative(found, np.einsum("gn,nml->gml", W, rows))
    assert 1e-13 < error <= 5 * expectation_error(kernel, Z, q)


@settings(max_examples=15)
@given(st.integers(0, 2**31))
def test_order_of_rows_inducing_points_and_dimensions_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    mean, variance = rng.normal(size=(5, 2)), rng.uniform(0.0, 2.0, size=(5, 2))
    Z, W = rng.normal(size=(4, 2)), rng.uniform(size=(3, 5))
    ell, var = rng.uniform(0.3, 3.0, size=(2, 2))
    n, m, d = rng.permutation(5), rng.permutation(4), rng.permutation(2)
    kernel, shuffled = RBF(1.3, ell) + Linear(var), RBF(1.3, ell[d]) + Linear(var[d])
    zero, first, second = statistics(kernel, Z, gaussian(mean, variance), W)
    q = gaussian(mean[n][:, d], variance[n][:, d])
    found = statistics(shuffled, Z[m][:, d], q, W[:, n])
    np.testing.assert_allclose(found[0], zero[n], rtol=1e-12)
    np.testing.assert_allclose(found[1], first[n][:, m], rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(found[2], second[:, m][:, :, m], rtol=1e-11, atol=1e-12)


@settings(max_examples=15)
@given(st.integers(0, 2**31))
def test_psi2_is_symmetric_and_exceeds_the_square_of_psi1(seed):
    rng = np.random.default_rng(seed)
    mean, variance = rng.normal(size=(5, 2)), rng.uniform(0.0, 2.0, size=(5, 2))
    Z, ell = rng.normal(size=(4, 2)), rng.uniform(0.3, 3.0, size=2)
    kernel = RBF(1.3, ell) + Linear(ell)
    _, first, second = statistics(kernel, Z, gaussian(mean, variance), np.ones((3, 5)))
    np.testing.assert_allclose(second, np.swapaxes(second, 1, 2), rtol=1e-12)
    spread = np.asarray(second[0] - first.T @ first)
    assert np.linalg.eigvalsh(spread).min() > -1e-12 * np.trace(second[0])

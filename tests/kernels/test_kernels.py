import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import reference as ref
from manyviews.errors import OptionError
from manyviews.kernels import (
    RBF,
    Bias,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    Periodic,
    Polynomial,
    Product,
    Sum,
    White,
    kernel_from_name,
)
from manyviews.parameters import named_parameters

ELL, VAR = np.array([0.7, 2.0]), np.array([0.4, 1.5])

PAIRS = {
    "rbf": (RBF(1.3, ELL), ref.rbf(1.3, ELL)),
    "linear": (Linear(VAR), ref.linear(VAR)),
    "bias": (Bias(0.6), ref.bias(0.6)),
    "matern12": (Matern12(1.3, ELL), ref.matern12(1.3, ELL)),
    "matern32": (Matern32(1.3, ELL), ref.matern32(1.3, ELL)),
    "matern52": (Matern52(1.3, ELL), ref.matern52(1.3, ELL)),
    "periodic": (Periodic(1.3, ELL, 2.5), ref.periodic(1.3, ELL, 2.5)),
    "polynomial": (Polynomial(3, VAR, 0.8), ref.polynomial(3, VAR, 0.8)),
    "sum": (
        RBF(1.3, ELL) + Linear(VAR) + Bias(0.6),
        ref.total(ref.rbf(1.3, ELL), ref.linear(VAR), ref.bias(0.6)),
    ),
    "product": (
        RBF(1.3, ELL) * Polynomial(2, VAR, 0.8) * Bias(0.6),
        ref.times(ref.rbf(1.3, ELL), ref.polynomial(2, VAR, 0.8), ref.bias(0.6)),
    ),
    "nested": (
        (RBF(1.3, ELL) + Bias(0.6)) * Linear(VAR),
        ref.times(ref.total(ref.rbf(1.3, ELL), ref.bias(0.6)), ref.linear(VAR)),
    ),
}


@eqx.filter_jit
def matrices(kernel, X, Z):
    return kernel.cross(X, Z), kernel.gram(X), kernel.diagonal(X)


@pytest.mark.parametrize("name", PAIRS)
def test_matrices_equal_the_formula(name, rng):
    kernel, formula = PAIRS[name]
    X, Z = rng.normal(size=(5, 2)), rng.normal(size=(4, 2))
    cross, gram, diagonal = matrices(kernel, X, Z)
    np.testing.assert_allclose(cross, ref.matrix(formula, X, Z), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(gram, ref.matrix(formula, X, X), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(diagonal, np.diag(gram), rtol=1e-13)
    np.testing.assert_allclose(
        kernel(jnp.asarray(X[0]), jnp.asarray(Z[0])), cross[0, 0], rtol=1e-13
    )


def test_scalar_lengthscale_is_isotropic(rng):
    X = jnp.asarray(rng.normal(size=(4, 3)))
    for scalar, full in [
        (RBF(1.0, 0.7), RBF(1.0, np.full(3, 0.7))),
        (Linear(0.7), Linear(np.full(3, 0.7))),
    ]:
        np.testing.assert_allclose(scalar.gram(X), full.gram(X), rtol=1e-14)


@pytest.mark.parametrize("name", [*PAIRS, "white"])
def test_gram_matrix_is_symmetric_and_non_negative(name):
    kernel = White(0.2) if name == "white" else PAIRS[name][0]

    @settings(max_examples=15)
    @given(arrays(float, (5, 2), elements=st.floats(-4, 4, width=32)))
    def check(X):
        _, K, _ = matrices(kernel, X, X)
        np.testing.assert_allclose(K, K.T, rtol=1e-12, atol=1e-300)
        values = np.linalg.eigvalsh(K)
        assert values[0] >= -1e-12 * max(abs(values[-1]), 1e-300)

    check()


@pytest.mark.parametrize("name", ["rbf", "matern12", "matern32", "matern52", "periodic"])
def test_gradient_is_finite_where_points_coincide(name):
    kernel = PAIRS[name][0]
    X = jnp.zeros((3, 2))
    gradient = jax.grad(lambda X: kernel.gram(X).sum())(X)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-14)


def test_white_noise_is_on_the_diagonal_of_the_gram_matrix_only(rng):
    X = jnp.asarray(rng.normal(size=(4, 2)))
    cross, gram, diagonal = matrices(White(0.3), X, X)
    np.testing.assert_array_equal(cross, np.zeros((4, 4)))
    np.testing.assert_allclose(gram, 0.3 * np.eye(4), rtol=1e-14)
    np.testing.assert_allclose(diagonal, np.full(4, 0.3), rtol=1e-14)
    np.testing.assert_allclose(
        (RBF(1.3, ELL) + White(0.3)).gram(X),
        ref.matrix(ref.rbf(1.3, ELL), X, X) + 0.3 * np.eye(4),
        rtol=1e-13,
    )
    np.testing.assert_allclose(
        (RBF(1.3, ELL) * White(0.3)).gram(X), 1.3 * 0.3 * np.eye(4), rtol=1e-13, atol=0
    )


def test_same_operations_are_flattened_and_others_are_not():
    assert isinstance(RBF() + Bias() + Linear(), Sum)
    assert len((RBF() + (Bias() + Linear())).parts) == 3
    assert len((RBF() * Bias() * Linear()).parts) == 3
    mixed = RBF() + Bias() * Linear()
    assert [type(part) for part in mixed.parts] == [RBF, Product]


SMOOTH = ["rbf", "linear", "bias", "periodic", "polynomial", "sum", "product", "nested"]


@pytest.mark.parametrize("name", SMOOTH)
def test_relevance_is_the_mixed_second_derivative_at_the_origin(name):
    kernel = PAIRS[name][0]
    zero = jnp.zeros(2)
    mixed = jax.jacfwd(jax.grad(lambda x, z: kernel(x, z)), argnums=1)(zero, zero)
    np.testing.assert_allclose(kernel.relevance(2), jnp.diagonal(mixed), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ["matern32", "matern52"])
def test_relevance_of_matern_kernels_by_finite_differences(name):
    kernel, formula = PAIRS[name]

    def mixed(h, q):
        e = h * np.eye(2)[q]
        return (formula(e, e) - formula(e, -e) - formula(-e, e) + formula(-e, -e)) / (4 * h**2)

    h = 1e-4
    extrapolated = [2 * mixed(h, q) - mixed(2 * h, q) for q in range(2)]
    np.testing.assert_allclose(kernel.relevance(2), extrapolated, rtol=1e-6)
    together = kernel * Bias(2.0) + kernel
    np.testing.assert_allclose(together.relevance(2), 3 * np.array(extrapolated), rtol=1e-6)


def test_noise_has_no_slope_alone_in_a_sum_or_in_a_product():
    np.testing.assert_array_equal(White(0.3).relevance(2), np.zeros(2))
    smooth = RBF(1.3, ELL)
    np.testing.assert_allclose((smooth + White(0.3)).relevance(2), smooth.relevance(2), rtol=1e-14)
    np.testing.assert_allclose((smooth * White(0.3)).relevance(2), np.zeros(2), atol=1e-14)


def test_relevance_of_a_scalar_parameter_is_spread_over_the_dimensions():
    for kernel in (RBF(), Linear(), Matern52(), Periodic(), Polynomial(), RBF() + Linear()):
        assert kernel.relevance(3).shape == (3,)


def test_with_dimensions_spreads_scalars_and_leaves_the_rest():
    kernel = (RBF(2.0, 0.5).fix("lengthscale") * Bias(3.0) + Linear(0.1)).with_dimensions(3)
    shapes = {name: p.raw.shape for name, p in named_parameters(kernel)}
    assert shapes == {
        "parts.0.parts.0.variance": (),
        "parts.0.parts.0.lengthscale": (3,),
        "parts.0.parts.1.variance": (),
        "parts.1.variances": (3,),
    }
    rbf = kernel.parts[0].parts[0]
    np.testing.assert_allclose(rbf.lengthscale.value, np.full(3, 0.5), rtol=1e-14)
    assert not rbf.lengthscale.free
    ready = RBF(1.0, ELL).with_dimensions(2)
    np.testing.assert_allclose(ready.lengthscale.value, ELL, rtol=1e-14)
    periodic = Periodic(period=2.0).with_dimensions(2)
    assert periodic.period.raw.shape == ()
    assert periodic.lengthscale.raw.shape == (2,)


@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("rbf", RBF),
        (" RBF ", RBF),
        ("Matern12", Matern12),
        ("matern32", Matern32),
        ("matern52", Matern52),
        ("periodic", Periodic),
        ("polynomial", Polynomial),
        ("white", White),
        ("rbf + linear + bias", [RBF, Linear, Bias]),
        ("rbf+bias*linear", [RBF, [Bias, Linear]]),
        ("periodic * rbf", [Periodic, RBF]),
    ],
)
def test_kernel_from_name(name, types):
    def kinds(kernel):
        return [kinds(p) for p in kernel.parts] if hasattr(kernel, "parts") else type(kernel)

    kernel = kernel_from_name(name)
    assert kinds(kernel) == types
    if isinstance(types, list):
        assert isinstance(kernel, Sum if "+" in name else Product)


@pytest.mark.parametrize("name", ["", "rfb", "rbf +", "rbf - bias", "rbf linear", "(rbf)"])
def test_an_unknown_kernel_name_is_an_error_that_lists_the_known_ones(name):
    with pytest.raises(OptionError) as caught:
        kernel_from_name(name)
    for known in ("rbf", "linear", "matern32", "polynomial"):
        assert f"'{known}'" in str(caught.value)


@pytest.mark.parametrize("degree", [0, -1])
def test_polynomial_degree_must_be_a_positive_whole_number(degree):
    with pytest.raises(OptionError, match="degree"):
        Polynomial(degree)


@pytest.mark.parametrize("make", [RBF, Linear, Bias, White, Matern32, Periodic])
def test_negative_kernel_parameters_are_refused(make):
    with pytest.raises(OptionError, match="positive"):
        make(-1.0)

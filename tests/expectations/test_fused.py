"""The GPU kernel, step by step on the CPU: against plain formulas and the plain code."""

from contextlib import nullcontext
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from manyviews.errors import OptionError
from manyviews.expectations import exp_sum, fused_choice
from manyviews.expectations.fused import fused_exp_sum, fused_row_sums
from manyviews.expectations.fused_choice import (
    VARIABLE,
    Tile,
    chosen_tile,
    may_be_fused,
    noting_fused,
    self_test,
)
from manyviews.expectations.gpu_kernel import exp_products

TILE = Tile(32, 16, 4, 2, interpret=True)


@pytest.fixture
def problem(rng):
    A, B = 0.7 * rng.standard_normal((150, 5)), 0.7 * rng.standard_normal((5, 45))
    return jnp.asarray(A), jnp.asarray(B), jnp.asarray(rng.uniform(size=(2, 150)))


@pytest.mark.parametrize("n_groups", [0, 1, 3])
def test_products_with_the_exponential_are_those_of_numpy(n_groups, rng):
    X, Y, V = (jnp.asarray(rng.standard_normal(shape)) for shape in ((40, 5), (150, 5), (150, 6)))
    factors = [jnp.asarray(rng.standard_normal(s)) for s in ((40, n_groups), (n_groups, 150))]
    E = np.exp(X @ Y.T) * (factors[0] @ factors[1] if n_groups else 1.0)
    found = exp_products(X, Y, V, TILE, *(factors if n_groups else []))
    np.testing.assert_allclose(found, E @ V, rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("n_groups", [1, 2])
def test_the_fused_sum_and_its_gradients_are_those_of_the_plain_code(n_groups, problem, rng):
    A, B, W = problem
    W, g = W[:n_groups], rng.standard_normal((n_groups, B.shape[1]))

    def total(function, A, B):
        return jnp.sum(g * function(A, B, W))

    plain = jax.value_and_grad(total, (1, 2))(lambda A, B, W: W @ jnp.exp(A @ B), A, B)
    fused = jax.value_and_grad(total, (1, 2))(lambda *a: fused_exp_sum(TILE, *a), A, B)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-11), fused, plain)
    np.testing.assert_allclose(
        fused_exp_sum(TILE, A, B, W), W @ np.exp(A @ B), rtol=1e-12
    )  # without a gradient


def test_the_fused_sum_of_every_row_and_its_gradients_are_those_of_the_plain_code(problem, rng):
    A, B, _ = problem
    v, g = jnp.asarray(rng.standard_normal(B.shape[1])), rng.standard_normal(A.shape[0])

    def total(function, *arguments):
        return jnp.sum(g * function(*arguments))

    plain = jax.value_and_grad(total, (1, 2, 3))(lambda A, B, v: jnp.exp(A @ B) @ v, A, B, v)
    fused = jax.value_and_grad(total, (1, 2, 3))(partial(fused_row_sums, TILE), A, B, v)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-10), fused, plain)


def test_what_is_chosen_is_noted(monkeypatch, problem):
    A, B, W = problem
    for mode, fused in (("interpret", True), ("off", False)):
        monkeypatch.setenv(VARIABLE, mode)
        with noting_fused() as noted:
            jax.eval_shape(lambda: exp_sum.weighted_exp_sum(A, B, W))
        assert noted == [fused]
        assert may_be_fused() is fused


def test_the_environment_decides_and_stacked_views_are_served(monkeypatch, problem):
    A, B, W = problem
    monkeypatch.setenv(VARIABLE, "interpret")
    assert chosen_tile(10, 5, 10, 1, "float64").interpret
    stacked = jax.vmap(exp_sum.weighted_exp_sum)(*(jnp.stack([a, 0.5 * a]) for a in (A, B, W)))
    np.testing.assert_allclose(stacked[1], 0.5 * W @ np.exp(0.25 * A @ B), rtol=1e-12)
    monkeypatch.setenv(VARIABLE, "off")
    assert chosen_tile(10**6, 5, 5000, 1, "float64") is None
    monkeypatch.setenv(VARIABLE, "perhaps")
    with pytest.raises(OptionError, match="auto, on, off"):
        chosen_tile(10**6, 5, 5000, 1, "float64")


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="there is a GPU")
def test_without_a_gpu_the_plain_code_serves_unless_the_kernel_is_insisted_on(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert chosen_tile(10**6, 5, 5000, 1, "float64") is None
    assert not fused_choice.fused_report()["float64"].fused
    monkeypatch.setenv(VARIABLE, "on")
    with pytest.raises(OptionError, match="not an NVIDIA GPU"):
        chosen_tile(10**6, 5, 5000, 1, "float64")


def test_the_test_before_the_first_use_tells_right_from_wrong(monkeypatch):
    def tested(_):
        return self_test(TILE, "float64")

    assert float(jax.jit(tested)(0.0)) < 1e-12  # also while something is traced
    broken = exp_products

    def slightly(*args, **kwargs):
        return 1.001 * broken(*args, **kwargs)

    monkeypatch.setattr("manyviews.expectations.fused.exp_products", slightly)
    assert self_test(TILE, "float64") > 1e-4


@pytest.mark.parametrize(
    ("dtype", "precision"), [("float64", "highest"), ("float32", "highest"), ("float32", "tf32x3")]
)
def test_the_kernel_is_accepted_by_the_gpu_compiler_front_end(dtype, precision):
    tile = Tile(64, 64, 4, 2, precision)

    def gradient(A, B, W):
        return jax.grad(lambda A, B: jnp.sum(fused_exp_sum(tile, A, B, W)), (0, 1))(A, B)

    for n_groups in (1, 2):
        shapes = [(1000, 21), (21, 300), (n_groups, 1000)]
        arguments = [jax.ShapeDtypeStruct(shape, dtype) for shape in shapes]
        with pretended_gpu():
            lowered = jax.jit(gradient).trace(*arguments).lower(lowering_platforms=("cuda",))
        assert "triton" in lowered.as_text()


def pretended_gpu():
    """Newer versions of JAX ask for the GPU that they compile for."""
    if not hasattr(jax.sharding, "AbstractDevice"):
        return nullcontext()
    device = jax.sharding.AbstractDevice(device_kind="NVIDIA H200", num_cores=132, platform="gpu")
    kind = (jax.sharding.AxisType.Explicit,)
    mesh = jax.sharding.AbstractMesh((1,), ("rows",), kind, abstract_device=device)
    return jax.sharding.use_abstract_mesh(mesh)

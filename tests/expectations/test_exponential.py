"""The exponential of the psi statistics against NumPy's in extended precision."""

import jax
import jax.numpy as jnp
import numpy as np

from manyviews.expectations.exponential import LARGEST, SMALLEST, exponential


def test_exact_to_two_units_in_the_last_place():
    random = np.random.default_rng(0).uniform(SMALLEST, LARGEST, 100_000)
    x = np.concatenate([np.linspace(SMALLEST, LARGEST, 200_001), random, random * 1e-3])
    ratio = np.asarray(jax.jit(exponential)(x)) / np.exp(x.astype(np.longdouble))
    assert np.abs(ratio - 1).max() <= 4.5e-16


def test_ends_of_the_range_and_missing_values():
    found = np.asarray(jax.jit(exponential)(jnp.array([-np.inf, -1e4, 0.0, 1e4, np.inf, np.nan])))
    assert 0 < found[0] == found[1] < 1e-307
    assert found[2] == 1.0
    assert 8e307 < found[3] == found[4]
    assert np.isnan(found[5])


def test_other_types_and_gradients():
    x = jnp.array([-3.0, 0.5], dtype=jnp.float32)
    assert exponential(x).dtype == jnp.float32
    np.testing.assert_allclose(exponential(x), np.exp(x), rtol=1e-6)
    slope = jax.vmap(jax.grad(exponential))(jnp.array([-700.0, -1.0, 2.0]))
    np.testing.assert_allclose(slope, np.exp([-700.0, -1.0, 2.0]), rtol=1e-15)
    curvature = jax.vmap(jax.grad(jax.grad(exponential)))(jnp.array([-1.0, 2.0]))
    np.testing.assert_allclose(curvature, np.exp([-1.0, 2.0]), rtol=1e-15)

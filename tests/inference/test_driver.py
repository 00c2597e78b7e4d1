import jax.numpy as jnp
import numpy as np
import pytest

from manyviews import kernels
from manyviews.errors import FactorisationError
from manyviews.expectations import Gaussian
from manyviews.inference import driver
from manyviews.mappings import CollapsedGP, make_outputs
from manyviews.mappings.base import condition


@pytest.fixture
def view(rng):
    return CollapsedGP(kernels.RBF(2), rng.standard_normal((5, 2)), noise=0.1)


def test_a_mapping_with_another_jitter_is_the_same_otherwise(view):
    other = view.with_jitter(1e-3)
    assert (view.jitter, other.jitter) == (1e-6, 1e-3)
    assert type(other) is type(view)
    np.testing.assert_array_equal(other.inducing.value, view.inducing.value)
    np.testing.assert_array_equal(other.noise_variance(), view.noise_variance())


def test_a_fit_that_rounding_spoils_is_conditioned_with_more_jitter(view, rng, monkeypatch):
    q = Gaussian(jnp.asarray(rng.standard_normal((12, 2))), jnp.full((12, 2), 0.1))
    outputs = make_outputs(rng.standard_normal((12, 3)))

    def spoilt(least):
        def conditioned(view, q, outputs):
            found = condition(view, q, outputs)
            return found if view.jitter >= least else found.__class__(
                **{**vars(found), "weights": jnp.nan * found.weights}
            )  # fmt: skip

        return conditioned

    monkeypatch.setattr(driver, "condition", spoilt(5e-5))
    found, posterior = driver._condition(view, q, outputs)
    assert found.jitter == pytest.approx(1e-4)
    np.testing.assert_array_equal(
        posterior.weights, condition(view.with_jitter(found.jitter), q, outputs).weights
    )
    monkeypatch.setattr(driver, "condition", spoilt(1.0))
    with pytest.raises(FactorisationError, match="noise_floor"):
        driver._condition(view, q, outputs)

"""Fits from batches of rows."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from manyviews.inference.bound import Model, evidence_bound
from manyviews.inference.initial_stochastic import initial_stochastic
from manyviews.inference.initialise import joint_means
from manyviews.inference.optimise import optimise
from manyviews.inference.search import Stage
from manyviews.inference.stochastic import Batches, fit_batches
from manyviews.kernels import RBF
from manyviews.latent import StandardNormal
from manyviews.likelihoods import Bernoulli, GaussianNoise
from manyviews.mappings import CollapsedGP, make_observations, make_outputs
from manyviews.mappings.natural import settle

bound = eqx.filter_jit(evidence_bound)


@pytest.fixture
def world(rng):
    x = rng.normal(size=(60, 2))
    Y = np.sin(x @ rng.normal(size=(2, 6))) + 0.2 * rng.normal(size=(60, 6))
    return Y - Y.mean(axis=0), joint_means([Y], 2, "concatenated", np.random.default_rng(0))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the fit reached max_iter")
def test_batches_reach_the_collapsed_bound_of_a_gaussian_view(world):
    Y, means = world
    outputs = make_observations(Y, GaussianNoise(), 2)
    rng = np.random.default_rng(1)
    view = initial_stochastic(Y, outputs, GaussianNoise(), means, "rbf", 10, "kmeans", 1e-6, rng)
    model = Model(StandardNormal(means), (view,))
    before = float(bound(model, (outputs,)).total)
    fitted, trace = fit_batches(model, (outputs,), Batches(15_000, 30, 0.05, 0.3))
    end = settle(fitted.views[0], fitted.latent.marginals(), outputs)
    found = float(bound(Model(fitted.latent, (end,)), (outputs,)).total)
    assert len(trace) == 15_000
    assert np.isfinite(trace).all()
    assert found > before + 20
    other = CollapsedGP(end.kernel, end.inducing.value, end.noise_variance())
    centred = make_outputs(Y - np.asarray(end.offset.value)[:, 0])
    same = Model(fitted.latent, (other,))
    np.testing.assert_allclose(found, bound(same, (centred,)).total, rtol=1e-6)
    _, info = optimise(lambda _: same, (centred,), [Stage("lbfgs", 300)])
    assert abs(found - max(info.restart_bounds)) < 1e-3 * abs(found)


def test_a_model_may_mix_collapsed_and_other_views(world):
    Y, means = world
    signs = (Y > 0).astype(float)
    kind = Bernoulli()
    outputs = (make_outputs(Y), make_observations(signs, kind, 2))
    rng = np.random.default_rng(1)
    view = initial_stochastic(signs, outputs[1], kind, means, "rbf", 8, "kmeans", 1e-6, rng)
    model = Model(StandardNormal(means), (CollapsedGP(RBF(1.0, jnp.ones(2)), means[:8], 0.1), view))
    before = float(bound(model, outputs).total)
    fitted, _ = fit_batches(model, outputs, Batches(150, 30, 0.03))
    assert float(bound(fitted, outputs).total) > before + 5

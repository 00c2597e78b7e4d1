"""Priors of parameters: their density, its gradient, and what they do to a fit."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

import manyviews
from manyviews import BayesianGPLVM, Search
from manyviews.errors import OptionError
from manyviews.inference.bound import Model, evidence_bound
from manyviews.inference.objective import Objective
from manyviews.kernels import RBF, Linear
from manyviews.latent import StandardNormal
from manyviews.mappings import CollapsedGP, make_outputs
from manyviews.parameters import log_prior, named_parameters, with_positive_transform

pytestmark = pytest.mark.filterwarnings("ignore::manyviews.errors.ConvergenceWarning")
N, Q, D = 20, 2, 3


def make_model(kernel):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, Q))
    return Model(StandardNormal(X), (CollapsedGP(kernel, X[:6], 0.1),)), rng.normal(size=(N, D))


def test_log_density_is_normal_in_the_logarithm():
    kernel = RBF(2.0, np.array([0.5, 3.0])).with_prior("lengthscale", median=1.5, spread=0.4)
    kernel = kernel.with_prior("variance", median=1.0, spread=2.0)
    expected = norm.logpdf(np.log([0.5, 3.0]), np.log(1.5), 0.4).sum()
    expected += norm.logpdf(np.log(2.0), 0.0, 2.0)
    assert float(log_prior(kernel)) == pytest.approx(expected)
    softly = with_positive_transform(kernel, "softplus")
    assert float(log_prior(softly)) == pytest.approx(expected)
    spread_out = (RBF().with_prior("lengthscale", median=1.0, spread=1.0) + Linear()).fix()
    assert float(log_prior(spread_out.with_dimensions(4))) == pytest.approx(4 * norm.logpdf(0.0))
    assert float(log_prior(RBF())) == 0.0


def test_the_bound_has_it_and_so_has_its_gradient():
    plain, Y = make_model(RBF(1.0, np.array([0.7, 1.3])))
    prior = {"median": 2.0, "spread": 0.3}
    kernel = plain.views[0].kernel.with_prior("lengthscale", **prior)
    model = eqx.tree_at(lambda m: m.views[0].kernel, plain, kernel)
    outputs = (make_outputs(Y),)
    with_it, without = (evidence_bound(m, outputs) for m in (model, plain))
    assert float(with_it.total - without.total) == pytest.approx(float(log_prior(model)))
    assert float(with_it.prior) == pytest.approx(float(log_prior(model)))
    objective = Objective(model, outputs)
    _, slope = objective(objective.start)
    step = 1e-5 * np.random.default_rng(1).normal(size=slope.shape)
    above, below = (objective(objective.start + s)[0] for s in (step, -step))
    assert above - below == pytest.approx(2.0 * slope @ step, rel=1e-5)
    _, plain_slope = Objective(plain, outputs)(objective.start)
    raw = np.log([0.7, 1.3])
    added = np.sort((slope - plain_slope)[np.abs(slope - plain_slope) > 1e-9])
    np.testing.assert_allclose(added, np.sort((raw - np.log(2.0)) / 0.3**2), rtol=1e-6)


def test_a_strong_prior_holds_a_lengthscale_and_is_saved(tmp_path):
    Y = make_model(RBF())[1]
    kernel = RBF(1.0, np.full(Q, 5.0)).with_prior("lengthscale", median=5.0, spread=1e-3)
    model = BayesianGPLVM(
        Q, n_inducing=6, kernel=kernel, search=Search(max_iter=30), random_state=0,
        signal_check="off",
    ).fit(Y)  # fmt: skip
    np.testing.assert_allclose(model.kernel_.lengthscale.value, 5.0, rtol=0.02)
    model.save(tmp_path / "model.safetensors")
    again = manyviews.load(tmp_path / "model.safetensors")
    assert float(log_prior(again.kernel_)) == pytest.approx(float(log_prior(model.kernel_)))


def test_names_and_numbers_are_checked():
    with pytest.raises(OptionError, match="no parameter"):
        RBF().with_prior("period", median=1.0, spread=1.0)
    with pytest.raises(OptionError, match="must be positive"):
        RBF().with_prior("lengthscale", median=1.0, spread=0.0)
    names = [name for name, _ in named_parameters(RBF().with_prior("*", median=1.0, spread=1.0))]
    assert names == ["variance", "lengthscale"]
    assert jax.tree_util.tree_leaves(RBF())[0] == jnp.zeros(())

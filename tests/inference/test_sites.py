"""The fixed point of q(X) over time ends where gradients do."""

import jax.numpy as jnp
import numpy as np
import pytest

from manyviews import BayesianGPLVM, Search, Stage
from manyviews.errors import OptionError
from manyviews.inference.bound import Model, evidence_bound
from manyviews.inference.optimise import optimise
from manyviews.inference.search import alternating_stages
from manyviews.inference.sites import SITES, fixed_point
from manyviews.kernels import RBF
from manyviews.latent import Collaborative, StandardNormal, Temporal, make_sequences, marginals
from manyviews.mappings import CollapsedGP, make_outputs
from manyviews.parameters import fix, free

pytestmark = pytest.mark.filterwarnings("ignore::manyviews.errors.ConvergenceWarning")
N, Q, M, D = 30, 2, 8, 5
TIMES = np.tile(np.linspace(0, 3, 15), 2)[:, None]
CODE = np.repeat([0, 1], 15)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    t = TIMES[:, 0] + CODE
    Y = np.tanh(np.stack([np.sin(2 * t), np.cos(3 * t)], axis=1) @ rng.normal(size=(2, D)))
    Y += 0.1 * rng.normal(size=Y.shape)
    return Y - Y.mean(axis=0)


def starting(data, kind="temporal"):
    U, *_ = np.linalg.svd(data, full_matrices=False)
    X = U[:, :Q] * np.sqrt(N)
    sequences, over_time = make_sequences(TIMES, CODE), RBF(1.0, 0.7)
    view = CollapsedGP(RBF(1.0, np.ones(Q)), X[:: N // M][:M], 0.1)
    if kind == "temporal":
        return Model(Temporal(sequences, (over_time,), X, 10.0), (view,))
    paths = Collaborative(
        sequences, over_time, (over_time, over_time), np.concatenate([X, X], axis=1), 10.0, 0.3,
        kl_weight=3.0,
    )  # fmt: skip
    return Model(paths, (view, view))


@pytest.mark.parametrize("kind", ["temporal", "collaborative"])
def test_with_all_else_held_the_optimum_is_that_of_gradients(data, kind):
    model = free(fix(starting(data, kind)), *SITES)
    outputs = (make_outputs(data),) * len(model.views)
    stage = Stage("lbfgs", 3000)
    bounds = [float(evidence_bound(model, outputs).total)]
    steps = list(fixed_point(model, outputs, 500, 0.5, 1e-9))
    bounds += [bound for _, bound in steps]
    assert np.all(np.diff(bounds) >= 0.0)
    found = steps[-1][0]
    assert float(evidence_bound(found, outputs).total) == pytest.approx(bounds[-1])
    # the two may climb different hills, and do with two views; this is the top of one
    start = model if kind == "temporal" else found
    by_gradients, _ = optimise(lambda _: start, outputs, (stage,), tolerance=1e-10)
    best = float(evidence_bound(by_gradients, outputs).total)
    assert bounds[-1] == pytest.approx(best, abs=1e-3)
    assert best > bounds[0] + 1.0
    expected, q = marginals(by_gradients.latent), marginals(found.latent)
    np.testing.assert_allclose(q.mean, expected.mean, atol=5e-3)
    np.testing.assert_allclose(q.variance, expected.variance, rtol=2e-2)


def test_in_turn_with_gradients_of_all_else_it_fits_a_model(data):
    options = {"n_inducing": 8, "time_kernel": RBF(1.0, 0.7), "random_state": 0}
    fits = [
        BayesianGPLVM(2, search=search, signal_check="off", **options).fit(
            data, times=TIMES[:, 0], sequences=CODE
        )
        for search in (
            Search(stages=(Stage("lbfgs", 3000),), tol=1e-8),
            Search(stages=alternating_stages(60), tol=1e-8),
        )
    ]
    by_gradients, in_turn = (model.lower_bound_ for model in fits)
    assert in_turn == pytest.approx(by_gradients, abs=0.5)
    assert np.all(np.diff(fits[1].fit_info_.bound_trace[:20]) > -1e-6)


def test_it_is_for_joint_posteriors_over_time(data):
    outputs = (make_outputs(data),)
    model = starting(data)
    still = Model(StandardNormal(jnp.zeros((N, Q))), model.views)
    with pytest.raises(OptionError, match="with times"):
        next(fixed_point(still, outputs, 5, 0.5, 0.0))

"""Dimensions that a model is as good without."""

import numpy as np
import pytest

from manyviews import MRD, Search, Stage
from manyviews.inference.bound import dimension_weights, evidence_bound
from manyviews.inference.leaving_out import IDLE, LeavingOut, Use, left_out, uses
from manyviews.inference.stochastic import Batches
from manyviews.mappings.observations import make_observations

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::manyviews.errors.ManyviewsWarning"),
]
N = 60
KINDS = {"counts": "poisson", "yes": "bernoulli"}


def tables(seed=0):
    """One signal that both views follow, and one of the counts alone."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(N, 2))
    counts = rng.poisson(np.exp(1.5 + x @ rng.normal(size=(2, 10))))
    yes = rng.logistic(size=(N, 10)) < 4.0 * x[:, [0]] * rng.normal(size=10)
    return {"counts": counts.astype(float), "yes": yes.astype(float)}


@pytest.fixture(scope="module")
def fitted():
    stages = (Stage("natural", 200, step_size=0.03),)
    model = MRD(3, 10, likelihood=KINDS, search=Search(n_restarts=1, stages=stages),
                random_state=0, signal_check="off").fit(tables())  # fmt: skip
    engine = model.engine_
    outputs = tuple(
        make_observations(table, view.likelihood, 3, seed=place)
        for place, (table, view) in enumerate(zip(engine.data, engine.model.views, strict=True))
    )
    return engine.model, outputs


def shares(model):
    weights = dimension_weights(model)
    return weights / weights.max(axis=1, keepdims=True)


def total(model, outputs):
    return float(evidence_bound(model, outputs).total)


def test_dimensions_and_shared_uses_may_be_left_out_while_a_view_keeps_one(fitted):
    model, _ = fitted
    found, used = set(uses(model)), shares(model) > 5e-3
    expected = set()
    for dimension in range(3):
        views = [k for k in range(2) if used[k, dimension]]
        spare = [k for k in views if used[k].sum() > 1]
        if views and spare == views:
            expected.add(Use(dimension, tuple(views)))
        if len(views) == 2:
            expected |= {Use(dimension, (k,)) for k in spare}
    assert found == expected


def test_what_is_left_out_has_next_to_no_weight(fitted):
    model, _ = fitted
    largest = int(shares(model)[1].argmax())
    found = left_out(model, Use(largest, (1,)))
    np.testing.assert_allclose(shares(found)[1, largest], IDLE, rtol=1e-6)
    np.testing.assert_allclose(shares(found)[0], shares(model)[0], rtol=1e-9)
    np.testing.assert_array_equal(found.latent.mean.raw, model.latent.mean.raw)
    gone = left_out(model, Use(largest, (0, 1)))
    np.testing.assert_array_equal(gone.latent.mean.value[:, largest], 0.0)
    np.testing.assert_allclose(gone.latent.variance.value[:, largest], 1.0)


def test_terms_of_rows_and_what_functions_cost_add_up_to_the_bound(fitted):
    model, outputs = fitted
    found = LeavingOut(outputs, Batches(0))._settled(model, ())
    np.testing.assert_allclose(found.bound, total(model, outputs), rtol=1e-9)
    cost = sum(float(view.kl()) for view in model.views)
    np.testing.assert_allclose(found.terms.sum() - cost, found.bound, rtol=1e-9)


def test_signals_stay_and_idle_dimensions_go(fitted):
    model, outputs = fitted
    simple = LeavingOut(outputs, Batches(50, 512, 0.03))(model)
    used = shares(simple) > 5e-3
    assert used[0].sum() == 2
    assert used[1].sum() == 1
    assert (used[0] & used[1]).sum() == 1
    assert total(simple, outputs) > total(model, outputs) - np.sqrt(N)

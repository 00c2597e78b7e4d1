import numpy as np

from manyviews.inference.bound import Model
from manyviews.kernels import RBF
from manyviews.latent import StandardNormal, marginals
from manyviews.mappings import CollapsedGP, make_outputs
from manyviews.mappings.alike import MOST_ADDED, for_posteriors, own_columns

N, Q, M = 12, 2, 5


def problem(*widths):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, Q))
    tables = [np.sin(X @ rng.standard_normal((Q, D))) for D in widths]
    for place, Y in enumerate(tables):
        Y[place, :2] = np.nan  # two patterns in each
    views = tuple(
        CollapsedGP(RBF(1.0 + place, np.ones(Q)), X[place : place + M], 0.1)
        for place in range(len(widths))
    )
    return Model(StandardNormal(X), views), tuple(make_outputs(Y) for Y in tables)


def test_posteriors_are_those_of_their_own_columns():
    model, outputs = problem(4, 7)
    q = marginals(model.latent)
    longer = for_posteriors(model.views, outputs)
    for view, own, data in zip(model.views, outputs, longer, strict=True):
        assert data.filled.shape == (N, 7)
        found, expected = own_columns(view.posterior(q, data), own), view.posterior(q, own)
        np.testing.assert_array_equal(found.group_of_column, expected.group_of_column)
        np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(found.inner, expected.inner, rtol=1e-12)


def test_a_table_much_wider_than_another_has_a_program_of_its_own():
    model, outputs = problem(4, 4 + MOST_ADDED + 1)
    assert for_posteriors(model.views, outputs)[0].filled.shape == (N, 4)

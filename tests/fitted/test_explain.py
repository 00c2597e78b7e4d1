import numpy as np
import pytest

from manyviews.fitted.explain import mean_slopes, variance_divided, variance_explained_by
from manyviews.linear import GroupFactorAnalysis


@pytest.fixture(scope="module")
def engine():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((80, 3)) @ np.array([[1, 0.6, 0], [0, 1, 0.4], [0, 0, 1]])
    views = {"a": x @ rng.standard_normal((3, 5)), "b": x @ rng.standard_normal((3, 4))}
    noisy = {name: Y + 0.2 * rng.standard_normal(Y.shape) for name, Y in views.items()}
    return GroupFactorAnalysis(3, random_state=0).fit(noisy).engine_


def test_shares_of_two_groups_are_shapley_values(engine):
    groups = {"one": [0], "rest": [1, 2]}
    found = variance_divided(engine, 0, groups)
    one, rest, both = (variance_explained_by(engine, 0, d) for d in ([0], [1, 2], [0, 1, 2]))
    assert found["one"] == pytest.approx(0.5 * (one + both - rest))
    assert found["rest"] == pytest.approx(0.5 * (rest + both - one))


def test_shares_add_up_and_empty_groups_explain_nothing(engine):
    groups = {"a": [0], "b": [1], "c": [2], "none": []}
    found = variance_divided(engine, 1, groups)
    assert sum(found.values()) == pytest.approx(variance_explained_by(engine, 1, [0, 1, 2]))
    assert found["none"] == 0.0


def test_mean_slopes_of_a_linear_map_are_its_loadings(engine):
    """For a linear map the root mean square slope is the absolute value of the mean one."""
    signed, size = mean_slopes(engine, 0), engine.slopes(0)
    np.testing.assert_allclose(np.abs(signed), size, rtol=1e-6, atol=1e-9)
    x = engine.positions.mean
    moved = engine.moments(0, type(engine.positions).known(np.eye(3)))[0]
    origin = engine.moments(0, type(engine.positions).known(np.zeros((1, 3))))[0]
    np.testing.assert_allclose(signed, (moved - origin).T * x.std(axis=0), rtol=1e-6, atol=1e-9)

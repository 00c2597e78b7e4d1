import numpy as np
import pandas as pd
import pytest

from manyviews.errors import OptionError
from manyviews.fitted.view_clusters import cluster_rows, side_by_side


@pytest.fixture
def weights():
    rng = np.random.default_rng(0)
    centres = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.3, 1.0]])
    places = np.array([2, 0, 0, 1, 2, 1])
    rows = centres[places] + 0.02 * rng.standard_normal((6, 3))
    return pd.DataFrame(rows, index=list("uvwxyz"))


def test_rows_near_each_other_are_one_cluster(weights):
    found = cluster_rows(weights, 3, random_state=0)
    assert found.to_dict() == {"u": 0, "v": 1, "w": 1, "x": 2, "y": 0, "z": 2}
    assert found.name == "cluster"
    assert cluster_rows(weights, 1).eq(0).all()


def test_groups_have_their_rows_side_by_side(weights):
    groups = {"v": "one", "x": "one", "u": "two", "y": "two", "w": "three", "z": "three"}
    table = side_by_side(weights, groups)
    assert list(table.index) == ["two", "one", "three"]
    np.testing.assert_array_equal(table.loc["one"], np.r_[weights.loc["v"], weights.loc["x"]])
    found = cluster_rows(weights, 2, groups, random_state=0)
    assert found.to_dict() == {"two": 0, "one": 1, "three": 1}
    in_order = [groups[name] for name in weights.index]
    pd.testing.assert_series_equal(cluster_rows(weights, 2, in_order, 0), found)
    pd.testing.assert_series_equal(cluster_rows(weights, 2, pd.Series(groups), 0), found)


@pytest.mark.parametrize(
    ("n_clusters", "groups", "words"),
    [
        (7, None, "between 1 and the 6 rows, got 7"),
        (2.5, None, "a whole number"),
        (2, [1, 1, 2, 2, 3], "6 rows, and groups for 5"),
        (2, {"u": 1}, "groups lack 'v'"),
        (2, [1, 1, 2, 2, 2, 2], "equally large: 1 has 2, 2 has 4"),
    ],
)
def test_clear_errors(weights, n_clusters, groups, words):
    with pytest.raises(OptionError, match=words):
        cluster_rows(weights, n_clusters, groups)

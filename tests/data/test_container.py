"""Views that scikit-learn can slice: cross-validation and grid search over all models of views."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score

from manyviews import MRD, MixturePCCA, MRDClassifier, Search, Views
from manyviews.errors import DataError
from manyviews.linear import GroupFactorAnalysis, ProbabilisticCCA

BRIEF = Search(max_iter=8, n_restarts=1)
pytestmark = pytest.mark.filterwarnings("ignore::manyviews.errors.ManyviewsWarning")


N = 40
EVEN, ODD = np.arange(0, N, 2), np.arange(1, N, 2)


@pytest.fixture(scope="module")
def tables():
    """Two tables, of which the second lacks two even samples and two odd ones.

    Folds that are alike in shape share their compiled programs.
    """
    rng = np.random.default_rng(0)
    x = rng.standard_normal((N, 2))
    names = [f"s{i}" for i in range(N)]
    left = pd.DataFrame(x @ rng.standard_normal((2, 4)), names, list("abcd"))
    right = pd.DataFrame(np.tanh(x[:, :1]) @ rng.standard_normal((1, 3)), names, list("uvw"))
    return {"left": left + 0.1 * rng.standard_normal((N, 4)),
            "right": (right + 0.1 * rng.standard_normal((N, 3))).iloc[4:]}  # fmt: skip


def test_rows_and_views(tables):
    views = Views(tables)
    assert len(views) == N
    assert views.shape == (N, 7)
    assert list(views) == ["left", "right"]
    pd.testing.assert_frame_equal(views["left"], tables["left"])
    assert views["right"].iloc[:4].isna().all(axis=None)
    for rows in ([3, 1], np.array([3, 1]), slice(1, 3), np.arange(N) % 2 == 0, ([3, 1], ...), 4):
        picked = np.atleast_1d(np.arange(N)[rows[0] if isinstance(rows, tuple) else rows])
        part = views[rows]
        assert len(part) == len(picked)
        assert part.samples == [f"s{i}" for i in picked]
        pd.testing.assert_frame_equal(part["left"], tables["left"].iloc[picked])
    with pytest.raises(KeyError, match="'middle'"):
        views["middle"]
    with pytest.raises(IndexError):
        views[[99]]
    arrays = Views([np.ones((4, 2)), np.zeros((4, 1))])
    assert isinstance(arrays["view1"], np.ndarray)
    assert dict(arrays[1:]).keys() == {"view1", "view2"}


@pytest.mark.long
def test_times_travel_with_the_rows(tables):
    times = pd.Series(np.arange(float(N))[::-1], index=[f"s{i}" for i in range(N)][::-1])
    views = Views(tables, times=times, sequences="one")
    np.testing.assert_array_equal(views.times, np.arange(float(N)))
    np.testing.assert_array_equal(views[[7, 2]].times, [7.0, 2.0])
    assert set(views[[7, 2]].sequences) == {"one"}
    with pytest.raises(DataError, match="3 times"):
        Views(tables, times=[1, 2, 3])
    model = MRD(2, 8, search=BRIEF, random_state=0, signal_check="off").fit(views)
    same = MRD(2, 8, search=BRIEF, random_state=0, signal_check="off").fit(
        tables, times=times, sequences="one"
    )
    np.testing.assert_array_equal(model.latent_mean_, same.latent_mean_)
    given = Views({"left": tables["left"].iloc[:3]}, times=[0.5, 1.5, 2.5], sequences="one")
    expected = same.predict(
        {"left": tables["left"].iloc[:3]}, "right", times=[0.5, 1.5, 2.5], sequences="one"
    )
    np.testing.assert_array_equal(model.predict(given, "right"), expected)


def test_a_fit_is_the_same_from_the_container(tables):
    a = GroupFactorAnalysis(2, random_state=0).fit(Views(tables))
    b = GroupFactorAnalysis(2, random_state=0).fit(tables)
    np.testing.assert_array_equal(a.latent_mean_, b.latent_mean_)
    assert a.predict(Views(tables)[:4], "right").equals(b.predict(Views(tables)[:4], "right"))


@pytest.mark.parametrize(
    "model",
    [
        GroupFactorAnalysis(2, random_state=0),
        ProbabilisticCCA(1),
        MixturePCCA(2, n_restarts=1, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_cross_validation(model, tables):
    views = Views(tables)
    scores = cross_val_score(model, views, cv=KFold(3))
    by_hand = []
    for train, test in KFold(3).split(np.arange(N)):
        parts = [{name: view.iloc[rows] for name, view in views.items()} for rows in (train, test)]
        by_hand.append(model.fit(parts[0]).score(parts[1]))
    np.testing.assert_allclose(scores, by_hand)


def test_grid_search_of_mrd_by_held_out_density(tables):
    grid = {"n_components": [1, 3], "kernel": ["rbf", "linear"], "search__tol": [1e-3]}
    model = MRD(n_inducing=8, search=BRIEF, random_state=0, signal_check="off")
    groups = np.arange(N) % 8
    search = GridSearchCV(model, grid, cv=GroupKFold(2), error_score="raise")
    search.fit(Views(tables), groups=groups)
    assert len(search.cv_results_["params"]) == 4
    assert search.best_estimator_.n_components == search.best_params_["n_components"]
    assert search.predict(Views({"left": tables["left"].iloc[:2]}))["right"].shape == (2, 3)


def test_classifiers_take_it(tables):
    y = (tables["left"]["a"] > 0).to_numpy().astype(int)
    model = MRDClassifier(MRD(2, 8, search=BRIEF, random_state=0, signal_check="off"))
    folds = [(EVEN, ODD), (ODD, EVEN)]
    assert cross_val_score(model, Views(tables), y, cv=folds).shape == (2,)

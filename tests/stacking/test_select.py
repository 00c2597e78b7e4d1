import numpy as np
import pytest

from manyviews import MRD, Search, Views, compare, select
from manyviews.errors import DataError, OptionError
from manyviews.linear import GroupFactorAnalysis
from manyviews.stacking import ViewRegressor, selecting

pytestmark = pytest.mark.filterwarnings("ignore::manyviews.errors.ManyviewsWarning")


def views(n=60, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    a = x @ rng.normal(size=(2, 4)) + 0.3 * rng.normal(size=(n, 4))
    return {"a": a, "b": x @ rng.normal(size=(2, 3)) + 0.3 * rng.normal(size=(n, 3))}


def test_scores_are_those_of_a_comparison():
    grid = {"regressor": ["mean", "ridge", "knn"]}
    found = select(ViewRegressor(), grid, views(), folds=3)
    other = compare(views(), ["mean", "ridge", "knn"], folds=3)
    for column in ("error", "log_density", "coverage"):
        np.testing.assert_allclose(found.comparison.table[column], other.table[column])
    assert found.options == {"regressor": "ridge"}
    assert found.model.regressor == "ridge"
    mean = other.table.groupby("method")["log_density"].mean()
    np.testing.assert_allclose(
        found.table.set_index("options")["gain"]["regressor='ridge'"], mean["ridge"] - mean["mean"],
        atol=0.02,
    )  # fmt: skip


def test_the_first_stands_unless_another_gains_more_than_an_error():
    rng = np.random.default_rng(1)
    noise = {"a": rng.normal(size=(60, 3)), "b": rng.normal(size=(60, 2))}
    for first in (1, 2):
        grid = {"n_components": [first, 3 - first]}
        found = select(GroupFactorAnalysis(random_state=0), grid, noise, targets="b")
        gain = found.table.iloc[1]
        worth = gain["gain"] > gain["gain_se"]
        assert found.options == {"n_components": 3 - first if worth else first}


@pytest.mark.long
def test_options_of_answers_take_no_fits(monkeypatch, tmp_path):
    fits = []
    fit = MRD.fit
    monkeypatch.setattr(MRD, "fit", lambda self, *a, **k: fits.append(1) or fit(self, *a, **k))
    model = MRD(2, 8, search=Search(n_restarts=1, max_iter=10), random_state=0, signal_check="off")
    grid = {"residual_link": [False, True], "evidence_power": [1.0, 0.5]}
    groups = np.repeat(np.arange(12), 5)
    asked = {"targets": "b", "folds": 3, "cache": tmp_path}
    found = select(model, grid, Views(views(), groups=groups), **asked)
    assert len(fits) == 3 + 1
    assert len(found.table) == 4
    linked = found.table["options"].str.contains("residual_link=True")
    off, on = (set(found.table["log_density"][own]) for own in (~linked, linked))
    assert len(off) == 2  # a link may leave the powers nothing to say
    assert not off & on
    assert found.model.groups_ is not None
    again = select(model, grid, Views(views(), groups=groups), **asked)
    assert len(fits) == 3 + 2
    assert again.options == found.options


def test_what_cannot_be_chosen_is_said():
    with pytest.raises(OptionError, match="no option 'components'"):
        select(GroupFactorAnalysis(), {"components": [1]}, views())
    with pytest.raises(DataError, match="two views"):
        select(GroupFactorAnalysis(), {"n_components": [1]}, {"a": views()["a"]})
    with pytest.raises(DataError, match="cannot be fitted"):
        select(GroupFactorAnalysis(), {"n_components": [0]}, views())


def test_names_of_combinations():
    assert selecting._named({"b": 1, "a": "x"}) == "a='x', b=1"

"""A stack: who gets weight, what is kept whole, missing views, files, scikit-learn's habits."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

import manyviews
from manyviews import MRD, BayesianGPLVM, Search, Stack, Views
from manyviews.errors import DataError, MemberLeftOutWarning, OptionError
from manyviews.linear import GroupFactorAnalysis, ProbabilisticCCA
from manyviews.stacking import Asked, Mixture, Question, ViewRegressor
from manyviews.stacking.blend import SCALES

QUICK = ["mean", "ridge", "knn"]


def tables(n=70, seed=0, curved=True):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, size=(n, 2))
    f = np.sin(2 * x) if curved else x
    maps = np.random.default_rng(99).normal(size=(2, 2, 4))
    return {
        "a": x @ maps[0] + 0.1 * rng.normal(size=(n, 4)),
        "b": f @ maps[1][:, :3] + 0.3 * rng.normal(size=(n, 3)),
    }


class Constant(BaseEstimator):
    """A peer of the user's: a constant, and a std that it was told."""

    def __init__(self, value=0.0, std=1.0):
        self.value, self.std = value, std

    def fit(self, views):
        self.rows_ = set(np.round(np.asarray(views["a"])[:, 0], 9).tolist())
        self.widths_ = {name: np.asarray(views[name]).shape[1] for name in views}
        return self

    def predict(self, known, target, return_std=False):
        shape = (len(next(iter(known.values()))), self.widths_[target])
        return np.full(shape, self.value), np.full(shape, self.std)


class Oracle(Constant):
    """Knows the truth of every row by its first value."""

    def __init__(self, truth=None):
        self.truth = truth

    def predict(self, known, target, return_std=False):
        seen = np.asarray(known["a"])[:, 0]
        assert not self.rows_ & set(np.round(seen, 9).tolist()), "asked about rows it was fitted to"
        place = [int(np.argmin(np.abs(self.truth["a"][:, 0] - value))) for value in seen]
        mean = self.truth["b"][place]
        return mean, np.full(mean.shape, 0.01)


def test_a_perfect_member_gets_all_the_weight():
    views = tables()
    stack = Stack({"oracle": Oracle(views), "mean": "mean"}, targets="b", refit=False,
                  random_state=0).fit(views)  # fmt: skip
    np.testing.assert_allclose(stack.weights_.to_numpy(), [[1.0, 0.0]], atol=1e-3)
    assert stack.blends_[0].gap <= 1e-6


@pytest.mark.parametrize("curved", [True, False])
def test_a_stack_is_hardly_worse_than_its_best_member(curved):
    views, new = tables(curved=curved), tables(300, seed=1, curved=curved)
    stack = Stack(["mean", "ridge", "knn", "gp"], targets="b", random_state=0).fit(views)
    found = stack.log_density(new, "b").mean()
    single = []
    for name in stack.weights_.columns:
        one = ViewRegressor(name).fit(views)
        said = Mixture.gaussian(*one.predict({"a": new["a"]}, "b", return_std=True))
        single.append(said.log_density(new["b"]).mean())
    assert found > max(single) - 0.05
    assert (not curved) or stack.weights_.loc["b from a", "gp"] > 0.5


def test_what_it_predicts_is_one_mean_and_the_widths_of_its_members():
    views, new = tables(), tables(5, seed=1)
    stack = Stack(["ridge", "knn"], random_state=0, calibrate=False, weights="view").fit(views)
    mean, std = stack.predict({"a": new["a"]}, "b", return_std=True)
    v, w = stack.weights_.loc["b from a"], stack.blends_[1].weights[:, 0]
    parts = [
        ViewRegressor(name).fit(views).predict({"a": new["a"]}, "b", return_std=True)
        for name in v.index
    ]
    # folds of a regressor inside of a stack are its own, so the same fit is expected
    np.testing.assert_allclose(mean, sum(v.iloc[k] * m for k, (m, _) in enumerate(parts)))
    widths = [scale * s for scale in SCALES for _, s in parts]
    np.testing.assert_allclose(std, np.sqrt(sum(a * s**2 for a, s in zip(w, widths, strict=True))))
    density = sum(a * norm.pdf(new["b"], mean, s) for a, s in zip(w, widths, strict=True))
    np.testing.assert_allclose(stack.log_density(new, "b"), np.log(density))
    mixture = stack.predict_mixture({"a": new["a"]}, "b")
    np.testing.assert_allclose(mixture.log_density(new["b"]), stack.log_density(new, "b"))
    low, high = stack.predict({"a": new["a"]}, "b", quantiles=[0.1, 0.9])
    np.testing.assert_allclose(mixture.cdf(low), 0.1)
    assert (high > low).all()
    draws = stack.predict({"a": new["a"]}, "b", n_samples=4000, random_state=0)
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=0.08)
    np.testing.assert_allclose(draws.std(axis=0), std, rtol=0.1)
    np.testing.assert_allclose(
        stack.score_samples(new, "b"), stack.log_density(new, "b").sum(axis=1)
    )
    both = stack.log_density(new, "a").sum(axis=1) + stack.score_samples(new, "b")
    np.testing.assert_allclose(stack.score_samples(new), both)
    assert stack.score(new) == pytest.approx(both.mean())


def test_widths_make_overconfident_members_honest():
    rng = np.random.default_rng(0)
    views = {"a": rng.normal(size=(80, 2)), "b": rng.normal(size=(80, 3)) * [1.0, 2.0, 3.0]}
    stack = Stack([Constant(std=0.1)], targets="b", random_state=0).fit(views)
    _, std = stack.predict({"a": views["a"][:1]}, "b", return_std=True)
    np.testing.assert_allclose(std[0], np.sqrt((views["b"] ** 2).mean(axis=0)), rtol=0.25)
    honest = Stack([Constant(std=0.1)], targets="b", calibrate=False).fit(views)
    np.testing.assert_allclose(honest.blends_[0].widths, 1.0)


def test_columns_have_weights_of_their_own_where_that_helps():
    rng = np.random.default_rng(0)
    views = {"a": rng.normal(size=(300, 1)), "b": rng.normal(size=(300, 2)) + np.array([0.0, 5.0])}
    members = {"zero": Constant(0.0), "five": Constant(5.0)}
    stack = Stack(members, targets="b", calibrate=False, random_state=0).fit(views)
    (blend,) = stack.blends_
    assert blend.by_column
    assert blend.shares[0, 0] > 0.9
    assert blend.shares[1, 1] > 0.9
    assert not Stack(members, targets="b", weights="view").fit(views).blends_[0].by_column


def test_groups_are_never_divided():
    views = tables(40)
    groups = np.arange(40) // 5

    class Watcher(Constant):
        def fit(self, views):
            super().fit(views)
            seen = [i for i in range(40) if round(float(tables(40)["a"][i, 0]), 9) in self.rows_]
            counts = np.bincount(groups[seen], minlength=8)
            assert set(counts.tolist()) <= {0, 5}
            return self

    Stack([Watcher()], targets="b", folds=3, random_state=0).fit(views, groups=groups)
    with pytest.raises(AssertionError):
        Stack([Watcher()], targets="b", folds=3, random_state=0).fit(views)
    sequences = Views(views, times=np.tile(np.arange(5.0), 8), sequences=groups)
    Stack([Watcher()], targets="b", folds=3, random_state=0).fit(sequences)


def test_views_missing_for_whole_samples():
    views = tables(60)
    views["c"] = views["a"][:, :1] + 0.1
    views["b"][:15] = np.nan
    views["c"][10:30] = np.nan
    views["a"][31, 2] = np.nan
    stack = Stack(["mean", "ridge", GroupFactorAnalysis(2)], random_state=0).fit(views)
    assert list(stack.weights_.index) == ["a from b + c", "b from a + c", "c from a + b"]
    assert stack.predict({"a": views["a"][:4], "c": views["c"][:4]}, "b").shape == (4, 3)
    # rows with something known are answered, in all questions
    new = {"a": views["a"][:12], "c": views["c"][:12]}
    assert np.isfinite(stack.predict(new, "b")).all()
    density = stack.log_density(views, "b")
    np.testing.assert_array_equal(np.isnan(density).all(axis=1), np.arange(60) < 15)
    # another question: weights are learnt when it is asked
    assert stack.predict({"c": views["c"][:5]}, "b").shape == (5, 3)
    assert list(stack.weights_.index)[-1] == "b from c"
    stack.learn("a", "c")
    assert stack.blends_[-1].question == Question(("a",), "c")
    with pytest.raises(DataError, match=r"sample 0 has no value in c"):
        stack.predict({"a": np.full((2, 4), np.nan), "c": [[np.nan], [1.0]]}, "b")


def test_labelled_tables_come_back_labelled():
    names = [f"s{i}" for i in range(50)]
    views = {k: pd.DataFrame(v, names) for k, v in tables(50).items()}
    views["b"].columns = list("uvw")
    stack = Stack(QUICK, targets="b", random_state=0).fit(views)
    mean, std = stack.predict({"a": views["a"].iloc[:3]}, return_std=True)
    assert list(mean.index) == names[:3]
    assert list(std.columns) == list("uvw")


def test_seeds_of_one_model_and_fits_kept():
    views, new = tables(40), tables(6, seed=1)
    brief = Search(max_iter=10, n_restarts=1)
    seeds = [MRD(2, 8, search=brief, signal_check="off", random_state=s) for s in (0, 1)]
    stack = Stack(seeds, targets="b", folds=2, refit=False, random_state=0).fit(views)
    assert list(stack.weights_.columns) == ["mrd-1", "mrd-2"]
    assert [len(fits) for fits in stack.ensemble_.models.values()] == [2, 2]
    mixture = stack.predict_mixture({"a": new["a"]}, "b")
    assert len(mixture.means) == 2 * np.sum(stack.blends_[0].weights.max(axis=1) > 0)
    shares = stack.weights_.to_numpy().T[:, :, None]
    fits = [
        np.mean([fit.predict({"a": new["a"]}, "b") for fit in models], axis=0)
        for models in stack.ensemble_.models.values()
    ]
    np.testing.assert_allclose(mixture.mean, np.sum(shares * np.stack(fits), axis=0))
    draws = stack.predict({"a": new["a"]}, "b", n_samples=300, random_state=0)
    z = (draws.mean(axis=0) - mixture.mean) / mixture.std
    assert np.abs(z).max() < 0.35


@pytest.mark.filterwarnings("ignore::manyviews.errors.ManyviewsWarning")
def test_options_for_predict_travel_with_the_member():
    views = tables(40)
    model = MRD(2, 8, search=Search(max_iter=5, n_restarts=1), signal_check="off", random_state=0)
    member = Asked(model, {"private": "nearest"}).fit(Views(views))
    expected = member.model_.predict({"a": views["a"][:3]}, "b", private="nearest")
    np.testing.assert_array_equal(member.predict({"a": views["a"][:3]}, "b"), expected)


# ---------------------------------------------------------------------------------- files


def test_a_saved_stack_predicts_the_same(tmp_path):
    views, new = tables(50), tables(5, seed=1)
    views["b"][3, 1] = np.nan
    models = ["mean", "ridge", "pls", "joint-knn", "joint-gp", "forest", "gfa", ProbabilisticCCA(2),
              RidgeCV([0.1, 1.0]), LinearRegression()]  # fmt: skip
    stack = Stack(models, targets="b", folds=3, random_state=0).fit(views)
    path = tmp_path / "stack.safetensors"
    stack.save(path)
    loaded = manyviews.load(path)
    for asked in ({"return_std": True}, {"quantiles": [0.1]}):
        for one, other in zip(
            loaded.predict({"a": new["a"]}, "b", **asked),
            stack.predict({"a": new["a"]}, "b", **asked),
            strict=True,
        ):
            np.testing.assert_allclose(one, other, rtol=1e-10)
    pd.testing.assert_frame_equal(loaded.weights_, stack.weights_)
    clone(loaded).set_params(models=["mean"]).fit(views)
    with pytest.raises(OptionError, match="no weights for a from b"):
        loaded.predict({"b": new["b"]}, "a")


def test_a_member_that_no_file_can_hold_is_named(tmp_path):
    booster = HistGradientBoostingRegressor(max_iter=2)
    stack = Stack({"ridge": "ridge", "booster": booster}, targets="b", folds=2).fit(tables(40))
    with pytest.raises(OptionError, match=r"'booster' cannot be saved: .*HistGradientBoosting"):
        stack.save(tmp_path / "stack.safetensors")
    peer = Stack({"peer": Constant()}, targets="b", folds=2).fit(tables(40))
    with pytest.raises(OptionError, match=r"'peer' cannot be saved: .*Constant is not a known"):
        peer.save(tmp_path / "stack.safetensors")


# ---------------------------------------------------------------------------------- scikit-learn


def test_parameters_are_stored_untouched_and_cloned():
    members = [GroupFactorAnalysis(2), RidgeCV()]
    stack = Stack(members, folds=3)
    assert stack.models is members
    again = clone(stack)
    assert again.models[0] is not members[0]
    assert again.get_params()["groupfactoranalysis__n_components"] == 2
    again.set_params(groupfactoranalysis__n_components=1, folds=4)
    assert again.models[0].n_components == 1
    assert members[0].n_components == 2
    assert clone(Stack()).get_params()["models"] is None


@pytest.mark.long
def test_a_grid_search_over_a_stack():
    views = Views(tables(40))
    search = GridSearchCV(
        Stack([GroupFactorAnalysis(random_state=0), "mean"], targets="b", random_state=0),
        {"groupfactoranalysis__n_components": [1, 2], "folds": [2]},
        cv=2,
    ).fit(views)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert "groupfactoranalysis__n_components" in search.best_params_


@pytest.mark.long
def test_the_same_seed_gives_the_same_stack():
    views = tables(40)
    a, b, c = (Stack(QUICK, targets="b", random_state=s).fit(views) for s in (0, 0, 1))
    np.testing.assert_array_equal(a.blends_[0].weights, b.blends_[0].weights)
    assert a.blends_[0].score != c.blends_[0].score


def test_processes_side_by_side_find_the_same(capsys):
    views = tables(40)
    one = Stack(QUICK, targets="b", random_state=0).fit(views)
    two = Stack(QUICK, targets="b", random_state=0, n_jobs=2, verbose=1).fit(views)
    np.testing.assert_allclose(one.weights_, two.weights_, atol=1e-9)
    assert "18/18" in capsys.readouterr().err


# ---------------------------------------------------------------------------------- bad input


def test_a_member_that_cannot_be_fitted_is_left_out_by_name():
    views = tables(40)
    bad = ProbabilisticCCA(9)  # more than the narrowest view has columns
    with pytest.warns(MemberLeftOutWarning, match=r"'bad' is left out .*n_components=9"):
        stack = Stack({"bad": bad, "ridge": "ridge"}, targets="b").fit(views)
    assert list(stack.weights_.columns) == ["ridge"]
    with (
        pytest.warns(MemberLeftOutWarning),
        pytest.raises(DataError, match="no member of the stack could be fitted: bad"),
    ):
        Stack({"bad": bad}, targets="b").fit(views)
    with pytest.warns(MemberLeftOutWarning, match="not all finite"):
        Stack({"bad": Constant(np.nan), "mean": "mean"}, targets="b").fit(views)


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ([], "models is empty"),
        ("ridge", "'models' parameter of Stack"),
        (["rigde"], "no model 'rigde': there are mean, ridge"),
        ([SVC()], "SVC is a classifier"),
        ([BayesianGPLVM()], "BayesianGPLVM is a model of one table"),
        ([RidgeCV], "RidgeCV is a class"),
        ([object()], "object cannot be a member"),
    ],
)
def test_members_that_make_no_sense(models, message):
    with pytest.raises(OptionError, match=message):
        Stack(models).fit(tables(20))


def test_bad_options_and_data_are_named():
    views = tables(30)
    with pytest.raises(OptionError, match="'folds' parameter of Stack"):
        Stack(QUICK, folds=1).fit(views)
    with pytest.raises(OptionError, match="'weights' parameter of Stack"):
        Stack(QUICK, weights="row").fit(views)
    with pytest.raises(OptionError, match="no view 'z'"):
        Stack(QUICK, targets="z").fit(views)
    with pytest.raises(DataError, match="two views or more"):
        Stack(QUICK).fit({"a": views["a"]})
    with pytest.raises(DataError, match="8 samples or more, got 5"):
        Stack(QUICK).fit({k: v[:5] for k, v in views.items()})
    with pytest.raises(DataError, match="infinity at row 2"):
        Stack(QUICK).fit({**views, "b": np.where(np.arange(30)[:, None] == 2, np.inf, views["b"])})
    stack = Stack(QUICK, targets="b").fit(views)
    with pytest.raises(OptionError, match="one of return_std, quantiles and n_samples"):
        stack.predict({"a": views["a"]}, "b", return_std=True, n_samples=3)
    with pytest.raises(OptionError, match="between 0 and 1"):
        stack.predict({"a": views["a"]}, "b", quantiles=[5, 95])
    with pytest.raises(OptionError, match="name the target"):
        stack.predict(views)
    with pytest.raises(DataError, match="unknown view 'q'"):
        stack.predict({"q": views["a"]}, "b")


# ---------------------------------------------------------------------------------- one regression


def test_a_view_regressor_is_calibrated_and_answers_any_question(tmp_path):
    views, new = tables(150), tables(400, seed=1)
    model = ViewRegressor("gp").fit(views)
    mean, std = model.predict({"a": new["a"]}, "b", return_std=True)
    z = (new["b"] - mean) / std
    assert 0.85 < np.sqrt(np.mean(z**2)) < 1.15
    assert len(model.answers_) == 1
    model.learn(["b"], "a")
    assert len(model.answers_) == 2
    manyviews.io.write(tmp_path / "model.safetensors", model)
    loaded = manyviews.load(tmp_path / "model.safetensors")
    np.testing.assert_allclose(loaded.predict({"a": new["a"]}, "b"), mean)
    views["c"] = views["a"]
    more = ViewRegressor("ridge").fit(views).learn(["a"], "c")
    manyviews.io.write(tmp_path / "more.safetensors", more)
    with pytest.raises(OptionError, match="has not learnt c from b: it has learnt c from a"):
        manyviews.load(tmp_path / "more.safetensors").predict({"b": views["b"]}, "c")


def test_view_regressors_refuse_what_is_no_regressor():
    with pytest.raises(OptionError, match="no regressor 'rigde'"):
        ViewRegressor("rigde").fit(tables(20))
    with pytest.raises(OptionError, match="SVC is no regressor"):
        ViewRegressor(SVC()).fit(tables(20))
    few = tables(20)
    few["b"][2:] = np.nan
    with pytest.raises(DataError, match="2 samples can teach b from a"):
        ViewRegressor("ridge").fit(few).predict({"a": few["a"]}, "b")

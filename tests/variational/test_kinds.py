"""Views of any kind of data in one model."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import manyviews
from manyviews import MRD, Search
from manyviews.errors import ConvergenceWarning, DataError, KindWarning, OptionError
from manyviews.inference.leaving_out import LeavingOut
from manyviews.likelihoods import Binomial, Censored, Mixed, NegativeBinomial, Poisson
from manyviews.plot.subject import Subject
from manyviews.report.assess import assess
from manyviews.report.findings import findings
from manyviews.variational.column_kinds import guessed_kind

pytestmark = pytest.mark.filterwarnings("ignore:the fit reached max_iter")
QUICK = Search(n_restarts=1, max_iter=10)
N = 40


def signals(rng, n=N):
    shared, a, b = rng.normal(size=(3, n))
    return np.column_stack([shared, a]), np.column_stack([shared, b])


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(0)
    left, right = signals(rng)
    counts = rng.negative_binomial(4, 4 / (4 + np.exp(1.5 + left @ rng.normal(size=(2, 5)))))
    yes = (right @ rng.normal(size=(2, 4)) + rng.logistic(size=(N, 4)) > 0).astype(float)
    real = left @ rng.normal(size=(2, 3)) + 0.1 * rng.normal(size=(N, 3))
    views = {"counts": counts.astype(float), "yes": yes, "real": real}
    views["counts"][3, 1] = np.nan
    views = {name: pd.DataFrame(table, index=[f"s{n}" for n in range(N)],
                                columns=[f"{name}{d}" for d in range(table.shape[1])])
             for name, table in views.items()}  # fmt: skip
    model = MRD(3, 8, likelihood="auto", search=QUICK, random_state=0, signal_check="off")
    return model.fit(views), views


def test_it_says_what_it_took_the_views_for(mixed):
    kinds = mixed[0].fit_info_.kinds
    assert kinds["counts"].startswith("negative_binomial: whole numbers")
    assert kinds["yes"] == "bernoulli: every value is 0 or 1"
    assert kinds["real"] == "gaussian: real numbers"
    assert np.isnan(mixed[0].fit_info_.signal_to_noise[:2]).all()


def test_answers_are_in_the_terms_of_the_data(mixed):
    model, views = mixed
    known = {"real": views["real"].iloc[:6]}
    rates, spread = model.predict(known, "counts", return_std=True)
    assert rates.shape == (6, 5)
    assert np.all(rates > 0)
    assert np.all(spread**2 > rates)
    chances = model.predict(known, "yes")
    assert np.all((chances > 0) & (chances < 1))
    tables = model.predict_proba(known, "yes")
    assert list(tables) == list(views["yes"].columns)
    np.testing.assert_allclose(tables["yes0"][1.0], chances["yes0"], rtol=1e-9)
    np.testing.assert_allclose(tables["yes0"].sum(axis=1), 1.0)
    draws = model.predict(known, "counts", n_samples=5, random_state=0)
    assert np.all(draws == np.round(draws))
    few = {"real": views["real"].iloc[:1]}  # hundreds of sums of series for every number
    low, middle, high = model.predict_quantiles(few, "counts")
    assert np.all((low <= middle) & (middle <= high) & (low == np.round(low)))
    with pytest.raises(OptionError, match="no levels"):
        model.predict_proba(known, "real")
    shares = model.variance_explained()
    assert np.all(shares["total"] < 1)
    assert shares.loc["counts", "total"] > 0.1
    assert model.sample(2)["yes"].shape == (2, 4)
    assert model.sensitivity("counts").shape == (5, 3)


@pytest.mark.long
def test_densities_come_with_their_error(mixed):
    model, views = mixed
    some = {name: table.iloc[:5] for name, table in views.items()}
    density, error = model.log_predictive_density(some, 400)
    assert np.all(error < 0.5)
    np.testing.assert_allclose(model.score_samples(some), density, atol=5 * error.max())
    again, less = model.log_predictive_density(some, 1600, random_state=1)
    assert less.mean() < error.mean()
    assert np.all(np.abs(again - density) < 6 * (error + less))
    assert np.all(model.score_samples(some, method="fixed") <= density + 5 * error + 0.5)


@pytest.mark.long
def test_values_have_densities_given_the_other_views(mixed):
    model, views = mixed
    some = {name: table.iloc[:6] for name, table in views.items()}
    found = model.predict_log_density(some, "counts")
    assert list(found.columns) == list(views["counts"].columns)
    assert np.isnan(found.iloc[3, 1])
    assert np.isfinite(found).sum().sum() == 6 * 5 - 1
    known = {"counts": some["counts"], "real": some["real"]}
    chances = model.predict_proba(known, "yes")
    asked = model.predict_log_density(some, "yes")
    for name, table in chances.items():
        true = [table.iloc[n][value] for n, value in enumerate(some["yes"][name])]
        np.testing.assert_allclose(np.exp(asked[name]), true, rtol=1e-6)
    other = {**some, "counts": some["counts"] + 1.0}  # the target takes no part in where x is
    total = np.exp(found.iloc[0, 0]) + np.exp(model.predict_log_density(other, "counts").iloc[0, 0])
    assert 0 < total < 1
    mean, std = model.predict({"counts": some["counts"], "yes": some["yes"]}, "real",
                              return_std=True)  # fmt: skip
    expected = stats.norm.logpdf(some["real"], mean, std)
    np.testing.assert_allclose(model.predict_log_density(some, "real"), expected, rtol=1e-9)


@pytest.mark.long
def test_the_deviance_of_new_samples_is_that_of_their_predictions(mixed):
    model, views = mixed
    some = {name: table.iloc[:20] for name, table in views.items()}
    known = {name: some[name] for name in ("counts", "real")}
    y, p = some["yes"].to_numpy(), model.predict(known, "yes").to_numpy()
    q = y.mean(axis=0)
    left, constant = (np.sum(np.log(np.where(y == 1, c, 1 - c))) for c in (p, q))
    found = model.deviance_explained(some, "yes")
    np.testing.assert_allclose(found, 1 - left / constant, rtol=1e-3)
    y = some["real"]
    error = y - model.predict({"counts": some["counts"], "yes": some["yes"]}, "real")
    scale = views["real"].std()
    expected = 1 - ((error / scale) ** 2).sum().sum() / (((y - y.mean()) / scale) ** 2).sum().sum()
    np.testing.assert_allclose(model.deviance_explained(some, "real"), expected, rtol=1e-9)


@pytest.mark.long
def test_reports_speak_of_deviance_where_views_are_not_gaussian(mixed):
    model, views = mixed
    some = {name: table.iloc[:20] for name, table in views.items()}
    counts, yes, real = assess(model, some)
    assert (counts.view, yes.view, real.view) == ("counts", "yes", "real")
    assert yes.summary()["deviance explained"] == model.deviance_explained(some, "yes")
    assert "deviance explained" not in real.summary()
    said = findings(Subject(model), [yes, real])
    assert any("yes predicted from" in s and "of its deviance" in s for s in said)
    assert not any("real predicted from" in s and "deviance" in s for s in said)
    assert "Variance or deviance explained" in str(model.summary())


@pytest.mark.long
def test_holes_are_filled_with_rates(mixed):
    model, views = mixed
    filled, std = model.impute(return_std=True)
    assert filled["counts"].iloc[3, 1] > 0
    assert std["counts"].iloc[3, 1] > 0
    pd.testing.assert_frame_equal(filled["yes"], views["yes"])


def test_holes_of_levels_are_filled_with_the_most_probable(mixed):
    model, views = mixed
    holes = {name: table.iloc[:4].copy() for name, table in views.items()}
    holes["yes"].iloc[1:, 0] = np.nan
    filled = model.impute(holes)["yes"]
    chances = model.predict_proba(holes, "yes")[filled.columns[0]].iloc[1:]
    assert set(filled.iloc[:, 0]) <= {0.0, 1.0}
    sure = (chances[1.0] - 0.5).abs() > 0.1  # the link moves the others
    np.testing.assert_array_equal(filled.iloc[1:, 0][sure], chances.idxmax(axis=1)[sure])


def test_saved_and_loaded(mixed, tmp_path):
    model, views = mixed
    model.save(tmp_path / "model.safetensors")
    again = manyviews.load(tmp_path / "model.safetensors")
    known = {"counts": views["counts"].iloc[:3]}
    np.testing.assert_allclose(again.predict(known, "yes"), model.predict(known, "yes"))
    assert again.fit_info_.kinds == model.fit_info_.kinds


def test_new_values_of_another_kind_are_refused(mixed):
    model, views = mixed
    wrong = views["counts"].iloc[:2].copy()
    wrong.iloc[1, 2] = -1.0
    with pytest.raises(DataError, match=r"'counts'.*'s1'.*'counts2'"):
        model.transform({"counts": wrong})


@pytest.mark.long
def test_trials_and_events_come_among_the_views(rng):
    left, right = signals(rng)
    reads = rng.integers(5, 40, size=(N, 4)).astype(float)
    hits = rng.binomial(reads.astype(int), 1 / (1 + np.exp(-left @ rng.normal(size=(2, 4)))))
    times = np.exp(1 + 0.5 * right @ rng.normal(size=(2, 1)) + 0.2 * rng.normal(size=(N, 1)))
    died = (times < 4).astype(float)
    data = {"hits": hits.astype(float), "reads": reads, "time": np.minimum(times, 4), "died": died}
    kinds = {"hits": Binomial("reads"), "time": Censored(log=True, events="died")}
    model = MRD(2, 6, likelihood=kinds, search=QUICK, random_state=0).fit(data)
    assert model.view_names_ == ("hits", "time")
    known = {"hits": hits[:4].astype(float), "reads": reads[:4]}
    assert np.all(model.predict(known, "time") > 0)
    assert model.training_data()["hits"].shape == (N, 4)
    holes = {**known, "time": data["time"][:4], "died": died[:4]}
    holes["hits"][0, 0] = np.nan
    filled = model.impute(holes)
    assert 0 < filled["hits"][0, 0] < reads[0, 0]
    with pytest.raises(DataError, match="more than its trials"):
        model.transform({"hits": reads[:2] + 1, "reads": reads[:2]})
    with pytest.raises(OptionError, match="'coverage'"):
        MRD(likelihood={"hits": Binomial("coverage")}).fit({"hits": data["hits"]})


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (Poisson("beside"), 0.0, r"row 4, column 1 holds 0.*above zero"),
        (Poisson("beside"), np.nan, r"row 4, column 1 holds nan.*wherever there is a count"),
        (Poisson("beside"), np.inf, r"row 4, column 1 holds inf.*finite"),
        (Binomial("beside"), np.inf, r"row 4, column 1 holds inf.*finite"),
        (Binomial("beside"), 2.0, r"row 4, column 1 holds 3.*more than its trials"),
        (Binomial("beside"), 9.5, r"row 4, column 1 holds 9.5.*how many trials"),
        (Censored(events="beside"), np.nan, r"row 4, column 1 holds nan.*table of events"),
    ],
)
def test_wrong_tables_beside_a_view_are_named(kind, value, message):
    table, beside = np.full((9, 2), 3.0), np.full((9, 2), 1.0)
    beside[:] = 1.0 if isinstance(kind, Censored) else 12.0
    beside[4, 1] = value
    with pytest.raises(DataError, match=rf"(?s)'a'.*{message}"):
        MRD(1, likelihood={"a": kind}).fit({"a": table, "beside": beside})


def test_events_without_a_time_are_named():
    table, events = np.full((9, 2), 3.0), np.ones((9, 2))
    table[4, 1] = np.nan
    with pytest.raises(DataError, match=r"'a' needs the time of every event.*row 4, column 1"):
        MRD(1, likelihood={"a": Censored(events="beside")}).fit({"a": table, "beside": events})


def test_a_view_told_to_be_gaussian_that_is_not_raises_a_warning(rng):
    counts = rng.poisson(np.exp(rng.normal(2, 1, size=(20, 3)))).astype(float)
    with pytest.warns(KindWarning, match=r"'X'.*whole numbers.*negative_binomial"):
        MRD(1, 4, likelihood="gaussian", search=QUICK, signal_check="off").fit(counts)
    quiet = MRD(1, 4, search=QUICK, signal_check="off").fit(counts)
    assert "negative_binomial" in quiet.fit_info_.kinds["X"]


@pytest.mark.parametrize(
    ("likelihood", "message"),
    [("negbin", "there is no likelihood"), ({"Z": "poisson"}, "names the view 'Z'")],
)
def test_likelihoods_that_are_not_there(likelihood, message, rng):
    with pytest.raises(OptionError, match=message):
        MRD(likelihood=likelihood).fit(rng.normal(size=(9, 2)))


def test_local_processes_are_for_gaussian_views(rng):
    with pytest.raises(OptionError, match="local processes"):
        MRD(1, likelihood="poisson", n_local=1).fit(rng.poisson(3.0, size=(9, 2)).astype(float))


@pytest.fixture(scope="module")
def survey():
    """Columns of four kinds in units of any size, and a view that moves with some of them."""
    rng = np.random.default_rng(1)
    left, right = signals(rng, 80)
    table = pd.DataFrame({
        "income": 40_000 + 9_000 * left[:, 0] + 2_000 * rng.normal(size=80),
        "smoker": (2 * left[:, 1] + rng.logistic(size=80) > 0).astype(float),
        "visits": rng.poisson(np.exp(1.0 + left[:, 0])).astype(float),
        "health": np.clip(np.round(2.5 + left[:, 0] + 0.4 * rng.normal(size=80)), 1, 4),
    })  # fmt: skip
    table.loc[3, "income"] = table.loc[4, "health"] = np.nan
    blood = right @ rng.normal(size=(2, 5)) + 0.2 * rng.normal(size=(80, 5))
    views = {"survey": table, "blood": pd.DataFrame(blood)}
    kinds = {"survey": {"smoker": "bernoulli", "poisson": ["visits"], "health": "ordinal"}}
    model = MRD(3, 10, likelihood=kinds, search=QUICK, random_state=0, signal_check="off")
    return model.fit(views), views


def test_columns_of_a_view_have_likelihoods_of_their_own(survey, tmp_path):
    model, views = survey
    said = "mixed: income as gaussian; smoker as bernoulli; visits as poisson; health as ordinal"
    assert model.fit_info_.kinds["survey"] == said
    known = {"blood": views["blood"].iloc[:10]}
    mean, std = model.predict(known, "survey", return_std=True)
    assert mean["income"].between(10_000, 70_000).all()
    assert std["income"].between(1_000, 20_000).all()
    assert mean["smoker"].between(0, 1).all()
    assert mean["health"].between(1, 4).all()
    assert set(model.predict_proba(known, "survey")) == {"smoker", "health"}
    low, high = model.predict_quantiles(known, "survey", [0.1, 0.9])
    assert np.all(low <= high)
    assert set(high[:, 1]) <= {0.0, 1.0}
    density = model.predict_log_density({**known, "survey": views["survey"].iloc[:10]}, "survey")
    expected = stats.norm.logpdf(
        views["survey"]["income"][:3], mean["income"][:3], std["income"][:3]
    )
    np.testing.assert_allclose(density["income"][:3], expected, atol=0.3)
    assert np.isnan(density["income"][3])
    filled = model.impute(views)["survey"]
    assert filled.loc[4, "health"] in {1.0, 2.0, 3.0, 4.0}
    assert 10_000 < filled.loc[3, "income"] < 70_000
    pd.testing.assert_frame_equal(model.training_data()["survey"], views["survey"])
    model.save(tmp_path / "model.safetensors")
    again = manyviews.load(tmp_path / "model.safetensors")
    pd.testing.assert_frame_equal(again.predict(known, "survey"), mean)
    assert again.likelihood == model.likelihood


def test_auto_says_what_it_took_columns_for(survey):
    table = survey[1]["survey"]
    kind, said = guessed_kind(table.to_numpy(), list(table.columns))
    assert isinstance(kind, Mixed)
    assert said.startswith("mixed: income, visits as gaussian_per_column: real numbers")
    assert "smoker as bernoulli: every value is 0 or 1" in said
    assert "health as ordinal: whole numbers from 1 to 4" in said


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ({"weight": "gaussian"}, "names the column 'weight'"),
        ({"smoker": "bernoulli", "ordinal": ["smoker"]}, "'smoker'.*two likelihoods"),
        ({"smoker": 3}, "'smoker'.*must be a name"),
        ({"smoker": Binomial("trials")}, "'trials'.*view of their own"),
        ({"income": "bernoulli"}, "'income'"),
    ],
)
def test_likelihoods_of_columns_that_make_no_sense(survey, kinds, message):
    with pytest.raises((OptionError, DataError), match=message):
        MRD(1, likelihood={"survey": kinds}).fit(survey[1])


@pytest.mark.long
def test_counts_over_time(rng):
    t = np.linspace(0, 6, 30)
    depth = rng.uniform(0.5, 2.0, size=(30, 1))
    rates = np.exp(2 + np.outer(np.sin(t), rng.normal(size=5)))
    counts = rng.poisson(depth * rates).astype(float)
    model = MRD(1, 6, likelihood=Poisson("total"), search=QUICK, random_state=0)
    model.fit(counts, times=t)
    ahead = model.forecast([6.1, 6.2], "X")
    assert ahead.shape == (2, 5)
    assert np.all(ahead > 0)
    latent = model.transform(counts[:5], times=t[:5] + 0.05)
    assert latent.shape == (5, 1)


@pytest.mark.slow
@pytest.mark.parametrize("place", [0, 1])
def test_a_fit_that_was_cut_goes_on_from_its_checkpoint(place, tmp_path, monkeypatch, rng):
    """Between stages, and while dimensions are left out."""
    views = {"rna": rng.poisson(4.0, size=(30, 4)).astype(float)}
    file = tmp_path / "fit.ckpt"

    def fit(**how):
        search = Search(n_restarts=1, max_iter=5, **how)
        model = MRD(2, 4, likelihood="poisson", search=search, random_state=0, signal_check="off")
        return model.fit(views)

    whole, plain, calls = fit(), LeavingOut.__call__, []

    def cut(self, model):
        calls.append(self)
        if len(calls) == place + 1:
            raise KeyboardInterrupt
        return plain(self, model)

    monkeypatch.setattr(LeavingOut, "__call__", cut)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        part = fit(checkpoint=file)
    assert part.fit_info_.interrupted
    assert file.exists()
    again = fit(checkpoint=file)
    assert len(calls) == 3  # two stages, one of them begun twice
    assert not file.exists()
    np.testing.assert_array_equal(again.latent_mean_, whole.latent_mean_)
    assert again.lower_bound_ == whole.lower_bound_


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 1])
def test_one_shared_and_one_private_signal_of_counts_and_of_answers(seed):
    rng = np.random.default_rng(seed)
    left, right = signals(rng, 150)
    w, v = rng.normal(size=(2, 2, 20))
    mu = np.exp(1.5 + 1.2 * np.sin(np.outer(left[:, 0], w[0])) + 0.9 * np.outer(left[:, 1], w[1]))
    counts = rng.negative_binomial(5, 5 / (5 + mu)).astype(float)
    f = 1.2 * np.sin(np.outer(right[:, 0], v[0])) + 0.9 * np.outer(right[:, 1], v[1])
    yes = (2 * f + rng.logistic(size=f.shape) > 0).astype(float)
    kinds = {"rna": NegativeBinomial(), "mutations": "bernoulli"}
    search = Search(n_restarts=1, max_iter=300)
    model = MRD(5, 20, likelihood=kinds, search=search, random_state=0)
    model.fit({"rna": counts, "mutations": yes})
    assert len(model.shared()) == 1
    assert len(model.private("rna")) == 1
    assert len(model.private("mutations")) == 1
    assert model.n_active_ == 3

import re
from datetime import date
from importlib.metadata import version

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score

from manyviews import MRD, BayesianGPLVM, Search
from manyviews.cli import demonstration as demo
from manyviews.errors import DataError, OptionError
from manyviews.fitted.sentences import listing, share
from manyviews.plot.subject import Subject
from manyviews.report import Assessment, assess, write_comparison, write_report
from manyviews.report.concerns import concerns
from manyviews.report.findings import findings
from manyviews.report.sections import starts_in_words

pytestmark = pytest.mark.filterwarnings("ignore::manyviews.errors.ManyviewsWarning")


@pytest.fixture(scope="module")
def halves():
    """A shared and two private signals, 80 training samples and 30 new ones."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((110, 3))
    left = np.tanh(x[:, [0, 1]]) @ rng.standard_normal((2, 6))
    right = np.tanh(x[:, [0, 2]]) @ rng.standard_normal((2, 5))
    views = {
        name: pd.DataFrame(Y + 0.05 * rng.standard_normal(Y.shape)).rename(index="s{}".format)
        for name, Y in (("left", left), ("right", right))
    }
    train = {name: view.iloc[:80] for name, view in views.items()}
    train["right"] = train["right"].iloc[3:]
    new = {name: view.iloc[80:] for name, view in views.items()}
    return MRD(5, 20, search=Search(n_restarts=1), random_state=0).fit(train), new


def test_assessment_is_the_prediction_of_the_model(halves):
    model, new = halves
    left, right = assess(model, new)
    assert (left.view, left.given) == ("left", "right")
    mean, std = model.predict({"left": new["left"]}, "right", return_std=True)
    np.testing.assert_allclose(right.mean, mean)
    np.testing.assert_allclose(right.std, std)
    scale = np.nanstd(model.training_data()["right"], axis=0)
    error = np.sqrt(np.mean(((new["right"] - mean) / scale) ** 2, axis=None))
    assert right.summary()["error"] == pytest.approx(error)
    shares = r2_score(right.truth, right.mean, multioutput="raw_values")
    assert right.summary()["variance explained"] == pytest.approx(np.median(shares))


def test_one_outlier_does_not_make_a_good_prediction():
    rng = np.random.default_rng(0)
    truth, mean = rng.poisson(3.0, (40, 5)).astype(float), np.full((40, 5), 3.0)
    truth[0, 0] = mean[0, 0] = 1e4  # foretold, and all there is to explain
    a = Assessment("b", "a", truth, mean, np.ones_like(mean), mean, np.zeros(5), np.ones(5))
    shares = r2_score(truth, mean, multioutput="raw_values")
    assert shares[0] > 0.99
    assert a.explained(mean) == pytest.approx(np.median(shares))
    assert a.explained(mean) < 0
    constant = np.where(np.arange(5) == 1, 2.0, truth)
    b = Assessment("b", "a", constant, mean, mean, mean, np.zeros(5), np.ones(5))
    assert np.isnan(b.explained_by_column(mean)[1])
    one = Assessment("b", "a", truth[:1], *[mean[:1]] * 3, np.zeros(5), np.ones(5))
    assert np.isnan(one.explained(mean[:1]))


def test_ridge_is_scikit_learns(halves):
    from sklearn.linear_model import RidgeCV

    model, new = halves
    right = assess(model, new)[1]
    train = model.training_data()
    known = train["right"].notna().all(axis=1)
    scale = model.scalings_[0].scale
    ridge = RidgeCV(np.logspace(-2, 5, 15)).fit(train["left"][known] / scale, train["right"][known])
    np.testing.assert_allclose(right.linear, ridge.predict(new["left"] / scale))


def test_assessment_skips_what_cannot_be_predicted(halves):
    model, new = halves
    only = {"left": new["left"], "right": new["right"].iloc[:10]}
    left, right = assess(model, only)
    assert len(left.truth) == len(right.truth) == 10
    assert assess(model, {"left": new["left"]}) == []


def test_findings_count_the_shared_dimensions(halves):
    model, new = halves
    sentences = findings(Subject(model), assess(model, new))
    n = len(model.shared())
    assert sentences[0].startswith(f"{n} of 5 dimensions")
    assert "shared by both views" in sentences[0]
    explained = model.variance_divided()
    assert f"{share(explained.loc['left', 'shared by all'])} of left" in sentences[0]
    own = explained.loc["left"]
    parts = f"{share(own['shared by all'])} from shared dimensions and {share(own['private'])}"
    assert any(s.startswith("left has") and parts in s for s in sentences)
    assert any("right is missing altogether for 3 samples" in s for s in sentences)
    assert any("On 30 samples held out, left predicted from right" in s for s in sentences)


def test_concerns_come_with_advice(halves):
    model, new = halves
    plain = concerns(Subject(model), [])
    assert any("No data were held out" in c.what for c in plain)
    assert all(c.advice for c in plain)
    blind = {name: view.to_numpy()[::-1].copy() for name, view in new.items()}
    blind["left"] = blind["left"][::-1].copy()  # the views no longer belong together
    raised = concerns(Subject(model), assess(model, blind), ["a warning"])
    assert any("worse than the mean of the samples held out" in c.what for c in raised)
    assert any("too sure of itself" in c.what for c in raised)
    assert raised[-1].what == "a warning"


def test_starts_are_compared_per_value_and_in_one_unit(halves):
    model, _ = halves
    subject, info = Subject(model), model.fit_info_
    values = sum(int(t.notna().to_numpy().sum()) for t in subject.tables.values())
    kept, best = (info.restart_bounds, info.restart_finished), max(info.restart_bounds)
    try:
        info.restart_bounds = [best - 0.02 * values, best, best - 1.0, best - 5e3]
        info.restart_finished = [True, True, True, False]
        (found,) = [c for c in concerns(subject, []) if "Starts disagree" in c.what]
        assert "2 of 3 came within 0.01 nats per observed value" in found.what
        assert "the worst ended 0.02 below" in found.what
        info.restart_bounds, info.restart_finished = [best, best - 1.0], [True, True]
        assert not [c for c in concerns(subject, []) if "Starts disagree" in c.what]
        assert starts_in_words(info) == "2: the best, 1.0 nats below it"
        info.restart_finished = [True, False]
        assert starts_in_words(info) == "2: the best, 1 dropped early"
    finally:
        info.restart_bounds, info.restart_finished = kept


def test_a_mark_for_missing_values_is_a_concern(halves):
    from manyviews import check

    model, _ = halves
    tables = model.training_data()
    tables["left"].iloc[3, 2] = -999.0
    raised = concerns(Subject(model), [], look=check(tables))
    assert any(c.what.startswith("left: -999 in column 2 looks like a mark") for c in raised)
    assert all(c.advice for c in raised)


def test_report_is_one_page_without_the_network(halves, tmp_path):
    model, new = halves
    colours = pd.DataFrame({"batch": ["a", "b"] * 40}, index=model.samples_)
    path = tmp_path / "report.html"
    write_report(model, path, title="A & B", held_out=new, metadata=colours, facts={"who": "<me>"})
    page = path.read_text()
    assert "<title>A &amp; B</title>" in page
    assert "&lt;me&gt;" in page
    assert not re.findall(r"(?:src|href)=['\"](?!data:|#)", page.replace("xlink:href", "href"))
    assert "<script" not in page
    assert f"manyviews {version('manyviews')}, {date.today().isoformat()}" in page
    for target in re.findall(r"<a href='#([^']*)'", page):
        assert f"<section id='{target}'>" in page
    assert "#010203" not in page  # every line takes the colour of the page
    for title in ("Findings", "Concerns", "A look at the data", "The data", "Who uses what",
                  "The latent space", "Dimensions and metadata",
                  "What the dimensions do", "Prediction of data held out", "The fit"):  # fmt: skip
        assert f"<h2>{title}</h2>" in page
        assert f">{title}</a>" in page
    assert "coloured by batch" in page
    for name in ("s0: a", "s79: b"):  # under the pointer, in both maps
        assert page.count(f"<title>{name}</title>") == page.count("coloured by batch; bars") // 2


@pytest.mark.long
def test_report_on_one_table_with_times(tmp_path):
    t = np.linspace(0, 6, 40)
    rng = np.random.default_rng(0)
    Y = np.stack([np.sin(t), np.cos(t)], axis=1) @ rng.standard_normal((2, 5))
    Y = pd.DataFrame(Y + 0.05 * rng.standard_normal(Y.shape), columns=list("abcde"))
    options = {
        "n_inducing": 10,
        "search": Search(max_iter=30),
        "random_state": 0,
        "signal_check": "off",
    }
    model = BayesianGPLVM(2, **options).fit(Y[::2], times=t[::2])
    found = write_report(model, tmp_path / "r.html", held_out=Y[1::2], times=t[1::2])
    assert [a.given for a in found] == ["the other half"] * 2
    assert sum(a.truth.shape[1] for a in found) == 5
    page = (tmp_path / "r.html").read_text()
    assert "<h2>Over time</h2>" in page
    assert "of 2 latent dimensions" in page


def test_the_number_of_shared_dimensions_has_reasons(halves):
    """With q(X) of the others held, either view alone finds the places of forgotten samples."""
    model, _ = halves
    stability = model.stability()
    assert stability.supported == model.shared()
    assert stability.restarts == [len(model.shared())]
    assert stability.n_rows > 70
    sentences = findings(Subject(model), [], stability)
    assert "Each view alone places" in sentences[1]
    assert model.stability() is stability  # asked once
    assert stability.count in str(model.summary())


def test_two_models_side_by_side(halves, tmp_path):
    from manyviews.linear import GroupFactorAnalysis

    model, _ = halves
    other = GroupFactorAnalysis(3, random_state=0).fit(model.training_data())
    path = tmp_path / "both.html"
    write_comparison({"<curved>": model, "straight": other}, path, metadata={"batch": ["a"] * 80})
    page = path.read_text()
    assert "&lt;curved&gt;" in page
    assert "<curved>" not in page
    for title in ("Findings", "What differs", "Is it the same space?", "Who uses what"):
        assert f"<h2>{title}</h2>" in page
    assert page.count("shared by both views") == 2
    assert "<script" not in page
    with pytest.raises(OptionError, match="two models"):
        write_comparison({"one": model}, path)


def test_linear_reading_of_another_space(rng):
    from sklearn.linear_model import LinearRegression

    from manyviews.report.side_by_side import linear_r2

    X, Y = rng.standard_normal((2, 40, 3))
    expected = LinearRegression().fit(X, Y).predict(X)
    ratio = ((Y - expected) ** 2).sum(axis=0) / ((Y - Y.mean(axis=0)) ** 2).sum(axis=0)
    np.testing.assert_allclose(linear_r2(X, Y), 1 - ratio)


def test_wrong_requests_are_named(halves, tmp_path):
    model, _ = halves
    with pytest.raises(OptionError, match="no view 'sound'"):
        write_report(model, tmp_path / "r.html", shapes={"sound": "curve"})
    with pytest.raises(DataError, match="'batch' has 3 values for 80 samples"):
        write_report(model, tmp_path / "r.html", metadata={"batch": [1, 2, 3]})
    with pytest.raises(DataError, match="lack sample 's0'"):
        write_report(model, tmp_path / "r.html", metadata=pd.Series([1, 2], ["x", "y"]))


@pytest.mark.parametrize(
    ("value", "text"), [(0.5, "50 %"), (0.0, "0 %"), (0.002, "less than 1 %"), (0.998, "99.8 %")]
)
def test_shares_have_no_false_precision(value, text):
    assert share(value) == text
    assert listing(["a"]) == "a"
    assert listing(["a", "b", "c"]) == "a, b and c"


@pytest.mark.slow
def test_demo_leaves_a_report(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo, "N_SAMPLES", 120)
    monkeypatch.setattr(demo, "N_NEW", 20)
    monkeypatch.setattr(demo, "SEARCH", Search(n_restarts=1, max_iter=150))
    demo.main(tmp_path / "demo")
    page = (tmp_path / "demo" / "report.html").read_text()
    assert "shared by both views" in page
    assert "predicted from upper half; brighter std" in page
    assert (tmp_path / "demo" / "model.safetensors").exists()
    assert "90 % intervals hold" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["GroupFactorAnalysis", "ProbabilisticCCA", "CCA", "PPCA"])
def test_linear_models_are_reported_alike(name, halves, tmp_path):
    from manyviews import interop, linear

    train = halves[0].training_data()
    complete = {k: v.iloc[3:] for k, v in train.items()}
    new = halves[1] if name != "PPCA" else halves[1]["left"]
    model = getattr(linear, name)(2).fit(complete if name != "PPCA" else complete["left"])
    found = write_report(model, tmp_path / "r.html", held_out=new)
    assert len(found) == 2
    assert all(np.isfinite(list(a.summary().values())[2:]).all() for a in found)
    assert "variance explained" in (tmp_path / "r.html").read_text().lower()
    assert interop.to_xarray(model)["latent_mean"].shape == (77, 2)


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (390, "dark"),
        (1300, "light"),
        pytest.param(390, "light", marks=pytest.mark.long),
        pytest.param(1300, "dark", marks=pytest.mark.long),
    ],
)
def test_report_in_a_browser(halves, tmp_path, browser, width, scheme):
    model, new = halves
    write_report(model, tmp_path / "r.html", held_out=new)
    screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.get(f"file://{tmp_path / 'r.html'}")
    js = browser.execute_script
    assert js("return document.documentElement.scrollWidth") <= width  # nothing sticks out
    assert js("return document.querySelectorAll('figure svg').length") > 8
    ink, paper = js(
        "const s = getComputedStyle(document.body); return [s.color, s.backgroundColor]"
    )
    lightness = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (ink, paper)]
    assert (lightness[0] < lightness[1]) == (scheme == "light")
    text = js(
        "const t = document.querySelector('figure svg text'); return getComputedStyle(t).fill"
    )
    assert text == ink  # drawings in the colour of the page
    assert not [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]

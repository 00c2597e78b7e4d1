"""One protocol for all linear models of several views, and the same as of MRD."""

import inspect
import warnings

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import manyviews
from manyviews import MRD, plot
from manyviews.errors import ConvergenceWarning, DataError, OptionError
from manyviews.linear import (
    CCA,
    PPCA,
    BayesianPCA,
    FactorAnalysis,
    GroupFactorAnalysis,
    InterBatteryFactorAnalysis,
    KernelCCA,
    ProbabilisticCCA,
)

mpl.use("Agg")

GENERATIVE = [GroupFactorAnalysis(4, random_state=0), ProbabilisticCCA(2)]
ALL = [*GENERATIVE, CCA(2), KernelCCA(2, kernel="linear", regularisation=0.01)]
TABLES = [PPCA(2), FactorAnalysis(2), BayesianPCA(3, random_state=0)]


def named(model):
    return type(model).__name__


@pytest.fixture
def views(rng):
    x = rng.normal(size=(90, 3))
    a = x[:, :2] @ rng.normal(size=(2, 6)) + 0.3 * rng.normal(size=(90, 6)) + 2
    b = x[:, 1:] @ rng.normal(size=(2, 4)) + 0.3 * rng.normal(size=(90, 4)) - 1
    c = x[:, [1]] @ rng.normal(size=(1, 3)) + 0.3 * rng.normal(size=(90, 3))
    rows = [f"s{i}" for i in range(90)]
    return {
        "a": pd.DataFrame(a, index=rows, columns=list("uvwxyz")),
        "b": pd.DataFrame(b, index=rows, columns=list("klmn")),
        "c": pd.DataFrame(c, index=rows),
    }


@pytest.mark.parametrize("model", ALL, ids=named)
def test_the_protocol_is_that_of_mrd(views, model, tmp_path):
    model = model.fit(views)
    Q = model.latent_mean_.shape[1]
    assert model.latent_mean_.shape == model.latent_std_.shape == (90, Q)
    assert model.relevance_.shape == (3, Q)
    assert list(model.relevance_.index) == ["a", "b", "c"]
    np.testing.assert_allclose(model.relevance_.max(axis=1), 1.0)
    assert set(model.variance_explained().columns) == {*range(Q), "total"}
    assert (model.variance_explained()["total"] > 0.2).all()
    assert model.variance_explained("alone").shape == (3, Q + 1)
    assert model.sensitivity("a").shape == (6, Q)
    assert list(model.sensitivity("a").index) == list("uvwxyz")
    assert model.latent_posterior().shape == (90, 2 * Q)
    parts = model.segment("a", ["b", "c"])
    assert sorted([*parts.shared, *parts.private_a, *parts.private_b, *parts.off]) == [*range(Q)]
    assert isinstance(model.shared(), list)
    new = {name: view.iloc[:7] for name, view in views.items()}
    mean, std = model.transform(new, return_std=True)
    np.testing.assert_allclose(mean, model.latent_mean_[:7], atol=1e-8)
    np.testing.assert_allclose(std, model.latent_std_[:7], atol=1e-6)
    for known in ({"a": new["a"]}, {"a": new["a"], "c": new["c"]}, [new["a"], None, None]):
        mean, std = model.predict(known, "b", return_std=True)
        assert list(mean.columns) == list("klmn")
        assert list(mean.index) == list(new["a"].index)
        assert (std > 0).all().all()
        again, cov = model.predict(known, "b", return_cov=True)
        np.testing.assert_allclose(again, mean)
        np.testing.assert_allclose(np.sqrt(np.diagonal(cov, axis1=1, axis2=2)), std, rtol=1e-6)
        assert np.mean((mean - new["b"]).to_numpy() ** 2) < views["b"].to_numpy().var()
    draws = model.predict({"a": new["a"]}, "b", n_samples=4000, random_state=1)
    mean, std = model.predict({"a": new["a"]}, "b", return_std=True)
    assert draws.shape == (4000, 7, 4)
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=0.15)
    np.testing.assert_allclose(draws.std(axis=0), std, rtol=0.1)
    assert set(model.predict({"a": new["a"]})) == {"b", "c"}
    filled, stds = model.impute({"a": new["a"]}, return_std=True)
    pd.testing.assert_frame_equal(filled["a"], new["a"])
    np.testing.assert_allclose(filled["b"], mean)
    assert (stds["a"] == 0).all().all()
    assert np.isfinite(model.score(new))
    assert model.inverse_transform(model.latent_mean_[:5], "a").shape == (5, 6)
    assert model.traverse(0, "b", steps=5).shape == (5, 4)
    assert model.interpolate("s1", "s2", "c").shape == (9, 3)
    drawn = model.sample(2000, random_state=0)
    np.testing.assert_allclose(drawn["a"].std(axis=0), views["a"].std(axis=0), rtol=0.15)
    assert model.sample_private("a", "s3", 3).shape == (3, 6)
    model.save(tmp_path / "model.safetensors")
    loaded = manyviews.load(tmp_path / "model.safetensors")
    pd.testing.assert_frame_equal(loaded.predict({"a": new["a"]}, "b"), mean)
    plot.latent_map(model)
    plot.relevance_bars(model)
    plot.relevance_map(model.variance_explained())


@pytest.mark.parametrize("model", ALL, ids=named)
def test_every_argument_of_the_linear_models_is_one_of_mrds(model):
    for name in ("fit", "transform", "predict", "score", "impute", "inverse_transform", "sample",
                 "traverse", "variance_explained", "sensitivity", "segment", "save"):  # fmt: skip
        ours = inspect.signature(getattr(model, name)).parameters
        theirs = inspect.signature(getattr(MRD, name)).parameters
        assert set(ours) <= set(theirs), name


@pytest.mark.parametrize("model", TABLES, ids=named)
def test_models_of_one_table(rng, model, tmp_path):
    Y = rng.normal(size=(80, 2)) @ rng.normal(size=(2, 6)) + 0.2 * rng.normal(size=(80, 6)) + 3
    model = model.fit(Y)
    Q = model.latent_mean_.shape[1]
    assert model.relevance_.shape == (Q,)
    assert model.loadings_.shape == (6, Q)
    mean, std = model.transform(Y[:5], return_std=True)
    np.testing.assert_allclose(mean, model.latent_mean_[:5], atol=1e-10)
    np.testing.assert_allclose(std, model.latent_std_[:5], atol=1e-10)
    holed = Y[:5].copy()
    holed[:, 2] = np.nan
    filled, spread = model.impute(holed, return_std=True)
    assert (filled[:, :2] == Y[:5, :2]).all()
    assert (np.abs(filled[:, 2] - Y[:5, 2]) < 4 * spread[:, 2]).all()
    predicted, cov = model.predict(holed, return_cov=True)
    np.testing.assert_allclose(predicted[:, 2], filled[:, 2])
    assert cov.shape == (5, 6, 6)
    np.testing.assert_allclose(
        np.cov(model.sample(20_000, random_state=0).T), np.cov(Y.T), atol=1.0
    )
    assert model.score(Y) > model.score(Y + 1.0)
    assert model.score_samples(holed).shape == (5,)
    model.save(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(
        manyviews.load(tmp_path / "m.safetensors").transform(Y), model.transform(Y)
    )
    frame = pd.DataFrame(Y, columns=list("abcdef"))
    assert list(type(model)(2).fit(frame).predict(frame[:2]).columns) == list("abcdef")
    plot.latent_map(model)
    plot.relevance_bars(model)


def test_ppca_scores_are_the_log_density_in_the_units_of_the_data(rng):
    from scipy.stats import multivariate_normal

    Y = 7.0 * rng.normal(size=(60, 2)) @ rng.normal(size=(2, 5)) + rng.normal(size=(60, 5)) + 100
    model = PPCA(2).fit(Y)
    C = model.loadings_ @ model.loadings_.T + np.diag(model.noise_variance_)
    expected = multivariate_normal(Y.mean(axis=0), C).logpdf(Y)
    np.testing.assert_allclose(model.score_samples(Y), expected, atol=1e-7)
    assert model.lower_bound_ == pytest.approx(expected.sum(), rel=1e-9)


@settings(max_examples=10)
@given(seed=st.integers(0, 1000), factor=st.floats(0.01, 100.0), shift=st.floats(-50, 50))
@pytest.mark.parametrize("kind", ["pcca", "gfa"])
def test_units_do_not_matter(kind, seed, factor, shift):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(40, 1))
    a = x + 0.5 * rng.normal(size=(40, 3))
    b = x + 0.5 * rng.normal(size=(40, 2))
    make = {"pcca": lambda: ProbabilisticCCA(1),
            "gfa": lambda: GroupFactorAnalysis(2, random_state=0, max_iter=60)}[kind]  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        plain = make().fit({"a": a, "b": b}).predict({"a": a[:3]}, "b")
        moved = (
            make()
            .fit({"a": factor * a + shift, "b": b})
            .predict({"a": factor * a[:3] + shift}, "b")
        )
    # the closed form up to rounding; iterations up to what line searches make of rounding
    np.testing.assert_allclose(moved, plain, atol={"pcca": 1e-7, "gfa": 1e-4}[kind])


@pytest.mark.parametrize("model", GENERATIVE, ids=named)
def test_values_views_and_samples_may_be_missing(views, rng, model):
    holed = {name: view.mask(rng.random(view.shape) < 0.1) for name, view in views.items()}
    holed["a"] = holed["a"].iloc[10:]
    holed["b"] = holed["b"].iloc[:70]
    model = model.fit(holed)
    assert len(model.samples_) == 90
    filled = model.impute()
    for name, truth in views.items():
        lost = holed[name].reindex(model.samples_).isna()
        guess = filled[name].loc[truth.index].to_numpy()
        error = (guess - truth.to_numpy())[lost.loc[truth.index].to_numpy()]
        assert np.mean(error**2) < truth.to_numpy().var()
        assert np.isfinite(guess).all()
    assert np.isfinite(model.score_samples(holed)).all()


def test_pcca_imputes_with_the_noise_of_the_same_row(rng):
    """Columns of one view whose noise is alike: a hole is seen by its neighbour."""
    x = rng.normal(size=(400, 1))
    common = rng.normal(size=(400, 1))
    a = x + common + 0.05 * rng.normal(size=(400, 2))
    b = x + 0.5 * rng.normal(size=(400, 2))
    model = ProbabilisticCCA(1).fit({"a": a, "b": b})
    holed = a[:50].copy()
    holed[:, 0] = np.nan
    filled = model.impute({"a": holed, "b": b[:50]})["a"]
    assert np.std(filled[:, 0] - a[:50, 0]) < 0.15


def test_more_views_tell_more(views):
    model = GroupFactorAnalysis(4, random_state=0).fit(views)
    _, one = model.transform({"c": views["c"]}, return_std=True)
    _, two = model.transform({"b": views["b"], "c": views["c"]}, return_std=True)
    assert (two <= one + 1e-12).all()


def test_evidence_power_makes_positions_less_certain(views):
    model = GroupFactorAnalysis(3, random_state=0).fit(views)
    given = {"a": views["a"][:9]}
    _, sure = model.transform(given, return_std=True)
    mean = model.predict(given, "b")
    _, unsure = model.set_params(evidence_power={"a": 0.1}).transform(given, return_std=True)
    assert (unsure >= sure - 1e-12).all()
    assert unsure.mean() > sure.mean()
    auto = model.set_params(evidence_power="auto").predict(given, "b")
    np.testing.assert_allclose(auto, mean, atol=0.3)  # the noise here is independent
    with pytest.raises(OptionError, match="evidence_power"):
        model.set_params(evidence_power={"a": 2.0}).transform(given)


def test_names_of_the_family():
    assert InterBatteryFactorAnalysis is GroupFactorAnalysis
    assert manyviews.linear.CCA is CCA


def test_errors_say_what_to_do(views, rng):
    with pytest.raises(DataError, match="two views"):
        ProbabilisticCCA().fit({"a": views["a"]})
    with pytest.raises(OptionError, match=r"n_components=5.*4 columns.*'b'"):
        ProbabilisticCCA(5).fit({"a": views["a"], "b": views["b"]})
    wide = {"a": rng.normal(size=(10, 20)), "b": rng.normal(size=(10, 3))}
    for kind in (CCA, ProbabilisticCCA):
        with pytest.raises(OptionError, match=r"'a' is singular.*regularisation"):
            kind(1).fit(wide)
        kind(1, regularisation="auto").fit(wide)
    same = rng.normal(size=(30, 2))
    with pytest.raises(OptionError, match="correlation of one"):
        ProbabilisticCCA(1).fit({"a": same, "b": same})
    holed = {"a": views["a"].mask(views["a"] > 3), "b": views["b"]}
    for kind in (CCA, KernelCCA):
        with pytest.raises(DataError, match=r"'a' has missing values.*ProbabilisticCCA"):
            kind(1).fit(holed)
    with pytest.raises(OptionError, match="method='em'"):
        ProbabilisticCCA(1, method="closed").fit(holed)
    model = GroupFactorAnalysis(2, random_state=0).fit(views)
    with pytest.raises(OptionError, match="no view 'z'"):
        model.predict({"a": views["a"]}, "z")
    with pytest.raises(OptionError, match="not for both"):
        model.predict({"a": views["a"]}, "b", return_std=True, n_samples=3)
    with pytest.raises(DataError, match="latent positions"):
        model.inverse_transform(np.zeros((2, 9)))
    with pytest.raises(OptionError, match="names the view 'q'"):
        ProbabilisticCCA(1, regularisation={"q": 0.1}).fit(views)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        GroupFactorAnalysis(2, max_iter=1).fit(views)


def test_signalling_nan_of_r_is_missing(rng):
    Y = rng.normal(size=(30, 4))
    na = np.array([0x7FF00000000007A2], dtype=np.uint64).view(np.float64)[0]
    raw = Y.copy()
    raw.view(np.uint64)[3, 1] = np.array([na]).view(np.uint64)[0]
    clean = Y.copy()
    clean[3, 1] = np.nan
    found = [
        GroupFactorAnalysis(2, random_state=0).fit({"a": t}).lower_bound_ for t in (raw, clean)
    ]
    assert found[0] == found[1]

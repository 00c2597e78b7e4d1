"""Every model of the catalogue is asked for everything that the protocol promises."""

import warnings

import numpy as np
import pandas as pd
import pytest

import manyviews
from manyviews import (
    CGPDS,
    MRD,
    BayesianGPLVM,
    DirichletPCCA,
    DirichletPPCA,
    McGPDS,
    MixturePCCA,
    MixturePPCA,
    Search,
)
from manyviews.errors import OptionError
from manyviews.explore.scene import Scene
from manyviews.fitted import Engine, Positions
from manyviews.linear import (
    CCA,
    PPCA,
    BayesianPCA,
    FactorAnalysis,
    GroupFactorAnalysis,
    KernelCCA,
    ProbabilisticCCA,
)
from manyviews.points import GPLVM, GPLVMCCA, SharedGPLVM, SharedPrivateGPLVM, SubspaceGPLVM
from manyviews.report import write_report

N, NEW = 40, 5
QUICK = {"search": Search(max_iter=15, n_restarts=1), "random_state": 0}
OFF = {**QUICK, "n_inducing": 8, "signal_check": "off"}
VIEWS = {
    "MRD": lambda: MRD(3, **OFF),
    "McGPDS": lambda: McGPDS(1, **OFF),
    "SharedGPLVM": lambda: SharedGPLVM(2, **QUICK),
    "SubspaceGPLVM": lambda: SubspaceGPLVM(1, 1, **QUICK),
    "SharedPrivateGPLVM": lambda: SharedPrivateGPLVM(1, 1, n_rounds=1, **QUICK),
    "GPLVMCCA": lambda: GPLVMCCA(1, **QUICK),
    "GroupFactorAnalysis": lambda: GroupFactorAnalysis(3, random_state=0),
    "ProbabilisticCCA": lambda: ProbabilisticCCA(2),
    "CCA": lambda: CCA(2),
    "KernelCCA": lambda: KernelCCA(2),
    "MixturePCCA": lambda: MixturePCCA(2, n_restarts=1, random_state=0),
    "DirichletPCCA": lambda: DirichletPCCA(n_chains=1, n_sweeps=12, thin=2, random_state=0),
}
TABLES = {
    "BayesianGPLVM": lambda: BayesianGPLVM(2, **OFF),
    "CGPDS": lambda: CGPDS(2, **OFF),
    "GPLVM": lambda: GPLVM(2, **QUICK),
    "PPCA": lambda: PPCA(2),
    "FactorAnalysis": lambda: FactorAnalysis(2),
    "BayesianPCA": lambda: BayesianPCA(3, random_state=0),
    "MixturePPCA": lambda: MixturePPCA(2, n_restarts=1, random_state=0),
    "DirichletPPCA": lambda: DirichletPPCA(
        n_chains=1, n_sweeps=12, thin=2, move_rate=0.0, random_state=0
    ),
}
DENSITY = set(VIEWS) - {"CCA", "KernelCCA"}
CLUSTERED = {"MixturePCCA", "DirichletPCCA", "MixturePPCA", "DirichletPPCA"}
pytestmark = pytest.mark.filterwarnings("ignore")


def data(n=N):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 3))
    names = [f"s{i}" for i in range(n)]
    a = np.tanh(x[:, :2]) @ rng.normal(size=(2, 4)) + 0.1 * rng.normal(size=(n, 4))
    b = np.tanh(x[:, 1:]) @ rng.normal(size=(2, 3)) + 0.1 * rng.normal(size=(n, 3))
    return {
        "a": pd.DataFrame(a, names, list("pqrs")),
        "b": pd.DataFrame(b, names, list("uvw")),
    }


@pytest.fixture(scope="module", params=VIEWS)
def views_model(request):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return request.param, VIEWS[request.param]().fit(data())


@pytest.fixture(scope="module", params=TABLES)
def table_model(request):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return request.param, TABLES[request.param]().fit(data()["a"])


def check_engine(engine, n_views):
    """The protocol itself, on the model's own scale."""
    assert isinstance(engine, Engine)
    q, rng = engine.positions, np.random.RandomState(0)
    n_parts = N if q.weights is None else q.weights.size
    Q = q.mean.shape[1]
    assert isinstance(q, Positions)
    assert len(q) == N
    assert q.mean.shape == q.variance.shape == (n_parts, Q)
    assert engine.infer(engine.data) is q
    assert engine.relevance.shape == (n_views, Q)
    np.testing.assert_allclose(engine.relevance.max(axis=1), 1.0)
    prior = engine.prior(4)
    assert len(prior) == 4
    for view, table in enumerate(engine.data):
        D = table.shape[1]
        mean, variance = q.mix(*engine.moments(view, q, "variance"))
        again, covariance = q.mix(*engine.moments(view, q, "covariance"))
        np.testing.assert_allclose(again, mean, rtol=1e-7, atol=1e-10)
        np.testing.assert_allclose(np.diagonal(covariance, axis1=1, axis2=2), variance, rtol=1e-5)
        assert (variance > 0).all()
        filled, spread = engine.fill(view, engine.data, q)
        assert filled.shape == spread.shape == table.shape
        assert engine.slopes(view).shape == (D, Q)
        assert (engine.slopes(view) >= 0).all()
        (drawn,) = engine.draw([view], q, 300, rng)
        assert drawn.shape == (300, N, D)
        off = (drawn.mean(axis=0) - mean) / np.sqrt(variance / 300)
        assert np.abs(off).mean() < 1.5
        weights, means, variances = engine.modes(view, q, 2)
        assert means.shape == variances.shape == (*weights.shape, D)


def test_the_protocol_of_models_of_views(views_model):
    name, model = views_model
    check_engine(model.engine_, 2)
    if name in DENSITY:
        assert np.isfinite(model.engine_.log_density(model.engine_.data)).all()
    else:
        with pytest.raises(OptionError, match="no density"):
            model.score_samples(data())


def test_the_protocol_of_models_of_a_table(table_model):
    _, model = table_model
    check_engine(model.engine_, 1)
    assert np.isfinite(model.engine_.log_density(model.engine_.data)).all()


def test_the_shell_of_views(views_model, tmp_path):
    name, model = views_model
    views = data()
    new = {"a": views["a"].iloc[:NEW]}
    Q = model.latent_mean_.shape[1]
    mean, std = model.predict(new, "b", return_std=True)
    assert list(mean.columns) == list("uvw")
    assert list(mean.index) == list(new["a"].index)
    _, covariance = model.predict(new, "b", return_cov=True)
    assert covariance.shape == (NEW, 3, 3)
    np.testing.assert_allclose(
        np.sqrt(np.diagonal(covariance, axis1=1, axis2=2)), std, rtol=1e-5, atol=1e-8
    )
    assert model.predict(new, "b", n_samples=4, random_state=0).shape == (4, NEW, 3)
    assert model.transform(new).shape == (NEW, Q)
    filled, error = model.impute(new, return_std=True)
    np.testing.assert_array_equal(filled["a"], new["a"])
    assert (error["a"] == 0).all().all()
    assert (error["b"] > 0).all().all()
    assert set(model.impute()) == {"a", "b"}
    assert np.isfinite(model.score(views))
    modes = model.predict_modes(new, "b")
    np.testing.assert_allclose(modes.weights.sum(axis=1), 1.0, atol=1e-6)
    assert modes.means.shape == (*modes.weights.shape, 3)
    assert {k: v.shape for k, v in model.sample(6, random_state=0).items()} == {
        "a": (6, 4), "b": (6, 3),
    }  # fmt: skip
    assert model.sample(6, "a", latent="posterior", random_state=0).shape == (6, 4)
    assert model.variance_explained().shape == (2, Q + 1)
    assert model.variance_explained_by([0]).shape == (2,)
    assert model.sensitivity("a").shape == (4, Q)
    assert model.relevance_.shape == (2, Q)
    assert model.latent_posterior().shape == (N, 2 * Q)
    path = tmp_path / "model.safetensors"
    model.save(path)
    loaded = manyviews.load(path)
    np.testing.assert_allclose(
        loaded.predict(new, "b"), model.predict(new, "b"), rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(loaded.latent_mean_, model.latent_mean_, rtol=1e-12, atol=1e-12)
    with pytest.raises(OptionError, match="no option 'speed' for new samples"):
        model.predict(new, "b", speed=3)
    with pytest.raises(OptionError, match="without time stamps"):
        model.forecast([1.0])
    if name in CLUSTERED:
        with pytest.raises(OptionError, match="latent space of its own"):
            model.inverse_transform(np.zeros((1, Q)))
    else:
        assert model.inverse_transform(np.zeros((3, Q)), "b").shape == (3, 3)
        assert model.inverse_transform(np.zeros((3, Q)), latent_std=0.1, return_std=True)
        assert model.traverse(0)["a"].shape == (9, 4)
        assert model.interpolate("s0", "s1", "b").shape == (9, 3)
        assert model.sample_private("a", "s0", 3, random_state=0).shape == (3, 4)


def test_the_shell_of_a_table(table_model, tmp_path):
    name, model = table_model
    gappy = data()["a"].iloc[:NEW].copy()
    gappy.iloc[:, 1] = np.nan
    Q = model.latent_mean_.shape[1]
    mean, std = model.predict(gappy, return_std=True)
    assert std.shape == mean.shape
    assert list(mean.columns) == list("pqrs")
    assert model.predict(gappy, return_cov=True)[1].shape == (NEW, 4, 4)
    assert model.predict(gappy, n_samples=4, random_state=0).shape == (4, NEW, 4)
    filled, error = model.impute(gappy, return_std=True)
    np.testing.assert_array_equal(filled["p"], gappy["p"])
    assert (error["q"] > 0).all()
    assert (error["p"] == 0).all()
    assert np.isfinite(model.score(gappy))
    assert model.sample(6, random_state=0).shape == (6, 4)
    assert model.variance_explained().shape == (Q + 1,)
    assert model.sensitivity().shape == (4, Q)
    if name in CLUSTERED:
        with pytest.raises(OptionError, match="latent space of its own"):
            model.inverse_transform(np.zeros((1, Q)))
    else:
        assert model.inverse_transform(np.zeros((3, Q)), 0.1, return_std=True)[1].shape == (3, 4)
    path = tmp_path / "model.safetensors"
    model.save(path)
    np.testing.assert_array_equal(manyviews.load(path).predict(gappy), mean)
    with pytest.raises(OptionError, match="no option 'speed' for new samples"):
        model.predict(gappy, speed=3)


def test_every_model_has_a_report_and_a_page_to_walk_in(views_model, tmp_path):
    name, model = views_model
    held_out = {view: table.iloc[:NEW] for view, table in data().items()}
    assert len(write_report(model, tmp_path / "report.html", held_out=held_out)) == 2
    assert "Findings" in (tmp_path / "report.html").read_text()
    if name in CLUSTERED:
        with pytest.raises(OptionError, match="latent space of its own"):
            Scene(model)
        return
    walk(model, 7)


def test_every_model_of_a_table_has_a_report_and_a_page_too(table_model, tmp_path):
    name, model = table_model
    assert write_report(model, tmp_path / "report.html", held_out=data()["a"].iloc[:NEW])
    if name in CLUSTERED:
        with pytest.raises(OptionError, match="latent space of its own"):
            Scene(model)
        return
    walk(model, 4)


def walk(model, n_columns):
    scene = Scene(model)
    position = model.latent_mean_[0]
    assert scene.describe()["model"] == type(model).__name__
    for uncertain in (False, True):
        values = np.frombuffer(scene.generate(position, uncertain), "<f4")
        assert values.size == 2 * n_columns
        assert np.isfinite(values).all()
    axes = (0, min(1, model.latent_mean_.shape[1] - 1))
    assert len(scene.background(position, axes)) == 1600

import numpy as np
import pytest
from matplotlib.figure import Figure

from manyviews import BayesianGPLVM, demo
from manyviews.plot import latent_map, relevance_bars


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    Y = np.tanh(rng.standard_normal((30, 2)) @ rng.standard_normal((2, 4)))
    return BayesianGPLVM(3, n_inducing=10, tol=1e-3, random_state=0, signal_check="off").fit(Y)


@pytest.mark.parametrize("labels", [None, ["a", "b"] * 15, np.linspace(0, 1, 30)])
def test_latent_map_draws_every_point(model, labels):
    ax = Figure().subplots()
    assert latent_map(model, labels=labels, ax=ax) is ax
    assert sum(len(c.get_offsets()) for c in ax.collections if hasattr(c, "get_sizes")) == 30
    main, second = np.argsort(-model.relevance_)[:2]
    assert str(main) in ax.get_xlabel()
    assert str(second) in ax.get_ylabel()
    assert (ax.get_legend() is not None) == isinstance(labels, list)


def test_relevance_bars(model):
    ax = relevance_bars(model, ax=Figure().subplots())
    assert len(ax.patches) == 3
    assert f"{model.n_active_} of 3" in ax.get_title()


@pytest.mark.slow
def test_demo_leaves_a_page_without_links_to_the_network(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo, "N_SAMPLES", 120)
    monkeypatch.setattr(demo, "N_NEW", 20)
    demo.main(str(tmp_path / "demo.html"))
    page = (tmp_path / "demo.html").read_text()
    assert page.count("<img") == 2
    assert "http" not in page
    assert (tmp_path / "demo.safetensors").exists()
    assert "latent dimensions in use" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore::manyviews.errors.ConvergenceWarning")
def test_pictures_of_several_views():
    from manyviews import MRD
    from manyviews.plot import relevance_map

    rng = np.random.default_rng(0)
    x = rng.standard_normal((30, 2))
    views = {"a": x @ rng.standard_normal((2, 4)), "b": x[:, :1] @ rng.standard_normal((1, 3))}
    options = {"n_inducing": 10, "max_iter": 20, "n_restarts": 1, "random_state": 0}
    model = MRD(3, signal_check="off", kernel="linear", **options).fit(views)
    bars = relevance_bars(model)
    assert {t.get_text() for t in bars.get_legend().get_texts()} == {"a", "b", "active above"}
    assert "relevance" in latent_map(model).get_xlabel()
    heat = relevance_map(model.variance_explained(), label="variance explained")
    assert [t.get_text() for t in heat.get_yticklabels()] == ["a", "b"]

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

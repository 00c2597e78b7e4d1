import numpy as np
import pandas as pd
import pytest

import manyviews
from manyviews.errors import OptionError
from manyviews.linear import PPCA, GroupFactorAnalysis


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 3))
    views = {
        "<genes>": x[:, :2] @ rng.standard_normal((2, 6)),
        "b": x[:, [0, 2]] @ rng.standard_normal((2, 5)),
    }
    frames = {
        name: pd.DataFrame(Y + 0.1 * rng.standard_normal(Y.shape)) for name, Y in views.items()
    }
    return GroupFactorAnalysis(3, random_state=0).fit(frames)


def test_summary_says_what_is_shared(model):
    found = model.summary()
    n = len(model.shared())
    assert found.title == "GroupFactorAnalysis of 2 views (<genes>, b), 60 samples"
    assert f"{n} of 3 dimensions" in found.sentences[0]
    text = str(found)
    assert "shared by both views" in text
    assert "Variance explained" in text
    assert max(map(len, text.splitlines())) < 100
    totals = model.variance_explained()["total"]
    np.testing.assert_allclose(found.table["total"], totals)


def test_shares_in_sentences_add_up(model):
    table = model.variance_divided()
    parts = table.drop(columns="total").sum(axis=1)
    np.testing.assert_allclose(parts, table["total"])
    np.testing.assert_allclose(table["total"], model.variance_explained()["total"], atol=1e-6)


def test_notebooks_show_findings_of_fitted_models_and_the_diagram_of_others(model):
    page = model._repr_html_()
    assert "&lt;genes&gt;" in page
    assert "<genes>" not in page
    assert "shared by both views" in page
    assert "background:rgba" in page
    assert model._repr_mimebundle_()["text/html"] == page
    unfitted = GroupFactorAnalysis(3)
    assert "sk-" in unfitted._repr_html_()  # scikit-learn's
    assert "sk-" in unfitted._repr_mimebundle_()["text/html"]


def test_one_table():
    rng = np.random.default_rng(0)
    model = PPCA(2).fit(rng.standard_normal((40, 2)) @ rng.standard_normal((2, 5)))
    assert "of 2 latent dimensions are used" in str(model.summary())
    assert "one table" in model._repr_html_()
    signed, size = model.sensitivity(signed=True), model.sensitivity()
    np.testing.assert_allclose(signed.abs(), size, rtol=1e-6, atol=1e-9)


def test_names_of_dimensions_are_shown_and_saved(model, tmp_path):
    model.name_dimensions({0: "size & <age>"})
    assert model.dimension_labels() == ["0 (size & <age>)", "1", "2"]
    assert "0 (size & <age>)" in str(model.summary())
    assert "size &amp; &lt;age&gt;" in model._repr_html_()
    model.save(tmp_path / "m.safetensors")
    again = manyviews.load(tmp_path / "m.safetensors")
    assert again.dimension_labels() == model.dimension_labels()
    assert model.name_dimensions(["", "speed"]).dimension_labels() == ["0", "1 (speed)", "2"]
    refitted = model.fit(model.training_data())
    assert refitted.dimension_labels() == ["0", "1", "2"]


def test_wrong_names_are_refused(model):
    with pytest.raises(OptionError, match="from 0 to 2"):
        model.name_dimensions({7: "size"})
    with pytest.raises(OptionError, match="must be text"):
        model.name_dimensions({0: 3})


def test_associations_of_a_model(model):
    age = pd.Series(model.latent_mean_[:, 0] * 2 + 1, index=model.samples_, name="age")
    found = model.associations(age.iloc[::-1])
    assert found["association"][0] == pytest.approx(1.0)
    assert found["adjusted_p_value"][0] < 1e-6

import numpy as np
import pandas as pd
import pytest

from manyviews import MRD, BayesianGPLVM, Search, interop
from manyviews.errors import DataError

pytestmark = pytest.mark.filterwarnings("ignore::manyviews.errors.ManyviewsWarning")
BRIEF = Search(max_iter=10, n_restarts=1)
QUICK = {"n_inducing": 8, "search": BRIEF, "random_state": 0, "signal_check": "off"}
mudata = pytest.importorskip("mudata")
anndata = pytest.importorskip("anndata")


@pytest.fixture(scope="module")
def cells():
    """Two modalities; the second lacks three cells."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((30, 2))
    names = [f"cell{i}" for i in range(30)]
    rna = pd.DataFrame(x @ rng.standard_normal((2, 5)), names, [f"g{i}" for i in range(5)])
    atac = pd.DataFrame(x @ rng.standard_normal((2, 4)), names, [f"p{i}" for i in range(4)])
    parts = {"rna": anndata.AnnData(rna), "atac": anndata.AnnData(atac.iloc[3:])}
    return mudata.MuData(parts)


@pytest.fixture(scope="module")
def model(cells):
    return MRD(3, **QUICK).fit(cells)


def test_mudata_in_and_results_back(cells, model):
    data = interop.annotate(cells.copy(), model)
    assert model.view_names_ == ("rna", "atac")
    placed = pd.DataFrame(data.obsm["X_mrd"], index=data.obs_names)
    np.testing.assert_allclose(placed.loc[model.samples_], model.latent_mean_)
    np.testing.assert_allclose(
        data.mod["atac"].varm["mrd_sensitivity"], model.sensitivity("atac").to_numpy()
    )
    explained = data.uns["mrd"]["variance_explained"]
    np.testing.assert_allclose(explained.to_numpy(), model.variance_explained().to_numpy())


def test_annotated_data_survive_their_file(cells, model, tmp_path):
    data = interop.annotate(cells.copy(), model)
    data.write(tmp_path / "cells.h5mu")
    again = mudata.read_h5mu(tmp_path / "cells.h5mu")
    np.testing.assert_allclose(again.obsm["X_mrd_std"], data.obsm["X_mrd_std"])
    assert again.uns["mrd"]["model"] == "MRD"
    assert list(again.uns["mrd"]["dimensions"]) == model.dimension_labels()
    from manyviews.data.files import read_views

    views = read_views([str(tmp_path / "cells.h5mu")]).views
    assert {name: view.shape for name, view in views.items()} == {"rna": (30, 5), "atac": (27, 4)}


def test_layers_are_views(cells):
    data = cells.copy()
    data.mod["rna"].layers["double"] = 2.0 * data.mod["rna"].X
    views = interop.views_of(data, {"rna": "double"})
    assert {name: view.shape for name, view in views.items()} == {"rna": (30, 5), "atac": (27, 4)}
    np.testing.assert_allclose(views["rna"], 2.0 * data.mod["rna"].to_df())
    assert list(interop.views_of(data.mod["rna"], "double")) == ["X"]
    with pytest.raises(DataError, match="'atac' has no layer 'double'"):
        interop.views_of(data, "double")
    with pytest.raises(DataError, match="no modality 'protein'"):
        interop.views_of(data, {"protein": "double"})


def test_columns_that_are_marked_as_highly_variable(cells):
    data = cells.copy()
    data.mod["rna"].var["highly_variable"] = [True, False, True, False, False]
    views = interop.views_of(data, use_highly_variable=True)
    assert list(views["rna"].columns) == ["g0", "g2"]
    assert views["atac"].shape == (27, 4)
    data.mod["rna"].var["highly_variable"] = False
    with pytest.raises(DataError, match="'rna' has no column that is marked"):
        interop.views_of(data, use_highly_variable=True)
    with pytest.raises(DataError, match="highly_variable_genes"):
        interop.views_of(cells, use_highly_variable=True)


def test_new_mudata_from_a_model(model):
    data = interop.to_mudata(model)
    assert data.mod["atac"].shape == (27, 4)
    assert data.obsm["X_mrd"].shape == (30, 3)


def test_one_table_and_anndata():
    rng = np.random.default_rng(0)
    table = rng.standard_normal((20, 2)) @ rng.standard_normal((2, 4))
    data = anndata.AnnData(pd.DataFrame(table).rename(index="c{}".format, columns="g{}".format))
    model = BayesianGPLVM(2, **QUICK).fit(data.to_df())
    interop.annotate(data, model, key="gplvm")
    np.testing.assert_allclose(data.obsm["X_gplvm"], model.latent_mean_)
    assert interop.to_mudata(model).mod["X"].shape == (20, 4)


def test_foreign_data_are_refused(model, cells):
    with pytest.raises(DataError, match="'atac'"):
        interop.annotate(mudata.MuData({"rna": cells.mod["rna"]}), model)
    other = mudata.MuData({k: v.copy() for k, v in cells.mod.items()})
    for part in other.mod.values():
        part.obs_names = ["x" + name for name in part.obs_names]
    other.update()
    with pytest.raises(DataError, match="none of the data's samples"):
        interop.annotate(other, model)


def test_xarray(model):
    data = interop.to_xarray(model)
    assert dict(data.sizes)["sample"] == 30
    chosen = data["latent_mean"].sel(sample="cell4", dimension=1)
    assert float(chosen) == model.latent_mean_[model.samples_.index("cell4"), 1]
    assert data["sensitivity of rna"].shape == (5, 3)
    assert data["name"].values.tolist() == model.dimension_labels()


def test_pandas_output(model, cells):
    kept = MRD(3, **QUICK).set_output(transform="pandas").fit(cells)
    latent = kept.transform(cells)
    assert latent.index.tolist() == kept.samples_
    assert latent.columns.tolist() == ["mrd0", "mrd1", "mrd2"]
    assert isinstance(model.transform(cells), np.ndarray)

"""Choosing the power of the evidence: noise that is shared by columns makes a model too sure."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from manyviews import MRD, Search
from manyviews.errors import OptionError


@pytest.fixture(scope="module")
def views():
    """Eight readings that err together, and many exact ones of the same signal."""
    rng = np.random.default_rng(0)
    signal = rng.standard_normal((90, 1))
    common = 0.5 * rng.standard_normal((90, 1))
    noise = 0.1 * rng.standard_normal((90, 56))
    return {
        "readings": pd.DataFrame(signal + common + noise[:, :8]),
        "truth": pd.DataFrame(signal + noise[:, 8:]),
    }


@pytest.fixture(scope="module")
def model(views):
    brief = Search(n_restarts=1, max_iter=80)
    options = {"kernel": "linear", "n_inducing": 5, "search": brief, "residual_link": False}
    return MRD(1, signal_check="off", random_state=0, **options).fit(views)


pytestmark = pytest.mark.filterwarnings("ignore::manyviews.errors.ManyviewsWarning")


def test_a_smaller_power_is_found_where_columns_share_their_noise(model):
    table = model.compare_powers("readings", "truth", powers=(1.0, 0.1, 0.02))
    assert table.index.tolist() == [1.0, 0.1, 0.02]
    assert table["nlpd"].idxmin() < 1.0
    assert table.loc[1.0, "coverage"] < 0.6 < 0.8 < table.loc[0.1, "coverage"]
    assert model.evidence_power == 1.0


def test_figures_are_those_of_predict(model, views):
    table = model.compare_powers("readings", ["truth"], powers=(1.0,))
    mean, std = model.predict({"readings": views["readings"]}, "truth", return_std=True)
    truth, scale = views["truth"], views["truth"].std(ddof=0)
    inside = (np.abs(truth - mean) < 1.6448536 * std).to_numpy().mean()
    error = (((truth - mean) / scale) ** 2).to_numpy().mean() ** 0.5
    np.testing.assert_allclose(table.loc[1.0, ["rmse", "coverage"]], [error, inside], rtol=1e-6)


@pytest.mark.long
def test_folds_refit_without_the_samples_asked_about(model):
    table = model.compare_powers("readings", "truth", powers=(1.0, 0.1), folds=2)
    known = model.compare_powers("readings", "truth", powers=(1.0, 0.1))
    assert np.isfinite(table.to_numpy()).all()
    assert not np.allclose(table, known)


def test_missing_values_do_not_count(model, views):
    holes = {**views, "truth": views["truth"].copy()}
    holes["truth"].iloc[:30, 0] = np.nan
    fitted = MRD(**model.get_params(deep=False)).fit(holes)
    assert np.isfinite(fitted.compare_powers("readings", "truth", powers=(1.0,))).all(axis=None)


def test_clear_errors(model, views):
    with pytest.raises(NotFittedError):
        MRD().compare_powers("readings", "truth")
    with pytest.raises(OptionError, match="nonsense"):
        model.compare_powers("readings", "nonsense")
    with pytest.raises(OptionError, match="known and wanted"):
        model.compare_powers("readings", "readings")
    with pytest.raises(OptionError, match="folds"):
        model.compare_powers("readings", "truth", folds=1)
    timed = MRD(**model.get_params(deep=False)).fit(views, times=np.arange(90.0))
    with pytest.raises(OptionError, match="sequences"):
        timed.compare_powers("readings", "truth")

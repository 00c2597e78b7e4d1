"""Fits of views that stay on disk."""

import numpy as np
import pytest

import manyviews
from manyviews import MRD, Search, StoredViews
from manyviews.errors import DataError, OptionError

N = 1500


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("stored")
    shared, own = rng.normal(size=(2, N))
    x = np.column_stack([shared, own])
    counts = rng.poisson(np.exp(1.0 + 0.7 * x @ rng.normal(size=(2, 8)))).astype(float)
    real = np.outer(shared, rng.normal(size=5)) + 0.2 * rng.normal(size=(N, 5))
    real[rng.uniform(size=real.shape) < 0.05] = np.nan
    np.save(folder / "counts.npy", counts)
    np.save(folder / "real.npy", real)
    return folder, counts, real, shared


@pytest.fixture(scope="module")
def fitted(files):
    views = StoredViews({"counts": files[0] / "counts.npy", "real": files[0] / "real.npy"})
    search = Search(max_iter=150, passes=20)
    model = MRD(3, 10, likelihood={"counts": "poisson"}, search=search, random_state=0)
    return model.fit(views)


@pytest.mark.slow
def test_rows_that_pass_by_are_learnt_from(files, fitted, tmp_path):
    _, counts, real, shared = files
    assert fitted.engine_.data[0].shape == (N, 8)  # few enough to be kept
    trace = fitted.fit_info_.bound_trace
    assert np.isfinite(trace).all()
    assert trace[-10:].mean() > trace[150:160].mean()
    x = fitted.transform({"counts": counts[:200]})
    assert np.abs(np.corrcoef(x.T, shared[:200])[-1, :-1]).max() > 0.7
    both = fitted.transform({"counts": counts[:200], "real": real[:200]})
    assert np.abs(np.corrcoef(both.T, shared[:200])[-1, :-1]).max() > 0.9
    predicted = fitted.predict({"counts": counts[:200]}, "real")
    error = np.nanmean((predicted - real[:200]) ** 2)
    assert error < 0.75 * np.nanvar(real[:200])
    rates = fitted.predict({"real": real[:50]}, "counts")
    assert np.all(rates > 0)
    path = tmp_path / "model.safetensors"
    fitted.save(path)
    again = manyviews.load(path)
    np.testing.assert_allclose(again.transform({"counts": counts[:9]}), x[:9])


@pytest.mark.slow
def test_positions_can_be_refined(files, fitted):
    _, counts, real, _ = files
    rows = {"counts": counts[:30], "real": real[:30]}
    quick = fitted.transform(rows)
    far, searched = fitted.transform(rows, refine=100), fitted.transform(rows, refine=None)
    apart = np.abs(quick - searched).mean()
    assert np.abs(far - searched).mean() < 0.5 * apart + 1e-3
    with pytest.raises(OptionError, match="refine"):
        fitted.transform(rows, refine=-1)


@pytest.mark.parametrize(
    ("options", "times", "message"),
    [
        ({}, np.arange(N), "no times"),
        ({"split_columns": True}, None, "split_columns"),
        ({"shared_inducing": True}, None, "shared_inducing"),
        ({"search": Search(checkpoint="x")}, None, "no checkpoint"),
    ],
)
def test_what_needs_all_rows_is_refused(files, options, times, message):
    views = StoredViews({"counts": files[1]})
    with pytest.raises(OptionError, match=message):
        MRD(2, **options).fit(views, times=times)


@pytest.mark.long
def test_levels_that_the_sample_lacks_are_named(files):
    levels = np.concatenate([np.clip(files[1][:100], 0, 3)] * 60)
    levels[4321, 3] = 9.0
    search = Search(max_iter=2, passes=1)
    with pytest.raises(DataError, match=r"'counts'.*row 4321, column 3 holds 9.*never seen"):
        MRD(2, 4, likelihood="ordinal", search=search, random_state=1).fit(
            StoredViews({"counts": levels})
        )


def test_wrong_values_far_down_are_named(files):
    wrong = np.concatenate([files[1][:100]] * 20)
    wrong[1821, 3] = -1.0
    views = StoredViews({"counts": wrong})
    search = Search(max_iter=2, passes=1)
    with pytest.raises(DataError, match=r"'counts'.*row 1821, column 3"):
        MRD(2, 4, likelihood="poisson", search=search, random_state=1).fit(views)

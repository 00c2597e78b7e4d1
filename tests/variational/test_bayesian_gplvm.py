import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manyviews import BayesianGPLVM, Search, Stage, kernels
from manyviews.errors import (
    ConstantColumnWarning,
    DataError,
    LowSignalError,
    LowSignalWarning,
    OptionError,
)
from manyviews.inference.diagnostics import check_signal

pytestmark = pytest.mark.filterwarnings("ignore::manyviews.errors.ConvergenceWarning")

FAST = {"n_inducing": 15, "search": Search(max_iter=150), "random_state": 0}


def make_data(n=60, noise=0.05, seed=0):
    rng = np.random.default_rng(seed)
    t = rng.uniform(-1.5, 1.5, (n, 2))
    basis = np.stack([t[:, 0], t[:, 1], np.sin(2 * t[:, 0]), t[:, 0] * t[:, 1]], axis=1)
    Y = basis @ rng.standard_normal((4, 5)) * 3 + 10
    return Y + 3 * noise * rng.standard_normal(Y.shape)


@pytest.fixture(scope="module")
def Y():
    return make_data()


@pytest.fixture(scope="module")
def model(Y):
    return BayesianGPLVM(4, **FAST).fit(Y[:50])


def test_fitted_attributes(model, Y):
    assert model.latent_mean_.shape == model.latent_std_.shape == (50, 4)
    assert model.relevance_.shape == (4,)
    assert model.relevance_.max() == 1.0
    assert 2 <= model.n_active_ <= 4
    info = model.fit_info_
    assert info.n_active == model.n_active_
    assert info.signal_to_noise[0] > 10
    assert info.jitter.shape == (1,)
    assert info.expectation_error == 0.0
    assert np.isfinite([info.gradient_norm, info.bound_noise, model.lower_bound_]).all()
    assert info.bound_trace.max() <= max(info.restart_bounds) + 1e-6
    assert model.noise_variance_.shape == (5,)
    assert 0.15**2 < model.noise_variance_[0] < 0.05 * Y.var()


def test_reconstruction_beats_pca_with_as_many_dimensions(model, Y):
    two = np.argsort(-model.relevance_)[: model.n_active_]
    pca = PCA(len(two)).fit(Y[:50])
    ours = model.predict(Y[50:])
    theirs = pca.inverse_transform(pca.transform(Y[50:]))
    assert np.mean((ours - Y[50:]) ** 2) <= np.mean((theirs - Y[50:]) ** 2) * 1.2


def test_bound_is_in_units_of_the_data(Y):
    base = BayesianGPLVM(3, **FAST).fit(Y)
    unit = 1024.0  # a power of two: the same path of optimisation, to the last digit
    scaled = BayesianGPLVM(3, **FAST).fit(Y * unit)
    assert scaled.lower_bound_ == pytest.approx(base.lower_bound_ - Y.size * np.log(unit), rel=1e-9)
    np.testing.assert_allclose(
        scaled.score_samples(Y[:3] * unit),
        base.score_samples(Y[:3]) - Y.shape[1] * np.log(unit),
        rtol=1e-6,
    )


def test_prediction_moments_agree_with_samples(model, Y):
    partial = Y[50:53].copy()
    partial[:, 2:] = np.nan
    mean, std = model.predict(partial, return_std=True)
    same_mean, covariance = model.predict(partial, return_cov=True)
    draws = model.predict(partial, n_samples=4000, random_state=1)
    assert draws.shape == (4000, 3, 5)
    np.testing.assert_allclose(mean, same_mean)
    np.testing.assert_allclose(np.sqrt(np.diagonal(covariance, axis1=1, axis2=2)), std, rtol=1e-6)
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=6 * std.max() / np.sqrt(4000))
    np.testing.assert_allclose(draws.std(axis=0), std, rtol=0.1)
    for k in range(3):
        empirical = np.cov(draws[:, k].T)
        assert np.abs(empirical - covariance[k]).max() < 0.1 * covariance[k].max()


def test_inverse_transform_widens_with_latent_uncertainty(model):
    X = model.latent_mean_[:4]
    mean, std = model.inverse_transform(X, return_std=True)
    _, wider = model.inverse_transform(X, 0.5, return_std=True)
    assert (wider > std).all()
    np.testing.assert_allclose(model.inverse_transform(X), mean)
    np.testing.assert_array_less(np.sqrt(model.noise_variance_) * 0.999, std.min(axis=0))
    with pytest.raises(DataError, match=r"\(n, 4\)"):
        model.inverse_transform(X[:, :2])


def test_score_is_higher_for_likely_rows_and_methods_are_ordered(model, Y):
    augmented = model.score_samples(Y[50:], method="augmented")
    fixed = model.score_samples(Y[50:], method="fixed")
    assert (augmented >= fixed - 1e-6).all()
    assert model.score(Y[50:]) == pytest.approx(augmented.mean())
    assert model.score(Y[50:]) > model.score(Y[50:][:, ::-1]) + 10
    with pytest.raises(OptionError, match="method"):
        model.score_samples(Y, method="exact")


@pytest.mark.parametrize("missing", [pytest.param("exact", marks=pytest.mark.long), "shared"])
def test_impute_training_and_new_data(Y, missing):
    holes = np.random.default_rng(3).uniform(size=Y.shape) < 0.2
    gappy = np.where(holes, np.nan, Y)
    model = BayesianGPLVM(3, missing=missing, **FAST).fit(gappy[:50])
    by_mean = np.where(holes, np.nanmean(gappy[:50], axis=0), Y)
    error_of_mean = np.sqrt(np.mean((by_mean - Y)[holes] ** 2))
    for given, truth, where in ((None, Y[:50], holes[:50]), (gappy[50:], Y[50:], holes[50:])):
        filled, std = model.impute(given, return_std=True)
        np.testing.assert_allclose(filled[~where], truth[~where], rtol=1e-12)
        assert (std[~where] == 0).all()
        assert (std[where] > 0).all()
        assert np.sqrt(np.mean((filled - truth)[where] ** 2)) < 0.75 * error_of_mean
    assert model.engine_.posteriors[0].exact == (missing == "exact")
    if missing == "shared":
        np.testing.assert_array_equal(
            model.score_samples(Y[50:]), model.score_samples(Y[50:], method="fixed")
        )
        with pytest.raises(OptionError, match="fixed"):
            model.score_samples(Y[50:], method="augmented")


def test_sample(model, Y):
    prior = model.sample(200, random_state=0)
    posterior = model.sample(200, latent="posterior", random_state=0)
    assert prior.shape == posterior.shape == (200, 5)
    np.testing.assert_allclose(posterior.mean(axis=0), Y.mean(axis=0), atol=Y.std())
    assert posterior.std() == pytest.approx(Y.std(), rel=0.5)
    np.testing.assert_array_equal(prior, model.sample(200, random_state=0))
    with pytest.raises(OptionError, match="latent"):
        model.sample(latent="both")


def test_wide_data():
    rng = np.random.default_rng(0)
    Y = make_data(30) @ rng.standard_normal((5, 400))
    model = BayesianGPLVM(3, **FAST).fit(Y)
    assert model.engine_.posteriors[0].weights.shape[1] == 400
    assert np.mean((model.predict(Y) - Y) ** 2) < 0.1 * Y.var()


@pytest.mark.parametrize(
    "kernel",
    [
        "linear",
        "rbf + linear + bias + white",
        kernels.RBF(2.0, 0.7).fix("variance"),
        pytest.param("bias * rbf", marks=pytest.mark.long),
    ],
)
def test_kernels_with_closed_forms(Y, kernel):
    model = BayesianGPLVM(2, kernel=kernel, signal_check="off", **FAST).fit(Y)
    assert np.mean((model.predict(Y[:20]) - Y[:20]) ** 2) < 0.5 * Y.var()
    assert model.fit_info_.expectation_error == 0
    if not isinstance(kernel, str):
        assert float(model.kernel_.variance.value) == pytest.approx(2.0)


@pytest.mark.long
def test_kernel_by_quadrature(Y):
    brief = Search(max_iter=15)
    options = {"n_inducing": 8, "search": brief, "random_state": 0, "signal_check": "off"}
    model = BayesianGPLVM(2, kernel="matern52", **options).fit(Y[:25])
    assert 0 < model.fit_info_.expectation_error < 0.02
    assert np.mean((model.predict(Y[:10]) - Y[:10]) ** 2) < 0.5 * Y.var()


@pytest.mark.parametrize("options", [
    {"init": "pca"}, {"init": "random"}, {"search__inducing": "subset"}, {"scaling": "column"},
    {"scaling": "none"}, {"search__positive": "softplus"}, {"search__n_restarts": 2},
    {"search__stages": [Stage("adam", 30), Stage("lbfgs", 50)]},
    {"init": np.random.default_rng(1).standard_normal((60, 2))},
])  # fmt: skip
def test_options(Y, options):
    model = BayesianGPLVM(2, signal_check="off", **FAST).set_params(**options).fit(Y)
    assert np.isfinite(model.lower_bound_)
    assert np.isfinite(model.transform(Y[:2])).all()


def test_dataframes(Y):
    frame = pd.DataFrame(Y, columns=list("abcde"), index=[f"s{i}" for i in range(len(Y))])
    model = BayesianGPLVM(2, **FAST).set_output(transform="pandas").fit(frame)
    latent = model.transform(frame[:3])
    assert list(latent.columns) == ["bayesiangplvm0", "bayesiangplvm1"]
    assert list(latent.index) == ["s0", "s1", "s2"]
    gap = frame[:3].copy()
    gap.loc["s1", "c"] = np.nan
    filled = model.impute(gap)
    assert isinstance(filled, pd.DataFrame)
    assert filled.loc["s0", "a"] == pytest.approx(frame.loc["s0", "a"])
    assert abs(filled.loc["s1", "c"] - frame.loc["s1", "c"]) < 2 * frame["c"].std()
    with pytest.raises(ValueError, match="order"):
        model.transform(frame[list("edcba")])
    gap.loc["s2", "d"] = np.inf
    with pytest.raises(DataError, match=r"'s2'.*'d'"):
        model.impute(gap)


@pytest.mark.parametrize(("bad", "words"), [
    (np.empty((0, 3)), "0 sample"),
    (np.ones(5), "1D array"),
    (np.array([["a", "b"], ["c", "d"], ["e", "f"]]), "could not convert|convert"),
    (np.eye(2), "minimum of 3"),
    (np.ones((5, 2)), "constant"),
])  # fmt: skip
def test_unusable_data(bad, words):
    with pytest.raises(ValueError, match=words):
        BayesianGPLVM(1).fit(bad)


def test_errors_name_row_and_column(Y):
    for value, words, axis in (
        (np.inf, "row 4, column 2", None),
        (np.nan, "column 2", 0),
        (np.nan, "row 4", 1),
    ):
        bad = Y.copy()
        if axis is None:
            bad[4, 2] = value
        elif axis == 0:
            bad[:, 2] = value
        else:
            bad[4] = value
        with pytest.raises(DataError, match=words):
            BayesianGPLVM(2).fit(bad)


def test_errors_at_transform(model, Y):
    with pytest.raises(ValueError, match="5 features"):
        model.transform(Y[:, :3])
    with pytest.raises(DataError, match="row 1"):
        model.transform(np.vstack([Y[:1], np.full((1, 5), np.nan)]))


def test_constant_columns_are_allowed_with_a_warning(Y):
    with_constant = np.column_stack([Y, np.full(len(Y), 3.0)])
    with pytest.warns(ConstantColumnWarning, match="5"):
        model = BayesianGPLVM(2, **FAST).fit(with_constant)
    np.testing.assert_allclose(model.predict(with_constant[:3])[:, 5], 3.0, atol=1.0)


@pytest.mark.parametrize("options", [
    {"n_components": 0}, {"n_components": 2.5}, {"n_inducing": "many"}, {"kernel": 3},
    {"init": "tsne"}, {"search": "fast"}, {"scaling": "rows"}, {"missing": "drop"},
    {"signal_check": True}, {"random_state": "x"}, {"verbose": "yes"},
])  # fmt: skip
def test_wrong_options_are_named(Y, options):
    with pytest.raises(ValueError, match=next(iter(options))):
        BayesianGPLVM(**options).fit(Y)


@pytest.mark.parametrize("options", [
    {"n_restarts": 0}, {"max_iter": -1}, {"tol": "small"}, {"stages": 5}, {"positive": "exp"},
    {"inducing": None}, {"jitter": -1}, {"n_starts": 0}, {"checkpoint": 7},
])  # fmt: skip
def test_wrong_options_of_the_search_are_named(Y, options):
    with pytest.raises(ValueError, match=next(iter(options))):
        BayesianGPLVM(search=Search(**options)).fit(Y)


def test_the_search_is_set_like_any_option():
    model = BayesianGPLVM()
    assert model.get_params()["search__max_iter"] == 1000
    assert "search__max_iter" not in model.get_params(deep=False)
    changed = clone(model).set_params(search__max_iter=5, n_components=2)
    assert changed.search == Search(max_iter=5)
    assert model.search is None
    again = clone(changed).set_params(search=Search(tol=0.1), search__max_iter=7)
    assert again.search == Search(tol=0.1, max_iter=7)
    assert changed.search == Search(max_iter=5)
    assert repr(changed) == "BayesianGPLVM(n_components=2, search=Search(max_iter=5))"
    with pytest.raises(ValueError, match="'speed'"):
        model.set_params(search__speed=1)


@pytest.mark.parametrize(("options", "words"), [
    ({"n_components": 6}, "init='random'"),
    ({"n_inducing": 61}, "60 samples"),
    ({"kernel": "rbf + sinc"}, "unknown kernel"),
    ({"init": np.zeros((3, 2)), "n_components": 2}, r"\(60, 2\)"),
    ({"search": Search(stages=["adam"])}, "Stage"),
])  # fmt: skip
def test_options_that_cannot_work_say_why(Y, options, words):
    with pytest.raises(OptionError, match=words):
        BayesianGPLVM(**options).fit(Y)


@pytest.mark.long
def test_more_components_than_features_work_from_a_random_start(Y):
    model = BayesianGPLVM(
        7, init="random", **(FAST | {"search": Search(max_iter=20), "signal_check": "off"})
    ).fit(Y)
    assert model.transform(Y[:2]).shape == (2, 7)


def test_signal_check(Y):
    noise = np.random.default_rng(0).standard_normal((40, 4))
    with pytest.warns(LowSignalWarning):
        BayesianGPLVM(2, **FAST).fit(noise)
    with pytest.raises(LowSignalError, match="n_restarts"):
        BayesianGPLVM(2, signal_check="error", **FAST).fit(noise)
    BayesianGPLVM(2, signal_check="off", **FAST).fit(noise)
    with pytest.warns(LowSignalWarning, match="'pose' has .* 1.6: the model takes 62% of its"):
        check_signal({"pose": 1.6, "shape": 5.0}, "warn")
    check_signal({"shape": 5.0, "counts": float("nan")}, "error")


def test_checkpointed_fit_removes_its_file(Y, tmp_path):
    path = tmp_path / "fit.checkpoint"
    BayesianGPLVM(2, **FAST).set_params(search__checkpoint=path).fit(Y)
    assert not path.exists()


def test_progress_bar_shows_signal_to_noise(Y, capsys):
    BayesianGPLVM(2, verbose=1, **FAST).fit(Y)
    assert "S/N X" in capsys.readouterr().err


@pytest.mark.long
def test_pipeline_and_grid_search(Y):
    options = FAST | {"search": Search(max_iter=30), "signal_check": "off"}
    pipeline = make_pipeline(StandardScaler(), BayesianGPLVM(2, **options))
    assert pipeline.fit_transform(Y).shape == (60, 2)
    search = GridSearchCV(
        BayesianGPLVM(**options),
        {"n_components": [1, 3], "search__tol": [1e-3]},
        cv=2,
        error_score="raise",
    ).fit(Y)
    assert search.best_params_["n_components"] == 3


def test_clone_and_repr(model):
    copy = clone(model)
    assert not hasattr(copy, "latent_mean_")
    assert copy.get_params() == model.get_params()


def test_same_seed_same_result(Y):
    first, second = (
        BayesianGPLVM(2, **(FAST | {"search": Search(max_iter=20)})).fit(Y) for _ in range(2)
    )
    np.testing.assert_array_equal(first.latent_mean_, second.latent_mean_)


@pytest.mark.long
def test_oil_map_of_the_paper(data_folder):
    with np.load(data_folder / "oil.npz") as data:
        Y, labels = data["Y_train"][:300], data["labels_onehot_train"][:300].argmax(axis=1)
    model = BayesianGPLVM(10, n_inducing=40, random_state=0, search=Search(max_iter=400)).fit(Y)
    X = model.latent_mean_[:, np.argsort(-model.relevance_)[:2]]
    distance = np.sum((X[:, None] - X) ** 2, axis=2) + np.diag(np.full(len(X), np.inf))
    assert (labels[distance.argmin(axis=1)] != labels).sum() <= 10  # PCA: 71
    assert model.n_active_ <= 4

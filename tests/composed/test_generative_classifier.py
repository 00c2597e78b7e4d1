import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import cross_val_score

import manyviews
from manyviews import MRD, BayesianGPLVM, GenerativeClassifier, Search, Views
from manyviews.errors import DataError, OptionError
from manyviews.linear import PPCA, ProbabilisticCCA


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def fitted(iris):
    density = BayesianGPLVM(
        2, n_inducing=10, search=Search(max_iter=40, tol=1e-3), signal_check="off", random_state=0
    )
    X, y = iris
    return GenerativeClassifier(density, reject_share=0.02).fit(X[::2], y[::2])


def test_gaussian_densities_give_quadratic_discriminant_analysis(iris):
    X, y = iris
    ours = GenerativeClassifier(GaussianMixture(1, reg_covar=0.0)).fit(X, y)
    joint = np.stack(
        [
            multivariate_normal(X[y == c].mean(axis=0), np.cov(X[y == c].T, bias=True)).logpdf(X)
            for c in range(3)
        ],
        axis=1,
    ) + np.log(1 / 3)
    expected = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))
    np.testing.assert_allclose(ours.predict_proba(X), expected, atol=1e-8)
    np.testing.assert_allclose(ours.score_samples(X), np.logaddexp.reduce(joint, axis=1), rtol=1e-8)


def test_bayes_rule_over_gplvm_densities(fitted, iris):
    X, y = iris
    new, truth = X[1::2], y[1::2]
    assert (fitted.predict(new) == truth).mean() > 0.9
    densities = np.stack([m.score_samples(new) for m in fitted.models_], axis=1)
    np.testing.assert_allclose(fitted.log_densities(new), densities, rtol=1e-10)
    chances = fitted.predict_proba(new)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert (chances.argmax(axis=1) == fitted.predict(new)).all()


def test_missing_values_are_welcome(fitted, iris):
    X, y = iris
    holes = X[1::2].copy()
    holes[:, 0] = np.nan
    assert (fitted.predict(holes) == y[1::2]).mean() > 0.85


def test_rejects(fitted, iris):
    X, _ = iris
    strange = X[:3] + np.array([0, 8, 0, 8])
    assert fitted.reject(strange).all()
    assert fitted.reject(X[1::2]).mean() < 0.2
    labels = fitted.predict(np.vstack([X[:2], strange]), reject_label=-1)
    np.testing.assert_array_equal(labels[2:], -1)


def test_priors(iris):
    X, y = iris
    mixture = GaussianMixture(1)
    kept = np.r_[0:50, 50:75, 100:125]
    uneven = GenerativeClassifier(mixture).fit(X[kept], y[kept])
    np.testing.assert_allclose(np.exp(uneven.log_priors_), [0.5, 0.25, 0.25])
    equal = GenerativeClassifier(mixture, priors="uniform").fit(X[kept], y[kept])
    np.testing.assert_allclose(np.exp(equal.log_priors_), 1 / 3)
    told = GenerativeClassifier(mixture, priors={0: 2, 1: 1, 2: 1}).fit(X, y)
    np.testing.assert_allclose(np.exp(told.log_priors_), [0.5, 0.25, 0.25])
    odds = told.predict_log_proba(X) - GenerativeClassifier(mixture).fit(X, y).predict_log_proba(X)
    np.testing.assert_allclose((odds[:, 0] - odds[:, 1]), np.log(2.0), rtol=1e-6)


def test_held_out_threshold_rejects_about_its_share(iris):
    X, y = iris
    rng = np.random.default_rng(0)
    many = np.concatenate(
        [rng.multivariate_normal(X[y == c].mean(0), np.cov(X[y == c].T), 600) for c in range(3)]
    )
    labels = np.repeat(np.arange(3), 600)
    order = rng.permutation(1800)
    train, test = order[:900], order[900:]
    model = GenerativeClassifier(GaussianMixture(1), reject_share=0.1, calibration=3)
    model.fit(many[train], labels[train])
    assert 0.07 < model.reject(many[test]).mean() < 0.13


def test_calibration_takes_back_what_makes_a_class_too_sharp(rng):
    """The second half of the columns repeats the first, which no model of them knows."""
    y = np.repeat([0, 1], 400)
    X = rng.normal(size=(800, 3)) * np.where(y == 0, 1.0, 1.5)[:, None] + 0.8 * y[:, None]
    X = np.hstack([X] * 4) + 0.01 * rng.normal(size=(800, 12))
    order = rng.permutation(800)
    train, test = order[:400], order[400:]
    naive = GaussianMixture(1, covariance_type="diag")

    def log_loss(model):
        chances = model.fit(X[train], y[train]).predict_log_proba(X[test])
        return -chances[np.arange(len(test)), y[test]].mean()

    plain = log_loss(GenerativeClassifier(naive))
    calibrated = GenerativeClassifier(naive, calibration=4)
    assert log_loss(calibrated) < 0.7 * plain
    np.testing.assert_allclose(calibrated.powers_.power, 0.25, atol=0.1)  # four copies
    assert log_loss(GenerativeClassifier(naive, calibration=0.3)) < 0.8 * plain


@pytest.mark.long
def test_processes_side_by_side_change_nothing(iris):
    X, y = iris
    alone = GenerativeClassifier(PPCA(2), calibration=2).fit(X, y)
    together = GenerativeClassifier(PPCA(2), calibration=2, n_jobs=2).fit(X, y)
    np.testing.assert_allclose(together.predict_proba(X), alone.predict_proba(X), rtol=1e-10)


def test_files(fitted, iris, tmp_path):
    fitted.save(tmp_path / "model.safetensors")
    again = manyviews.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(
        again.predict_proba(iris[0][:5]), fitted.predict_proba(iris[0][:5])
    )


class Nothing(BaseEstimator):
    def fit(self, X):
        return self


def test_clear_errors(iris):
    X, y = iris
    with pytest.raises(OptionError, match="priors"):
        GenerativeClassifier(GaussianMixture(1), priors=[1, 2]).fit(X, y)
    with pytest.raises(OptionError, match="lack the classes"):
        GenerativeClassifier(GaussianMixture(1), priors={0: 1}).fit(X, y)
    with pytest.raises(DataError, match="class 2 has 1 rows"):
        GenerativeClassifier(GaussianMixture(1)).fit(X[:101], y[:101])
    with pytest.raises(OptionError, match="score_samples"):
        GenerativeClassifier(Nothing()).fit(X, y)
    with pytest.raises(OptionError, match="reject_share"):
        GenerativeClassifier(GaussianMixture(1)).fit(X, y).reject(X)


@pytest.fixture(scope="module")
def flowers(iris):
    X, y = iris
    return {"sepal": X[:, :2], "petal": X[:, 2:]}, np.array(["ada", "bob", "cyd"])[y]


@pytest.fixture(scope="module")
def of_views(flowers):
    views, y = flowers
    return GenerativeClassifier(ProbabilisticCCA(1), reject_share=0.02).fit(views, y)


def test_several_views_by_bayes_rule_over_models_of_each_class(of_views, flowers):
    views, y = flowers
    parts = [
        {name: view[y == label] for name, view in views.items()} for label in of_views.classes_
    ]
    models = [ProbabilisticCCA(1).fit(part) for part in parts]
    for new in (views, {"petal": views["petal"]}, [views["sepal"], None]):
        joint = np.stack([model.score_samples(new) for model in models], axis=1) + np.log(1 / 3)
        expected = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))
        np.testing.assert_allclose(of_views.predict_proba(new), expected, atol=1e-10)
    assert (of_views.predict(views) == y).mean() > 0.95
    assert (of_views.predict({"petal": views["petal"]}) == y).mean() > 0.9
    assert of_views.reject({"sepal": [[5.0, 13.0]], "petal": [[9.0, 0.0]]}).all()


def test_views_come_back_from_files_and_are_divided_by_rows(of_views, flowers, tmp_path):
    views, y = flowers
    of_views.save(tmp_path / "model.safetensors")
    again = manyviews.load(tmp_path / "model.safetensors")
    new = {"petal": views["petal"][::20]}
    np.testing.assert_array_equal(again.predict_proba(new), of_views.predict_proba(new))
    calibrated = GenerativeClassifier(ProbabilisticCCA(1), calibration=3)
    assert cross_val_score(calibrated, Views(views), y, cv=3).mean() > 0.9


def test_labels_of_named_samples_are_matched_by_name(of_views, flowers):
    views, y = flowers
    names = [f"s{i}" for i in range(len(y))]
    frames = {name: pd.DataFrame(view, names) for name, view in views.items()}
    shuffled = pd.Series(y, names).sample(frac=1.0, random_state=0)
    again = GenerativeClassifier(ProbabilisticCCA(1)).fit(frames, shuffled)
    np.testing.assert_allclose(again.predict_proba(views), of_views.predict_proba(views))
    with pytest.raises(DataError, match="y lacks the sample 's0'"):
        GenerativeClassifier(ProbabilisticCCA(1)).fit(frames, pd.Series(y))


def test_the_default_density_of_views_and_its_inducing_inputs(flowers):
    views, y = flowers
    model = GenerativeClassifier(MRD(1, {"sepal": 5, "petal": 90}))
    part = Views(views)[y == "ada"]
    assert model._new_model(part).n_inducing == {"sepal": 5, "petal": 50}
    assert isinstance(GenerativeClassifier()._new_model(part), MRD)


def test_clear_errors_about_views(fitted, of_views, flowers):
    views, y = flowers
    with pytest.raises(OptionError, match="PPCA takes one table"):
        GenerativeClassifier(PPCA(1)).fit(views, y)
    with pytest.raises(DataError, match="fitted to one table"):
        fitted.predict(views)
    with pytest.raises(DataError, match="unknown view 'leaf'"):
        of_views.predict({"leaf": views["petal"]})
    holes = {"sepal": views["sepal"].copy(), "petal": views["petal"]}
    holes["sepal"][y == "bob"] = np.nan
    with pytest.raises(DataError, match=r"class 'bob': .* view 'sepal'"):
        GenerativeClassifier(ProbabilisticCCA(1)).fit(holes, y)

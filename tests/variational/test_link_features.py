import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel

from manyviews.variational import link_features
from manyviews.variational.link_features import LinkFeatures
from manyviews.variational.link_regression import LinkRegression, left_out
from manyviews.variational.residual_link import ResidualLink


@pytest.fixture
def inputs(rng):
    return rng.normal(size=(40, 3)) * [1.0, 10.0, 0.1] + 5.0


def standardised(inputs):
    return (inputs - inputs.mean(axis=0)) / inputs.std(axis=0)


def test_products_of_features_are_a_covariance(inputs):
    z = standardised(inputs)
    straight, *curved = LinkFeatures.candidates(inputs)
    np.testing.assert_allclose(straight(inputs) @ straight(inputs).T, z @ z.T / 3)
    for features in curved:
        k = np.exp(-features.curves.gamma * cdist(z, z, "sqeuclidean"))
        found = features(inputs)
        np.testing.assert_allclose(found @ found.T, z @ z.T / 3 + k, atol=1e-4)


def test_few_anchors_explain_less_than_all(inputs, monkeypatch):
    whole = LinkFeatures.candidates(inputs)[1]
    monkeypatch.setattr(link_features, "MOST_ANCHORS", 10)
    some = LinkFeatures.candidates(inputs)[1]
    assert len(some.curves.components_) == 10
    missing = np.sum(whole(inputs) ** 2, axis=1) - np.sum(some(inputs) ** 2, axis=1)
    assert (missing > -1e-4).all()
    assert missing.max() > 0.01


def test_a_regression_on_features_is_gaussian_process_regression(inputs, rng):
    features = LinkFeatures.candidates(inputs)[2]
    z, y = standardised(inputs), rng.normal(size=(40, 2))
    y = y - y.mean(axis=0)
    regression = LinkRegression(features, inputs)
    regression.table, regression.centre = (
        features(inputs),
        0.0,
    )  # a process without a mean of its own
    regression.U, regression.s, _ = np.linalg.svd(regression.table, full_matrices=False)
    predicted = features(inputs[:5] + 0.3) @ regression.coefficients(y, 0.5)
    kernel = (
        ConstantKernel(1 / 3) * DotProduct(0.0)
        + RBF((2.0 * features.curves.gamma) ** -0.5)
        + WhiteKernel(0.5)
    )
    process = GaussianProcessRegressor(kernel, optimizer=None, alpha=0.0).fit(z, y)
    new = features.scaler.transform(inputs[:5] + 0.3)
    np.testing.assert_allclose(predicted, process.predict(new), atol=2e-4)


def test_wide_and_narrow_features_are_decomposed_alike(rng):
    narrow = rng.normal(size=(30, 4))
    wide = np.hstack([narrow, np.zeros((30, 50))])
    y, seen = rng.normal(size=(30, 2)), np.ones((30, 2), bool)
    found = []
    for inputs in (narrow, wide):
        regression = LinkRegression(LinkFeatures.candidates(inputs)[0], inputs)
        scale = inputs.shape[1]
        errors = left_out(regression.U, regression.s, y, 0 * y, seen, 3.0 / scale)
        found.append((errors.errors, regression.coefficients(y, 3.0 / scale)[:4] / scale**0.5))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-10)


def test_rows_that_are_all_alike_have_straight_features_only():
    assert len(LinkFeatures.candidates(np.ones((20, 3)))) == 1
    assert len(LinkFeatures.candidates(np.empty((20, 0)))) == 1


def test_a_curve_that_the_latent_space_misses_is_found(rng):
    inputs = rng.uniform(-2, 2, size=(120, 1))
    Y = inputs**2 + 0.1 * rng.normal(size=(120, 1))
    nothing, variance = np.zeros_like(Y), np.ones_like(Y)
    link = ResidualLink.fit(inputs, Y, nothing, variance)
    new = np.linspace(-1.8, 1.8, 20)[:, None]
    found = link.adjustment(new, np.zeros_like(new), np.ones_like(new))
    np.testing.assert_allclose(found.centre, new**2, atol=0.2)
    np.testing.assert_allclose(found.stretch, 0.1, rtol=0.3)


def test_a_latent_mean_beyond_all_values_is_not_believed(rng):
    inputs, mean = rng.normal(size=(50, 2)), rng.normal(size=(50, 1))
    Y = mean + 0.1 * rng.normal(size=mean.shape)
    link = ResidualLink.fit(inputs, Y, mean, np.ones_like(mean))
    wild = link.adjustment(inputs[:1], np.array([[1000.0]]), np.ones((1, 1)))
    assert wild.centre < Y.max() + Y.std()


def test_a_column_without_values_is_no_obstacle(rng):
    inputs, mean = rng.normal(size=(30, 2)), rng.normal(size=(30, 2))
    Y = mean + 0.1 * rng.normal(size=mean.shape)
    Y[:, 1] = np.nan
    link = ResidualLink.fit(inputs, Y, mean, np.ones_like(mean))
    assert np.isfinite(link.adjustment(inputs, mean, np.ones_like(mean)).centre).all()


def test_a_view_that_is_known_exactly_keeps_a_width(rng):
    inputs = rng.normal(size=(30, 2))
    link = ResidualLink.fit(inputs, inputs, inputs, np.ones_like(inputs))
    assert (link.adjustment(inputs, inputs, np.ones_like(inputs)).stretch > 0).all()


def test_a_latent_model_that_is_no_better_is_left_out(rng):
    inputs = rng.normal(size=(25, 2))
    signal = inputs @ rng.normal(size=(2, 4))
    Y = signal + 0.3 * rng.normal(size=signal.shape)
    no_better = signal + 0.1 * rng.normal(size=signal.shape)
    far_better = Y + 0.02 * rng.normal(size=signal.shape)
    links = [ResidualLink.fit(inputs, Y, m, np.ones_like(m)) for m in (no_better, far_better)]
    assert [link.share > 0.5 for link in links] == [False, True]

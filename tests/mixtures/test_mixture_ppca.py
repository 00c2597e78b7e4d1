"""Mixtures of probabilistic PCA, by EM and with a Dirichlet process."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.mixture import GaussianMixture

import manyviews
from manyviews import DirichletPPCA, MixturePPCA
from manyviews.errors import DataError, OptionError
from manyviews.linear import PPCA
from manyviews.linear.closed_form import principal_ppca
from manyviews.mixtures import choose_n_clusters, dirichlet_fit
from manyviews.mixtures.mixture_em import fit_em, local_models


def three_clusters(n=150, D=4, seed=0):
    """Lines in three directions, far apart, with noise of a different size each."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    means, W = 5.0 * np.eye(3, D), 1.5 * rng.normal(size=(3, D))
    noise = np.array([0.1, 0.2, 0.4])[labels, None]
    X = means[labels] + rng.normal(size=(n, 1)) * W[labels] + noise * rng.normal(size=(n, D))
    return X, labels


@pytest.fixture(scope="module")
def fitted():
    X, _ = three_clusters()
    return MixturePPCA(3, 1, n_restarts=2, random_state=0).fit(X), X


@pytest.fixture(scope="module")
def sampled():
    X, _ = three_clusters(60)
    options = {"n_chains": 1, "n_sweeps": 60, "thin": 3, "move_rate": 0.0}
    model = DirichletPPCA(1, random_state=0, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dirichlet_fit, "START_SIZES", (3,))
        return model.fit(X), X


def agreement(a, b):
    return np.mean((a[:, None] == a[None, :]) == (b[:, None] == b[None, :]))


# ---------------------------------------------------------------------- maximum likelihood


@pytest.mark.parametrize("q", [1, 2, 4])
def test_one_cluster_is_ppca(q):
    X, _ = three_clusters()
    exact = {"regularisation": 0.0, "tol": 1e-12, "scaling": "none"}
    mixture, single = MixturePPCA(1, q, **exact).fit(X), PPCA(min(q, 3), scaling="none").fit(X)
    np.testing.assert_allclose(mixture.score_samples(X), single.score_samples(X), rtol=1e-9)
    np.testing.assert_allclose(mixture.lower_bound_, single.lower_bound_, rtol=1e-10)
    noise = mixture.mixture_.noise[0]
    np.testing.assert_allclose(noise, np.diag(single.noise_variance_), rtol=1e-9, atol=1e-12)
    torn = X[:5].copy()
    torn[:, 1] = np.nan
    np.testing.assert_allclose(mixture.impute(torn), single.impute(torn), rtol=1e-8)
    np.testing.assert_allclose(mixture.predict(torn), single.predict(torn), rtol=1e-8)


def test_one_cluster_with_missing_values_is_ppca():
    X, _ = three_clusters(60)
    rng = np.random.default_rng(0)
    X = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    exact = {"tol": 1e-11, "scaling": "none", "max_iter": 5000}
    mixture = MixturePPCA(1, 1, regularisation=0.0, **exact).fit(X)
    single = PPCA(1, **exact).fit(X)
    np.testing.assert_allclose(mixture.lower_bound_, single.lower_bound_, rtol=1e-6)
    np.testing.assert_allclose(mixture.impute(X), single.impute(X), atol=1e-2)


def test_the_local_model_has_the_largest_likelihood(rng):
    half = rng.normal(size=(5, 12))
    S = half @ half.T / 12

    def value(W, noise):
        C = W @ W.T + noise
        return -np.linalg.slogdet(C)[1] - np.trace(np.linalg.solve(C, S))

    W, noise = principal_ppca(S, 2)
    np.testing.assert_allclose(noise, noise[0, 0] * np.eye(5))
    best = value(W, noise)
    for size in (1e-3, 0.03, 0.3):
        for _ in range(50):
            other = noise * np.exp(size * rng.normal())
            assert value(W + size * rng.normal(size=W.shape), other) < best
    W, noise = principal_ppca(S, 5)  # more than leave a variance: any covariance
    np.testing.assert_allclose(W @ W.T + noise, S, atol=1e-12)


@pytest.mark.parametrize("holes", [0.0, 0.15])
def test_em_never_lowers_its_objective(rng, holes):
    X, _ = three_clusters()
    X = (X - X.mean(0)) / X.std(0)
    X[rng.random(X.shape) < holes] = np.nan
    solve = partial(principal_ppca, n_components=2)
    start = local_models(X, rng.integers(0, 3, len(X)), solve, 1e-6)
    _, trace, _ = fit_em(
        X, start, lambda S, W, noise: solve(S), regularisation=0.02, max_iter=60, tol=0.0
    )
    assert np.diff(trace).min() > -1e-8 * abs(trace[-1])
    assert trace[-1] > trace[0] + 1.0


def test_as_many_components_as_columns_are_scikit_learns_gaussian_mixture():
    X, labels = three_clusters()
    start = np.stack([X[labels == k].mean(0) for k in range(3)])
    full = GaussianMixture(3, means_init=start, reg_covar=0.0, tol=1e-10, max_iter=1000).fit(X)
    model = MixturePPCA(3, 4, regularisation=0.0, scaling="none", tol=1e-10, random_state=0).fit(X)
    assert model.score(X) == pytest.approx(full.score(X), abs=1e-6)
    assert model.n_parameters() == 3 * (4 + 10) + 2
    assert model.bic(X) == pytest.approx(full.bic(X), abs=1e-3)


def test_clusters_densities_and_predictions(fitted):
    model, X = fitted
    labels = three_clusters()[1]
    assert agreement(model.labels_, labels) > 0.99
    np.testing.assert_array_equal(model.predict_cluster(X), model.labels_)
    torn = X[:8].copy()
    torn[:, 2] = np.nan
    found, scale = model.mixture_, model.scaling_.scale[0]
    scaled = (torn - model.scaling_.centre) / model.scaling_.scale
    seen = [0, 1, 3]
    parts = np.stack([
        stats.multivariate_normal(mean[seen], C[np.ix_(seen, seen)]).pdf(scaled[:, seen])
        for mean, C in zip(found.means, found.covariances, strict=True)
    ], axis=1) * np.exp(found.log_weights)  # fmt: skip
    share = parts / parts.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.responsibilities(torn), share, atol=1e-9)
    expected = np.log(parts.sum(axis=1)) - 3 * np.log(scale)
    np.testing.assert_allclose(model.score_samples(torn), expected, rtol=1e-9)
    means = [
        mean[2]
        + (scaled[:, seen] - mean[seen]) @ np.linalg.solve(C[np.ix_(seen, seen)], C[seen, 2])
        for mean, C in zip(found.means, found.covariances, strict=True)
    ]
    wanted = model.scaling_.centre[2] + scale * np.sum(share * np.stack(means, axis=1), axis=1)
    filled, std = model.impute(torn, return_std=True)
    np.testing.assert_allclose(filled[:, 2], wanted, rtol=1e-8)
    np.testing.assert_allclose(model.predict(torn)[:, 2], wanted, rtol=1e-8)
    assert (std[:, 2] > 0).all()
    drawn = model.sample(4000, random_state=0)
    np.testing.assert_allclose(drawn.mean(0), X.mean(0), atol=0.2)
    np.testing.assert_allclose(np.cov(drawn.T), np.cov(X.T), atol=0.5)


def test_frames_files_and_the_number_of_clusters(fitted, tmp_path):
    _, X = fitted
    frame = pd.DataFrame(X, columns=list("abcd")).rename(index="r{}".format)
    base = MixturePPCA(2, n_restarts=2, random_state=0)
    best, table = choose_n_clusters(base, frame, (1, 3, 5), criterion="bic")
    assert best.n_clusters == 3
    assert table["bic"].idxmin() == 3
    again, table = choose_n_clusters(base, frame, (1, 3), n_folds=2)
    assert again.n_clusters == 3
    assert (table["held_out_error"] > 0).all()
    share = best.responsibilities(frame.iloc[:2])
    assert list(share.index) == ["r0", "r1"]
    best.save(tmp_path / "model.safetensors")
    loaded = manyviews.load(tmp_path / "model.safetensors")
    pd.testing.assert_frame_equal(loaded.impute(frame), best.impute(frame))


def test_wrong_input_gets_a_plain_answer():
    X, _ = three_clusters(12)
    with pytest.raises(OptionError, match="more than the 4 columns"):
        MixturePPCA(2, 5).fit(X)
    with pytest.raises(DataError, match="n_clusters=13"):
        MixturePPCA(13).fit(X)
    X[0, 0] = np.nan
    with pytest.raises(OptionError, match="gibbs"):
        DirichletPPCA(inference="variational").fit(X)


# ---------------------------------------------------------------------- Dirichlet process


@pytest.mark.long
def test_chains_find_the_clusters(sampled):
    model, X = sampled
    labels = three_clusters(60)[1]
    assert model.n_clusters_ == 3
    assert agreement(model.labels_, labels) > 0.99
    np.testing.assert_array_equal(model.predict_cluster(X), model.labels_)
    assert model.n_clusters_posterior().sum() == pytest.approx(1.0)
    assert model.similarity().shape == (60, 60)
    new, _ = three_clusters(200, seed=0)
    truth = MixturePPCA(3, 1, random_state=0).fit(X)
    assert model.score(new[60:]) > truth.score(new[60:]) - 0.3
    noise = model.clusters_.noise
    np.testing.assert_allclose(noise, noise[:, :1, :1] * np.eye(4), rtol=1e-10)
    assert model.transform(X).shape == (60, 1)


def test_predictions_average_over_the_kept_states(sampled):
    """Moments of column 1 given the others through x, component by component of all states."""
    model, X = sampled
    torn = X[:6].copy()
    torn[:, 1] = np.nan
    found, seen = model.mixture_, [0, 2, 3]
    scaled = ((torn - model.scaling_.centre) / model.scaling_.scale)[:, seen]
    weights, means, variances = [], [], []
    for k, (mu, W, C) in enumerate(
        zip(found.means, found.loadings, found.covariances, strict=True)
    ):
        known = C[np.ix_(seen, seen)]
        density = stats.multivariate_normal(mu[seen], known).pdf(scaled)
        weights.append(np.exp(found.log_weights[k]) * density)
        gain = np.linalg.solve(known, W[seen]).T
        means.append(mu[1] + (scaled - mu[seen]) @ gain.T @ W[1])
        left = np.eye(1) - gain @ W[seen]
        variances.append(np.full(6, W[1] @ left @ W[1] + found.noise[k, 1, 1]))
    share = np.stack(weights) / np.sum(weights, axis=0)
    centre = np.sum(share * means, axis=0)
    spread = np.sum(share * (variances + (means - centre) ** 2), axis=0)
    mean, std = model.predict(torn, return_std=True)
    scale = model.scaling_.scale[1]
    np.testing.assert_allclose(mean[:, 1], model.scaling_.centre[1] + scale * centre, rtol=1e-7)
    np.testing.assert_allclose(std[:, 1], scale * np.sqrt(spread), rtol=1e-7)
    filled, error = model.impute(torn, return_std=True)
    # given more than x: the columns of the component of none of these are correlated beside it
    np.testing.assert_allclose(mean[:, 1], filled[:, 1], atol=0.02)
    assert np.mean(np.abs(filled[:, 1] - X[:6, 1]) < 3 * error[:, 1]) > 0.8


def test_variational_finds_the_clusters_and_never_lowers_its_bound():
    X, labels = three_clusters(120)
    options = {"inference": "variational", "max_clusters": 6, "n_restarts": 2, "tol": 1e-7}
    model = DirichletPPCA(1, random_state=0, max_iter=1500, **options).fit(X)
    assert model.n_clusters_ == 3
    assert agreement(model.labels_, labels) > 0.99
    assert np.diff(model.bound_trace_).min() > -1e-7
    truth = MixturePPCA(3, 1, random_state=0).fit(X)
    new, _ = three_clusters(300, seed=0)
    assert model.score(new[120:]) > truth.score(new[120:]) - 0.2
    with pytest.raises(OptionError, match="variationally"):
        model.diagnostics()

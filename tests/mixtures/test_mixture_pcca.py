"""Mixtures of PCCA by EM, and what every mixture model answers."""

from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, linalg, stats
from sklearn.base import clone

import manyviews
from manyviews import MixturePCCA
from manyviews.errors import ConvergenceWarning, DataError, FactorisationError, OptionError
from manyviews.linear.closed_form import canonical_pcca, same_view
from manyviews.mixtures import JointMixture, choose_n_clusters
from manyviews.mixtures.mixture_em import em_step, expected_moments, fit_em, local_models


def three_clusters(n=240, sizes=(3, 2), seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    D = sum(sizes)
    labels = rng.integers(0, 3, n)
    means, W = 4.0 * rng.normal(size=(3, D)), rng.normal(size=(3, D, 1))
    Y = means[labels] + (W[labels] @ rng.normal(size=(n, 1, 1)))[..., 0]
    Y += noise * rng.normal(size=(n, D))
    edges = np.cumsum((0, *sizes))
    views = {f"v{i}": Y[:, a:b] for i, (a, b) in enumerate(pairwise(edges))}
    return views, labels


@pytest.fixture(scope="module")
def fitted():
    views, _ = three_clusters()
    return MixturePCCA(3, 1, random_state=0).fit(views), views


def random_mixture(rng, K=3, D=5, q=2, sizes=(3, 2)):
    half = rng.normal(size=(K, D, D + 2))
    noise = np.where(same_view(sizes), half @ half.transpose(0, 2, 1) / D, 0.0)
    weights = rng.dirichlet(np.ones(K))
    return JointMixture(np.log(weights), rng.normal(size=(K, D)), rng.normal(size=(K, D, q)), noise)


# ---------------------------------------------------------------------- the Gaussian mixture


def test_densities_are_scipys_with_missing_values_integrated_out(rng):
    mixture = random_mixture(rng)
    Y = rng.normal(size=(20, 5))
    Y[rng.random(Y.shape) < 0.3] = np.nan
    Y[0] = np.nan
    Y[0, 1] = 0.3
    expected = []
    for y in Y:
        seen = ~np.isnan(y)
        parts = [
            w * stats.multivariate_normal(m[seen], C[np.ix_(seen, seen)]).pdf(y[seen])
            for w, m, C in zip(np.exp(mixture.log_weights), mixture.means, mixture.covariances,
                               strict=True)
        ]  # fmt: skip
        expected.append(np.log(sum(parts)))
    np.testing.assert_allclose(mixture.log_density(Y), expected, rtol=1e-10)


def test_a_conditional_is_the_joint_over_the_marginal(rng):
    mixture = random_mixture(rng)
    known = np.full((1, 5), np.nan)
    known[0, [0, 2]] = [0.4, -0.7]
    wanted = np.array([3, 1])
    (part,) = mixture.condition(known, wanted)
    for point in rng.normal(size=(5, 2)):
        both = known.copy()
        both[0, wanted] = point
        expected = mixture.log_density(both) - mixture.log_density(known)
        parts = [
            part.weights[0, k]
            * stats.multivariate_normal(part.means[0, k], part.covariances[k]).pdf(point)
            for k in range(3)
        ]
        np.testing.assert_allclose(np.log(sum(parts)), expected[0], rtol=1e-9)


def test_latents_are_the_posterior_of_the_linear_gaussian_model(rng):
    mixture = random_mixture(rng)
    y = rng.normal(size=(1, 5))
    mean, std = mixture.latent(y)
    for k in range(3):
        W, psi = mixture.loadings[k], mixture.noise[k]
        M = np.linalg.inv(np.eye(2) + W.T @ np.linalg.solve(psi, W))
        expected = M @ W.T @ np.linalg.solve(psi, y[0] - mixture.means[k])
        np.testing.assert_allclose(mean[0, k], expected, rtol=1e-8)
        np.testing.assert_allclose(std[0, k], np.sqrt(np.diag(M)), rtol=1e-8)


def test_a_singular_covariance_is_named():
    flat = JointMixture(np.zeros(1), np.zeros((1, 2)), np.zeros((1, 2, 1)), np.zeros((1, 2, 2)))
    with pytest.raises(FactorisationError, match="component 0 is singular"):
        flat.log_density(np.zeros((1, 2)))


# ---------------------------------------------------------------------- EM


@pytest.mark.parametrize("closed_form", [True, False])
@pytest.mark.parametrize("holes", [0.0, 0.15])
def test_em_never_lowers_its_objective(rng, closed_form, holes):
    views, _ = three_clusters(150)
    Y = np.concatenate(list(views.values()), axis=1)
    Y = (Y - Y.mean(0)) / Y.std(0)
    Y[rng.random(Y.shape) < holes] = np.nan
    solve = partial(canonical_pcca, sizes=(3, 2), n_components=2)
    start = local_models(Y, rng.integers(0, 3, len(Y)), solve, 1e-6)
    by_em = partial(em_step, blocks=same_view((3, 2)))
    step = (lambda S, W, noise: solve(S)) if closed_form else by_em
    _, trace, _ = fit_em(Y, start, step, regularisation=0.02, max_iter=60, tol=0.0)
    assert np.diff(trace).min() > -1e-8 * abs(trace[-1])
    assert trace[-1] > trace[0] + 1.0


def test_one_cluster_by_em_is_the_closed_form_is_cca():
    views, _ = three_clusters(200)
    options = {"regularisation": 0.0, "tol": 1e-12, "max_iter": 20_000, "scaling": "none"}
    em = MixturePCCA(1, 2, m_step="em", **options).fit(views)
    closed = MixturePCCA(1, 2, m_step="closed-form", **options).fit(views)
    np.testing.assert_allclose(em.objective_, closed.objective_, atol=1e-6)
    np.testing.assert_allclose(em.mixture_.covariances, closed.mixture_.covariances, atol=1e-4)
    Y1, Y2 = (v - v.mean(0) for v in views.values())
    S11, S12, S22 = Y1.T @ Y1, Y1.T @ Y2, Y2.T @ Y2
    white = linalg.solve_triangular(np.linalg.cholesky(S11), S12, lower=True)
    white = linalg.solve_triangular(np.linalg.cholesky(S22), white.T, lower=True)
    correlations = np.linalg.svd(white, compute_uv=False)
    entropy = sum(np.linalg.slogdet(S / 200)[1] for S in (S11, S22))
    likelihood = -0.5 * 200 * (5 * np.log(2 * np.pi) + entropy + 5)
    likelihood -= 0.5 * 200 * np.log(1 - correlations**2).sum()  # the mutual information
    np.testing.assert_allclose(closed.score_samples(views).sum(), likelihood, rtol=1e-9)


def test_an_em_step_of_a_start_far_away_raises_the_likelihood(rng):
    half = rng.normal(size=(7, 20))
    S, sizes = half @ half.T / 20, (2, 2, 3)
    blocks = same_view(sizes)
    W, psi = rng.normal(size=(7, 2)), np.where(blocks, S, 0.0)

    def value(W, psi):
        C = W @ W.T + psi
        return -np.linalg.slogdet(C)[1] - np.trace(np.linalg.solve(C, S))

    values = [value(W, psi)]
    for _ in range(30):
        W, psi = em_step(S, W, psi, blocks)
        values.append(value(W, psi))
    assert np.diff(values).min() > 0
    start = canonical_pcca(S, sizes, 2)
    assert np.linalg.eigvalsh(start[1])[0] > 0  # a valid start for three views
    assert value(*start) > values[0]


def test_moments_of_missing_values_by_monte_carlo(rng):
    mixture = random_mixture(rng, K=1)
    y = np.array([[0.5, np.nan, -0.2, np.nan, 1.0]])
    moments = expected_moments(mixture, y)
    (part,) = mixture.condition(y, np.array([1, 3]))
    drawn = rng.multivariate_normal(part.means[0, 0], part.covariances[0], size=200_000)
    full = np.tile(y, (len(drawn), 1))
    full[:, [1, 3]] = drawn
    np.testing.assert_allclose(moments.first[0], full.mean(0), atol=0.02)
    np.testing.assert_allclose(moments.second[0], full.T @ full / len(full), atol=0.05)


def test_clusters_are_found_and_training_with_holes_too(fitted):
    model, views = fitted
    _, labels = three_clusters()
    assert _same_partition(model.labels_, labels) > 0.97
    rng = np.random.default_rng(1)
    torn = {k: np.where(rng.random(v.shape) < 0.1, np.nan, v) for k, v in views.items()}
    torn["v0"][:20] = np.nan
    torn["v1"][:20] = views["v1"][:20]
    assert _same_partition(MixturePCCA(3, 1, random_state=0).fit(torn).labels_, labels) > 0.93


def _same_partition(a, b):
    return np.mean((a[:, None] == a[None, :]) == (b[:, None] == b[None, :]))


def test_regularisation_keeps_clusters_from_shrinking_onto_points():
    rng = np.random.default_rng(0)
    views = [np.repeat(rng.normal(size=(8, 2)), 4, axis=0) for _ in range(2)]
    model = MixturePCCA(6, 1, random_state=0).fit(views)
    assert np.isfinite(model.objective_)
    assert np.linalg.eigvalsh(model.mixture_.covariances).min() > 1e-4


def test_more_than_two_views():
    views, labels = three_clusters(300, sizes=(2, 3, 2))
    model = MixturePCCA(3, 1, random_state=0, max_iter=2000).fit(views)
    assert _same_partition(model.labels_, labels) > 0.97
    mean = model.predict({"v0": views["v0"], "v2": views["v2"]}, "v1")
    assert np.mean((mean - views["v1"]) ** 2) < 0.3 * views["v1"].var()
    with pytest.raises(OptionError, match="two views"):
        MixturePCCA(3, 1, m_step="closed-form").fit(views)


@pytest.mark.long
def test_the_number_of_clusters_is_found():
    views, _ = three_clusters(200)
    base = MixturePCCA(n_restarts=2, random_state=0)
    best, table = choose_n_clusters(base, views, (1, 2, 3, 5), n_folds=3)
    assert best.n_clusters == 3
    assert table["score"].is_monotonic_increasing
    assert choose_n_clusters(base, views, (1, 3, 5), criterion="bic")[0].n_clusters == 3
    with pytest.raises(OptionError, match="criterion"):
        choose_n_clusters(base, views, (1, 2), criterion="aic")
    # two views, q = 1: means 5, Ψ 6 + 3, W 5 less one for the scale between the views
    assert best.n_parameters() == 3 * (5 + 9 + 4) + 2


# ---------------------------------------------------------------------- the protocol


def test_predictions_moments_and_draws_agree(fitted):
    model, views = fitted
    new = {"v0": views["v0"][:6]}
    mean, std = model.predict(new, "v1", return_std=True)
    again, covariance = model.predict(new, "v1", return_cov=True)
    np.testing.assert_allclose(mean, again)
    np.testing.assert_allclose(std, np.sqrt(np.diagonal(covariance, axis1=1, axis2=2)))
    drawn = model.predict(new, "v1", n_samples=20_000, random_state=0)
    np.testing.assert_allclose(drawn.mean(0), mean, atol=0.05)
    np.testing.assert_allclose(drawn.std(0), std, rtol=0.05)
    by_name = model.predict([views["v0"][:6], None])
    np.testing.assert_allclose(by_name["v1"], mean)
    modes = model.predict_modes(new, "v1")
    np.testing.assert_allclose(modes.weights.sum(axis=1), 1.0, atol=1e-4)
    pooled = np.einsum("ns,nsd->nd", modes.weights, modes.means)
    np.testing.assert_allclose(pooled, mean, atol=1e-3)


def test_predictive_densities_integrate_to_one(fitted):
    model, views = fitted
    lines = [np.linspace(-25, 25, 401)] * 2
    points = np.stack(np.meshgrid(*lines), axis=-1).reshape(-1, 2)
    for given in (None, {"v0": views["v0"][:2]}):
        density = model.predictive_density(given, "v1", points)
        total = integrate.simpson(integrate.simpson(
            density.reshape(-1, 401, 401), x=lines[0]), x=lines[0])  # fmt: skip
        np.testing.assert_allclose(total, 1.0, atol=0.01)
    single = model.predictive_density(None, "v1", lines[0][:, None], columns=[1])
    np.testing.assert_allclose(integrate.simpson(single, x=lines[0]), 1.0, atol=0.01)
    joint = model.score_samples({k: v[:2] for k, v in views.items()})
    marginal = model.score_samples({"v0": views["v0"][:2]})
    conditional = model.predictive_density({"v0": views["v0"][:2]}, "v1", views["v1"][:2])
    np.testing.assert_allclose(np.log(np.diag(conditional)), joint - marginal, rtol=1e-8)


def test_two_answers_to_one_question():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, 300)
    side = np.where(rng.random(300) < 0.4, 1.0, -1.0)
    views = {"x": np.stack([x, -x], 1) + 0.02 * rng.normal(size=(300, 2)),
             "y": np.stack([3 * side + x, x], 1) + 0.02 * rng.normal(size=(300, 2))}  # fmt: skip
    model = MixturePCCA(4, 1, random_state=0).fit(views)
    modes = model.predict_modes({"x": [[0.2, -0.2]]}, "y")
    assert modes.weights.shape == (1, 2)
    np.testing.assert_allclose(modes.weights[0].sum(), 1.0, atol=1e-6)
    np.testing.assert_allclose(sorted(modes.means[0, :, 0]), [-2.8, 3.2], atol=0.2)


def test_missing_values_and_imputation(fitted):
    model, views = fitted
    torn = {k: v[:10].copy() for k, v in views.items()}
    torn["v0"][0, 1] = np.nan
    torn["v1"][3] = np.nan
    filled, std = model.impute(torn, return_std=True)
    seen = ~np.isnan(torn["v0"])
    np.testing.assert_array_equal(filled["v0"][seen], torn["v0"][seen])
    np.testing.assert_allclose(filled["v1"][3], model.predict({"v0": torn["v0"][[3]]}, "v1")[0])
    assert std["v0"][0, 1] > 0
    assert std["v0"][0, 0] == 0
    assert np.isfinite(model.transform(torn)).all()
    assert np.isfinite(model.score_samples(torn)).all()


def test_data_frames_files_and_clones(fitted, tmp_path):
    model, views = fitted
    frames = {k: pd.DataFrame(v, columns=[f"{k}.{j}" for j in range(v.shape[1])])
              .rename(index="s{}".format) for k, v in views.items()}  # fmt: skip
    other = clone(model).fit(frames)
    np.testing.assert_allclose(other.score(frames), model.score(views))
    answer = other.predict({"v0": frames["v0"].iloc[:3]}, "v1")
    assert list(answer.index) == ["s0", "s1", "s2"]
    assert list(answer.columns) == ["v1.0", "v1.1"]
    assert other.responsibilities(frames).shape == (240, 3)
    path = tmp_path / "mixture.safetensors"
    other.save(path)
    loaded = manyviews.load(path)
    np.testing.assert_array_equal(loaded.score_samples(frames), other.score_samples(frames))
    assert repr(loaded) == repr(other)
    drawn = model.sample(2000, random_state=0)
    np.testing.assert_allclose(drawn["v0"].mean(0), views["v0"].mean(0), atol=0.5)
    latent, std = model.transform(views, return_std=True)
    assert latent.shape == std.shape == (240, 1)


def test_wrong_input_gets_a_plain_answer(fitted):
    model, views = fitted
    with pytest.raises(DataError, match="at least two views"):
        MixturePCCA().fit({"only": views["v0"]})
    with pytest.raises(OptionError, match="no more than 2 latent"):
        MixturePCCA(2, 3).fit(views)
    with pytest.raises(DataError, match="n_clusters=9"):
        MixturePCCA(9).fit({k: v[:5] for k, v in views.items()})
    with pytest.raises(OptionError, match="no view 'v7'"):
        model.predict({"v0": views["v0"]}, "v7")
    with pytest.raises(OptionError, match="all views are given"):
        model.predict(views)
    with pytest.raises(DataError, match="nothing to predict from"):
        model.predict({"v1": views["v1"]}, "v1")
    with pytest.raises(OptionError, match="not for both"):
        model.predict({"v0": views["v0"]}, "v1", return_std=True, n_samples=3)
    with pytest.raises(OptionError, match="no column 'z'"):
        model.predictive_density(None, "v1", [[0.0]], columns=["z"])
    with pytest.raises(DataError, match=r"shape \(n, 2\)"):
        model.predictive_density(None, "v1", [[0.0]])
    with pytest.warns(ConvergenceWarning, match="not converged"):
        MixturePCCA(3, m_step="em", max_iter=2).fit(views)

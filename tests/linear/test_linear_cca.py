"""CCA, its kernel version and mutual information, against SciPy, each other and cca_zoo."""

import os
import subprocess

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.stats import multivariate_normal
from sklearn.cross_decomposition import CCA as IterativeCCA

from manyviews.errors import DataError, OptionError
from manyviews.linear import (
    CCA,
    KernelCCA,
    ProbabilisticCCA,
    feature_efficiency,
    gaussian_mutual_information,
)


@pytest.fixture
def views(rng):
    x = rng.normal(size=(200, 2))
    return {
        "a": x @ rng.normal(size=(2, 5)) + rng.normal(size=(200, 5)),
        "b": x @ rng.normal(size=(2, 4)) + rng.normal(size=(200, 4)),
        "c": x @ rng.normal(size=(2, 3)) + rng.normal(size=(200, 3)),
    }


def generalised_eigenvalues(tables, ridges):
    """C u = λ blkdiag(Σ_kk + r_k I) u, off-diagonal blocks on the left."""
    Z = np.hstack([Y - Y.mean(axis=0) for Y in tables])
    C = Z.T @ Z / len(Z)
    left, right = C.copy(), np.zeros_like(C)
    edge = 0
    for Y, ridge in zip(tables, ridges, strict=True):
        here = slice(edge, edge + Y.shape[1])
        right[here, here] = C[here, here] + ridge * np.eye(Y.shape[1])
        left[here, here] = 0.0
        edge += Y.shape[1]
    return eigh(left, right, eigvals_only=True)[::-1]


def pair(views):
    return {name: views[name] for name in "ab"}


def test_two_views_against_the_generalised_eigenproblem_and_scikit_learn(views):
    two = pair(views)
    model = CCA(3, scaling="none").fit(two)
    expected = generalised_eigenvalues(list(two.values()), [0.0, 0.0])[:3]
    np.testing.assert_allclose(model.canonical_correlations_, expected, atol=1e-9)
    variates = model.variates(two)
    for q in range(3):
        found = np.corrcoef(variates["a"][:, q], variates["b"][:, q])[0, 1]
        assert found == pytest.approx(expected[q], abs=1e-9)
    np.testing.assert_allclose(np.cov(variates["a"].T, bias=True), np.eye(3), atol=1e-9)
    theirs = IterativeCCA(1, max_iter=5000, tol=1e-12).fit(two["a"], two["b"])
    x, y = theirs.transform(two["a"], two["b"])
    assert np.corrcoef(x[:, 0], y[:, 0])[0, 1] == pytest.approx(expected[0], abs=1e-6)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_three_views_and_regularisation_against_the_generalised_eigenproblem(views, share):
    model = CCA(2, regularisation=share, scaling="none").fit(views)
    tables = list(views.values())
    ridges = [share * Y.var(axis=0).mean() for Y in tables]
    expected = generalised_eigenvalues(tables, ridges)[:2] / 2
    np.testing.assert_allclose(model.canonical_correlations_, expected, atol=1e-9)


def test_probabilistic_cca_has_the_correlations_and_the_predictions_of_cca(views):
    two = pair(views)
    plain, model = CCA(2).fit(two), ProbabilisticCCA(2).fit(two)
    climbed = ProbabilisticCCA(2, method="em", tol=1e-12).fit(two)
    np.testing.assert_allclose(model.canonical_correlations_, plain.canonical_correlations_)
    np.testing.assert_allclose(
        climbed.canonical_correlations_, plain.canonical_correlations_, atol=1e-5
    )
    assert climbed.lower_bound_ == pytest.approx(model.lower_bound_, abs=1e-4)
    given = {"a": two["a"][:9]}
    for other, tolerance in ((plain, 1e-8), (climbed, 1e-3)):
        for mine, theirs in zip(
            model.predict(given, "b", return_cov=True),
            other.predict(given, "b", return_cov=True),
            strict=True,
        ):
            np.testing.assert_allclose(mine, theirs, atol=tolerance)


def test_full_pcca_is_the_gaussian_conditional_of_the_sample_covariance(views):
    two = pair(views)
    model = ProbabilisticCCA(4).fit(two)
    Z = np.hstack(list(two.values()))
    S, m = np.cov(Z.T, bias=True), Z.mean(axis=0)
    gain = np.linalg.solve(S[:5, :5], S[:5, 5:])
    mean, cov = model.predict({"a": two["a"]}, "b", return_cov=True)
    np.testing.assert_allclose(mean, m[5:] + (two["a"] - m[:5]) @ gain, atol=1e-8)
    np.testing.assert_allclose(cov[0], S[5:, 5:] - S[5:, :5] @ gain, atol=1e-8)
    density = multivariate_normal(m, S).logpdf(Z)
    np.testing.assert_allclose(model.score_samples(two), density, atol=1e-7)


def test_three_views_by_em_share_what_they_share(rng):
    x = rng.normal(size=(600, 1))
    views = [x @ rng.normal(size=(1, 3)) + rng.normal(size=(600, 3)) for _ in range(3)]
    model = ProbabilisticCCA(1).fit(views)
    assert abs(np.corrcoef(model.latent_mean_[:, 0], x[:, 0])[0, 1]) > 0.85
    with pytest.raises(OptionError, match="two views"):
        _ = model.canonical_correlations_


def test_a_linear_kernel_is_cca(views):
    """κ of the kernel is D κ of the covariance."""
    two = pair(views)
    plain = CCA(2, regularisation={"a": 0.5, "b": 0.4}).fit(two)
    kernel = KernelCCA(2, kernel="linear", regularisation=0.1).fit(two)
    np.testing.assert_allclose(
        kernel.canonical_correlations_, plain.canonical_correlations_, atol=1e-8
    )
    new = {name: view[:20] + 0.1 for name, view in two.items()}
    mine, theirs = kernel.variates(new), plain.variates(new)
    for name in new:
        sign = np.sign(np.sum(mine[name] * theirs[name], axis=0))
        np.testing.assert_allclose(sign * mine[name], theirs[name], atol=1e-6)


def test_kernel_cca_sees_a_curve_that_cca_does_not(rng):
    t = rng.uniform(-1, 1, size=(300, 1))
    views = {
        "a": np.hstack([t, rng.normal(size=(300, 1))]),
        "b": np.hstack([t**2, rng.normal(size=(300, 1))]) + 0.02 * rng.normal(size=(300, 2)),
    }
    train = {name: view[:200] for name, view in views.items()}
    test = {name: view[200:] for name, view in views.items()}
    assert CCA(1).fit(train).score(test) < 0.3
    model = KernelCCA(1).fit(train)
    assert model.score(test) > 0.8
    error = model.predict({"a": test["a"]}, "b")[:, 0] - test["b"][:, 0]
    assert error.var() < 0.4 * test["b"][:, 0].var()


def test_kernel_cca_does_not_invent_correlations(rng):
    views = {name: rng.normal(size=(200, 3)) for name in "ab"}
    new = {name: rng.normal(size=(200, 3)) for name in "ab"}
    assert abs(KernelCCA(1).fit(views).score(new)) < 0.25


@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian", "cosine"])
def test_kernels_of_scikit_learn(views, kernel):
    model = KernelCCA(2, kernel={"a": kernel}, gamma={"b": 0.1}).fit(views)
    assert model.variates({"a": views["a"][:4]})["a"].shape == (4, 2)
    with pytest.raises(OptionError, match="feature space"):
        KernelCCA(500).fit(views)


def test_mutual_information_of_gaussians():
    rho = np.array([0.8, 0.3])
    C = np.eye(4)
    C[0, 2] = C[2, 0] = rho[0]
    C[1, 3] = C[3, 1] = rho[1]
    expected = -0.5 * np.log(np.linalg.det(C))
    assert gaussian_mutual_information(rho) == pytest.approx(expected)
    draws = np.random.default_rng(0).multivariate_normal(np.zeros(4), C, size=50_000)
    assert gaussian_mutual_information(draws[:, :2], draws[:, 2:]) == pytest.approx(
        expected, abs=0.02
    )
    assert gaussian_mutual_information([1.0]) == np.inf
    with pytest.raises(DataError, match="between 0 and 1"):
        gaussian_mutual_information([1.2])


def test_feature_efficiency_lies_between_nothing_and_all(rng):
    x, y = rng.normal(size=(4000, 1)), rng.normal(size=(4000, 1))
    assert feature_efficiency(x, np.exp(x)) == pytest.approx(1.0)
    assert feature_efficiency(x, y)[0] < 0.03
    half = feature_efficiency(x, x + y)[0]
    assert 0.05 < half < 0.5
    assert feature_efficiency(x, x + 0.1 * y)[0] > half
    with pytest.raises(DataError, match="pairs"):
        feature_efficiency(x, np.hstack([x, y]))


def test_the_toy_of_the_thesis(rng):
    """[Leen08, §3.6.1]: the population's canonical correlation is 0.8, and PCA does not see it."""
    roots = [np.array([[0.1, 0.3], [0.3, 1.0]]), np.array([[0.2, 0.1], [0.1, 1.0]])]
    x = rng.normal(size=(20_000, 1))
    views = [(x @ [[2.0, 0.0]] + rng.normal(size=(20_000, 2))) @ root for root in roots]
    model = ProbabilisticCCA(1).fit(views)
    assert model.canonical_correlations_[0] == pytest.approx(0.8, abs=0.01)
    for place in range(2):
        view = model.engine_.model.views[place]
        scale = model.scalings_[place].scale
        W = view.loadings[:, 0] * scale
        assert abs(W / np.linalg.norm(W) @ roots[place][0] / np.linalg.norm(roots[place][0])) > 0.99


THEIRS = """
import sys, numpy as np
from cca_zoo.linear import CCA, MCCA
from cca_zoo.nonparametric import KCCA
data = np.load(sys.argv[1])
views = [data[k] for k in "abc"]
def score(model, views):
    z = model.transform(views)
    C = [np.corrcoef(z[i][:, 0], z[j][:, 0])[0, 1] for i in range(len(z)) for j in range(i)]
    return float(np.mean(C))
print(score(CCA(1).fit(views[:2]), views[:2]))
print(score(MCCA(1).fit(views), views))
print(score(MCCA(1, shrinkage=0.3).fit(views), views))
print(score(KCCA(1, kernel="rbf", gamma=0.1, shrinkage=0.2).fit(views[:2]), views[:2]))
"""


def test_agreement_with_cca_zoo(views, tmp_path):
    python = os.environ.get("MANYVIEWS_BENCH_CCA_ZOO")
    if not python:
        pytest.skip("MANYVIEWS_BENCH_CCA_ZOO is not set: this test needs cca_zoo")
    views = {k: (Y - Y.mean(axis=0)) / Y.std(axis=0, ddof=1) for k, Y in views.items()}
    np.savez(tmp_path / "views.npz", **views)
    told = subprocess.run(
        [python, "-W", "ignore", "-c", THEIRS, str(tmp_path / "views.npz")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    theirs = [float(line) for line in told.stdout.split()]
    two = pair(views)
    # their (1-c) Σ + c I has the directions of Σ + c/(1-c) I; K² / (n-1) likewise
    ratio = 200 / 199
    kernels = KernelCCA(1, gamma=0.1, scaling="none", regularisation={
        name: 0.25 * ratio / feature_variance(Y, 0.1) for name, Y in two.items()
    })  # fmt: skip
    shrunk = CCA(1, regularisation=0.3 / 0.7, scaling="none")
    ours = [
        CCA(1).fit(two).score(two),
        CCA(1).fit(views).score(views),
        shrunk.fit(views).score(views),
        kernels.fit(two).score(two),
    ]
    np.testing.assert_allclose(ours[:3], theirs[:3], atol=2e-3)
    assert ours[3] == pytest.approx(theirs[3], abs=0.02)


def feature_variance(Y, gamma):
    """trace of the centred kernel over N."""
    squares = np.sum((Y[:, None] - Y[None]) ** 2, axis=2)
    K = np.exp(-gamma * squares)
    return float(np.trace(K) / len(K) - K.mean())

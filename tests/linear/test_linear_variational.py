"""Group factor analysis: the bound, its climb, and what it finds."""

import numpy as np
import pytest
from scipy.stats import gamma, multivariate_normal, norm

from manyviews.errors import OptionError
from manyviews.fitted import Positions
from manyviews.linear import BayesianPCA, GroupFactorAnalysis
from manyviews.linear.emission import second_moments
from manyviews.linear.linear_gaussian import LinearGaussian
from manyviews.linear.variational_factors import (
    best_rotation,
    starting_positions,
    variational_factors,
)
from manyviews.linear.variational_loadings import (
    RATE,
    SHAPE,
    Loadings,
    fitted_gamma,
    gamma_divergence,
)


def factors(rng, N=100, noise=0.5):
    """Two factors for both views, one for each alone."""
    x = rng.normal(size=(N, 4))
    a = x[:, [0, 1, 2]] @ rng.normal(size=(3, 20)) + noise * rng.normal(size=(N, 20))
    b = x[:, [0, 1, 3]] @ rng.normal(size=(3, 15)) + noise * rng.normal(size=(N, 15))
    return x, [a, b]


def with_holes(rng, tables, share=0.3):
    holed = [np.where(rng.random(Y.shape) < share, np.nan, Y) for Y in tables]
    holed[1][:10] = np.nan
    return holed


@pytest.mark.parametrize("shared_noise", [True, False])
def test_the_bound_is_the_expectation_it_claims_to_be(rng, shared_noise):
    """⟨log p(Y, x, W, μ, α, τ) - log q⟩ by Monte Carlo, on a problem of a few numbers."""
    Y = rng.normal(size=(4, 3))
    Y[0, 1] = np.nan
    N, D, Q = 4, 3, 1
    view = Loadings.start(Y, Q, shared_noise)
    q = Positions(rng.normal(size=(N, Q)), 0.3 * np.eye(Q)[None], np.zeros(N, int))
    for _ in range(3):
        view.update(q, second_moments(q))
        q, density = LinearGaussian((view.emission(),)).infer([Y])
    bound = float(density.sum()) - view.divergence()
    S = 200_000
    x = q.draw(S, np.random.RandomState(1))
    log = norm.logpdf(x).sum(axis=(1, 2))
    for n in range(N):
        log -= multivariate_normal(q.mean[n], q.covariance[q.kind[n]]).logpdf(x[:, n])
    a = SHAPE + 0.5 * D
    alpha = rng.gamma(a, 1.0 / view.alpha_rate, size=(S, Q + 1))
    log += (
        gamma.logpdf(alpha, SHAPE, scale=1 / RATE)
        - gamma.logpdf(alpha, a, scale=1 / view.alpha_rate)
    ).sum(axis=1)
    if shared_noise:
        tau = np.repeat(rng.gamma(view.tau_shape[0], 1 / view.tau_rate[0], size=(S, 1)), D, axis=1)
    else:
        tau = rng.gamma(view.tau_shape, 1.0 / view.tau_rate, size=(S, D))
    prior, rate = view.tau_prior
    ratio = gamma.logpdf(tau, prior, scale=1 / rate) - gamma.logpdf(
        tau, view.tau_shape, scale=1 / view.tau_rate
    )
    log += ratio[:, 0] if shared_noise else ratio.sum(axis=1)
    fitted = np.zeros((S, N, D))
    for d in range(D):
        own = multivariate_normal(view.mean[d], view.covariance[d])
        w = own.rvs(S, random_state=d)
        log += norm.logpdf(w, scale=alpha**-0.5).sum(axis=1) - own.logpdf(w)
        fitted[:, :, d] = x[:, :, 0] * w[:, :1] + w[:, 1:]
    log += np.nansum(norm.logpdf(Y, fitted, tau[:, None, :] ** -0.5), axis=(1, 2))
    error = log.std() / np.sqrt(S)
    assert bound == pytest.approx(log.mean(), abs=5 * error)


@pytest.mark.parametrize("shared_noise", [True, False])
@pytest.mark.parametrize("holes", [False, True])
def test_every_iteration_raises_the_bound(rng, shared_noise, holes):
    _, tables = factors(rng, 50)
    tables = with_holes(rng, tables) if holes else tables
    start = starting_positions(tables, 6, 1, rng)
    found = variational_factors(
        tables, start, shared_noise=shared_noise, prune=False, max_iter=40, tol=0.0
    )
    assert np.diff(found.bounds).min() > -1e-6 * abs(found.bounds[-1])


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("noise", ["view", "column"])
def test_shared_and_private_factors_are_recovered(rng, holes, noise):
    x, (a, b) = factors(rng)
    if holes:
        a, b = with_holes(rng, [a, b])
    model = GroupFactorAnalysis(8, noise=noise, random_state=0).fit({"a": a, "b": b})
    parts = model.segment("a", "b")
    assert (len(parts.shared), len(parts.private_a), len(parts.private_b)) == (2, 1, 1)
    X = model.latent_mean_
    for truth, place in ((x[:, 2], parts.private_a[0]), (x[:, 3], parts.private_b[0])):
        assert abs(np.corrcoef(truth[10:], X[10:, place])[0, 1]) > 0.9
    shared = np.linalg.lstsq(X[:, parts.shared], x[:, :2], rcond=None)[0]
    left = x[:, :2] - X[:, parts.shared] @ shared
    assert (left.var(axis=0) < 0.1 * x[:, :2].var(axis=0)).all()


def test_rotation_leaves_the_fit_and_raises_the_bound(rng):
    tables = factors(rng, 60)[1]
    start = rng.normal(size=(60, 6))
    plain = variational_factors(tables, start, rotate=False, max_iter=60, tol=0.0)
    turned = variational_factors(tables, start, rotate=True, max_iter=60, tol=0.0)
    assert turned.bounds[-1] > plain.bounds[-1]
    C = np.cov(rng.normal(size=(6, 40))) * 40
    powers = [np.cov(rng.normal(size=(6, 9))) for _ in tables]
    R = best_rotation(C, powers, [20, 15], 60, (SHAPE, RATE))

    def objective(R):
        inverse = np.linalg.inv(R)
        value = -0.5 * np.trace(inverse @ C @ inverse.T) - 25 * np.linalg.slogdet(R)[1]
        for G, D in zip(powers, (20, 15), strict=True):
            value -= (SHAPE + D / 2) * np.log(RATE + 0.5 * np.diag(R.T @ G @ R)).sum()
        return value

    assert objective(R) > objective(np.eye(6))


def test_intervals_of_a_view_from_another_are_honest(rng):
    a, b = factors(rng, 260)[1]
    model = GroupFactorAnalysis(8, random_state=0).fit({"a": a[:60], "b": b[:60]})
    mean, std = model.predict({"a": a[60:]}, "b", return_std=True)
    inside = np.mean(np.abs(b[60:] - mean) < 1.645 * std)
    assert 0.86 < inside < 0.94
    assert np.mean((b[60:] - mean) ** 2) < 0.7 * b[60:].var()


def test_bayesian_pca_finds_the_number_of_components_and_fills_holes(rng):
    Y = rng.normal(size=(80, 3)) @ rng.normal(size=(3, 12)) + 0.2 * rng.normal(size=(80, 12)) + 5
    holes = np.where(rng.random(Y.shape) < 0.2, np.nan, Y)
    model = BayesianPCA(8, random_state=0).fit(holes)
    assert model.n_active_ == 3
    filled, std = model.impute(return_std=True)
    lost = np.isnan(holes)
    assert np.sqrt(np.mean((filled[lost] - Y[lost]) ** 2)) < 0.35
    np.testing.assert_allclose(filled[~lost], Y[~lost], rtol=1e-12)
    assert (std[~lost] == 0).all()
    assert np.mean(np.abs(filled[lost] - Y[lost]) < 1.96 * std[lost]) > 0.9


def test_the_columns_noise_prior_is_the_gamma_of_most_likelihood(rng):
    tau = rng.gamma(3.0, 2.0, size=100_000)
    a, b = fitted_gamma(tau, np.log(tau), 0.0)
    assert a == pytest.approx(3.0, rel=0.02)
    assert b == pytest.approx(0.5, rel=0.02)
    assert gamma_divergence(np.array([a]), np.array([b]), (a, b)) == pytest.approx(0.0, abs=1e-12)


def test_columns_of_different_noise_are_told_apart(rng):
    x = rng.normal(size=(400, 2))
    sd = np.repeat([0.3, 1.0], 6)
    Y = x @ rng.normal(size=(2, 12)) + sd * rng.normal(size=(400, 12))
    model = BayesianPCA(3, noise="column", scaling="none", random_state=0).fit(Y)
    np.testing.assert_allclose(np.sqrt(model.noise_variance_), sd, rtol=0.25)


def test_noise_by_column_refuses_columns_that_can_be_fitted_exactly(rng):
    Y = rng.normal(size=(30, 8))
    Y[4:, 3] = np.nan
    with pytest.raises(OptionError, match=r"column 3 of view 'a' has 4 values.*noise='view'"):
        GroupFactorAnalysis(5, noise="column").fit({"a": Y, "b": rng.normal(size=(30, 3))})


def test_more_restarts_never_end_lower(rng):
    _, tables = factors(rng, 40)
    one = GroupFactorAnalysis(6, random_state=0).fit(tables)
    three = GroupFactorAnalysis(6, n_restarts=3, random_state=0).fit(tables)
    assert three.lower_bound_ >= one.lower_bound_
    assert len(three.fit_info_.restart_bounds) == 3


def lacking_views(seed=0, n=60, n_lacking=20):
    """One shared signal, and more of view a's own than three factors can hold."""
    rng = np.random.default_rng(seed)
    shared, own = rng.normal(size=(n, 1)), rng.normal(size=(n, 12))
    a = shared @ (0.3 * rng.normal(size=(1, 300))) + own @ (0.5 * rng.normal(size=(12, 300)))
    a = a + 0.5 * rng.normal(size=a.shape)
    b = shared @ rng.normal(size=(1, 40)) + 0.3 * rng.normal(size=(n, 40))
    hidden = b.copy()
    hidden[:n_lacking] = np.nan
    return {"a": a, "b": hidden}, b


def test_samples_that_lack_views_are_placed_but_not_learnt_from():
    """Else their positions follow what three factors leave of view a, and view b is noise."""
    errors = {"all": [], "auto": []}
    for seed in range(4):
        views, b = lacking_views(seed)
        for option, found in errors.items():
            model = GroupFactorAnalysis(3, learn_from=option, random_state=0).fit(views)
            assert model.learnt_from_.sum() == (60 if option == "all" else 40)
            found.append(np.sqrt(np.mean((model.impute()["b"][:20] - b[:20]) ** 2)))
    assert np.mean(errors["auto"]) < 0.6 * np.mean(errors["all"])


@pytest.mark.filterwarnings("ignore::manyviews.errors.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::manyviews.errors.OverlapWarning")
def test_which_samples_loadings_are_learnt_from():
    views, _ = lacking_views(n_lacking=40)
    assert GroupFactorAnalysis(3, max_iter=5, tol=1.0).fit(views).learnt_from_.all()  # a third
    views, _ = lacking_views(n_lacking=20)
    assert (
        GroupFactorAnalysis(20, max_iter=5, tol=1.0).fit(views).learnt_from_.all()
    )  # many factors
    views["a"][21:] = np.nan
    with pytest.raises(OptionError, match="of which there are 1"):
        GroupFactorAnalysis(3, learn_from="complete").fit(views)

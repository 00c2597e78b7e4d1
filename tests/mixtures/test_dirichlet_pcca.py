"""The Dirichlet process mixture of PCCA: estimator, chains, variational version."""

import builtins
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import manyviews
from manyviews import DirichletPCCA, MixturePCCA
from manyviews.errors import ConvergenceWarning, OptionError
from manyviews.linear.closed_form import canonical_pcca, principal_ppca
from manyviews.mixtures import chains, dirichlet_fit, factors
from manyviews.mixtures.chain_summaries import representative, similarity, split_r_hat
from manyviews.mixtures.hierarchy import make_prior
from manyviews.mixtures.indicators import draw_auxiliary
from manyviews.mixtures.mean_field import Posterior
from manyviews.mixtures.mixture_em import kmeans_labels, local_models
from manyviews.mixtures.numbers import as_seed

SOLVE = partial(canonical_pcca, sizes=(2, 2), n_components=1)


def two_clusters(n=60, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 2
    x = rng.normal(size=n)
    slope = np.where(labels == 0, 1.0, -1.0)
    a = np.stack([x + 4 * labels, 0.5 * x], 1) + 0.2 * rng.normal(size=(n, 2))
    b = np.stack([slope * x, x - 3 * labels], 1) + 0.2 * rng.normal(size=(n, 2))
    return {"a": a, "b": b}, labels


@pytest.fixture(scope="module")
def sampled():
    views, _ = two_clusters()
    model = DirichletPCCA(1, n_chains=2, n_sweeps=600, thin=20, random_state=0)
    with pytest.MonkeyPatch.context() as patch:
        # a chain that starts from one cluster may stay there for thousands of sweeps
        patch.setattr(dirichlet_fit, "START_SIZES", (2, 4))
        return model.fit(views), views


@pytest.fixture(scope="module")
def varied():
    views, _ = two_clusters(200)
    options = {"inference": "variational", "max_clusters": 6, "n_restarts": 2, "tol": 1e-7}
    return DirichletPCCA(1, random_state=0, max_iter=1500, **options).fit(views), views


def agreement(a, b):
    return np.mean((a[:, None] == a[None, :]) == (b[:, None] == b[None, :]))


@pytest.mark.long
def test_chains_find_the_clusters(sampled):
    model, _ = sampled
    _, labels = two_clusters()
    assert model.n_clusters_ == 2
    assert agreement(model.labels_, labels) > 0.95
    posterior = model.n_clusters_posterior()
    assert posterior.sum() == pytest.approx(1.0)
    assert posterior.idxmax() == 2
    assert model.trace_["n_clusters"].shape == (2, 600)
    assert model.assignments_.shape == (2 * 15, 60)
    near = model.similarity()
    assert near.iloc[0, 2] > 0.9 > 0.2 > near.iloc[0, 1]


@pytest.mark.long
def test_convergence_statistics(sampled):
    model, _ = sampled
    table = model.diagnostics()
    assert {"n_clusters", "concentration", "log_likelihood"} <= set(table.index)
    assert {"r_hat", "ess_bulk"} <= set(table.columns)
    assert table.loc["log_likelihood", "r_hat"] < 1.1
    assert model.to_arviz().posterior.sizes["chain"] == 2
    rng = np.random.default_rng(0)
    assert split_r_hat(rng.normal(size=(4, 1000))) < 1.01
    assert split_r_hat(rng.normal(size=(4, 1000)) + np.arange(4)[:, None]) > 1.3
    assert split_r_hat(np.ones((2, 10))) == 1.0


def test_without_arviz_the_error_says_what_to_install(sampled, monkeypatch):
    real = builtins.__import__

    def absent(name, *rest, **more):
        if name == "arviz":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(OptionError, match=r"manyviews\[mixtures\]"):
        sampled[0].diagnostics()


def test_predictions_average_over_the_posterior(sampled, tmp_path):
    model, views = sampled
    truth = MixturePCCA(2, 1, random_state=0).fit(views)
    new, _ = two_clusters(200, seed=5)
    assert model.score(new) > truth.score(new) - 0.3
    mean, std = model.predict({"a": new["a"]}, "b", return_std=True)
    assert np.sqrt(np.mean((mean - new["b"]) ** 2)) < 0.6
    inside = np.mean(np.abs(mean - new["b"]) < 1.645 * std)
    assert 0.8 < inside < 0.98
    kept = np.exp(model.mixture_.log_weights).sum()
    assert kept == pytest.approx(1.0)
    path = tmp_path / "dp.safetensors"
    model.save(path)
    loaded = manyviews.load(path)
    np.testing.assert_array_equal(loaded.score_samples(new), model.score_samples(new))
    pd.testing.assert_series_equal(loaded.n_clusters_posterior(), model.n_clusters_posterior())
    modes = model.predict_modes({"a": new["a"][:3]}, "b")
    np.testing.assert_allclose(modes.weights.sum(axis=1), 1.0, atol=0.02)
    np.testing.assert_array_equal(model.predict_cluster(views), model.labels_)


def test_far_from_all_data_predictions_are_as_wide_as_the_clusters_lie_apart(sampled):
    """A sample unlike all others is of a new cluster, of which another view's mean is unknown.

    The draws of the base measure have the heaviest tails, and decide; whichever it is, its variance
    of the other view is R⁻¹ + Ψ at least, R⁻¹ being the spread of the clusters' means.
    """
    model, views = sampled
    near = model.predict({"a": views["a"]}, "b", return_std=True)[1]
    far = np.array([[40.0, -40.0], [-60.0, 0.0], [400.0, 0.0], [0.0, 400.0]])
    std = model.predict({"a": far}, "b", return_std=True)[1]
    assert (std > 2 * near.mean(axis=0)).all()
    assert (std > 0.5 * views["b"].std(axis=0)).all()


def test_the_component_of_none_of_these_is_the_base_measure():
    """W and Ψ are drawn; μ ~ N(λ, R⁻¹) is integrated out."""
    views, labels = two_clusters()
    Y = [views["a"], views["b"]]
    local = local_models(np.concatenate(Y, axis=1), labels, SOLVE, 1e-6)
    state = chains.first_state(Y, labels, local, make_prior(Y, 1.0, 1e-6),
                               np.random.RandomState(0))  # fmt: skip
    mixture = chains.as_mixture(state, as_seed(7))
    assert len(mixture.means) == 3
    expected = np.array([30.0, 30.0, 1.0]) / 61.0  # α₀ is one
    np.testing.assert_allclose(np.exp(mixture.log_weights), expected)
    drawn = draw_auxiliary(as_seed(7), state, 1)
    for part, new, hyper in zip((slice(0, 2), slice(2, 4)), drawn, state.hyper, strict=True):
        np.testing.assert_allclose(mixture.means[-1, part], hyper.lam)
        np.testing.assert_allclose(mixture.loadings[-1, part], new.W[0], rtol=1e-12)
        noise = np.linalg.inv(new.precision()[0]) + np.linalg.inv(hyper.R)
        np.testing.assert_allclose(mixture.noise[-1, part, part], noise, rtol=1e-8)


def test_the_same_seed_gives_the_same_chain(sampled):
    _, views = sampled
    options = {"n_chains": 1, "n_sweeps": 40, "thin": 20, "random_state": 3}
    first, second = (DirichletPCCA(1, **options).fit(views) for _ in range(2))
    np.testing.assert_array_equal(first.trace_["log_likelihood"], second.trace_["log_likelihood"])


@pytest.mark.long
def test_missing_values_in_training_and_room_for_more_clusters(monkeypatch):
    monkeypatch.setattr(chains, "SLOTS", 2)  # full at once: the block must be run again
    views, labels = two_clusters()
    rng = np.random.default_rng(1)
    torn = {k: np.where(rng.random(v.shape) < 0.1, np.nan, v) for k, v in views.items()}
    torn["a"][0], torn["b"][0] = np.nan, views["b"][0]
    model = DirichletPCCA(1, n_chains=1, n_sweeps=300, random_state=0).fit(torn)
    assert agreement(model.labels_, labels) > 0.85
    filled = model.impute(torn)
    lost = np.isnan(torn["a"])
    error = np.sqrt(np.mean((filled["a"] - views["a"])[lost] ** 2))
    assert error < 0.6 * views["a"].std()


def test_more_slots_leave_the_state_as_it_is():
    views, labels = two_clusters()
    Y = [views["a"], views["b"]]
    joined = np.concatenate(Y, axis=1)
    local = local_models(joined, labels, SOLVE, 1e-6)
    state = chains.first_state(Y, labels, local, make_prior(Y, 1.0, 1e-6),
                               np.random.RandomState(0))  # fmt: skip
    wider = chains.with_more_slots(state)
    assert len(wider.counts()) == 2 * len(state.counts())
    np.testing.assert_array_equal(wider.counts()[: len(state.counts())], state.counts())
    np.testing.assert_array_equal(wider.components[1].mu[:2], state.components[1].mu[:2])


# ---------------------------------------------------------------------- variational


@pytest.mark.long
def test_variational_finds_the_clusters_and_never_lowers_its_bound(varied):
    model, views = varied
    _, labels = two_clusters(200)
    assert model.n_clusters_ == 2
    assert agreement(model.labels_, labels) > 0.97
    assert np.diff(model.bound_trace_).min() > -1e-7
    truth = MixturePCCA(2, 1, random_state=0).fit(views)
    new, _ = two_clusters(300, seed=7)
    assert model.score(new) > truth.score(new) - 0.2
    with pytest.raises(OptionError, match="variationally"):
        model.diagnostics()


@pytest.mark.filterwarnings("ignore::manyviews.errors.ConvergenceWarning")
@pytest.mark.parametrize("kind", ["rank one", "duplicated columns"])
def test_views_of_low_rank_are_fitted(kind, rng):
    wide = rng.normal(size=(20, 2))
    a = wide[:, :1] * [1.0, 2.0, 3.0] if kind == "rank one" else np.hstack([wide, wide])
    options = {"inference": "variational", "max_clusters": 3, "n_restarts": 1, "max_iter": 40}
    model = DirichletPCCA(1, random_state=0, **options).fit({"a": a, "b": wide + 0.1})
    assert np.diff(model.fit_info_.bound_trace).min() > -1e-6
    mean, std = model.predict({"b": wide + 0.1}, "a", return_std=True)
    assert np.isfinite(mean).all()
    assert (std > 0).all()


@pytest.mark.parametrize("shared_variance", [False, True], ids=["two views", "one table"])
def test_every_factor_is_at_a_maximum_of_the_bound(shared_variance):
    """Any change of any factor of a converged fit lowers the bound."""
    views, _ = two_clusters(80)
    Y = [(v - v.mean(0)) / v.std(0) for v in views.values()]
    joined = np.concatenate(Y, axis=1)
    solve = SOLVE
    if shared_variance:
        Y, solve = [joined], partial(principal_ppca, n_components=1)
    rng = np.random.RandomState(0)
    labels = kmeans_labels(joined, 3, rng)
    local = local_models(joined, labels, solve, 1e-6)
    posterior = Posterior(Y, make_prior(Y, 1.0, 1e-6, shared_variance), labels, local, 4, rng)
    for _ in range(600):
        best = posterior.iterate()
    view = posterior.views[-1]

    def changed(owner, name, value):
        old = getattr(owner, name) if isinstance(name, str) else owner[name]
        put = setattr if isinstance(name, str) else type(owner).__setitem__
        put(owner, name, value)
        bound = posterior.update_samples(keep=True)
        put(owner, name, old)
        return bound

    A, mu, W = view.A[0], view.mu[0], view.W[0]
    bounds = []
    for sign in (-1.0, 1.0):
        up = 1.0 + 0.05 * sign
        bounds += [
            changed(view.A, 0, factors.WishartFactor(A.df * up, A.B, A.copies)),
            changed(view.A, 0, factors.WishartFactor(A.df, A.B * up, A.copies)),
            changed(view.mu, 0, factors.GaussianFactor(mu.mean + 0.02 * sign, mu.covariance)),
            changed(view.mu, 0, factors.GaussianFactor(mu.mean, mu.covariance * up)),
            changed(view.W, 0, factors.LoadingFactor(W.V, W.U, W.mean * up, W.variance)),
            changed(view.W, 0, factors.LoadingFactor(W.V, W.U, W.mean, W.variance * up)),
            changed(view, "R", factors.WishartFactor(view.R.df * up, view.R.B)),
            changed(view, "C", factors.WishartFactor(view.C.df, view.C.B * up)),
            changed(view, "v", factors.GammaFactor(view.v.shape * up, view.v.rate)),
            changed(view, "gamma_mean", view.gamma_mean + 0.05 * sign),
            changed(view, "gamma_variance", view.gamma_variance * up),
            changed(view, "lam", factors.GaussianFactor(view.lam.mean + 0.05 * sign,
                                                        view.lam.covariance)),
            changed(posterior, "alpha", factors.GammaFactor(posterior.alpha.shape * up,
                                                            posterior.alpha.rate)),
            changed(view.beta, "weights", np.roll(view.beta.weights, int(5 * sign))),
        ]  # fmt: skip
    assert max(bounds) < best
    assert best == pytest.approx(posterior.update_samples(keep=True), abs=1e-9)


def test_factors_have_scipys_moments():
    rng = np.random.default_rng(0)
    half = rng.normal(size=(3, 6))
    B = half @ half.T
    wishart = factors.WishartFactor(5.5, B)
    exact = stats.wishart(5.5, np.linalg.inv(B))
    assert wishart.entropy() == pytest.approx(exact.entropy())
    np.testing.assert_allclose(wishart.mean, exact.mean())
    drawn = exact.rvs(20_000, random_state=0)
    alone = factors.WishartFactor(5.5, B[:1, :1], copies=3)
    precision = stats.gamma(2.75, scale=2.0 / B[0, 0])
    np.testing.assert_allclose(alone.mean, precision.mean() * np.eye(3))
    assert alone.entropy() == pytest.approx(precision.entropy())
    logs = np.log(precision.rvs(20_000, random_state=0))
    assert alone.log_det == pytest.approx(3.0 * logs.mean(), abs=0.05)
    inverse = np.stack([alone.draw_inverse(np.random.RandomState(i)) for i in range(2000)])
    np.testing.assert_allclose(inverse.mean(axis=0), B[0, 0] / 3.5 * np.eye(3), rtol=0.1, atol=0)
    assert wishart.log_det == pytest.approx(np.linalg.slogdet(drawn)[1].mean(), abs=0.05)
    gamma = factors.GammaFactor(2.5, 1.3)
    values = stats.gamma(2.5, scale=1 / 1.3).rvs(200_000, random_state=0)
    gain = stats.gamma(0.5, scale=2).logpdf(values) - stats.gamma(2.5, scale=1 / 1.3).logpdf(values)
    assert gamma.gain() == pytest.approx(gain.mean(), abs=0.01)
    assert gamma.log == pytest.approx(np.log(values).mean(), abs=0.01)
    W = factors.LoadingFactor.of(
        B, np.array([[2.0, 0.3], [0.3, 1.0]]), 0.7, rng.normal(size=(3, 2))
    )
    draws = np.stack([W.draw(np.random.RandomState(i)) for i in range(20_000)])
    A = np.diag([1.0, 2.0, 3.0]) + 0.4
    np.testing.assert_allclose(
        W.inner(A), np.einsum("smq,ml,slr->qr", draws, A, draws) / len(draws), rtol=0.05, atol=0.02
    )


def test_options_are_checked(sampled):
    _, views = sampled
    with pytest.raises(OptionError, match="burn_in=50"):
        DirichletPCCA(n_sweeps=50, burn_in=50).fit(views)
    torn = {"a": views["a"].copy(), "b": views["b"]}
    torn["a"][0, 0] = np.nan
    with pytest.raises(OptionError, match="gibbs"):
        DirichletPCCA(inference="variational").fit(torn)
    with pytest.warns(ConvergenceWarning, match="bound had not converged"):
        DirichletPCCA(inference="variational", max_iter=2, n_restarts=1, max_clusters=3).fit(views)


def test_a_representative_partition():
    kept = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 1, 1], [1, 1, 0, 0]])
    assert representative(kept) in (0, 1, 3)
    np.testing.assert_allclose(similarity(kept)[0], [1, 0.75, 0, 0])

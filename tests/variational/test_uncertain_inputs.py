import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

import manyviews
import reference as ref
from manyviews import Search, UncertainGPRegressor
from manyviews.errors import DataError, OptionError
from manyviews.inference.bound import Model, evidence_bound
from manyviews.inference.input_gaussian import InputGaussian
from manyviews.kernels import RBF
from manyviews.latent import CentredInputs, UncertainInputs
from manyviews.mappings import CollapsedGP, make_outputs
from manyviews.parameters import named_parameters

evaluate = eqx.filter_jit(evidence_bound)


def random_precision(rng, Q):
    A = rng.normal(size=(Q, 2 * Q))
    return A @ A.T / (2 * Q)


@pytest.fixture
def space(rng):
    """Five rows of four coordinates: known, noisy and missing ones."""
    N, Q = 5, 4
    kind = rng.integers(0, 3, size=(N, Q))
    kind[0] = 0
    latent = UncertainInputs(
        rng.normal(size=(N, Q)), kind == 1, kind == 2, rng.uniform(0.1, 1, size=(1, Q)),
        random_precision(rng, Q),
    )  # fmt: skip
    moved = eqx.tree_at(
        lambda s: (s.mean, s.variance),
        latent,
        (
            latent.mean.with_value(rng.normal(size=(N, Q))),
            latent.variance.with_value(rng.uniform(0.1, 1, size=(N, Q))),
        ),
    )
    return kind, moved


def test_kl_is_that_of_each_rows_gaussians(space):
    kind, latent = space
    q, kl = latent.infer()
    mean, variance, centre = (np.asarray(a) for a in (q.mean, q.variance, latent.centre))
    noise, precision = np.asarray(latent.noise.value)[0], np.asarray(latent.precision)
    expected = 0.0
    for n, row in enumerate(kind):
        noisy, missing = np.flatnonzero(row == 1), np.flatnonzero(row == 2)
        expected += ref.kl_gaussians(
            mean[n, noisy], np.diag(variance[n, noisy]), centre[n, noisy], np.diag(noise[noisy])
        )
        expected += ref.kl_gaussians(
            mean[n, missing],
            np.diag(variance[n, missing]),
            centre[n, missing],
            np.linalg.inv(precision[np.ix_(missing, missing)]),
        )
    assert float(kl) == pytest.approx(expected, rel=1e-10)


def test_known_coordinates_are_pinned(space):
    kind, latent = space
    q = latent.marginals()
    np.testing.assert_array_equal(
        np.asarray(q.mean)[kind == 0], np.asarray(latent.centre)[kind == 0]
    )
    assert np.asarray(q.variance)[kind == 0].max() <= 1e-12


def test_centred_inputs_keep_their_means_under_a_standard_normal_prior(space):
    kind, moved = space
    known = (np.asarray(a) for a in (moved.centre, moved.noisy, moved.missing))
    latent = CentredInputs(*known)
    latent = eqx.tree_at(lambda s: (s.mean, s.variance), latent, (moved.mean, moved.variance))
    q, kl = latent.infer()
    mean, variance, centre = (np.asarray(a) for a in (q.mean, q.variance, latent.centre))
    np.testing.assert_array_equal(mean[kind < 2], centre[kind < 2])
    np.testing.assert_array_equal(variance[kind == 1], np.asarray(moved.variance.value)[kind == 1])
    assert variance[kind == 0].max() <= 1e-12
    expected = 0.0
    for m, v, c, row in zip(mean, variance, centre, kind, strict=True):
        free = np.flatnonzero(row == 1)
        expected += ref.kl_gaussians(m[free], np.diag(v[free]), 0 * c[free], np.eye(len(free)))
        gone = np.flatnonzero(row == 2)
        expected += ref.kl_gaussians(m[gone], np.diag(v[gone]), c[gone], np.eye(len(gone)))
    assert float(kl) == pytest.approx(expected, rel=1e-10)


def regression(X, Y, noisy, noise, Z):
    missing = np.zeros(X.shape, bool)
    latent = UncertainInputs(X, noisy, missing, noise)
    return Model(latent, (CollapsedGP(RBF(1.3, np.ones(X.shape[1])), Z, 0.2, jitter=1e-12),))


def test_exact_inputs_and_all_inducing_give_the_exact_gp(rng):
    X, Y = rng.normal(size=(12, 2)), rng.normal(size=(12, 3))
    model = regression(X, Y, np.zeros(X.shape, bool), 1.0, X)
    k = ref.matrix(ref.rbf(1.3, np.ones(2)), X, X)
    exact = ref.gp_log_marginal(k, 0.2, Y)
    assert float(evaluate(model, (make_outputs(Y),)).total) == pytest.approx(exact, abs=1e-5)
    fewer = regression(X, Y, np.zeros(X.shape, bool), 1.0, X[:5])
    assert float(evaluate(fewer, (make_outputs(Y),)).total) < exact


def test_bound_is_below_the_evidence_of_noisy_inputs(rng):
    X, Y, noise = rng.normal(size=(4, 1)), rng.normal(size=(4, 1)), 0.3
    bound = float(
        evaluate(regression(X, Y, np.ones(X.shape, bool), noise, X), (make_outputs(Y),)).total
    )
    draws = X + np.sqrt(noise) * rng.normal(size=(40_000, 4, 1))
    squares = (draws - np.swapaxes(draws, 1, 2)) ** 2
    K = 1.3 * np.exp(-0.5 * squares) + 0.2 * np.eye(4)
    logs = (
        -0.5 * np.einsum("i,nij,j->n", Y[:, 0], np.linalg.inv(K), Y[:, 0])
        - 0.5 * np.linalg.slogdet(K)[1]
        - 2 * np.log(2 * np.pi)
    )
    evidence = logsumexp(logs) - np.log(len(logs))
    error = np.std(np.exp(logs - evidence)) / np.sqrt(len(logs))
    assert bound < evidence + 5 * error
    assert bound > evidence - 5.0


def test_conditional_gaussian_is_that_of_the_textbook(rng):
    Q = 4
    gaussian = InputGaussian(rng.normal(size=Q), np.linalg.inv(random_precision(rng, Q)))
    Z = rng.normal(size=(3, Q))
    Z[0, [1, 3]] = np.nan
    Z[1] = np.nan
    done = gaussian.complete(Z)
    S, m, o = gaussian.covariance, [1, 3], [0, 2]
    gain = S[np.ix_(m, o)] @ np.linalg.inv(S[np.ix_(o, o)])
    np.testing.assert_allclose(
        done.filled[0, m], gaussian.mean[m] + gain @ (Z[0, o] - gaussian.mean[o])
    )
    left = S[np.ix_(m, m)] - gain @ S[np.ix_(o, m)]
    np.testing.assert_allclose(done.variance[0, m], np.diag(left))
    np.testing.assert_allclose(done.filled[1], gaussian.mean)
    np.testing.assert_allclose(done.variance[1], np.diag(S))
    np.testing.assert_array_equal(done.filled[2], Z[2])
    np.testing.assert_array_equal(done.variance[2], 0.0)


def test_gaussian_of_the_inputs_is_found_despite_holes(rng):
    S = np.array([[1.0, 0.8, 0.0], [0.8, 1.0, 0.3], [0.0, 0.3, 1.0]])
    Z = multivariate_normal(np.ones(3), S).rvs(3000, random_state=0)
    Z[rng.random(Z.shape) < 0.3] = np.nan
    found = InputGaussian.fit(Z)
    np.testing.assert_allclose(found.mean, 1.0, atol=0.08)
    np.testing.assert_allclose(found.covariance, S, atol=0.1)


# ---------------------------------------------------------------------- the estimator


def test_centred_inputs_of_an_irrelevant_column_are_left_to_the_prior():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    y = np.sin(np.outer(2 * x[:, 0], np.ones(12)) + np.arange(12)) + 0.05 * rng.normal(
        size=(60, 12)
    )
    model = UncertainGPRegressor(15, input_noise="centred", random_state=0).fit(x, y)
    np.testing.assert_allclose(model.input_mean_, x, rtol=1e-12)
    relevant, other = (model.input_std_ / x.std(axis=0)).T
    np.testing.assert_allclose(other, 1.0, atol=0.02)
    assert np.median(relevant) < 0.5
    np.testing.assert_array_equal(model.input_noise_std_, model.input_std_)
    exact = model.predict(x[:3], return_std=True)[1].mean(axis=1)
    assert (exact < model.predict(x[:3], 0.5, return_std=True)[1].mean(axis=1)).all()


def wave(rng, n, noise=0.05):
    x = rng.uniform(-3, 3, size=(n, 2))
    return x, np.sin(1.5 * x[:, 0]) + 0.5 * x[:, 1] + noise * rng.normal(size=n)


@pytest.fixture(scope="module")
def gappy():
    """A fit with a fifth of one column missing, and the truth."""
    rng = np.random.default_rng(0)
    x, y = wave(rng, 70)
    z = x.copy()
    z[rng.random(70) < 0.2, 1] = np.nan
    z[7] = np.nan
    return UncertainGPRegressor(20, random_state=0).fit(z, y), x, y, z


@pytest.mark.long
def test_missing_inputs_are_imputed_from_the_outputs(gappy):
    model, x, _, z = gappy
    holes = np.isnan(z) & ~np.isnan(z).all(axis=1, keepdims=True)
    error = np.sqrt(np.mean((model.input_mean_ - x)[holes] ** 2))
    assert error < 0.3 * x[:, 1].std()
    np.testing.assert_allclose(model.input_mean_[~np.isnan(z)], z[~np.isnan(z)], rtol=1e-12)
    assert (model.input_std_[~np.isnan(z)] == 0).all()
    assert (model.input_std_[holes] > 0).all()
    covered = np.abs(model.input_mean_ - x)[holes] < 2.5 * model.input_std_[holes]
    assert covered.mean() > 0.8


def test_prediction_is_good_and_honest(gappy):
    model = gappy[0]
    x, y = wave(np.random.default_rng(1), 300)
    mean, std = model.predict(x, return_std=True)
    assert np.sqrt(np.mean((mean - y) ** 2)) < 0.12
    assert 0.8 < np.mean(np.abs(mean - y) < 1.645 * std) <= 1.0
    holes = x.copy()
    holes[:, 0] = np.nan
    wide = model.predict(holes, return_std=True)[1]
    assert (wide > std).all()
    assert np.mean(np.abs(model.predict(holes) - y) < 1.645 * wide) > 0.8


def test_new_rows_inputs_are_inferred_from_their_outputs(gappy):
    model = gappy[0]
    x, y = wave(np.random.default_rng(2), 50)
    holes = x.copy()
    holes[:, 1] = np.nan
    blind = np.abs(model.infer_inputs(holes) - x)[:, 1].mean()
    told, std = model.infer_inputs(holes, y, return_std=True)
    assert np.abs(told - x)[:, 1].mean() < 0.2 * blind
    np.testing.assert_allclose(told[:, 0], x[:, 0], rtol=1e-6)
    assert (std[:, 1] > 0).all()
    assert (std[:, 0] == 0).all()


def test_moments_at_gaussian_inputs_agree_with_monte_carlo(gappy):
    model = gappy[0]
    x, std, n = np.array([[0.3, -0.5], [1.5, 1.0]]), np.array([0.4, 0.8]), 40_000
    mean, spread = model.predict(x, X_std=std, return_std=True)
    draws = x[:, None] + std * np.random.default_rng(0).normal(size=(2, n, 2))
    each, own = model.predict(draws.reshape(-1, 2), return_std=True)
    each, own = each.reshape(2, n), own.reshape(2, n)
    np.testing.assert_allclose(mean, each.mean(axis=1), atol=5 * spread.max() / np.sqrt(n))
    total = np.sqrt(each.var(axis=1) + (own**2).mean(axis=1))
    np.testing.assert_allclose(spread, total, rtol=0.03)
    samples = model.predict(x, X_std=std, n_samples=4000, random_state=0)
    np.testing.assert_allclose(samples.mean(axis=0), mean, atol=5 * spread.max() / np.sqrt(4000))


def test_a_row_without_inputs_changes_nothing(gappy):
    model, _, y, z = gappy
    without = np.delete(np.arange(70), 7)
    again = UncertainGPRegressor(20, random_state=0).fit(z[without], y[without])
    assert again.lower_bound_ == pytest.approx(model.lower_bound_, rel=1e-12)
    np.testing.assert_allclose(model.input_mean_[7], again.input_scaling_.centre, atol=0.2)


def test_files(gappy, tmp_path):
    model = gappy[0]
    model.save(tmp_path / "model.safetensors")
    again = manyviews.load(tmp_path / "model.safetensors")
    holes = [[np.nan, 1.0], [0.0, 0.0]]
    np.testing.assert_array_equal(again.predict(holes), model.predict(holes))
    np.testing.assert_array_equal(again.input_mean_, model.input_mean_)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::manyviews.errors.ConvergenceWarning")  # y has no noise
def test_known_noise_is_taken_off(rng):
    x = np.sort(rng.uniform(-3, 3, size=(80, 1)), axis=0)
    y = np.stack([np.sin(2 * x[:, 0]), np.cos(2 * x[:, 0])], axis=1)
    z = x + 0.2 * rng.normal(size=x.shape)
    model = UncertainGPRegressor(20, random_state=0).fit(z, y, X_std=0.2)
    before, after = np.abs(z - x).mean(), np.abs(model.input_mean_ - x).mean()
    assert after < 0.5 * before
    grid = np.linspace(-2.5, 2.5, 50)[:, None]
    truth = np.stack([np.sin(2 * grid[:, 0]), np.cos(2 * grid[:, 0])], axis=1)
    plain = UncertainGPRegressor(20, random_state=0).fit(z, y)
    ours = np.mean((model.predict(grid) - truth) ** 2)
    assert ours < np.mean((plain.predict(grid) - truth) ** 2)
    none = UncertainGPRegressor(20, random_state=0).fit(z, y, X_std=np.zeros(z.shape))
    assert none.lower_bound_ == plain.lower_bound_


@pytest.mark.parametrize(
    ("kind", "shape"), [("shared", (1, 1)), ("column", (1, 1)), ("row", (100, 1))]
)
def test_unknown_noise_is_learnt(kind, shape):
    rng = np.random.default_rng(3)
    x = rng.uniform(-3, 3, size=(100, 1))
    y = np.concatenate([np.sin(2 * x), np.cos(2 * x)], axis=1) + 0.02 * rng.normal(size=(100, 2))
    z = x + 0.2 * rng.normal(size=x.shape)
    model = UncertainGPRegressor(15, input_noise=kind, search=Search(tol=1e-3), random_state=0).fit(
        z, y
    )
    assert model.input_noise_std_.shape == shape
    assert 0.12 < np.sqrt(np.mean(model.input_noise_std_**2)) < 0.3
    assert np.abs(model.input_mean_ - x).mean() < 0.6 * np.abs(z - x).mean()
    std = model.predict(z[:5], return_std=True)[1]  # new inputs are as noisy
    sure = model.predict(z[:5], X_std=0.0, return_std=True)[1]
    assert (std > sure).all()


@pytest.mark.long
def test_frames_and_missing_outputs(rng):
    x, y = wave(rng, 60)
    X = pd.DataFrame(x, columns=["a", "b"], index=[f"r{i}" for i in range(60)])
    Y = pd.DataFrame({"u": y, "v": -y}, index=X.index)
    Y.iloc[::4, 1] = np.nan
    model = UncertainGPRegressor(15, search=Search(max_iter=100), random_state=0).fit(X, Y)
    found = model.predict(X)
    assert list(found.columns) == ["u", "v"]
    assert list(found.index) == list(X.index)
    assert np.abs(found["v"] + y).mean() < 0.2
    _, cov = model.predict(X.iloc[:3], X_std=0.3, return_cov=True)
    assert cov.shape == (3, 2, 2)
    assert (cov[:, 0, 1] < 0).all()  # v is minus u, whatever the input
    assert model.infer_inputs(X.iloc[:2]).columns.tolist() == ["a", "b"]


def test_clear_errors(rng):
    x, y = wave(rng, 20)
    model = UncertainGPRegressor(5, search=Search(max_iter=5))
    with pytest.raises(DataError, match="X_std of shape"):
        model.fit(x, y, X_std=np.ones(7))
    with pytest.raises(DataError, match="negative"):
        model.fit(x, y, X_std=-1.0)
    with pytest.raises(OptionError, match="n_inducing"):
        UncertainGPRegressor(30).fit(x, y)
    with pytest.raises(DataError, match="no value"):
        model.fit(x, np.stack([y, np.full(20, np.nan)], axis=1))
    with pytest.raises(DataError, match="too few"):
        UncertainGPRegressor().fit(np.where(np.arange(20)[:, None] < 2, x, np.nan), y)


@pytest.mark.filterwarnings("ignore::manyviews.errors.ConvergenceWarning")
def test_the_noise_is_free_only_where_it_is_learnt(rng):
    x, y = wave(rng, 20)
    for kind, free in (("known", False), ("column", True)):
        fitted = UncertainGPRegressor(5, input_noise=kind, search=Search(max_iter=3)).fit(
            x, y, X_std=0.1
        )
        named = dict(named_parameters(fitted.engine_.model))
        assert named["latent.noise"].free is free
        assert jnp.isfinite(named["latent.noise"].value).all()

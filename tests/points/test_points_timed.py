"""Latent points with a prior over time: densities, new rows, forecasts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import multivariate_normal

import manyviews
from manyviews import Search
from manyviews.errors import OptionError
from manyviews.inference.bound import Model
from manyviews.inference.objective import Objective
from manyviews.inference.point_rows import row_density
from manyviews.kernels import RBF, Matern32
from manyviews.latent import TimedPoints, make_sequences
from manyviews.latent.timed_points import WANDER
from manyviews.mappings import ExactGP, make_outputs
from manyviews.points import GPLVM, SharedGPLVM, SubspaceGPLVM
from reference import finite_differences


@pytest.fixture(scope="module")
def series():
    """Two sequences of a turning point in six noisy columns."""
    rng = np.random.default_rng(0)
    t = np.concatenate([np.linspace(0, 8, 40), np.linspace(0, 8, 40)])
    names = np.repeat(["a", "b"], 40)
    phase = t + np.where(names == "b", 1.0, 0.0)
    Y = np.column_stack([np.cos(phase), np.sin(phase)]) @ rng.normal(size=(2, 6))
    return Y + 0.1 * rng.normal(size=Y.shape), t, names


@pytest.fixture(scope="module")
def fitted(series):
    Y, t, names = series
    seen = (names == "a") | (t < 6.0)
    model = GPLVM(2, search=Search(tol=1e-3), random_state=0)
    return model.fit(Y[seen], times=t[seen], sequences=names[seen])


def slow_log_density(kernels, inputs, code, X):
    total = 0.0
    for name in np.unique(code):
        own = code == name
        for kernel, x in zip(kernels, X[own].T, strict=True):
            K = np.asarray(kernel.gram(jnp.asarray(inputs[own]))) + WANDER * np.eye(own.sum())
            total += multivariate_normal(np.zeros(own.sum()), K).logpdf(x)
    return total


@pytest.mark.parametrize("kind", ["dense", "state-space", "one each"])
def test_density_is_that_of_independent_gps(kind):
    rng = np.random.default_rng(0)
    n = 250 if kind == "state-space" else 14
    inputs, code = rng.uniform(0, 10, size=(n, 1)), rng.integers(2, size=n)
    X = rng.normal(size=(n, 2))
    kernels = {
        "dense": (RBF(1.3, 0.8),),
        "state-space": (Matern32(1.2, 0.7),),
        "one each": (RBF(1.0, 0.8), Matern32(1.0, 2.0)),
    }[kind]
    latent = TimedPoints(make_sequences(inputs, code), kernels, X, unit=False)
    assert latent.path.path == ("state-space" if kind == "state-space" else "dense")
    both = kernels * 2 if len(kernels) == 1 else kernels
    expected = slow_log_density(both, inputs, code, X)
    found, shares = jax.jit(lambda z: (z.infer().kl, z.log_density()))(latent)
    assert -float(found) == pytest.approx(expected, rel=1e-8)
    own = code == 1
    part = slow_log_density(both, inputs[own], code[own], X[own])
    assert float(shares[own].sum()) == pytest.approx(part, rel=1e-8)


def test_gradient_and_what_is_held():
    rng = np.random.default_rng(1)
    inputs, code = rng.uniform(0, 5, size=(9, 1)), np.zeros(9, dtype=int)
    latent = TimedPoints(make_sequences(inputs, code), (RBF(1.0, 1.1),), rng.normal(size=(9, 2)))
    outputs = make_outputs(rng.normal(size=(9, 3)))
    objective = Objective(Model(latent, (ExactGP(RBF(1.0, np.ones(2)), 2, 0.3),)), (outputs,))
    assert objective.start.size == 18 + 4  # points, variance, two lengthscales and noise
    np.testing.assert_allclose(np.mean(latent.position, axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.std(latent.position, axis=0), 1.0, rtol=1e-9)
    slow = finite_differences(lambda x: objective(x)[0], objective.start)
    np.testing.assert_allclose(objective(objective.start)[1], slow, rtol=1e-5, atol=1e-4)


def test_expected_points_are_gp_regression():
    rng = np.random.default_rng(2)
    inputs, code = np.sort(rng.uniform(0, 6, size=(12, 1)), axis=0), np.repeat([0, 1], 6)
    X, kernel = rng.normal(size=(12, 1)), RBF(1.0, 0.9)
    latent = TimedPoints(make_sequences(inputs, code), (kernel,), X, unit=False)
    new, which = np.array([[1.5], [4.4], [2.0]]), np.array([0, 1, 2])  # the last one is new
    found = latent.at(new, which)
    for n in range(3):
        own = code == which[n]
        K = np.asarray(kernel.gram(jnp.asarray(inputs[own]))) + WANDER * np.eye(own.sum())
        k = np.asarray(kernel.cross(jnp.asarray(inputs[own]), jnp.asarray(new[n : n + 1])))[:, 0]
        weights = np.linalg.solve(K, k)
        assert float(found.mean[n, 0]) == pytest.approx(weights @ X[own, 0], abs=1e-8)
        variance = 1.0 + WANDER - weights @ k
        assert float(found.variance[n, 0]) == pytest.approx(variance, abs=1e-8)


@pytest.mark.long
def test_new_rows_are_placed_at_the_joint_maximum(fitted, series):
    Y, t, names = series
    new = (names == "b") & (t >= 6.0)
    rows = Y[new].copy()
    rows[:, 3:] = np.nan
    rows[2] = np.nan
    along = {"times": t[new], "sequences": names[new]}
    found = fitted.transform(rows, **along)
    latent, density = fitted.engine_.model.latent, row_density(
        fitted.engine_.posteriors[0], fitted.scaling_.apply(rows)
    )  # fmt: skip
    trained = fitted.when_
    own = trained.code == 1
    inputs = np.concatenate([trained.inputs[own], t[new][:, None]])
    kernels = latent.path.kernels * 2
    old = fitted.latent_mean_[own]

    def negative(x):
        X = x.reshape(found.shape)
        prior = slow_log_density(kernels, inputs, np.zeros(len(inputs)), np.concatenate([old, X]))
        return -float(np.sum(density(jnp.asarray(X)))) - prior

    at, rng = negative(found.ravel()), np.random.default_rng(0)
    for size in (0.003, 0.03):
        for _ in range(5):
            step = size * rng.normal(size=found.size)
            assert negative(found.ravel() + step) > at
            assert negative(found.ravel() - step) > at
    predicted = fitted.predict(rows, **along)
    hidden = np.isnan(rows)
    assert np.sqrt(np.mean((predicted - Y[new])[hidden] ** 2)) < 0.35
    alone = fitted.transform(rows, coupled=False, **along)
    assert negative(alone.ravel()) > at
    filled, std = fitted.impute(rows, return_std=True, **along)
    np.testing.assert_array_equal(filled[~hidden], rows[~hidden])
    assert (std[hidden] > 0).all()


@pytest.mark.long
def test_score_is_the_row_density_given_the_path(fitted, series):
    """Laplace's approximation against an integral over draws of p(x* | X)."""
    Y, t, names = series
    new = np.flatnonzero((names == "b") & (t >= 6.0))[:3]
    scores = fitted.score_samples(Y[new], times=t[new], sequences=names[new])
    prior = fitted.engine_.model.latent.at(t[new][:, None], np.ones(3, dtype=int))
    rng, n = np.random.default_rng(0), 40_000
    scaled = fitted.scaling_.apply(Y[new])
    for i in range(3):
        x = np.asarray(prior.mean[i]) + np.sqrt(np.asarray(prior.variance[i])) * rng.normal(
            size=(n, 2)
        )
        density = row_density(fitted.engine_.posteriors[0], np.tile(scaled[i], (n, 1)))
        values = np.asarray(density(jnp.asarray(x)))
        slow = values.max() + np.log(np.mean(np.exp(values - values.max())))
        slow -= fitted.scaling_.log_jacobian(scaled[i : i + 1])[0]
        assert scores[i] == pytest.approx(slow, abs=0.5)
    with pytest.raises(OptionError, match="without time stamps"):
        GPLVM(1, search=Search(tol=1.0)).fit(Y[:20]).transform(Y[:3], times=[1, 2, 3])


@pytest.mark.long
def test_forecast_and_file(fitted, series, tmp_path):
    Y, t, names = series
    near = (names == "b") & (t >= 6.0) & (t < 6.7)
    mean, std = fitted.forecast(t[near], "b", return_std=True, random_state=0)
    baseline = np.mean((Y[near] - Y.mean(axis=0)) ** 2)
    assert np.mean((mean - Y[near]) ** 2) < 0.3 * baseline
    far = fitted.forecast(np.array([40.0]), "b", return_std=True, random_state=0)[1]
    assert (far > std.mean(axis=0)).all()
    assert fitted.forecast(t[near], "b", n_samples=7, random_state=0).shape == (7, near.sum(), 6)
    fitted.save(tmp_path / "model.safetensors")
    loaded = manyviews.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.forecast(t[near], "b"), mean)
    along = {"times": t[near], "sequences": names[near]}
    np.testing.assert_array_equal(loaded.transform(Y[near], **along),
                                  fitted.transform(Y[near], **along))  # fmt: skip


def test_a_prior_over_time_makes_smoother_paths(fitted, series):
    Y, t, names = series
    seen = (names == "a") | (t < 6.0)
    free = GPLVM(2, search=Search(tol=1e-3), random_state=0).fit(Y[seen])

    def roughness(X):
        X = X[names[seen] == "a"]
        return np.mean(np.diff(X, 2, axis=0) ** 2) / X.var()

    assert roughness(fitted.latent_mean_) < 0.5 * roughness(free.latent_mean_)


def test_no_path_together_with_a_back_constraint(series):
    Y, t, _ = series
    with pytest.raises(OptionError, match="not both"):
        GPLVM(2, back_constraint="gp").fit(Y, times=t)


@pytest.fixture(scope="module")
def pair():
    """Two sequences of two views: what turns is shared, and each has a slower path of its own."""
    rng = np.random.default_rng(0)
    t = np.tile(np.linspace(0, 8, 30), 2)
    names = np.repeat(["a", "b"], 30)
    turn = t + np.where(names == "b", 1.0, 0.0)
    shared = np.column_stack([np.cos(turn), np.sin(turn)])
    views = {}
    for name, pace in {"left": 0.5, "right": 0.8}.items():
        own = np.cos(pace * turn)[:, None]
        Y = np.hstack([shared, own]) @ rng.normal(size=(3, 5))
        views[name] = Y + 0.1 * rng.normal(size=Y.shape)
    return views, t, names


KINDS = {
    "subspace": lambda: SubspaceGPLVM(2, 1, search=Search(tol=1e-2), random_state=0),
    "shared": lambda: SharedGPLVM(3, search=Search(tol=1e-2), random_state=0),
}


@pytest.mark.long
@pytest.mark.parametrize("kind", ["subspace", "shared"])
def test_views_over_time(pair, kind, tmp_path):
    views, t, names = pair
    seen = (names == "a") | (t < 5.0)
    model = KINDS[kind]().fit({k: v[seen] for k, v in views.items()},
                              times=t[seen], sequences=names[seen])  # fmt: skip
    late = (names == "b") & (t >= 5.0)
    along = {"times": t[late], "sequences": names[late]}
    known = {"left": views["left"][late].copy()}
    known["left"][2] = np.nan
    x = model.transform(known, **along)

    latent, engine = model.engine_.model.latent, model.engine_
    density = row_density(engine.posteriors[0], model.scalings_[0].apply(known["left"]))
    own = model.when_.code == 1
    inputs = np.concatenate([model.when_.inputs[own], t[late][:, None]])
    kernels, Q = latent.path.kernels, x.shape[1]
    kernels = kernels * Q if len(kernels) == 1 else kernels

    def negative(points):
        X = np.concatenate([model.latent_mean_[own], points])
        prior = slow_log_density(kernels, inputs, np.zeros(len(inputs)), X)
        return -float(np.sum(density(jnp.asarray(points)))) - prior

    best, rng = negative(x), np.random.default_rng(0)
    for size in (0.003, 0.03):
        for _ in range(4):
            step = size * rng.normal(size=x.shape)
            assert negative(x + step) > best
            assert negative(x - step) > best

    baseline = np.mean((views["right"][late] - views["right"].mean(axis=0)) ** 2)
    for how in ({}, {"private": "nearest"}, {"coupled": False}):
        found, std = model.predict(known, "right", return_std=True, **how, **along)
        assert np.mean((found - views["right"][late]) ** 2) < 0.4 * baseline
        assert (std > 0).all()
    ahead = model.forecast(t[late][:3], "right", "b")
    assert np.mean((ahead - views["right"][late][:3]) ** 2) < 0.4 * baseline
    model.save(tmp_path / "model.safetensors")
    loaded = manyviews.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.transform(known, **along), x)
    if kind == "subspace":
        assert model.private("right") == [3]
        names_, _ = model.correspondences(known, "right", 2, **along)
        assert names_.shape == (late.sum(), 2)

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import manyviews
from manyviews import AutoregressiveGP, Search, UncertainGPRegressor
from manyviews.errors import DataError, OptionError
from manyviews.expectations import Gaussian
from manyviews.inference.rollout import propagate
from manyviews.mappings import make_outputs

WINDOW = 3


def series(n=70):
    t = np.arange(n) / 3
    return np.stack([np.sin(t), np.cos(t) * np.sin(0.3 * t)], axis=1)


def fit(block):
    noisy = series() + 0.05 * np.random.default_rng(0).normal(size=(70, 2))
    estimator = UncertainGPRegressor(12, search=Search(max_iter=60, tol=1e-3), random_state=0)
    return AutoregressiveGP(WINDOW, estimator, block=block).fit(noisy), noisy


@pytest.fixture(scope="module")
def fitted():
    return fit(1)


@pytest.fixture(scope="module")
def in_blocks():
    return fit(2)


@pytest.mark.parametrize("propagation", ["augmented", "girard", "naive"])
@pytest.mark.parametrize("which", ["fitted", "in_blocks"])
def test_steps_are_those_of_a_model_retrained_by_hand(which, propagation, request):
    """The augmented mode conditions the whole model again after every step."""
    model, _ = request.getfixturevalue(which)
    core, frame = model.model_.engine_, model._frame()
    view, q, Y = core.model.views[0], core.marginals, core.data[0]
    posterior_of = eqx.filter_jit(lambda v, q, y: v.posterior(q, y))
    moments = eqx.filter_jit(lambda p, x: (p.mean(x), p.variance(x) + p.noise))
    window = model.ends_[0]
    spread = np.zeros_like(window)
    expected = []
    for _ in range(4):
        used = np.zeros_like(spread) if propagation == "naive" else spread
        variance = np.maximum(used.ravel() / np.asarray(frame.input_scale) ** 2, 1e-12)
        point = Gaussian(
            frame.inputs(jnp.asarray(window.ravel()))[None], jnp.asarray(variance)[None]
        )
        mean, var = (
            np.asarray(a)[0] for a in moments(posterior_of(view, q, make_outputs(Y)), point)
        )
        if propagation == "augmented":
            q = Gaussian(
                *(jnp.concatenate([getattr(q, f), getattr(point, f)]) for f in ("mean", "variance"))
            )
            Y = np.concatenate([Y, mean[None]])
        back = np.asarray(frame.outputs(jnp.asarray(mean))).reshape(-1, 2)
        var = (var * np.asarray(frame.output_scale) ** 2).reshape(-1, 2)
        expected += zip(back, var, strict=True)
        k = len(back)
        window, spread = np.vstack([window[k:], back]), np.vstack([spread[k:], var])
    start = Gaussian(jnp.asarray(model.ends_[0]), jnp.zeros_like(jnp.asarray(model.ends_[0])))
    found = propagate(core.posteriors[0], frame, start, jnp.zeros((4, 0)), propagation)
    # rounding is that of a kernel matrix of condition 1e6
    np.testing.assert_allclose(found.mean, [m for m, _ in expected], atol=1e-5)
    np.testing.assert_allclose(found.variance, [v for _, v in expected], rtol=1e-4)


def test_a_block_repeats_the_map_of_a_linear_recursion():
    """y_t = 0.8 y_{t-1}: a window of one value and a block of three."""
    rng = np.random.default_rng(0)
    pulses = np.concatenate([level * 0.8 ** np.arange(12) for level in rng.normal(size=8)])
    model = AutoregressiveGP(
        1, UncertainGPRegressor(10, kernel="linear", random_state=0), block=3
    ).fit(pulses, sequences=np.repeat(np.arange(8), 12))
    assert model.model_.noise_variance_.shape == (3,)
    for propagation in ("sampled", "girard", "naive"):
        found = model.forecast(7, history=[1.0], propagation=propagation)
        np.testing.assert_allclose(found, 0.8 ** np.arange(1, 8), atol=0.02)
    np.testing.assert_allclose(model.predict([1.0, 0.5, 0.2]), [0.8, 0.4], atol=0.02)
    assert model.forecast(4, history=[1.0], n_samples=5).shape == (5, 4)
    with pytest.raises(OptionError, match="leave block at 1"):
        AutoregressiveGP(1, block=2).fit(pulses, pulses)


def test_first_step_is_the_one_step_prediction(fitted):
    model, noisy = fitted
    mean, std = model.forecast(1, propagation="girard", return_std=True)
    longer = np.vstack([noisy, np.zeros((1, 2))])
    one, spread = model.predict(longer, return_std=True)
    np.testing.assert_allclose(mean[0], one[-1], rtol=1e-9)
    np.testing.assert_allclose(std[0], spread[-1], rtol=1e-6)
    again = model.forecast(1, history=noisy[-WINDOW:], propagation="girard")
    np.testing.assert_allclose(again, mean, rtol=1e-12)


def test_trajectories_have_the_moments_of_the_first_step(fitted):
    model, _ = fitted
    mean, std = model.forecast(8, propagation="girard", return_std=True)
    paths = model.forecast(8, n_samples=4000, random_state=0)
    assert paths.shape == (4000, 8, 2)
    np.testing.assert_allclose(paths[:, 0].mean(axis=0), mean[0], atol=5 * std[0].max() / 63)
    np.testing.assert_allclose(paths[:, 0].std(axis=0), std[0], rtol=0.06)
    # beyond, moments and paths differ by the correlations between lags only
    assert np.abs(paths.mean(axis=0) - mean).max() < 3 * std.max()
    np.testing.assert_array_equal(paths, model.forecast(8, n_samples=4000, random_state=0))


def test_sampled_moments_are_those_of_the_trajectories(fitted):
    model, _ = fitted
    mean, std = model.forecast(8, return_std=True, random_state=3)
    paths = model.forecast(8, n_samples=500, random_state=3)
    np.testing.assert_allclose(mean, paths.mean(axis=0))
    np.testing.assert_allclose(std, paths.std(axis=0))
    np.testing.assert_array_equal(model.forecast(3), model.forecast(3))


def test_variance_is_propagated(fitted):
    model, _ = fitted
    naive = model.forecast(15, propagation="naive", return_std=True)[1]
    girard = model.forecast(15, propagation="girard", return_std=True)[1]
    assert (girard[1:] > naive[1:]).all()


def test_forecasts_follow_the_series(fitted):
    model, _ = fitted
    truth = series(76)[70:]
    assert np.abs(model.forecast(6) - truth).mean() < 0.3


def test_files(fitted, tmp_path):
    model, _ = fitted
    model.save(tmp_path / "model.safetensors")
    again = manyviews.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.forecast(5), model.forecast(5))


@pytest.mark.long
def test_exogenous_inputs_sequences_frames_and_holes():
    rng = np.random.default_rng(0)
    u = rng.normal(size=90)
    y = np.zeros(90)
    for t in range(1, 90):
        y[t] = 0.7 * y[t - 1] + u[t]
    y[45:] += 0.0
    frame = pd.DataFrame({"level": y})
    frame.iloc[20, 0] = np.nan
    model = AutoregressiveGP(
        2, UncertainGPRegressor(10, kernel="linear", search=Search(max_iter=80), random_state=0)
    )
    model.fit(frame, u, sequences=["a"] * 45 + ["b"] * 45)
    future = np.array([1.0, -1.0, 0.5])
    expected, level = [], y[44]
    for value in future:
        level = 0.7 * level + value
        expected.append(level)
    found = model.forecast(3, future, sequence="a")
    assert list(found.columns) == ["level"]
    np.testing.assert_allclose(found["level"], expected, atol=0.15)
    with pytest.raises(OptionError, match="sequence must be one of"):
        model.forecast(3, future)
    with pytest.raises(DataError, match="exogenous"):
        model.forecast(3, sequence="a")
    gap = model.forecast(1, [0.0], history=[[0.5], [np.nan]], return_std=True)
    sure = model.forecast(1, [0.0], history=[[0.5], [0.4]], return_std=True)
    assert float(gap[1].iloc[0, 0]) > float(sure[1].iloc[0, 0])


def test_clear_errors(fitted):
    model, noisy = fitted
    with pytest.raises(OptionError, match="window"):
        AutoregressiveGP(0).fit(noisy)
    with pytest.raises(OptionError, match="propagation"):
        AutoregressiveGP(2, propagation="none").fit(noisy)
    with pytest.raises(DataError, match="longer than the window"):
        AutoregressiveGP(70).fit(noisy)
    with pytest.raises(DataError, match="columns"):
        model.forecast(2, history=np.zeros((5, 3)))
    with pytest.raises(DataError, match="fewer than the window"):
        model.forecast(2, history=np.zeros((2, 2)))
    with pytest.raises(OptionError, match="samples or for moments"):
        model.forecast(2, n_samples=3, return_std=True)

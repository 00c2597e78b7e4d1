"""Every model's moments at Gaussian inputs, against Monte Carlo over exact inputs."""

import numpy as np
import pytest

from manyviews import MRD, BayesianGPLVM, Search, UncertainGPRegressor

pytestmark = pytest.mark.filterwarnings("ignore::manyviews.errors.ManyviewsWarning")

N_DRAWS = 20_000
MEAN, STD = np.array([[0.4, -0.6], [1.1, 0.3]]), np.array([0.5, 0.3])


def data():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 2))
    return x, np.stack([np.sin(x[:, 0]), x[:, 0] * x[:, 1], x[:, 1]], axis=1)


def latent_model():
    x, Y = data()
    model = BayesianGPLVM(
        2, n_inducing=8, init=x, search=Search(max_iter=5), signal_check="off", random_state=0
    )
    model.fit(Y)
    return lambda x, std: model.inverse_transform(x, std, return_std=True)


def two_views():
    x, Y = data()
    model = MRD(
        2, n_inducing=8, init=x, search=Search(max_iter=5), signal_check="off", random_state=0
    )
    model.fit({"a": Y, "b": Y[:, ::-1] ** 2})
    return lambda x, std: model.inverse_transform(x, "b", std, return_std=True)


def regression(kernel):
    x, Y = data()
    model = UncertainGPRegressor(8, kernel=kernel, search=Search(max_iter=5), random_state=0).fit(
        x, Y
    )
    return lambda x, std: model.predict(x, std, return_std=True)


@pytest.mark.parametrize(
    "make",
    [
        latent_model,
        two_views,
        lambda: regression("rbf"),
        lambda: regression("rbf + linear + bias"),
        pytest.param(  # no closed form: by quadrature
            lambda: regression("matern32"), marks=pytest.mark.long
        ),
    ],
    ids=["BayesianGPLVM", "MRD", "rbf", "rbf + linear + bias", "matern32"],
)
def test_moments_at_gaussian_inputs(make):
    moments = make()
    mean, std = (np.asarray(part) for part in moments(MEAN, STD))
    draws = MEAN[:, None] + STD * np.random.default_rng(1).normal(size=(2, N_DRAWS, 2))
    each, own = (
        np.asarray(part).reshape(2, N_DRAWS, -1)
        for part in moments(draws.reshape(-1, 2), np.zeros(2))
    )
    error = each.std(axis=1) / np.sqrt(N_DRAWS)
    assert np.all(np.abs(mean - each.mean(axis=1)) < 5 * error + 2e-3 * std)
    second = (each - mean[:, None]) ** 2 + own**2
    error = second.std(axis=1) / np.sqrt(N_DRAWS)
    assert np.all(np.abs(std**2 - second.mean(axis=1)) < 5 * error + 1e-2 * std**2)

"""The problems that are benchmarked: data and a complete set of parameters, as arrays.

Keys: ``Y`` (N x D), ``mu`` and ``S`` (N x Q), ``Z`` (M x Q), ``variance``, ``lengthscale``
(Q), ``noise`` and ``jitter``, the absolute number added to the diagonal of k(Z, Z). The
same jitter is set in every library; ours, which is relative to the mean of that diagonal,
is given ``jitter / variance``.
"""

import os
from pathlib import Path

import numpy as np

from .protocol import Arrays

JITTER = 1e-6


def random_problem(N: int, M: int, Q: int, D: int, seed: int = 0) -> Arrays:
    """Smooth functions of random latent points plus noise, at nearby parameters."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, Q))
    waves = np.sin(X @ rng.standard_normal((Q, 2 * Q)) + rng.uniform(0, 6, 2 * Q))
    Y = waves @ rng.standard_normal((2 * Q, D)) / np.sqrt(Q) + 0.3 * rng.standard_normal((N, D))
    return {
        "Y": Y - Y.mean(axis=0),
        "mu": X + 0.1 * rng.standard_normal((N, Q)),
        "S": rng.uniform(0.05, 0.5, (N, Q)),
        "Z": X[rng.choice(N, M, replace=False)] + 0.1 * rng.standard_normal((M, Q)),
        "variance": np.array(1.3),
        "lengthscale": rng.uniform(1.0, 2.5, Q),
        "noise": np.array(0.2),
        "jitter": np.array(JITTER),
    }


def digits_problem(seed: int, N: int = 500, M: int = 50, Q: int = 10) -> Arrays:
    """The start of a fit to scikit-learn's digits: the seed chooses the inducing subset."""
    from sklearn.datasets import load_digits

    Y = load_digits().data[:N]
    Y = Y - Y.mean(axis=0)
    return starting_problem(Y / Y.std(), M, Q, seed)


def starting_problem(Y: np.ndarray, M: int, Q: int, seed: int) -> Arrays:
    """Where the library starts a fit: whitened PCA, a subset as inducing inputs, SNR 100."""
    from manyviews.inference.initialise import inducing_inputs, initial_kernel, initial_means

    rng = np.random.default_rng(seed)
    mu = initial_means(Y, Q, "pca", rng)
    variance = float(Y.var())
    kernel = initial_kernel("rbf", mu, variance)
    return {
        "Y": Y,
        "mu": mu,
        "S": np.full_like(mu, 0.5),
        "Z": inducing_inputs(mu, M, "subset", rng),
        "variance": np.asarray(kernel.variance.value),
        "lengthscale": np.asarray(kernel.lengthscale.value),
        "noise": np.array(variance / 100.0),
        "jitter": np.array(JITTER * variance),
    }


def oil_like(n_train: int = 1000, n_new: int = 1000) -> tuple[np.ndarray, np.ndarray, str]:
    """Training rows, new rows and the name of the data: 12 measurements of a 2-D manifold.

    These are the oil flow data where ``MANYVIEWS_DATA`` names the folder that has them,
    else noisy smooth functions of two variables in three separate regimes.
    """
    folder = os.environ.get("MANYVIEWS_DATA")
    if folder and (Path(folder) / "oil.npz").exists():
        with np.load(Path(folder) / "oil.npz") as file:
            return file["Y_train"][:n_train], file["Y_test"][:n_new], "oil flow"
    rng = np.random.default_rng(0)
    regime = rng.integers(3, size=n_train + n_new)
    place = rng.uniform(-1, 1, (n_train + n_new, 2))
    directions, offsets = rng.standard_normal((3, 2, 12)), rng.standard_normal((3, 12))
    exponent = np.einsum("nq,nqd->nd", place, directions[regime]) + offsets[regime]
    Y = np.tanh(exponent) + 0.02 * rng.standard_normal(exponent.shape)
    return Y[:n_train], Y[n_train:], "synthetic"

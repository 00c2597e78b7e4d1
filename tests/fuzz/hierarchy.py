"""Draws from the hierarchy of the Dirichlet mixtures, by NumPy and SciPy alone.

It is written from the definition in `manyviews.mixtures.hierarchy`, and shares no code with the
samplers that it is to judge. Wishart distributions there are given by their mean S and degrees of
freedom v: here the scale is S / v.
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import wishart


@dataclass
class Truth:
    """What was drawn: per view the means, loadings and noise of every cluster, and the rest."""

    c: np.ndarray
    alpha: float
    beta: list[float]
    v: list[float]
    views: list[np.ndarray]


def draw(
    rng: np.random.Generator, sizes: tuple[int, ...], n: int, q: int, tau: float, one_variance: bool
) -> Truth:
    """Hyperparameters, clusters, positions, data; the constants are those of `constants()`."""
    alpha = float(rng.chisquare(1))
    c = _seats(rng, alpha, n)
    x = rng.standard_normal((n, q))
    views, betas, vs = [], [], []
    for m in sizes:
        mean, covariance = constants(m)
        lam = rng.multivariate_normal(mean, covariance)
        R = _wishart(rng, m, np.linalg.inv(covariance))
        d = 1 if one_variance else m
        noise = np.array([[np.trace(covariance) / m]]) if one_variance else covariance
        C = _wishart(rng, d, noise)
        beta = d - 1.0 + 1.0 / rng.chisquare(1)
        v = float(rng.chisquare(1))
        gamma = rng.standard_normal((m, q)) / np.sqrt(tau)
        table = np.empty((n, m))
        for k in np.unique(c):
            mu = rng.multivariate_normal(lam, np.linalg.inv(R))
            A = _wishart(rng, beta, np.linalg.inv(C))
            A = A[0, 0] * np.eye(m) if one_variance else A
            W = gamma + rng.standard_normal((m, q)) / np.sqrt(v)
            own = c == k
            noisy = rng.multivariate_normal(np.zeros(m), np.linalg.inv(A), size=int(own.sum()))
            table[own] = mu + x[own] @ W.T + noisy
        views.append(table)
        betas.append(float(beta))
        vs.append(v)
    return Truth(c, alpha, betas, vs, views)


def constants(m: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of a view's data, as the prior has them."""
    return np.full(m, 0.3), 0.5 * np.eye(m) + 0.5


def _wishart(rng: np.random.Generator, df: float, mean: np.ndarray) -> np.ndarray:
    found = wishart.rvs(df, mean / df, random_state=rng)
    return np.reshape(found, mean.shape)


def _seats(rng: np.random.Generator, alpha: float, n: int) -> np.ndarray:
    c = np.zeros(n, int)
    for i in range(1, n):
        counts = np.bincount(c[:i]).astype(float)
        c[i] = rng.choice(len(counts) + 1, p=np.append(counts, alpha) / (i + alpha))
    return c

"""Gaussian process regression on a few principal components and, linearly, on all inputs."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import cho_solve, cholesky, lapack
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from .base import Path, Recipe, Regression

NOISES = tuple(np.logspace(-4, 3, 15).tolist())
JITTER = 1e-8
MOST_ITERATIONS = 50


@dataclass(frozen=True)
class Covariance:
    """k(x, x') = a² exp(-½ Σ_q (z_q - z'_q)² / ℓ_q²) + b² x·x' / P,   z = xV.

    Attributes
    ----------
    axes : ndarray of shape (n_inputs, n_components)
        V, principal axes of the inputs.
    lengths : ndarray of shape (n_components,)
    curved, straight : float
        a² and b².
    """

    axes: Float[np.ndarray, "P Q"]
    lengths: Float[np.ndarray, " Q"]
    curved: float
    straight: float

    def __call__(self, X: np.ndarray, X2: np.ndarray) -> Float[np.ndarray, "N M"]:
        z, z2 = X @ self.axes / self.lengths, X2 @ self.axes / self.lengths
        wave = self.curved * np.exp(-0.5 * cdist(z, z2, "sqeuclidean"))
        return wave + self.straight * (X @ X2.T) / X.shape[1]

    def diagonal(self, X: np.ndarray) -> Float[np.ndarray, " N"]:
        """k(x, x)."""
        return self.curved + self.straight * np.mean(X**2, axis=1)


@dataclass(frozen=True)
class KernelMap(Regression):
    """y = k(x, X_m) A + b, and the variance of the process at x."""

    covariance: Covariance
    rows: Float[np.ndarray, "M P"]
    coefficients: Float[np.ndarray, "M D"]
    intercept: Float[np.ndarray, " D"]
    precision: Float[np.ndarray, "M M"]

    def predict(self, X: Float[np.ndarray, "n P"]) -> Float[np.ndarray, "n D"]:
        return self.covariance(X, self.rows) @ self.coefficients + self.intercept

    def doubt(self, X: Float[np.ndarray, "n P"]) -> Float[np.ndarray, " n"]:
        cross = self.covariance(X, self.rows)
        explained = np.einsum("nm,ml,nl->n", cross, self.precision, cross)
        whole = self.covariance.diagonal(X)
        return np.sqrt(np.maximum(whole - explained, 1e-6 * whole))


@dataclass(frozen=True)
class GaussianProcess(Recipe):
    """One covariance for all columns, by their marginal likelihood; the noise by column.

    With more than ``most_rows`` rows the covariance is learnt from so many, and these are the
    inducing inputs of all (Nyström features).
    """

    n_components: int = 10
    most_rows: int = 500
    noises: tuple[float, ...] = NOISES

    def path(self, X: np.ndarray, Y: np.ndarray, new: np.ndarray) -> Path:
        learnt = _Features.learn(X, Y, self.n_components, self.most_rows)
        features = learnt(new)
        means = [
            learnt.intercept + features @ (learnt.shrunk(np.array([noise])))
            for noise in self.noises
        ]
        return Path(np.stack(means), learnt.map(np.full(1, learnt.noise)).doubt(new))

    def fit(self, X: np.ndarray, Y: np.ndarray, chosen: Int[np.ndarray, " D"]) -> KernelMap:
        learnt = _Features.learn(X, Y, self.n_components, self.most_rows)
        return learnt.map(np.asarray(self.noises)[chosen])


class _Features:
    """φ(x) = L⁻¹ k(X_m, x), in which the process is a ridge regression."""

    def __init__(self, X: np.ndarray, Y: np.ndarray, covariance: Covariance, noise: float,
                 rows: np.ndarray):  # fmt: skip
        self.covariance, self.noise, self.rows = covariance, noise, rows
        K = covariance(rows, rows)
        K[np.diag_indices_from(K)] += JITTER * np.trace(K) / len(K)
        self.root = cholesky(K, lower=True)
        self.intercept = Y.mean(axis=0)
        U, s, Vt = np.linalg.svd(self(X), full_matrices=False)
        self.s, self.V, self.projected = s, Vt.T, U.T @ (Y - self.intercept)

    @classmethod
    def learn(cls, X: np.ndarray, Y: np.ndarray, n_components: int, most: int) -> "_Features":
        some = np.random.RandomState(0).permutation(len(X))[:most]
        covariance, noise = learn_covariance(X[some], Y[some] - Y[some].mean(axis=0), n_components)
        return cls(X, Y, covariance, noise, X[some])

    def __call__(self, X: np.ndarray) -> Float[np.ndarray, "n M"]:
        return np.linalg.solve(self.root, self.covariance(self.rows, X)).T

    def shrunk(self, noise: np.ndarray) -> Float[np.ndarray, "M D"]:
        """Coefficients of the features, given the noise of every column (or of all)."""
        return self.V @ ((self.s[:, None] / (self.s[:, None] ** 2 + noise)) * self.projected)

    def map(self, noise: np.ndarray) -> KernelMap:
        """As a record: features folded into coefficients of k(x, X_m)."""
        back = np.linalg.solve(self.root.T, np.eye(len(self.root)))
        # Σ of the process: k** - φ(ΦᵀΦ)(ΦᵀΦ + σ²)⁻¹φᵀ, with Φ = USVᵀ
        held = (self.V * (self.s**2 / (self.s**2 + self.noise))) @ self.V.T
        return KernelMap(
            self.covariance, self.rows, back @ self.shrunk(noise), self.intercept,
            back @ held @ back.T,
        )  # fmt: skip


def learn_covariance(
    X: Float[np.ndarray, "N P"], Y: Float[np.ndarray, "N D"], n_components: int
) -> tuple[Covariance, float]:
    """Maximise the marginal likelihood of all columns together.

    -2 log p / D = tr(K⁻¹ YYᵀ)/D + log |K| + const, with K = k(X, X) + σ²I.
    """
    _, s, Vt = np.linalg.svd(X, full_matrices=False)
    kept = max(1, min(n_components, int(np.sum(s > 1e-6 * s[0])) if s.size and s[0] > 0 else 1))
    V = Vt[:kept].T
    z = X @ V
    F = _root(Y)
    power = max(float(np.sum(F**2)) / len(F), 1e-12)
    linear = X @ X.T / X.shape[1]
    width = np.sqrt(max(float(np.sum(z.var(axis=0))), 1e-12))
    start = np.log(np.concatenate([np.full(kept, width), power * np.array([0.3, 0.3, 0.5])]))

    def cost(theta: np.ndarray) -> tuple[float, np.ndarray]:
        lengths, (a, b, noise) = np.exp(theta[:kept]), np.exp(theta[kept:])
        wave = a * np.exp(-0.5 * cdist(z / lengths, z / lengths, "sqeuclidean"))
        K = wave + b * linear + (noise + JITTER * power) * np.eye(len(z))
        L = cholesky(K, lower=True, check_finite=False)
        W, solved = _inverse(L), cho_solve((L, True), F, check_finite=False)
        value = np.sum(F * solved) + 2.0 * np.log(np.diag(L)).sum()
        W -= solved @ solved.T  # K⁻¹ - K⁻¹FFᵀK⁻¹
        A = W * wave
        apart = 2.0 * (A.sum(axis=1) @ z**2 - np.sum(z * (A @ z), axis=0))
        slopes = [apart / lengths**2, [A.sum(), b * np.sum(W * linear), noise * np.trace(W)]]
        return 0.5 * float(value), 0.5 * np.concatenate(slopes)

    bounds = [(v - 7.0, v + 7.0) for v in start]
    found = minimize(
        cost, start, jac=True, method="L-BFGS-B", bounds=bounds,
        options={"maxiter": MOST_ITERATIONS},
    )  # fmt: skip
    lengths, (a, b, noise) = np.exp(found.x[:kept]), np.exp(found.x[kept:])
    return Covariance(V, lengths, float(a), float(b)), float(noise)


def _root(Y: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N R"]:
    """F with FFᵀ = YYᵀ/D, and no more columns than rows."""
    if Y.shape[1] > len(Y):
        U, s, _ = np.linalg.svd(Y, full_matrices=False)
        return U * (s / np.sqrt(Y.shape[1]))
    return Y / np.sqrt(Y.shape[1])


def _inverse(L: Float[np.ndarray, "N N"]) -> Float[np.ndarray, "N N"]:
    """(LLᵀ)⁻¹."""
    lower, _ = lapack.dpotri(L, lower=1)
    lower = np.tril(lower)
    return lower + np.tril(lower, -1).T

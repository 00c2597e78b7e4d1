"""Latent points: one position per row and no uncertainty, the MAP end of the family."""

import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, ArrayLike, Float

from ..expectations import Gaussian
from ..kernels import Kernel
from ..linalg import log_determinant, safe_cholesky
from ..parameters import Parameter, parameter
from .base import Inferred, LatentSpace
from .sequences import Sequences


class Points(LatentSpace):
    """q(X) is a point and the "KL" is -log p(X), p(X) = Π_n N(0, I): the bound is log p(Y, X)."""

    position: Parameter

    def __init__(self, position: ArrayLike):
        self.position = parameter(position)

    def infer(self) -> Inferred:
        X = self.position.value
        return Inferred(Gaussian(X, jnp.zeros_like(X)), -log_standard_normal(X))

    def prior(self, n_points: int) -> Gaussian:
        return _standard(n_points, self.position.raw.shape[1])


class BackConstrained(LatentSpace):
    """Points that are a smooth function of the data: x_n = Σ_m k(y_n, y_m) a_m.

    Rows that are near in the data stay near in the latent space (Lawrence & Quiñonero-Candela
    2006). ``features`` is the kernel matrix of the data; the weights are free.
    """

    weights: Parameter
    features: Float[Array, "N N"]

    def __init__(self, weights: ArrayLike, features: ArrayLike):
        self.weights = parameter(weights)
        self.features = jnp.asarray(features)

    def infer(self) -> Inferred:
        X = self.features @ self.weights.value
        return Inferred(Gaussian(X, jnp.zeros_like(X)), -log_standard_normal(X))

    def prior(self, n_points: int) -> Gaussian:
        return _standard(n_points, self.weights.raw.shape[1])


class TemporalPoints(LatentSpace):
    """Points on a path: p(x_q) = N(0, K_t + jitter), sequences independent (GP dynamics, MAP)."""

    position: Parameter
    kernel: Kernel
    sequences: Sequences

    def __init__(self, position: ArrayLike, kernel: Kernel, sequences: Sequences):
        self.position = parameter(position)
        self.kernel = kernel
        self.sequences = sequences

    def infer(self) -> Inferred:
        X = self.position.value
        code = self.sequences.code
        K = self.kernel.gram(self.sequences.inputs) * (code[:, None] == code[None, :])
        L, _ = safe_cholesky(K, 1e-6)
        squares = jnp.sum(solve_triangular(L, X, lower=True) ** 2)
        N, Q = X.shape
        kl = 0.5 * (squares + Q * log_determinant(L) + N * Q * jnp.log(2.0 * jnp.pi))
        return Inferred(Gaussian(X, jnp.zeros_like(X)), kl)

    def prior(self, n_points: int) -> Gaussian:
        variance = jnp.mean(self.kernel.diagonal(self.sequences.inputs))
        shape = (n_points, self.position.raw.shape[1])
        return Gaussian(jnp.zeros(shape), jnp.broadcast_to(variance, shape))


def log_standard_normal(X: Float[Array, "N Q"]) -> Float[Array, ""]:
    """Σ_n log N(x_n | 0, I)."""
    return -0.5 * (jnp.sum(X**2) + X.size * jnp.log(2.0 * jnp.pi))


def _standard(n_points: int, n_components: int) -> Gaussian:
    shape = (n_points, n_components)
    return Gaussian(jnp.zeros(shape), jnp.ones(shape))

"""Latent points: one position per row and no uncertainty, the MAP end of the family."""

from collections.abc import Sequence

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from ..expectations import Gaussian
from ..parameters import Parameter, parameter
from .base import Inferred, LatentSpace


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


def log_standard_normal(X: Float[Array, "N Q"]) -> Float[Array, ""]:
    """Σ_n log N(x_n | 0, I)."""
    return -0.5 * (jnp.sum(X**2) + X.size * jnp.log(2.0 * jnp.pi))


def _standard(n_points: int, n_components: int) -> Gaussian:
    shape = (n_points, n_components)
    return Gaussian(jnp.zeros(shape), jnp.ones(shape))


class DividedPoints(LatentSpace):
    """Shared points, and private ones for every view: x = [shared, private_1, …, private_K].

    The blocks are parameters of their own, so that they can be trained in turn [Leen08, §4.2]; with
    ``bounded`` all lie between zero and one, where the prior is flat.
    """

    shared: Parameter
    private: tuple[Parameter, ...]

    def __init__(self, shared: ArrayLike, private: Sequence[ArrayLike], bounded: bool = False):
        kind = "unit" if bounded else "real"
        self.shared = parameter(shared, kind)
        self.private = tuple(parameter(block, kind) for block in private)

    def infer(self) -> Inferred:
        X = jnp.concatenate([self.shared.value, *(block.value for block in self.private)], axis=1)
        kl = jnp.zeros(()) if self.bounded else -log_standard_normal(X)
        return Inferred(Gaussian(X, jnp.zeros_like(X)), kl)

    @property
    def bounded(self) -> bool:
        """Whether the points lie between zero and one."""
        return self.shared.constraint == "unit"

    def prior(self, n_points: int) -> Gaussian:
        size = sum(block.raw.shape[1] for block in (self.shared, *self.private))
        if not self.bounded:
            return _standard(n_points, size)
        shape = (n_points, size)
        return Gaussian(jnp.full(shape, 0.5), jnp.full(shape, 1.0 / 12.0))

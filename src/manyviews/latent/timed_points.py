"""Latent points that follow a Gaussian process over time: x ~ GP(t), by maximum a posteriori."""

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int

from ..expectations import Gaussian
from ..kernels import Kernel
from ..parameters import fix
from .base import Inferred, LatentSpace, marginals
from .sequences import Sequences, make_sequences
from .temporal import Temporal

WANDER = 1e-3
"""Variance of a point about its smooth path: three hundredths of a standard deviation."""


class TimedPoints(LatentSpace):
    """p(x_q) = N(0, K_q + νI) within every sequence, at a point; sequences are independent.

    The points are the targets of a `Temporal` space whose sites have the precision 1/ν, so
    that what it does in linear time for Matérn kernels and by Cholesky for others is done here,
    too. From its marginals N(μ, v) and its KL,

        log N(x | 0, K + νI) = -½ [Σ (x - μ)²/ν + 2 KL + Σ v/ν + N log 2πν].

    Two things are held, as a density of points has no maximum over them: the kernels, since one
    that suits the points, and no others, makes them as likely as one wants; and mean and scale of
    every dimension (zero and one, with ``unit``), since mappings have lengthscales of their own
    and smaller points would always be likelier, down to where a path is nothing but ν.
    """

    path: Temporal
    unit: bool = eqx.field(static=True)

    def __init__(
        self,
        sequences: Sequences,
        kernels: Sequence[Kernel],
        position: ArrayLike,
        unit: bool = True,
    ):
        path = Temporal(sequences, tuple(kernels), position, 1.0 / WANDER)
        self.path = fix(path, "kernels.*", "precision")
        self.unit = unit

    @property
    def position(self) -> Float[Array, "N Q"]:
        """The points."""
        X = self.path.target.value
        if not self.unit:
            return X
        centred = X - jnp.mean(X, axis=0)
        return centred / jnp.sqrt(jnp.mean(centred**2, axis=0) + 1e-12)

    @property
    def placed(self) -> Temporal:
        """The path with the points as its targets."""
        return _with_target(self.path, self.position)

    def infer(self) -> Inferred:
        X = self.position
        return Inferred(Gaussian(X, jnp.zeros_like(X)), -jnp.sum(self.log_density()))

    def log_density(self) -> Float[Array, "N Q"]:
        """Log p(X), in shares that add up to that of every sequence and dimension."""
        found, precision = self.placed.smooth(), self.path.precision.value
        apart = (self.position - found.mean) ** 2 + found.variance
        return -0.5 * (precision * apart + 2.0 * found.kl + jnp.log(2.0 * jnp.pi / precision))

    def prior(self, n_points: int) -> Gaussian:
        found = self.path.prior(n_points)
        return Gaussian(found.mean, found.variance + WANDER)

    def at(self, inputs: Float[np.ndarray, "n P"], code: Int[np.ndarray, " n"]) -> Gaussian:
        """p(x*) of new rows, one by one, given the points of the sequences they belong to."""
        joint = self.placed.extended(inputs, code, self.rows_of(code))
        found = marginals(joint)[jnp.arange(-len(code), 0)]
        return Gaussian(found.mean, found.variance + WANDER)

    def rows_of(self, code: Int[np.ndarray, " n"]) -> Int[np.ndarray, " T"]:
        """The rows that have sequences in common with others."""
        return np.flatnonzero(np.isin(np.asarray(self.path.sequences.code), code))

    def joined(
        self,
        inputs: Float[np.ndarray, "n P"],
        code: Int[np.ndarray, " n"],
        position: Float[np.ndarray, "n Q"],
    ) -> "TimedPoints":
        """The rows of these sequences, and after them new ones at given points."""
        old, rows = self.path.sequences, self.rows_of(code)
        sequences = make_sequences(
            np.concatenate([np.asarray(old.inputs)[rows], inputs]),
            np.concatenate([np.asarray(old.code)[rows], code]),
        )
        points = np.concatenate([np.asarray(self.position)[rows], position])
        return TimedPoints(sequences, self.path.kernels, points, unit=False)

    def moved(self, position: Float[Array, "N Q"]) -> "TimedPoints":
        """The same rows at other points."""
        return eqx.tree_at(lambda t: t.path, self, _with_target(self.path, position))


def _with_target(path: Temporal, target: Float[Array, "N Q"]) -> Temporal:
    return eqx.tree_at(lambda t: t.target, path, path.target.with_value(target))

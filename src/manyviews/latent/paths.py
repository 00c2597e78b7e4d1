"""What latent spaces over sequences have in common: a prior over paths times Gaussian sites."""

from abc import abstractmethod
from typing import Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, PRNGKeyArray

from ..expectations import Gaussian
from ..parameters import Parameter
from .base import Inferred, LatentSpace
from .dense import Smoothed
from .sequences import Sequences, make_sequences

NOTHING = 1e-17  # the precision of a site that says nothing


class Paths(LatentSpace):
    """q(X) ∝ p(X) Π_n,q N(m_nq | x_nq, 1/λ_nq), sequences independent.

    Rows added with λ = 0 are predictions, so interpolation, forecasts and the joint inference of
    new rows are one mechanism (`extended()`). A new prior over paths says how to smooth
    targets and how to draw from itself.
    """

    sequences: eqx.AbstractVar[Sequences]
    target: eqx.AbstractVar[Parameter]
    precision: eqx.AbstractVar[Parameter]

    @abstractmethod
    def _smooth(self, target: Float[Array, "N Q"]) -> Smoothed:
        """Marginals and shares of the KL at other targets than the space's own."""

    @abstractmethod
    def _prior_paths(self, key: PRNGKeyArray, n_paths: int) -> Float[Array, "S N Q"]:
        """Draws of all rows from the prior."""

    @abstractmethod
    def with_rows(self, sequences: Sequences, target: ArrayLike, precision: ArrayLike) -> Self:
        """The same prior over other rows."""

    def only(self, views: tuple[int, ...]) -> "Paths":
        """The space as some views see it: what they do not inform may be left out."""
        return self

    def columns(self, views: tuple[int, ...]) -> Int[np.ndarray, " c"]:
        """The dimensions that any of some views sees."""
        every = np.arange(self.target.raw.shape[1])
        return np.unique(np.concatenate([every[self.dimensions(view)] for view in views]))

    def infer(self) -> Inferred:
        found = self.smooth()
        return Inferred(Gaussian(found.mean, found.variance), jnp.sum(found.kl))

    def smooth(self) -> Smoothed:
        """Marginals, and the KL by row and dimension."""
        return self._smooth(self.target.value)

    def extended(
        self, inputs: Float[np.ndarray, "n P"], code: Int[np.ndarray, " n"], rows: np.ndarray
    ) -> Self:
        """Some of the rows, and after them new ones of which nothing is known yet."""
        old = self.sequences
        joint = make_sequences(
            np.concatenate([np.asarray(old.inputs)[rows], inputs]),
            np.concatenate([np.asarray(old.code)[rows], code]),
        )
        Q = self.target.raw.shape[1]
        target = np.concatenate([np.asarray(self.target.value)[rows], np.zeros((len(code), Q))])
        known = np.asarray(self.precision.value)[rows]
        precision = np.concatenate([known, np.full((len(code), Q), NOTHING)])
        return self.with_rows(joint, target, precision)

    def sample(self, key: PRNGKeyArray, n_paths: int) -> Float[Array, "S N Q"]:
        """Joint draws of all rows from q(X), by Matheron's rule.

        A prior path f, seen through noisy sites, is corrected by the posterior mean of what is
        missing: x = f + E[x | targets m - f - noise].
        """
        prior_key, site_key = jax.random.split(key)
        f = self._prior_paths(prior_key, n_paths)
        root = jnp.sqrt(self.precision.value)
        noise = jax.random.normal(site_key, f.shape, f.dtype) / root
        return f + jax.lax.map(self._smooth_mean, self.target.value - f - noise)

    def _smooth_mean(self, target: Float[Array, "N Q"]) -> Float[Array, "N Q"]:
        return self._smooth(target).mean

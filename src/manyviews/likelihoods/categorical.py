"""Levels without an order: cell types, species, professions."""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, PRNGKeyArray

from ..errors import OptionError
from ..parameters import parameter
from .base import Given, Likelihood, Names, Start
from .levels import frequencies, levels_of, refuse_unknown, stated
from .quadrature import average, cubature, standard_nodes

LEAST = 1e-12  # probability
NEVER = -1e6  # function value of a level that a column does not have


class Categorical(Likelihood):
    """P(y = level l | f) = e^(f_l) / Σ_k e^(f_k), with one function for every level of a column.

    ⟨log p⟩ = m_y - ⟨log Σ_k e^(f_k)⟩; the expectation is one-dimensional for two levels, and by a
    sample of fixed nodes for more. The mean of a column is that of its coded levels, of little
    use: ask for probabilities.
    """

    continuous: ClassVar[bool] = False
    levels: Float[Array, "D L"]

    def __init__(self, levels: ArrayLike | None = None):
        self.levels = (
            jnp.zeros((0, 2)) if levels is None else jnp.atleast_2d(jnp.asarray(levels, float))
        )

    @property
    def n_functions(self) -> int:
        return self.levels.shape[1]

    def used(self, n_columns: int) -> Bool[np.ndarray, "D C"]:
        return ~np.isnan(np.asarray(self.levels))

    def check_data(
        self, Y: Float[np.ndarray, "N D"], view: str, columns: Names = None, rows: Names = None
    ) -> None:
        if self.levels.shape[0]:
            refuse_unknown(Y, np.asarray(self.levels), view, columns, rows)
        else:
            levels_of(Y, view, columns)

    def start(self, Y: Float[np.ndarray, "N D"], given: Float[np.ndarray, "N D"] | None) -> Start:
        levels = stated(self.levels, Y)
        share = frequencies(Y, levels)
        heights = np.log(np.where(share > 0, share, 1.0))
        counts = (share > 0).sum(axis=1, keepdims=True)
        centred = np.where(share > 0, heights - heights.sum(axis=1, keepdims=True) / counts, 0.0)
        return Start(Categorical(levels), parameter(centred), 1.0)

    def working(
        self, Y: Float[np.ndarray, "N D"], given: Float[np.ndarray, "N D"] | None
    ) -> Float[np.ndarray, "N E"]:
        """Indicators of the levels, side by side, each of unit variance."""
        levels = stated(self.levels, Y)
        share = frequencies(Y, levels)
        exists = share > 0
        spread = np.sqrt(np.where(exists, share * (1.0 - share), 1.0))
        scores = ((Y[:, :, None] == levels) - share) / np.maximum(spread, 1e-6)
        scores = np.where(np.isnan(Y)[:, :, None], np.nan, scores)
        return scores.reshape(len(Y), -1)[:, exists.ravel()]

    def log_density(
        self, y: Float[Array, "*B D"], f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        return self._chosen(y, f) - jax.nn.logsumexp(self._masked(f), axis=-1)

    def expected_log_density(
        self,
        y: Float[Array, "*B D"],
        mean: Float[Array, "*B D C"],
        variance: Float[Array, "*B D C"],
        given: Given = None,
    ) -> Float[Array, "*B D"]:
        m = self._masked(mean)
        v = jnp.where(jnp.isnan(self.levels), 0.0, variance)
        if self.n_functions == 2:
            soft = average(jax.nn.softplus, m[..., 1] - m[..., 0], v.sum(axis=-1))
            return self._chosen(y, mean) - m[..., 0] - soft
        nodes = standard_nodes(self.n_functions)
        return self._chosen(y, mean) - cubature(lambda f: jax.nn.logsumexp(f, axis=-1), m, v, nodes)

    def conditional(
        self, f: Float[Array, "*B D C"], given: Given = None
    ) -> tuple[Float[Array, "*B D"], Float[Array, "*B D"]]:
        p, values = self.level_probabilities(f), jnp.nan_to_num(self.levels)
        mean = jnp.sum(p * values, axis=-1)
        return mean, jnp.maximum(jnp.sum(p * values**2, axis=-1) - mean**2, 0.0)

    def central(
        self, mean: Float[Array, "K *B D C"], variance: Float[Array, "K *B D C"]
    ) -> Float[Array, "*B D C"]:
        p = jax.lax.map(lambda part: self.probabilities(part[0], part[1]), (mean, variance))
        return jnp.log(jnp.maximum(jnp.mean(p, axis=0), LEAST))

    def cdf(
        self, y: Float[Array, "*B D"], f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        raise OptionError(
            "categorical levels have no order, so there are no quantiles: ask for probabilities"
        )

    def draw(
        self, key: PRNGKeyArray, f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        code = jax.random.categorical(key, self._masked(f))
        return self.levels[jnp.arange(self.levels.shape[0]), code]

    def saturated(self, y: Float[Array, "*B D"], given: Given = None) -> Float[Array, "*B D"]:
        return jnp.zeros_like(y)

    def level_values(self) -> Float[Array, "D L"] | None:
        return self.levels

    def level_probabilities(
        self, f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D L"]:
        return jax.nn.softmax(self._masked(f), axis=-1)

    def _masked(self, f: Float[Array, "*B D C"]) -> Float[Array, "*B D C"]:
        return jnp.where(jnp.isnan(self.levels), NEVER, f)

    def _chosen(self, y: Float[Array, "*B D"], f: Float[Array, "*B D C"]) -> Float[Array, "*B D"]:
        """The function of the observed level; the first, if it is missing."""
        return jnp.sum(jnp.where(self.levels == y[..., None], f, 0.0), axis=-1)

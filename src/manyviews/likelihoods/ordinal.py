"""Levels in an order: answers from never to always, grades, copy numbers."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, PRNGKeyArray

from ..parameters import Parameter, parameter, positive
from .base import Given, Likelihood, Names, Start
from .bernoulli import checked_link
from .levels import frequencies, levels_of, refuse_unknown, stated
from .links import LINKS, mean_probability
from .quadrature import average

FAR = 1e6  # in the place of infinity, which has no slope


class Ordinal(Likelihood):
    """P(y = level l | f) = F(c_l - f) - F(c_{l-1} - f), cut points c_1 < c_2 < … learnt.

    Every column has cut points of its own, and the levels that it was started with. The mean
    function is zero: the cut points have its place.

    Parameters
    ----------
    link : {"logit", "probit"}
        F is logistic (proportional odds) or normal.
    levels
        The levels of all columns, or of each (NaN where one has fewer). Default: those in the data.
    """

    continuous: ClassVar[bool] = False
    levels: Float[Array, "D L"]
    first: Parameter
    gaps: Parameter
    link: str = eqx.field(static=True)

    def __init__(
        self,
        link: str = "logit",
        levels: ArrayLike | None = None,
        first: ArrayLike = 0.0,
        gaps: ArrayLike = 1.0,
    ):
        self.link = checked_link(link)
        self.levels = (
            jnp.zeros((0, 2)) if levels is None else jnp.atleast_2d(jnp.asarray(levels, float))
        )
        self.first, self.gaps = parameter(first), positive(gaps)

    def cuts(self) -> Float[Array, "D E"]:
        """-∞, c_1, …, ∞ of every column: one more than levels."""
        steps = jnp.cumsum(self.gaps.value, axis=1)
        inner = jnp.concatenate([self.first.value[:, None], self.first.value[:, None] + steps], 1)
        n_levels = jnp.sum(~jnp.isnan(self.levels), axis=1, keepdims=True)
        inner = jnp.where(jnp.arange(inner.shape[1]) < n_levels - 1, inner, FAR)
        return jnp.pad(jnp.pad(inner, ((0, 0), (1, 0)), constant_values=-FAR), ((0, 0), (0, 1)),
                       constant_values=FAR)  # fmt: skip

    def check_data(
        self, Y: Float[np.ndarray, "N D"], view: str, columns: Names = None, rows: Names = None
    ) -> None:
        if self.levels.shape[0]:
            refuse_unknown(Y, np.asarray(self.levels), view, columns, rows)
        else:
            levels_of(Y, view, columns)

    def start(self, Y: Float[np.ndarray, "N D"], given: Float[np.ndarray, "N D"] | None) -> Start:
        levels = stated(self.levels, Y)
        below = np.cumsum(frequencies(Y, levels), axis=1)[:, :-1]
        cuts = np.asarray(LINKS[self.link].inverse(jnp.asarray(np.clip(below, 1e-6, 1 - 1e-6))))
        gaps = np.maximum(np.diff(cuts, axis=1), 1e-3)
        begun = Ordinal(self.link, levels, cuts[:, 0], gaps)
        return Start(begun, parameter(np.zeros((Y.shape[1], 1)), free=False), 1.0)

    def working(
        self, Y: Float[np.ndarray, "N D"], given: Float[np.ndarray, "N D"] | None
    ) -> Float[np.ndarray, "N D"]:
        """The middle, on the scale of F, of the probabilities that a level covers."""
        levels = stated(self.levels, Y)
        share = frequencies(Y, levels)
        middle = np.clip(np.cumsum(share, axis=1) - 0.5 * share, 1e-6, 1 - 1e-6)
        scores = np.asarray(LINKS[self.link].inverse(jnp.asarray(middle)))
        code = np.minimum((levels < Y[:, :, None]).sum(axis=2), levels.shape[1] - 1)
        return np.where(np.isnan(Y), np.nan, scores[np.arange(Y.shape[1]), code])

    def log_density(
        self, y: Float[Array, "*B D"], f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        cuts, code = self.cuts(), self._code(y)
        column = jnp.arange(cuts.shape[0])
        low, high = cuts[column, code] - f[..., 0], cuts[column, code + 1] - f[..., 0]
        return LINKS[self.link].log_between(low, high)

    def expected_log_density(
        self,
        y: Float[Array, "*B D"],
        mean: Float[Array, "*B D C"],
        variance: Float[Array, "*B D C"],
        given: Given = None,
    ) -> Float[Array, "*B D"]:
        """⟨log F(c_l - f)⟩ + ⟨log F(f - c_{l-1})⟩ + log(1 - e^(c_{l-1} - c_l)) for the logit."""
        if self.link != "logit":
            return super().expected_log_density(y, mean, variance, given)
        cuts, code = self.cuts(), self._code(y)
        column = jnp.arange(cuts.shape[0])
        low, high = cuts[column, code], cuts[column, code + 1]
        m, v = mean[..., 0], variance[..., 0]
        below = average(jax.nn.log_sigmoid, high - m, v, self.n_nodes)
        above = average(jax.nn.log_sigmoid, m - low, v, self.n_nodes)
        return below + above + jnp.log(-jnp.expm1(low - high))

    def conditional(
        self, f: Float[Array, "*B D C"], given: Given = None
    ) -> tuple[Float[Array, "*B D"], Float[Array, "*B D"]]:
        return _level_moments(self.level_probabilities(f), self.levels)

    def moments(
        self, mean: Float[Array, "*B D C"], variance: Float[Array, "*B D C"], given: Given = None
    ) -> tuple[Float[Array, "*B D"], Float[Array, "*B D"]]:
        """The expected level, in the values that levels have."""
        return _level_moments(self.probabilities(mean, variance), self.levels)

    def cdf(
        self, y: Float[Array, "*B D"], f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        cuts = self.cuts()
        reached = jnp.sum(self.levels <= y[..., None], axis=-1)
        return LINKS[self.link].cdf(cuts[jnp.arange(cuts.shape[0]), reached] - f[..., 0])

    def draw(
        self, key: PRNGKeyArray, f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        place = f[..., 0] + LINKS[self.link].noise(key, f.shape[:-1])
        code = jnp.sum(self.cuts()[:, 1:-1] < place[..., None], axis=-1)
        return self.levels[jnp.arange(self.levels.shape[0]), code]

    def saturated(self, y: Float[Array, "*B D"], given: Given = None) -> Float[Array, "*B D"]:
        cuts, code = self.cuts(), self._code(y)
        column = jnp.arange(cuts.shape[0])
        half = 0.5 * (cuts[column, code + 1] - cuts[column, code])
        return LINKS[self.link].log_between(-half, half)

    def level_values(self) -> Float[Array, "D L"] | None:
        return self.levels

    def level_probabilities(
        self, f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D L"]:
        return jnp.diff(LINKS[self.link].cdf(self.cuts() - f), axis=-1)

    def probabilities(
        self, mean: Float[Array, "*B D C"], variance: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D L"]:
        """⟨F(c_l - f)⟩ - ⟨F(c_{l-1} - f)⟩."""
        apart = self.cuts() - mean
        spread = jnp.broadcast_to(variance, apart.shape)
        return jnp.diff(mean_probability(self.link, apart, spread), axis=-1)

    def _code(self, y: Float[Array, "*B D"]) -> Int[Array, "*B D"]:
        """Place of each value among the levels of its column; the first, if it is missing."""
        return jnp.sum(self.levels < y[..., None], axis=-1)


def _level_moments(
    p: Float[Array, "*B D L"], levels: Float[Array, "D L"]
) -> tuple[Float[Array, "*B D"], Float[Array, "*B D"]]:
    values = jnp.nan_to_num(levels)
    mean = jnp.sum(p * values, axis=-1)
    return mean, jnp.maximum(jnp.sum(p * values**2, axis=-1) - mean**2, 0.0)

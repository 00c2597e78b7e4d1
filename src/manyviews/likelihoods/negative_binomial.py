"""Counts more variable than their rate."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import betainc, gammaln, xlogy
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from ..parameters import Parameter, parameter, positive
from .base import Given, Likelihood, Names, Start
from .checks import refuse_all_but_counts
from .exposure import TOTAL, check_totals, log_exposure, typical_exposure
from .poisson import (
    FIRST_VARIANCE,
    log_mean_rate,
    log_normal_moments,
    log_rate,
    log_rates,
    working_counts,
)
from .quadrature import average

SIZES = (0.1, 1000.0)  # of a first guess


class NegativeBinomial(Likelihood):
    """y ~ NB of mean μ = e^(f + o) and variance μ + μ²/r; the size r of every column is learnt.

        log p(y | f) = log Γ(y+r) - log Γ(r) - log y! + r log r + y g - (y + r) log(r + e^g),

    g = f + o; Poisson as r → ∞. See `Poisson` for the exposure.
    """

    continuous: ClassVar[bool] = False
    size: Parameter
    typical: Float[Array, "..."]
    exposure: str | None = eqx.field(static=True)

    def __init__(
        self, exposure: str | None = None, size: ArrayLike = 1.0, typical: ArrayLike = 1.0
    ):
        self.exposure = exposure
        self.size = positive(size)
        self.typical = jnp.asarray(typical, jnp.float64)

    @property
    def beside(self) -> str | None:
        return None if self.exposure == TOTAL else self.exposure

    def given(
        self, Y: Float[np.ndarray, "N D"], beside: Float[np.ndarray, "N _"] | None = None
    ) -> Float[np.ndarray, "N D"] | None:
        return log_exposure(Y, self.exposure, np.asarray(self.typical), beside)

    def typical_given(self, n_columns: int) -> Float[Array, " D"] | None:
        return None if self.exposure is None else jnp.zeros(n_columns)

    def relative_to(
        self, Y: Float[np.ndarray, "N D"], beside: Float[np.ndarray, "N _"] | None = None
    ) -> "NegativeBinomial":
        """The same with the typical exposure of these data."""
        typical = typical_exposure(Y, self.exposure, beside)
        return NegativeBinomial(self.exposure, self.size.value, typical)

    def check_data(
        self, Y: Float[np.ndarray, "N D"], view: str, columns: Names = None, rows: Names = None
    ) -> None:
        refuse_all_but_counts(Y, view, columns, rows, "negative_binomial")
        if self.exposure == TOTAL:
            check_totals(Y, view, rows)

    def start(self, Y: Float[np.ndarray, "N D"], given: Float[np.ndarray, "N D"] | None) -> Start:
        """Sizes by moments: r = μ² / (s² - μ), exposures taken out."""
        counts = Y if given is None else Y / np.exp(given)
        mean, variance = np.nanmean(counts, axis=0), np.nanvar(counts, axis=0)
        excess = np.maximum(variance - mean, 1e-3 * np.maximum(mean, 1e-3))
        size = np.clip(np.maximum(mean, 1e-3) ** 2 / excess, *SIZES)
        begun = NegativeBinomial(self.exposure, size, self.typical)
        return Start(begun, parameter(log_rates(Y, given)[:, None]), FIRST_VARIANCE)

    def working(
        self, Y: Float[np.ndarray, "N D"], given: Float[np.ndarray, "N D"] | None
    ) -> Float[np.ndarray, "N D"]:
        return working_counts(Y, given)

    def log_density(
        self, y: Float[Array, "*B D"], f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        g, r = log_rate(f[..., 0], given), self.size.value
        return self._constant(y) + y * g - (y + r) * jnp.logaddexp(jnp.log(r), g)

    def expected_log_density(
        self,
        y: Float[Array, "*B D"],
        mean: Float[Array, "*B D C"],
        variance: Float[Array, "*B D C"],
        given: Given = None,
    ) -> Float[Array, "*B D"]:
        """The same with m for g, and ⟨log(r + e^g)⟩ = log r + ⟨log(1 + e^(g - log r))⟩."""
        m, r = log_rate(mean[..., 0], given), self.size.value
        soft = average(jax.nn.softplus, m - jnp.log(r), variance[..., 0], self.n_nodes)
        return self._constant(y) + y * m - (y + r) * (jnp.log(r) + soft)

    def conditional(
        self, f: Float[Array, "*B D C"], given: Given = None
    ) -> tuple[Float[Array, "*B D"], Float[Array, "*B D"]]:
        rate = jnp.exp(log_rate(f[..., 0], given))
        return rate, rate + rate**2 / self.size.value

    def moments(
        self, mean: Float[Array, "*B D C"], variance: Float[Array, "*B D C"], given: Given = None
    ) -> tuple[Float[Array, "*B D"], Float[Array, "*B D"]]:
        rate, spread = log_normal_moments(log_rate(mean[..., 0], given), variance[..., 0])
        return rate, rate + (rate**2 + spread) / self.size.value + spread

    def central(
        self, mean: Float[Array, "K *B D C"], variance: Float[Array, "K *B D C"]
    ) -> Float[Array, "*B D C"]:
        return log_mean_rate(mean, variance)

    def cdf(
        self, y: Float[Array, "*B D"], f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        g, r = log_rate(f[..., 0], given), self.size.value
        chance = jax.nn.sigmoid(jnp.log(r) - g)  # of a failure
        return jnp.where(y < 0.0, 0.0, betainc(r, jnp.maximum(jnp.floor(y), 0.0) + 1.0, chance))

    def draw(
        self, key: PRNGKeyArray, f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        """A Poisson count whose rate is gamma distributed."""
        rate_key, count_key = jax.random.split(key)
        r = jnp.broadcast_to(self.size.value, f.shape[:-1])
        rate = jnp.exp(log_rate(f[..., 0], given)) * jax.random.gamma(rate_key, r) / r
        return jax.random.poisson(count_key, rate).astype(f.dtype)

    def saturated(self, y: Float[Array, "*B D"], given: Given = None) -> Float[Array, "*B D"]:
        r = self.size.value
        return self._constant(y) + xlogy(y, y) - (y + r) * jnp.log(r + y)

    def _constant(self, y: Float[Array, "*B D"]) -> Float[Array, "*B D"]:
        r = self.size.value
        return gammaln(y + r) - gammaln(r) - gammaln(y + 1.0) + r * jnp.log(r)

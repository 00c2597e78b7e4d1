"""Counts as variable as their rate."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaincc, gammaln, logsumexp, xlogy
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from ..parameters import parameter
from .base import Given, Likelihood, Names, Start
from .checks import refuse_all_but_counts
from .exposure import TOTAL, check_totals, log_exposure, typical_exposure

FIRST_VARIANCE = 0.5  # of log rates


class Poisson(Likelihood):
    """y ~ Poisson(e^(f + o)), o the logarithm of an exposure (zero unless there is one).

    ⟨log p(y | f)⟩ = y (m + o) - e^(m + o + v/2) - log y!.

    Parameters
    ----------
    exposure
        ``"total"`` takes the total of every row (a library size), another string is the name of
        the table that holds exposures; None is none. Rates are per typical exposure.
    """

    continuous: ClassVar[bool] = False
    typical: Float[Array, "..."]
    exposure: str | None = eqx.field(static=True)

    def __init__(self, exposure: str | None = None, typical: ArrayLike = 1.0):
        self.exposure = exposure
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
    ) -> "Poisson":
        """The same with the typical exposure of these data."""
        return Poisson(self.exposure, typical_exposure(Y, self.exposure, beside))

    def check_data(
        self, Y: Float[np.ndarray, "N D"], view: str, columns: Names = None, rows: Names = None
    ) -> None:
        refuse_all_but_counts(Y, view, columns, rows, "poisson")
        if self.exposure == TOTAL:
            check_totals(Y, view, rows)

    def start(self, Y: Float[np.ndarray, "N D"], given: Float[np.ndarray, "N D"] | None) -> Start:
        return Start(self, parameter(log_rates(Y, given)[:, None]), FIRST_VARIANCE)

    def working(
        self, Y: Float[np.ndarray, "N D"], given: Float[np.ndarray, "N D"] | None
    ) -> Float[np.ndarray, "N D"]:
        return working_counts(Y, given)

    def log_density(
        self, y: Float[Array, "*B D"], f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        g = log_rate(f[..., 0], given)
        return y * g - jnp.exp(g) - gammaln(y + 1.0)

    def expected_log_density(
        self,
        y: Float[Array, "*B D"],
        mean: Float[Array, "*B D C"],
        variance: Float[Array, "*B D C"],
        given: Given = None,
    ) -> Float[Array, "*B D"]:
        m = log_rate(mean[..., 0], given)
        return y * m - jnp.exp(m + 0.5 * variance[..., 0]) - gammaln(y + 1.0)

    def conditional(
        self, f: Float[Array, "*B D C"], given: Given = None
    ) -> tuple[Float[Array, "*B D"], Float[Array, "*B D"]]:
        rate = jnp.exp(log_rate(f[..., 0], given))
        return rate, rate

    def moments(
        self, mean: Float[Array, "*B D C"], variance: Float[Array, "*B D C"], given: Given = None
    ) -> tuple[Float[Array, "*B D"], Float[Array, "*B D"]]:
        rate, spread = log_normal_moments(log_rate(mean[..., 0], given), variance[..., 0])
        return rate, rate + spread

    def central(
        self, mean: Float[Array, "K *B D C"], variance: Float[Array, "K *B D C"]
    ) -> Float[Array, "*B D C"]:
        return log_mean_rate(mean, variance)

    def cdf(
        self, y: Float[Array, "*B D"], f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        rate = jnp.exp(log_rate(f[..., 0], given))
        return jnp.where(y < 0.0, 0.0, gammaincc(jnp.maximum(jnp.floor(y), 0.0) + 1.0, rate))

    def draw(
        self, key: PRNGKeyArray, f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        rate = jnp.exp(log_rate(f[..., 0], given))
        return jax.random.poisson(key, rate).astype(f.dtype)

    def saturated(self, y: Float[Array, "*B D"], given: Given = None) -> Float[Array, "*B D"]:
        return xlogy(y, y) - y - gammaln(y + 1.0)


def log_rate(f: Float[Array, "*B D"], given: Given) -> Float[Array, "*B D"]:
    """The function value, with the logarithm of the exposure added if there is one."""
    return f if given is None else f + given


def log_rates(
    Y: Float[np.ndarray, "N D"], given: Float[np.ndarray, "N D"] | None
) -> Float[np.ndarray, " D"]:
    """Logarithm of every column's mean count per exposure, less what a varying rate adds to it."""
    exposure = np.where(np.isnan(Y), 0.0, 1.0 if given is None else np.exp(given)).sum(axis=0)
    return np.log((np.nansum(Y, axis=0) + 0.1) / exposure) - 0.5 * FIRST_VARIANCE


def working_counts(
    Y: Float[np.ndarray, "N D"], given: Float[np.ndarray, "N D"] | None
) -> Float[np.ndarray, "N D"]:
    """log(1 + count), counts divided by their exposures."""
    return np.log1p(Y if given is None else Y / np.exp(given))


def log_mean_rate(mean: Float[Array, "K *B"], variance: Float[Array, "K *B"]) -> Float[Array, "*B"]:
    """Logarithm of ⟨e^f⟩ over a mixture with parts along the first axis."""
    return logsumexp(mean + 0.5 * variance, axis=0) - jnp.log(mean.shape[0])


def log_normal_moments(
    mean: Float[Array, "*B"], variance: Float[Array, "*B"]
) -> tuple[Float[Array, "*B"], Float[Array, "*B"]]:
    """Mean and variance of e^g for g ~ N(m, v)."""
    centre = jnp.exp(mean + 0.5 * variance)
    return centre, centre**2 * jnp.expm1(variance)

"""Real values with outliers."""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import betainc, gammaln
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from ..parameters import Parameter, parameter, positive
from .base import Given, Likelihood, Names, Start

FIRST_DEGREES = 4.0
LEAST_DEGREES = 0.5  # with fewer, a column is all outliers
BULK = 1.4826  # standard deviations in a median absolute deviation
CLIPPED = 3.0  # outliers are drawn in to so many of these


class StudentT(Likelihood):
    """y = f + s·t_ν: one scale s per column, one ν for the view, both learnt.

    log p(y | f) = log Γ((ν+1)/2) - log Γ(ν/2) - ½ log πνs² - (ν+1)/2 log(1 + (y-f)²/νs²).

    The variance of y is infinite for ν ≤ 2; quantiles always exist.
    """

    n_nodes: ClassVar[int] = 32  # the density of a value is narrow beside a wide f
    scale: Parameter
    degrees: Parameter

    def __init__(self, scale: ArrayLike = 1.0, degrees: ArrayLike = FIRST_DEGREES):
        self.scale = positive(scale)
        self.degrees = positive(jnp.asarray(degrees) - LEAST_DEGREES)

    @property
    def nu(self) -> Float[Array, ""]:
        """Degrees of freedom."""
        return LEAST_DEGREES + self.degrees.value

    def check_data(
        self, Y: Float[np.ndarray, "N D"], view: str, columns: Names = None, rows: Names = None
    ) -> None:
        pass

    def start(self, Y: Float[np.ndarray, "N D"], given: Float[np.ndarray, "N D"] | None) -> Start:
        centre, spread = _robust(Y)
        begun = StudentT(0.5 * spread, self.nu)
        return Start(begun, parameter(centre[:, None]), float(np.mean(spread**2)))

    def working(
        self, Y: Float[np.ndarray, "N D"], given: Float[np.ndarray, "N D"] | None
    ) -> Float[np.ndarray, "N D"]:
        centre, spread = _robust(Y)
        return centre + np.clip(Y - centre, -CLIPPED * spread, CLIPPED * spread)

    def log_density(
        self, y: Float[Array, "*B D"], f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        nu, s = self.nu, self.scale.value
        constant = gammaln(0.5 * (nu + 1.0)) - gammaln(0.5 * nu) - 0.5 * jnp.log(jnp.pi * nu)
        tail = 0.5 * (nu + 1.0) * jnp.log1p(((y - f[..., 0]) / s) ** 2 / nu)
        return constant - jnp.log(s) - tail

    def conditional(
        self, f: Float[Array, "*B D C"], given: Given = None
    ) -> tuple[Float[Array, "*B D"], Float[Array, "*B D"]]:
        nu = self.nu
        ratio = jnp.where(nu > 2.0, nu / jnp.where(nu > 2.0, nu - 2.0, 1.0), jnp.inf)
        return f[..., 0], jnp.broadcast_to(self.scale.value**2 * ratio, f.shape[:-1])

    def moments(
        self, mean: Float[Array, "*B D C"], variance: Float[Array, "*B D C"], given: Given = None
    ) -> tuple[Float[Array, "*B D"], Float[Array, "*B D"]]:
        return mean[..., 0], variance[..., 0] + self.conditional(mean)[1]

    def cdf(
        self, y: Float[Array, "*B D"], f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        nu, apart = self.nu, (y - f[..., 0]) / self.scale.value
        tail = 0.5 * betainc(0.5 * nu, 0.5, nu / (nu + apart**2))
        return jnp.where(apart > 0.0, 1.0 - tail, tail)

    def draw(
        self, key: PRNGKeyArray, f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        return f[..., 0] + self.scale.value * jax.random.t(key, self.nu, f.shape[:-1], f.dtype)

    def saturated(self, y: Float[Array, "*B D"], given: Given = None) -> Float[Array, "*B D"]:
        return self.log_density(y, y[..., None])


def _robust(Y: Float[np.ndarray, "N D"]) -> tuple[Float[np.ndarray, " D"], Float[np.ndarray, " D"]]:
    """Median and median absolute deviation, as a standard deviation, of every column."""
    centre = np.nanmedian(Y, axis=0)
    spread = BULK * np.nanmedian(np.abs(Y - centre), axis=0)
    usual = np.nanstd(Y, axis=0)
    return centre, np.maximum(np.where(spread > 0, spread, usual), 1e-9 * max(usual.max(), 1e-300))

"""Real values with Gaussian noise."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from ..parameters import Parameter, parameter, positive
from .base import Given, Likelihood, Names, Start

SHARE = 0.1  # of the data's variance that is noise at the start
FLOOR = 1e-6  # smallest noise, as a share of the data's variance


class GaussianNoise(Likelihood):
    """y = f + noise, noise ~ N(0, σ²) with one σ² for the view or one for every column.

    ⟨log p(y | f)⟩ = -½ log 2πσ² - ((y - m)² + v) / 2σ².
    """

    noise: Parameter
    floor: Float[Array, ""]
    per_column: bool = eqx.field(static=True)

    def __init__(self, noise: ArrayLike = 0.1, floor: ArrayLike = 0.0, per_column: bool = False):
        self.noise = positive(noise)
        self.floor = jnp.asarray(floor, self.noise.raw.dtype)
        self.per_column = per_column

    def variances(self) -> Float[Array, "..."]:
        """σ², of one number or one per column."""
        return self.noise.value + self.floor

    def noise_variance(self) -> Float[Array, ""]:
        return jnp.mean(self.variances())

    def check_data(
        self, Y: Float[np.ndarray, "N D"], view: str, columns: Names = None, rows: Names = None
    ) -> None:
        pass

    def start(self, Y: Float[np.ndarray, "N D"], given: Float[np.ndarray, "N D"] | None) -> Start:
        total = max(float(np.nanmean(np.nanvar(Y, axis=0))), 1e-12)
        each = np.maximum(np.nanvar(Y, axis=0), 1e-3 * total) if self.per_column else total
        begun = GaussianNoise(SHARE * each, FLOOR * total, self.per_column)
        return Start(begun, parameter(np.nanmean(Y, axis=0)[:, None]), total)

    def working(
        self, Y: Float[np.ndarray, "N D"], given: Float[np.ndarray, "N D"] | None
    ) -> Float[np.ndarray, "N D"]:
        return Y

    def log_density(
        self, y: Float[Array, "*B D"], f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        s = self.variances()
        return -0.5 * (jnp.log(2.0 * jnp.pi * s) + (y - f[..., 0]) ** 2 / s)

    def expected_log_density(
        self,
        y: Float[Array, "*B D"],
        mean: Float[Array, "*B D C"],
        variance: Float[Array, "*B D C"],
        given: Given = None,
    ) -> Float[Array, "*B D"]:
        return self.log_density(y, mean) - 0.5 * variance[..., 0] / self.variances()

    def conditional(
        self, f: Float[Array, "*B D C"], given: Given = None
    ) -> tuple[Float[Array, "*B D"], Float[Array, "*B D"]]:
        return f[..., 0], jnp.broadcast_to(self.variances(), f.shape[:-1])

    def moments(
        self, mean: Float[Array, "*B D C"], variance: Float[Array, "*B D C"], given: Given = None
    ) -> tuple[Float[Array, "*B D"], Float[Array, "*B D"]]:
        return mean[..., 0], variance[..., 0] + self.variances()

    def cdf(
        self, y: Float[Array, "*B D"], f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        return ndtr((y - f[..., 0]) / jnp.sqrt(self.variances()))

    def draw(
        self, key: PRNGKeyArray, f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        noise = jax.random.normal(key, f.shape[:-1], f.dtype)
        return f[..., 0] + jnp.sqrt(self.variances()) * noise

    def saturated(self, y: Float[Array, "*B D"], given: Given = None) -> Float[Array, "*B D"]:
        return self.log_density(y, y[..., None])

"""Amounts that are zero or positive: peak areas, rainfall, expenses."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from ..parameters import Parameter, parameter, positive
from .base import Given, Likelihood, Names, Start
from .bernoulli import Bernoulli, checked_link
from .checks import refuse
from .links import LINKS, central_chance, mean_probability
from .poisson import log_normal_moments
from .quadrature import average

LOG_ZERO = -700.0  # in the place of log 0


class Hurdle(Likelihood):
    """P(y > 0 | f) = F(f_1), and log y ~ N(f_2, σ²) if it is; σ² of every column is learnt.

    Two functions per column. ⟨log p(y | f)⟩ is that of a yes or no, by quadrature, and where y > 0
    also -½ log 2πσ² - ((log y - m_2)² + v_2)/2σ² - log y.
    """

    noise: Parameter
    link: str = eqx.field(static=True)

    def __init__(self, link: str = "logit", noise: ArrayLike = 0.1):
        self.link = checked_link(link)
        self.noise = positive(noise)

    @property
    def n_functions(self) -> int:
        return 2

    def check_data(
        self, Y: Float[np.ndarray, "N D"], view: str, columns: Names = None, rows: Names = None
    ) -> None:
        refuse(
            np.nan_to_num(Y) < 0, Y, view, columns, rows, "is to hold zeros and positive amounts",
            "use likelihood='gaussian' or 'student_t' for values of both signs",
        )  # fmt: skip

    def start(self, Y: Float[np.ndarray, "N D"], given: Float[np.ndarray, "N D"] | None) -> Start:
        centre, spread = _log_amounts(Y)
        zero = Bernoulli(self.link).start(np.where(np.isnan(Y), np.nan, Y > 0), None).offset.value
        total = float(np.mean(spread))
        begun = Hurdle(self.link, np.maximum(0.1 * spread, 1e-3 * total))
        return Start(begun, parameter(np.stack([np.asarray(zero[:, 0]), centre], axis=1)), total)

    def working(
        self, Y: Float[np.ndarray, "N D"], given: Float[np.ndarray, "N D"] | None
    ) -> Float[np.ndarray, "N E"]:
        """Whether a value is positive, and its logarithm (the mean where it is zero)."""
        centre, spread = _log_amounts(Y)
        positive = np.nan_to_num(Y) > 0
        logs = (np.log(np.where(positive, Y, 1.0)) - centre) / np.sqrt(spread)
        shares = Bernoulli(self.link).working(np.where(np.isnan(Y), np.nan, positive), None)
        amounts = np.where(np.isnan(Y), np.nan, np.where(positive, logs, 0.0))
        some = positive.any(axis=0) & (np.nan_to_num(Y, nan=1.0) == 0).any(axis=0)
        return np.concatenate([shares[:, some], amounts], axis=1)

    def log_density(
        self, y: Float[Array, "*B D"], f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        some = y > 0.0
        sign = jnp.where(some, 1.0, -1.0)
        amount = jnp.where(some, self._amount(y, f[..., 1], 0.0), 0.0)
        return LINKS[self.link].log_cdf(sign * f[..., 0]) + amount

    def expected_log_density(
        self,
        y: Float[Array, "*B D"],
        mean: Float[Array, "*B D C"],
        variance: Float[Array, "*B D C"],
        given: Given = None,
    ) -> Float[Array, "*B D"]:
        some = y > 0.0
        sign = jnp.where(some, 1.0, -1.0)
        hit = average(LINKS[self.link].log_cdf, sign * mean[..., 0], variance[..., 0], self.n_nodes)
        amount = jnp.where(some, self._amount(y, mean[..., 1], variance[..., 1]), 0.0)
        return hit + amount

    def conditional(
        self, f: Float[Array, "*B D C"], given: Given = None
    ) -> tuple[Float[Array, "*B D"], Float[Array, "*B D"]]:
        p = LINKS[self.link].cdf(f[..., 0])
        return _mixed(p, f[..., 1], jnp.broadcast_to(self.noise.value, p.shape))

    def moments(
        self, mean: Float[Array, "*B D C"], variance: Float[Array, "*B D C"], given: Given = None
    ) -> tuple[Float[Array, "*B D"], Float[Array, "*B D"]]:
        p = mean_probability(self.link, mean[..., 0], variance[..., 0])
        return _mixed(p, mean[..., 1], variance[..., 1] + self.noise.value)

    def central(
        self, mean: Float[Array, "K *B D C"], variance: Float[Array, "K *B D C"]
    ) -> Float[Array, "*B D C"]:
        chance = central_chance(self.link, mean[..., 0], variance[..., 0])
        return jnp.stack([chance, jnp.mean(mean[..., 1], axis=0)], axis=-1)

    def cdf(
        self, y: Float[Array, "*B D"], f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        no = LINKS[self.link].cdf(-f[..., 0])
        logs = jnp.where(y > 0.0, jnp.log(jnp.where(y > 0.0, y, 1.0)), LOG_ZERO)
        amount = ndtr((logs - f[..., 1]) / jnp.sqrt(self.noise.value))
        return jnp.where(y < 0.0, 0.0, no + (1.0 - no) * jnp.where(y > 0.0, amount, 0.0))

    def draw(
        self, key: PRNGKeyArray, f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        hit_key, amount_key = jax.random.split(key)
        hit = jax.random.bernoulli(hit_key, LINKS[self.link].cdf(f[..., 0]))
        noise = jax.random.normal(amount_key, f.shape[:-1], f.dtype)
        return jnp.where(hit, jnp.exp(f[..., 1] + jnp.sqrt(self.noise.value) * noise), 0.0)

    def saturated(self, y: Float[Array, "*B D"], given: Given = None) -> Float[Array, "*B D"]:
        some = y > 0.0
        logs = jnp.log(jnp.where(some, y, 1.0))
        return jnp.where(some, -0.5 * jnp.log(2.0 * jnp.pi * self.noise.value) - logs, 0.0)

    def _amount(self, y: Array, mean: Array, variance: Array | float) -> Array:
        """⟨log of the log-normal density⟩ where y > 0, and something finite elsewhere."""
        logs, s = jnp.log(jnp.where(y > 0.0, y, 1.0)), self.noise.value
        return -0.5 * (jnp.log(2.0 * jnp.pi * s) + ((logs - mean) ** 2 + variance) / s) - logs


def _log_amounts(
    Y: Float[np.ndarray, "N D"],
) -> tuple[Float[np.ndarray, " D"], Float[np.ndarray, " D"]]:
    """Mean and variance of every column's logarithms of positive amounts."""
    positive = np.nan_to_num(Y) > 0
    logs = np.where(positive, np.log(np.where(positive, Y, 1.0)), 0.0)
    count = np.maximum(positive.sum(axis=0), 1)
    centre = logs.sum(axis=0) / count
    spread = (np.where(positive, logs - centre, 0.0) ** 2).sum(axis=0) / count
    usual = float(spread[spread > 0].mean()) if (spread > 0).any() else 1.0
    return centre, np.maximum(spread, 1e-3 * usual)


def _mixed(
    p: Float[Array, "*B D"], mean: Float[Array, "*B D"], variance: Float[Array, "*B D"]
) -> tuple[Float[Array, "*B D"], Float[Array, "*B D"]]:
    """Moments of zero with probability 1 - p and else log-normal."""
    amount, spread = log_normal_moments(mean, variance)
    return p * amount, p * (spread + amount**2) - (p * amount) ** 2

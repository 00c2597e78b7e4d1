"""Values known only to lie below or above a limit: detection limits, survival times."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import log_ndtr, ndtr
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from ..errors import OptionError
from ..parameters import Parameter, parameter, positive
from .base import Given, Likelihood, Names, Start
from .checks import refuse
from .poisson import log_normal_moments
from .quadrature import average

BELOW, EXACT, ABOVE = -1.0, 0.0, 1.0


class Censored(Likelihood):
    """z = f + N(0, σ²), of which y = z, or z < y, or z > y is known; σ² of every column is learnt.

    On the logarithmic scale z is log y: amounts with detection limits, times to an event. An
    exact value has the density of a Gaussian (over y, on the logarithmic scale), one below a limit
    the probability Φ((y - f)/σ), one above it Φ((f - y)/σ). Predictions are of uncensored values.

    Parameters
    ----------
    log
        Whether to take logarithms.
    lower
        Detection limits, one for all columns or one each: values at or below are known to be below.
    events
        Name of the table that has a one for every exact value and a zero for one that is known to
        be above (the time to the end of observation).
    """

    n_nodes: ClassVar[int] = 32  # a limit is sharp beside a wide f
    noise: Parameter
    lower: Float[Array, "..."] | None
    log: bool = eqx.field(static=True)
    events: str | None = eqx.field(static=True)

    def __init__(
        self,
        log: bool = False,
        lower: ArrayLike | None = None,
        events: str | None = None,
        noise: ArrayLike = 0.1,
    ):
        if lower is not None and events is not None:
            raise OptionError("give detection limits or events, not both")
        self.log, self.events = log, events
        self.lower = None if lower is None else jnp.asarray(lower, jnp.float64)
        self.noise = positive(noise)

    @property
    def beside(self) -> str | None:
        return self.events

    def given(
        self, Y: Float[np.ndarray, "N D"], beside: Float[np.ndarray, "N _"] | None = None
    ) -> Float[np.ndarray, "N D"] | None:
        if self.lower is not None:
            return np.where(np.asarray(self.lower) >= Y, BELOW, EXACT)
        if self.events is None:
            return np.zeros(Y.shape)
        if beside is None:
            raise OptionError(f"a censored view needs its table of events {self.events!r}")
        return np.broadcast_to(np.where(beside == 0, ABOVE, EXACT), Y.shape)

    def typical_given(self, n_columns: int) -> Float[Array, " D"] | None:
        return jnp.full(n_columns, EXACT)

    def check_data(
        self, Y: Float[np.ndarray, "N D"], view: str, columns: Names = None, rows: Names = None
    ) -> None:
        if self.log:
            low = -np.inf if self.lower is None else np.asarray(self.lower)
            refuse(
                np.maximum(np.nan_to_num(Y, nan=1.0), low) <= 0, Y, view, columns, rows,
                "is to hold positive values (log-normal)",
                "give times and amounts above zero, or log=False",
            )  # fmt: skip

    def check_events(
        self, Y: Float[np.ndarray, "N D"], events: Float[np.ndarray, "N _"], view: str,
        columns: Names = None, rows: Names = None, new: bool = False,
    ) -> None:  # fmt: skip
        """Refuse events that are neither 0 nor 1, and times without one; in training events of no
        known time, too, which may be asked for of new rows.
        """
        events = np.broadcast_to(events, Y.shape)
        if not new:
            refuse(
                np.isnan(Y) & (events == 1.0), Y, view, columns, rows,
                "needs the time of every event", "set the event to NaN where it is not known",
            )  # fmt: skip
        wrong = ~np.isnan(Y) & ~np.isin(events, (0.0, 1.0))
        refuse(
            wrong, events, view, columns, rows, "needs an event (1) or none (0) of every time",
            "correct the table of events, or set the time to NaN",
        )  # fmt: skip

    def start(self, Y: Float[np.ndarray, "N D"], given: Float[np.ndarray, "N D"] | None) -> Start:
        z = self._scale(np.where(np.isnan(Y), np.nan, Y))
        centre, spread = np.nanmean(z, axis=0), np.nanvar(z, axis=0)
        total = max(float(spread.mean()), 1e-12)
        noise = np.maximum(0.3 * spread, 1e-3 * total)
        begun = self.with_start(noise=positive(noise))
        return Start(begun, parameter(centre[:, None]), total)

    def working(
        self, Y: Float[np.ndarray, "N D"], given: Float[np.ndarray, "N D"] | None
    ) -> Float[np.ndarray, "N D"]:
        return self._scale(Y)

    def log_density(
        self, y: Float[Array, "*B D"], f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        assert given is not None
        z = self._limit(y)
        beyond = log_ndtr(given * (f[..., 0] - z) / jnp.sqrt(self.noise.value))
        return jnp.where(given == EXACT, self._exact(z, f[..., 0], 0.0), beyond)

    def expected_log_density(
        self,
        y: Float[Array, "*B D"],
        mean: Float[Array, "*B D C"],
        variance: Float[Array, "*B D C"],
        given: Given = None,
    ) -> Float[Array, "*B D"]:
        assert given is not None
        z, m, v, s = self._limit(y), mean[..., 0], variance[..., 0], self.noise.value
        beyond = average(log_ndtr, given * (m - z) / jnp.sqrt(s), v / s, self.n_nodes)
        return jnp.where(given == EXACT, self._exact(z, m, v), beyond)

    def conditional(
        self, f: Float[Array, "*B D C"], given: Given = None
    ) -> tuple[Float[Array, "*B D"], Float[Array, "*B D"]]:
        return self.moments(f, jnp.zeros_like(f))

    def moments(
        self, mean: Float[Array, "*B D C"], variance: Float[Array, "*B D C"], given: Given = None
    ) -> tuple[Float[Array, "*B D"], Float[Array, "*B D"]]:
        spread = variance[..., 0] + self.noise.value
        return log_normal_moments(mean[..., 0], spread) if self.log else (mean[..., 0], spread)

    def cdf(
        self, y: Float[Array, "*B D"], f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        z = jnp.log(jnp.maximum(y, 1e-300)) if self.log else y
        return ndtr((z - f[..., 0]) / jnp.sqrt(self.noise.value))

    def draw(
        self, key: PRNGKeyArray, f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        noise = jax.random.normal(key, f.shape[:-1], f.dtype)
        z = f[..., 0] + jnp.sqrt(self.noise.value) * noise
        return jnp.exp(z) if self.log else z

    def saturated(self, y: Float[Array, "*B D"], given: Given = None) -> Float[Array, "*B D"]:
        z = self._limit(y)
        return jnp.where(given == EXACT, self._exact(z, z, 0.0), 0.0)

    def _exact(self, z: Array, mean: Array, variance: Array | float) -> Array:
        s = self.noise.value
        density = -0.5 * (jnp.log(2.0 * jnp.pi * s) + ((z - mean) ** 2 + variance) / s)
        return density - z if self.log else density

    def _limit(self, y: Array) -> Array:
        """The value, or the detection limit in its place, on the scale of the functions."""
        if self.lower is not None:
            y = jnp.maximum(y, self.lower)
        return jnp.log(jnp.where(y > 0.0, y, 1.0)) if self.log else y

    def _scale(self, Y: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:
        return np.where(np.isnan(Y), np.nan, np.asarray(self._limit(jnp.asarray(Y))))

"""Successes out of a known number of trials."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import betainc, gammaln, xlog1py, xlogy
from jaxtyping import Array, Float, PRNGKeyArray

from ..errors import OptionError
from ..parameters import parameter
from .base import Given, Likelihood, Names, Start
from .bernoulli import checked_link
from .checks import refuse, refuse_all_but_counts
from .links import LINKS, central_chance, mean_probability
from .quadrature import average


class Binomial(Likelihood):
    """y ~ Binomial(n, F(f)), n known: methylated reads of all reads, points hit of all points.

    Parameters
    ----------
    trials
        The number of trials of all values, or the name of the table that holds those of each.
    link : {"logit", "probit"}
        From the function's value to the probability of a success.
    """

    continuous: ClassVar[bool] = False
    trials: int | str = eqx.field(static=True)
    link: str = eqx.field(static=True)

    def __init__(self, trials: int | str, link: str = "logit"):
        if not isinstance(trials, str) and trials < 1:
            raise OptionError(f"trials must be at least 1, got {trials}")
        self.trials, self.link = trials, checked_link(link)

    @property
    def beside(self) -> str | None:
        return self.trials if isinstance(self.trials, str) else None

    def given(
        self, Y: Float[np.ndarray, "N D"], beside: Float[np.ndarray, "N D"] | None = None
    ) -> Float[np.ndarray, "N D"] | None:
        if not isinstance(self.trials, str):
            return np.full(Y.shape, float(self.trials))
        if beside is None:
            raise OptionError(f"a binomial view needs its table of trials {self.trials!r}")
        return np.where(np.isnan(beside), 1.0, beside)

    def some_value(self) -> Float[np.ndarray, "..."]:
        return np.zeros(())

    def typical_given(self, n_columns: int) -> Float[Array, " D"] | None:
        return jnp.full(n_columns, 1.0 if isinstance(self.trials, str) else float(self.trials))

    def check_data(
        self, Y: Float[np.ndarray, "N D"], view: str, columns: Names = None, rows: Names = None
    ) -> None:
        refuse_all_but_counts(Y, view, columns, rows, "binomial successes")
        if not isinstance(self.trials, str):
            self.check_trials(Y, np.full(Y.shape, float(self.trials)), view, columns, rows)

    def check_trials(
        self, Y: Float[np.ndarray, "N D"], trials: Float[np.ndarray, "N D"], view: str,
        columns: Names = None, rows: Names = None,
    ) -> None:  # fmt: skip
        """Refuse values without trials, parts of trials, and more successes than trials."""
        seen = ~np.isnan(Y)
        refuse(
            seen & ~(trials >= 1), trials, view, columns, rows, "needs trials of every value",
            "set the successes to NaN where there were no trials",
        )  # fmt: skip
        refuse(
            seen & (trials != np.round(trials)), trials, view, columns, rows,
            "needs trials that are whole numbers", "give how many trials there were",
        )  # fmt: skip
        refuse(
            np.where(seen, Y, 0.0) > np.where(seen, trials, 1.0), Y, view, columns, rows,
            "is to hold successes out of trials (binomial)", "that is more than its trials",
        )  # fmt: skip

    def start(self, Y: Float[np.ndarray, "N D"], given: Float[np.ndarray, "N D"] | None) -> Start:
        return Start(
            self,
            parameter(np.asarray(LINKS[self.link].inverse(jnp.asarray(_share(Y, given))))[:, None]),
            1.0,
        )

    def working(
        self, Y: Float[np.ndarray, "N D"], given: Float[np.ndarray, "N D"] | None
    ) -> Float[np.ndarray, "N D"]:
        """Empirical logits."""
        assert given is not None
        return np.log(Y + 0.5) - np.log(given - Y + 0.5)

    def log_density(
        self, y: Float[Array, "*B D"], f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        assert given is not None
        log_cdf = LINKS[self.link].log_cdf
        return _log_choose(given, y) + y * log_cdf(f[..., 0]) + (given - y) * log_cdf(-f[..., 0])

    def expected_log_density(
        self,
        y: Float[Array, "*B D"],
        mean: Float[Array, "*B D C"],
        variance: Float[Array, "*B D C"],
        given: Given = None,
    ) -> Float[Array, "*B D"]:
        """The sum log C(n, y) + y m + n ⟨log F(-f)⟩ for the logit, as log F(f) = f + log F(-f)."""
        if self.link != "logit":
            return super().expected_log_density(y, mean, variance, given)
        assert given is not None
        m, v = mean[..., 0], variance[..., 0]
        never = average(lambda f: jax.nn.log_sigmoid(-f), m, v, self.n_nodes)
        return _log_choose(given, y) + y * m + given * never

    def conditional(
        self, f: Float[Array, "*B D C"], given: Given = None
    ) -> tuple[Float[Array, "*B D"], Float[Array, "*B D"]]:
        assert given is not None
        p = LINKS[self.link].cdf(f[..., 0])
        return given * p, given * p * (1.0 - p)

    def central(
        self, mean: Float[Array, "K *B D C"], variance: Float[Array, "K *B D C"]
    ) -> Float[Array, "*B D C"]:
        return central_chance(self.link, mean, variance)

    def cdf(
        self, y: Float[Array, "*B D"], f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        assert given is not None
        k = jnp.clip(jnp.floor(y), 0.0, given - 1.0)
        inside = betainc(given - k, k + 1.0, LINKS[self.link].cdf(-f[..., 0]))
        return jnp.where(y < 0.0, 0.0, jnp.where(y >= given, 1.0, inside))

    def draw(
        self, key: PRNGKeyArray, f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        assert given is not None
        p = LINKS[self.link].cdf(f[..., 0])
        return jax.random.binomial(key, jnp.broadcast_to(given, p.shape), p, dtype=f.dtype)

    def saturated(self, y: Float[Array, "*B D"], given: Given = None) -> Float[Array, "*B D"]:
        assert given is not None
        return _log_choose(given, y) + xlogy(y, y / given) + xlog1py(given - y, -y / given)

    def success_probability(
        self, mean: Float[Array, "*B D C"], variance: Float[Array, "*B D C"]
    ) -> Float[Array, "*B D"]:
        """⟨F(f)⟩, whatever the trials."""
        return mean_probability(self.link, mean[..., 0], variance[..., 0])


def _share(
    Y: Float[np.ndarray, "N D"], given: Float[np.ndarray, "N D"] | None
) -> Float[np.ndarray, " D"]:
    assert given is not None
    trials = np.where(np.isnan(Y), 0.0, given).sum(axis=0)
    return (np.nansum(Y, axis=0) + 0.5) / (trials + 1.0)


def _log_choose(n: Array, k: Array) -> Array:
    return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)

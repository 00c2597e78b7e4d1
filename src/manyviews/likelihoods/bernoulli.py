"""Yes or no."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..errors import OptionError
from ..parameters import parameter
from .base import Given, Likelihood, Names, Start
from .checks import refuse
from .links import LINKS, central_chance, mean_probability
from .quadrature import average


class Bernoulli(Likelihood):
    """P(y = 1 | f) = F(f), with F logistic (``"logit"``) or normal (``"probit"``)."""

    continuous: ClassVar[bool] = False
    link: str = eqx.field(static=True)

    def __init__(self, link: str = "logit"):
        self.link = checked_link(link)

    def check_data(
        self, Y: Float[np.ndarray, "N D"], view: str, columns: Names = None, rows: Names = None
    ) -> None:
        wrong = ~np.isnan(Y) & (Y != 0) & (Y != 1)
        refuse(
            wrong, Y, view, columns, rows, "is to hold yes or no (bernoulli)",
            "code its values as 0 and 1, or use likelihood='ordinal' or 'categorical'",
        )  # fmt: skip

    def start(self, Y: Float[np.ndarray, "N D"], given: Float[np.ndarray, "N D"] | None) -> Start:
        return Start(self, parameter(np.asarray(self._offset(Y))[:, None]), 1.0)

    def working(
        self, Y: Float[np.ndarray, "N D"], given: Float[np.ndarray, "N D"] | None
    ) -> Float[np.ndarray, "N D"]:
        p = self._share(Y)
        return (Y - p) / np.sqrt(p * (1.0 - p))

    def log_density(
        self, y: Float[Array, "*B D"], f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        return LINKS[self.link].log_cdf((2.0 * y - 1.0) * f[..., 0])

    def expected_log_density(
        self,
        y: Float[Array, "*B D"],
        mean: Float[Array, "*B D C"],
        variance: Float[Array, "*B D C"],
        given: Given = None,
    ) -> Float[Array, "*B D"]:
        """⟨log F(±f)⟩."""
        sign = 2.0 * y - 1.0
        return average(
            LINKS[self.link].log_cdf, sign * mean[..., 0], variance[..., 0], self.n_nodes
        )

    def conditional(
        self, f: Float[Array, "*B D C"], given: Given = None
    ) -> tuple[Float[Array, "*B D"], Float[Array, "*B D"]]:
        p = LINKS[self.link].cdf(f[..., 0])
        return p, p * (1.0 - p)

    def moments(
        self, mean: Float[Array, "*B D C"], variance: Float[Array, "*B D C"], given: Given = None
    ) -> tuple[Float[Array, "*B D"], Float[Array, "*B D"]]:
        p = mean_probability(self.link, mean[..., 0], variance[..., 0])
        return p, p * (1.0 - p)

    def central(
        self, mean: Float[Array, "K *B D C"], variance: Float[Array, "K *B D C"]
    ) -> Float[Array, "*B D C"]:
        return central_chance(self.link, mean, variance)

    def cdf(
        self, y: Float[Array, "*B D"], f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        no = LINKS[self.link].cdf(-f[..., 0])
        return jnp.where(y < 0.0, 0.0, jnp.where(y < 1.0, no, 1.0))

    def draw(
        self, key: PRNGKeyArray, f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        p = LINKS[self.link].cdf(f[..., 0])
        return jax.random.bernoulli(key, p).astype(f.dtype)

    def saturated(self, y: Float[Array, "*B D"], given: Given = None) -> Float[Array, "*B D"]:
        return jnp.zeros_like(y)

    def level_values(self) -> Float[Array, "D L"] | None:
        return jnp.array([[0.0, 1.0]])

    def level_probabilities(
        self, f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D L"]:
        cdf = LINKS[self.link].cdf
        return jnp.stack([cdf(-f[..., 0]), cdf(f[..., 0])], axis=-1)

    def probabilities(
        self, mean: Float[Array, "*B D C"], variance: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D L"]:
        p = mean_probability(self.link, mean[..., 0], variance[..., 0])
        return jnp.stack([1.0 - p, p], axis=-1)

    def _offset(self, Y: Float[np.ndarray, "N D"]) -> Float[Array, " D"]:
        return LINKS[self.link].inverse(jnp.asarray(self._share(Y)))

    def _share(self, Y: Float[np.ndarray, "N D"]) -> Float[np.ndarray, " D"]:
        """Share of ones, half an observation of each value added."""
        seen = (~np.isnan(Y)).sum(axis=0)
        return (np.nansum(Y, axis=0) + 0.5) / (seen + 1.0)


def checked_link(link: str) -> str:
    """The name of a link, if there is one of that name."""
    if link not in LINKS:
        raise OptionError(f"link must be one of {sorted(LINKS)}, got {link!r}")
    return link

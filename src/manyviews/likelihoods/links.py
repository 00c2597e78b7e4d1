"""Links from the real line to probabilities."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.special import log_ndtr, ndtr, ndtri
from jaxtyping import Array, Float

LEAST = 1e-12  # probability


class Link(NamedTuple):
    """A cumulative distribution function F, symmetric around zero, with what is asked of it."""

    cdf: Callable[[Array], Array]
    log_cdf: Callable[[Array], Array]
    inverse: Callable[[Array], Array]
    log_between: Callable[[Array, Array], Array]
    """log(F(b) - F(a)) for a < b, without cancellation."""
    noise: Callable[[Array, tuple[int, ...]], Array]
    """Draws from F: f + noise > 0 has the probability F(f)."""


def _log_between_logistic(a: Array, b: Array) -> Array:
    """F(b) - F(a) = F(b) F(-a) (1 - e^(a-b))."""
    return jax.nn.log_sigmoid(b) + jax.nn.log_sigmoid(-a) + jnp.log(-jnp.expm1(a - b))


def _log_between_normal(a: Array, b: Array) -> Array:
    """In the tail where both numbers are small: Φ(b) - Φ(a) = Φ(-a) - Φ(-b)."""
    flip = a + b > 0.0
    low, high = jnp.where(flip, -b, a), jnp.where(flip, -a, b)
    top = log_ndtr(high)
    gap = log_ndtr(low) - top
    return top + jnp.log(-jnp.expm1(jnp.minimum(gap, -1e-15)))


LINKS = {
    "logit": Link(
        jax.nn.sigmoid,
        jax.nn.log_sigmoid,
        lambda p: jnp.log(p) - jnp.log1p(-p),
        _log_between_logistic,
        jax.random.logistic,
    ),
    "probit": Link(ndtr, log_ndtr, ndtri, _log_between_normal, jax.random.normal),
}


def mean_probability(
    link: str, mean: Float[Array, "*B"], variance: Float[Array, "*B"], n_nodes: int = 32
) -> Float[Array, "*B"]:
    """⟨F(f)⟩ under f ~ N(m, v): Φ(m/√(1+v)) for the probit, by quadrature for the logit."""
    from .quadrature import gauss_hermite

    if link == "probit":
        return ndtr(mean / jnp.sqrt(1.0 + variance))
    return gauss_hermite(LINKS[link].cdf, mean, variance, n_nodes)


def central_chance(
    link: str, mean: Float[Array, "K *B"], variance: Float[Array, "K *B"]
) -> Float[Array, "*B"]:
    """F⁻¹ of ⟨F(f)⟩ over a mixture with parts along the first axis."""
    p = jnp.mean(mean_probability(link, mean, variance), axis=0)
    return LINKS[link].inverse(jnp.clip(p, LEAST, 1.0 - LEAST))

"""How likely rows of a view are at known latent positions."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm
from jaxtyping import Array, Float

from ..expectations import Gaussian
from ..likelihoods import predictive_log_density
from .observations import split_table
from .posterior import GPPosterior
from .stochastic_posterior import StochasticPosterior


def rows_at_points(
    posterior: GPPosterior | StochasticPosterior,
    table: Float[np.ndarray, "N E"],
    x: Float[Array, "S N Q"],
) -> Float[np.ndarray, "S N"]:
    """Log p(y_n | x_sn) over the observed columns, which are independent given x."""
    if isinstance(posterior, StochasticPosterior):
        Y, beside = split_table(table, posterior.likelihood)
        other = posterior.likelihood.some_value()
    else:
        Y, beside, other = table, None, np.zeros(())
    given = None if beside is None else jnp.asarray(beside)
    seen = ~np.isnan(Y)
    y, mask = jnp.asarray(np.where(seen, Y, other)), jnp.asarray(seen, jnp.float64)
    return np.stack([np.asarray(_one(posterior, y, mask, given, points)) for points in x])


@eqx.filter_jit
def _one(
    posterior: GPPosterior | StochasticPosterior,
    y: Float[Array, "N D"],
    mask: Float[Array, "N D"],
    given: Float[Array, "N D"] | None,
    x: Float[Array, "N Q"],
) -> Float[Array, " N"]:
    if isinstance(posterior, StochasticPosterior):
        mean, variance = posterior.functions(x)
        density = predictive_log_density(posterior.likelihood, y, mean[None], variance[None], given)
    else:
        at = Gaussian(x, jnp.zeros_like(x))
        spread = jnp.sqrt(posterior.variance(at) + posterior.noise)
        density = norm.logpdf(y, posterior.mean(at), spread)
    return jnp.sum(mask * density, axis=1)

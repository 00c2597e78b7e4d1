"""Log density of new rows by importance sampling of their latent positions."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm
from jaxtyping import Float
from scipy.special import logsumexp

from .._runtime import single_threaded_blas
from ..errors import OptionError
from ..expectations import Gaussian
from ..mappings import GPPosterior, Posterior, StochasticPosterior
from ..mappings.point_density import rows_at_points

WIDER = 1.5  # the proposal's variances beside those of q(x*): tails must be covered


def importance_density(
    posteriors: Sequence[Posterior],
    rows: Sequence[Float[np.ndarray, "N _"]],
    q: Gaussian,
    prior: Gaussian,
    n_samples: int,
    seed: int = 0,
) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]:
    """Log (1/S) Σ_s p(y | x_s) p(x_s) / r(x_s), x_s ~ r, and its standard error.

    r is N(μ, 1.5 S) of the q(x*) that was found; p(y | x) is the prediction with q(U). The estimate
    is unbiased before the logarithm; its error is that of the mean weight, relative to it.
    """
    wide = jnp.sqrt(WIDER * q.variance)
    shape = (n_samples, *q.mean.shape)
    x = q.mean + wide * jax.random.normal(jax.random.key(seed), shape)
    log_weights = np.array(
        jnp.sum(
            norm.logpdf(x, prior.mean, jnp.sqrt(prior.variance)) - norm.logpdf(x, q.mean, wide),
            axis=2,
        )
    )
    with single_threaded_blas():
        for posterior, table in zip(posteriors, rows, strict=True):
            if np.isnan(table).all():
                continue
            if not isinstance(posterior, GPPosterior | StochasticPosterior):
                raise OptionError("importance sampling is not there for collaborative mappings")
            log_weights += rows_at_points(posterior, table, x)
    density = logsumexp(log_weights, axis=0) - np.log(n_samples)
    relative = np.exp(log_weights - density)
    return density, relative.std(axis=0) / np.sqrt(n_samples)

"""Where a mapping to data of any kind starts."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..expectations import Gaussian
from ..kernels import Kernel
from ..likelihoods import Likelihood
from ..mappings import Observations, StochasticGP
from ..mappings.natural import settle
from ..mappings.observations import split_table
from .initialise import inducing_inputs, starting_kernel

MOST_ROWS = 1000  # that q(U) settles on
FIRST_VARIANCE = 0.1  # of q(x) while q(U) settles


def initial_stochastic(
    table: Float[np.ndarray, "N E"],
    outputs: Observations,
    likelihood: Likelihood,
    means: Float[np.ndarray, "N Q"],
    kernel: str | Kernel,
    n_inducing: int,
    inducing: str,
    jitter: float,
    rng: np.random.Generator,
    shares: Float[np.ndarray, " Q"] | None = None,
) -> StochasticGP:
    """A GP of the latent means with its inducing variables settled, parameters from the data.

    ``shares`` are relevances of the dimensions to start from.
    """
    begun, offset, variance = likelihood.start(*split_table(table, likelihood))
    view = StochasticGP(
        starting_kernel(kernel, means, variance, shares),
        inducing_inputs(means, n_inducing, inducing, rng),  # type: ignore[arg-type]
        begun,
        offset,
        group_of_function=np.repeat(begun.groups(len(offset.raw)), begun.n_functions),
        jitter=jitter,
    )
    q = Gaussian(jnp.asarray(means), jnp.asarray(np.full(means.shape, FIRST_VARIANCE)))
    if len(means) > MOST_ROWS:
        some = jnp.asarray(np.sort(rng.choice(len(means), MOST_ROWS, replace=False)))
        return settle(view, q[some], outputs.rows(some))
    return settle(view, q, outputs)

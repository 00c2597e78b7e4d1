"""How far a mapping moves every column when a latent dimension moves."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..expectations import Gaussian
from .collaborative_posterior import CollaborativePosterior
from .point_posterior import PointPosterior
from .posterior import GPPosterior
from .stochastic_posterior import StochasticPosterior

Posterior = GPPosterior | CollaborativePosterior | PointPosterior | StochasticPosterior


def sensitivity(posterior: Posterior, q: Gaussian) -> Float[np.ndarray, "D Q"]:
    """Root mean square over the samples of ∂⟨f_d(x)⟩/∂x_q, times the spread of x_q.

    How far a column moves when a dimension moves by one standard deviation. For a linear
    map this is the absolute loading.
    """
    spread = np.asarray(q.mean).std(axis=0)
    return np.array(_slopes(posterior, q)) * spread


@jax.jit
def _slopes(posterior: Posterior, q: Gaussian) -> Float[Array, "D Q"]:
    def along(direction: Float[Array, " Q"]) -> Float[Array, " D"]:
        push = jnp.broadcast_to(direction, q.mean.shape)
        slope = jax.jvp(lambda m: posterior.mean(Gaussian(m, q.variance)), (q.mean,), (push,))[1]
        return jnp.sqrt(jnp.mean(slope**2, axis=0))

    return jax.lax.map(along, jnp.eye(q.mean.shape[1])).T

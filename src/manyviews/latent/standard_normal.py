"""Independent latent points with a standard normal prior [BGPLVM16, §3.3.1]."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike

from ..expectations import Gaussian
from ..parameters import Parameter, parameter, positive
from .base import Inferred, LatentSpace


class StandardNormal(LatentSpace):
    """p(X) = Π_n N(0, I),  q(X) = Π_n N(μ_n, diag S_n)  [BGPLVM16, eq. 32]."""

    mean: Parameter
    variance: Parameter

    def __init__(self, mean: ArrayLike, variance: ArrayLike = 0.5):
        self.mean = parameter(mean)
        broadcast = jnp if isinstance(variance, jax.Array) else np
        self.variance = positive(broadcast.broadcast_to(variance, np.shape(mean)))

    def infer(self) -> Inferred:
        q = Gaussian(self.mean.value, self.variance.value)
        return Inferred(q, jnp.sum(q.kl(self.prior(q.mean.shape[0]))))

    def prior(self, n_points: int) -> Gaussian:
        shape = (n_points, self.mean.raw.shape[1])
        return Gaussian(jnp.zeros(shape), jnp.ones(shape))

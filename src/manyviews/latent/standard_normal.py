"""Independent latent points with a standard normal prior (002 §3.3.1)."""

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from ..expectations import Gaussian
from ..parameters import Parameter, parameter, positive
from .base import LatentSpace


class StandardNormal(LatentSpace):
    """p(X) = Π_n N(0, I),  q(X) = Π_n N(μ_n, diag S_n)  (002 eq. 32)."""

    mean: Parameter
    variance: Parameter

    def __init__(self, mean: ArrayLike, variance: ArrayLike = 0.5):
        self.mean = parameter(mean)
        self.variance = positive(jnp.broadcast_to(jnp.asarray(variance), jnp.shape(mean)))

    def marginals(self) -> Gaussian:
        return Gaussian(self.mean.value, self.variance.value)

    def kl(self) -> Float[Array, ""]:
        return jnp.sum(self.new_point_kl(self.marginals()))

    def new_point_kl(self, q: Gaussian) -> Float[Array, " N"]:
        """½ Σ_q (μ² + S - log S - 1) for every row."""
        return 0.5 * jnp.sum(q.mean**2 + q.variance - jnp.log(q.variance) - 1.0, axis=1)

    def prior(self, n_points: int) -> Gaussian:
        shape = (n_points, self.mean.raw.shape[1])
        return Gaussian(jnp.zeros(shape), jnp.ones(shape))

"""What a latent space is: a prior, an approximate posterior, and the KL between them."""

from abc import abstractmethod

import equinox as eqx
from jaxtyping import Array, Float

from ..expectations import Gaussian


class LatentSpace(eqx.Module):
    """Owner of p(X) and q(X).

    The views see nothing but the marginals (002 eq. 24); the prior appears nowhere but
    in :meth:`kl` (002 §3.3). A new prior is one subclass.
    """

    @abstractmethod
    def marginals(self) -> Gaussian:
        """The marginals q(x_n)."""

    @abstractmethod
    def kl(self) -> Float[Array, ""]:
        """KL(q(X) ‖ p(X))."""

    @abstractmethod
    def new_point_kl(self, q: Gaussian) -> Float[Array, " N"]:
        """KL(q(x*) ‖ p(x* | training latents)), row by row, for points not trained on."""

    @abstractmethod
    def prior(self, n_points: int) -> Gaussian:
        """Marginal prior of new points."""

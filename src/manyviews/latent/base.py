"""What a latent space is: a prior, an approximate posterior, and the KL between them."""

from abc import abstractmethod
from typing import NamedTuple

import equinox as eqx
from jaxtyping import Array, Float

from ..expectations import Gaussian


class Inferred(NamedTuple):
    """The marginals q(x_n), which are all that views see, and KL(q(X) ‖ p(X))."""

    marginals: Gaussian
    kl: Float[Array, ""]


class LatentSpace(eqx.Module):
    """Owner of p(X) and q(X).

    The views see nothing but the marginals [BGPLVM16, eq. 24]; the prior appears nowhere but
    in the KL [BGPLVM16, §3.3]. A new prior is one subclass.
    """

    @abstractmethod
    def infer(self) -> Inferred:
        """The marginals and the KL, which often come from the same computation."""

    @abstractmethod
    def prior(self, n_points: int) -> Gaussian:
        """Marginal prior of new points of which nothing is known."""

    def dimensions(self, view: int) -> slice:
        """The latent dimensions that a view is a function of: all, unless a space divides them."""
        return slice(None)

    def everything(self) -> Gaussian:
        """The marginals of all that the space holds, those that views see first."""
        return self.marginals()

    def marginals(self) -> Gaussian:
        """The marginals q(x_n)."""
        return self.infer().marginals

    def kl(self) -> Float[Array, ""]:
        """KL(q(X) ‖ p(X))."""
        return self.infer().kl


@eqx.filter_jit
def marginals(latent: LatentSpace) -> Gaussian:
    """The marginals q(x_n), compiled."""
    return latent.marginals()


def everything(latent: LatentSpace) -> Gaussian:
    """The marginals of all that the space holds, compiled."""
    if type(latent).everything is LatentSpace.everything:
        return marginals(latent)
    return _everything(latent)


@eqx.filter_jit
def _everything(latent: LatentSpace) -> Gaussian:
    return latent.everything()

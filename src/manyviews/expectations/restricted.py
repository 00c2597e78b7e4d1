"""Psi statistics of a kernel over some dimensions: those of the marginal."""

from jaxtyping import Array, Float

from ..kernels import Restricted
from . import table
from .gaussian import Gaussian


def psi0(kernel: Restricted, q: Gaussian) -> Float[Array, " N"]:
    """⟨k(x, x)⟩."""
    return table.psi0(kernel.kernel, _marginal(kernel, q))


def psi1(kernel: Restricted, Z: Float[Array, "M Q"], q: Gaussian) -> Float[Array, "N M"]:
    """⟨k(x, z)⟩."""
    return table.psi1(kernel.kernel, Z[:, list(kernel.dimensions)], _marginal(kernel, q))


def psi2(
    kernel: Restricted, Z: Float[Array, "M Q"], q: Gaussian, W: Float[Array, "G N"]
) -> Float[Array, "G M M"]:
    """Σ_n W_gn ⟨k(z, x_n) k(x_n, z')⟩."""
    return table.psi2(kernel.kernel, Z[:, list(kernel.dimensions)], _marginal(kernel, q), W)


def _marginal(kernel: Restricted, q: Gaussian) -> Gaussian:
    chosen = list(kernel.dimensions)
    return Gaussian(q.mean[..., chosen], q.variance[..., chosen])


table.register(Restricted, psi0, psi1, psi2)

"""The distribution that every expectation is taken under."""

import equinox as eqx
from jaxtyping import Array, Float


class Gaussian(eqx.Module):
    """Independent Gaussians q(x_n) = N(μ_n, diag S_n), one per row (or per leading index)."""

    mean: Float[Array, "*N Q"]
    variance: Float[Array, "*N Q"]

    def __getitem__(self, rows: object) -> "Gaussian":
        return Gaussian(self.mean[rows], self.variance[rows])

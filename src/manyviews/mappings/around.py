"""Mappings that say more of a Gaussian process at points than the process itself."""

from typing import Self

import equinox as eqx
from jaxtyping import Array, Float

from ..kernels import Kernel
from .base import Mapping
from .exact import ExactGP
from .sparse import SparseGP

PointGP = ExactGP | SparseGP


class AroundGP(Mapping):
    """A mapping around an exact or a sparse GP, whose kernel and noise are its own."""

    inner: eqx.AbstractVar[PointGP]

    @property
    def kernel(self) -> Kernel:
        """That of the GP."""
        return self.inner.kernel

    @property
    def jitter(self) -> float:
        """That of the GP."""
        return self.inner.jitter

    def noise_variance(self) -> Float[Array, ""]:
        return self.inner.noise_variance()

    def relevance(self) -> Float[Array, " Q"]:
        return self.inner.relevance()

    def size(self, n_rows: int) -> int:
        return self.inner.size(n_rows)

    def with_jitter(self, jitter: float) -> Self:
        return eqx.tree_at(lambda m: m.inner, self, self.inner.with_jitter(jitter))

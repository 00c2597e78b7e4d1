"""What a covariance function is, and how two of them combine."""

from abc import abstractmethod
from dataclasses import replace
from typing import ClassVar, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..parameters import Parameter, fix, free, map_parameters, with_prior


class Kernel(eqx.Module):
    """A covariance function k(x, z), written for two points; matrices come by vmap.

    Subclasses list the parameters that have one entry per input dimension in
    ``per_dimension``, so that `with_dimensions()` can spread a scalar over them.
    """

    per_dimension: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def __call__(self, x: Float[Array, " Q"], z: Float[Array, " Q"]) -> Float[Array, ""]:
        """Return k(x, z) for two different points."""

    @abstractmethod
    def relevance(self, n_dimensions: int) -> Float[Array, " Q"]:
        """Return the prior variance of df/dx_q at the origin, for every dimension q.

        This is ∂²k(x, x')/∂x_q∂x'_q at x = x' = 0. For RBF-ARD it is σ² w_q and for
        linear-ARD w_q, so dividing by the maximum gives the normalised ARD weights
        of [MRD21, §4.4]; and it adds over sums of kernels.
        """

    def cross(self, X: Float[Array, "N Q"], Z: Float[Array, "M Q"]) -> Float[Array, "N M"]:
        """Covariance between two different sets of points."""
        return jax.vmap(lambda x: jax.vmap(lambda z: self(x, z))(Z))(X)

    def gram(self, X: Float[Array, "N Q"]) -> Float[Array, "N N"]:
        """Covariance of one set of points with itself."""
        return self.cross(X, X)

    def diagonal(self, X: Float[Array, "N Q"]) -> Float[Array, " N"]:
        """Prior variances k(x_n, x_n)."""
        return jax.vmap(lambda x: self(x, x))(X)

    def with_dimensions(self, n_dimensions: int) -> Self:
        """Spread scalar per-dimension parameters over ``n_dimensions`` (ARD)."""

        def spread(name: str, p: Parameter) -> Parameter:
            if name.split(".")[-1] not in self.per_dimension or p.raw.ndim:
                return p
            if isinstance(p.raw, jax.core.Tracer):
                return replace(p, raw=jnp.full((n_dimensions,), p.raw))
            raw = np.full(n_dimensions, np.asarray(p.raw))
            return replace(p, raw=jax.device_put(raw))

        return map_parameters(spread, self)

    def fix(self, *names: str) -> Self:
        """Hold the named parameters (all, if none is named) during fitting."""
        return fix(self, *names)

    def free(self, *names: str) -> Self:
        """Let fitting change the named parameters (all, if none is named)."""
        return free(self, *names)

    def with_prior(self, *names: str, median: float, spread: float) -> Self:
        """Give the named parameters a log-normal prior; its log density joins the bound."""
        return with_prior(self, *names, median=median, spread=spread)

    def __add__(self, other: "Kernel") -> "Kernel":
        from .combine import Sum

        return Sum.of(self, other)

    def __mul__(self, other: "Kernel") -> "Kernel":
        from .combine import Product

        return Product.of(self, other)


def squared_distance(
    x: Float[Array, " Q"], z: Float[Array, " Q"], lengthscale: Float[Array, "..."]
) -> Float[Array, ""]:
    """Σ_q (x_q - z_q)² / ℓ_q²."""
    return jnp.sum(((x - z) / lengthscale) ** 2)


def safe_sqrt(value: Float[Array, ""]) -> Float[Array, ""]:
    """Square root whose gradient at zero is zero instead of infinite."""
    positive = value > 0.0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, value, 1.0)), 0.0)

"""Latent positions given components."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from .conditionals import latent_given_rest
from .draws import small_cholesky, small_inverse
from .hierarchy import Components, Tables


def draw_latents(
    components: tuple[Components, ...],
    c: Int[Array, " N"],
    Y: Tables,
    normal: Float[Array, "N q"],
) -> Float[Array, "N q"]:
    """x_n given its component and all of its views, from standard normal numbers."""
    precision, gains = latent_given_rest(components)
    inverse = small_inverse(small_cholesky(precision))[c]
    linear = sum(
        jnp.einsum("nmq,nm->nq", gain[c], table - own.mu[c])
        for gain, table, own in zip(gains, Y, components, strict=True)
    )
    half = jnp.einsum("nqr,nr->nq", inverse, linear) + normal
    return jnp.einsum("nrq,nr->nq", inverse, half)

"""Collaborative points without neighbours in time: plain numbers, all rows at once."""

import jax.numpy as jnp
from jaxtyping import Array, Float


def smooth_singletons(
    shared: Float[Array, "n _"],
    A: Float[Array, "n K Q"],
    b: Float[Array, "K Q"],
    target: Float[Array, "n K Q"],
    precision: Float[Array, "n K Q"],
) -> tuple[Float[Array, "n B Q"], Float[Array, "n B Q"], Float[Array, "n B Q"]]:
    """Mean, variance and shares of the KL of x^1 … x^K and, last, of x^s.

    Given x^s the views are independent, and what view k says of it has precision
    b_k² r_k, r = λ/(1 + Aλ):

        v_s = κ/(1 + κ Σ b²r),  μ_s = v_s Σ brm,
        μ_k = bμ_s + Ar(m - bμ_s),  v_k = A(1 - Ar) + (1 - Ar)² b² v_s.
    """
    r = precision / (1.0 + A * precision)
    seen = jnp.sum(b**2 * r, axis=1)
    shared_variance = shared / (1.0 + shared * seen)
    shared_mean = shared_variance * jnp.sum(b * r * target, axis=1)
    centre = b * shared_mean[:, None]
    kept = 1.0 - A * r
    mean = centre + A * r * (target - centre)
    variance = A * kept + (kept * b) ** 2 * shared_variance[:, None]
    kl = 0.5 * (precision * ((target - mean) * mean - variance) + jnp.log1p(A * precision))
    kl = kl.at[:, 0].add(0.5 * jnp.log1p(shared * seen))
    return (
        jnp.concatenate([mean, shared_mean[:, None]], axis=1),
        jnp.concatenate([variance, shared_variance[:, None]], axis=1),
        jnp.pad(kl, ((0, 0), (0, 1), (0, 0))),
    )

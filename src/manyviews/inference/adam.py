"""Adam's direction (Kingma & Ba 2015). Written out: it is shorter than the import of a library."""

from typing import Any, NamedTuple, Self

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

DECAYS = FIRST_DECAY, SECOND_DECAY = 0.9, 0.999


class Moments(NamedTuple):
    """Running means of the gradient and of its square, and the number of steps."""

    steps: Int[Array, ""]
    mu: Any
    nu: Any

    @classmethod
    def none(cls, x: Any) -> Self:
        """Those of a tree before the first step."""
        return cls(
            jnp.array(0, int), jax.tree.map(jnp.zeros_like, x), jax.tree.map(jnp.zeros_like, x)
        )

    def after(self, gradient: Any, least: float = 1e-8) -> tuple[Any, Self]:
        """The direction m̂ / (√v̂ + least), and the moments after it."""

        def mean(decay: float, old: Any, new: Any) -> Any:
            return jax.tree.map(lambda a, b: decay * a + (1.0 - decay) * b, old, new)

        steps = self.steps + 1
        mu = mean(FIRST_DECAY, self.mu, gradient)
        nu = mean(SECOND_DECAY, self.nu, jax.tree.map(jnp.square, gradient))

        def direction(m: Array, v: Array) -> Array:
            first, second = (1.0 - jnp.asarray(d, m.dtype) ** steps for d in DECAYS)
            return (m / first) / (jnp.sqrt(v / second) + least)

        return jax.tree.map(direction, mu, nu), type(self)(steps, mu, nu)

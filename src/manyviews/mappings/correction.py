"""Function values corrected row by row, before data of any kind are made of them."""

from typing import Self

import equinox as eqx
from jaxtyping import Array, Float, Int


class Correction(eqx.Module):
    """f ↦ share f + shift, where the shift of row n has a variance of its own.

    f(x*) ~ N(m, v) becomes N(share m + shift, share² v + spread). As densities, probabilities,
    quantiles and draws all come from f, they are all of one corrected distribution.
    """

    share: Float[Array, "..."]
    """One for all columns, or D x 1."""
    shift: Float[Array, "N D C"]
    spread: Float[Array, "N D C"]

    def __call__(
        self, mean: Float[Array, "N D C"], variance: Float[Array, "N D C"]
    ) -> tuple[Float[Array, "N D C"], Float[Array, "N D C"]]:
        return self.share * mean + self.shift, self.share**2 * variance + self.spread

    def rows(self, chosen: Int[Array, " n"]) -> Self:
        """That of some rows, perhaps with repetitions."""
        return eqx.tree_at(
            lambda c: (c.shift, c.spread), self, (self.shift[chosen], self.spread[chosen])
        )

"""The link from known views to columns of several kinds: one for every kind."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from ..likelihoods import Likelihood, Mixed
from ..likelihoods.mixed import given_to
from ..mappings.correction import Correction
from .kind_link import KindLink


@dataclass(frozen=True)
class MixedLink:
    """A `KindLink` for every group of columns.

    Attributes
    ----------
    parts : tuple of KindLink
    columns : tuple of tuples of int
        Of the groups.
    """

    parts: tuple[KindLink, ...]
    columns: tuple[tuple[int, ...], ...]

    def correction(self, inputs: Float[np.ndarray, "N P"]) -> Correction:
        """What becomes of the latent model's functions for new rows."""
        found = [part.correction(inputs) for part in self.parts]
        most = max(each.shift.shape[2] for each in found)
        order = np.argsort(np.concatenate(self.columns))

        def together(name: str) -> jnp.ndarray:
            tables = [getattr(each, name) for each in found]
            wide = [jnp.pad(t, ((0, 0), (0, 0), (0, most - t.shape[2]))) for t in tables]
            return jnp.concatenate(wide, axis=1)[:, order]

        shares = jnp.concatenate([each.share for each in found])[order]
        return Correction(shares, together("shift"), together("spread"))

    def likelihood(self) -> Mixed:
        """That of the corrected functions."""
        return Mixed([part.likelihood() for part in self.parts], self.columns)


def link_to_kinds(
    inputs: Float[np.ndarray, "N P"],
    Y: Float[np.ndarray, "N D"],
    given: Float[np.ndarray, "N D"] | None,
    mean: Float[np.ndarray, "N D C"],
    variance: Float[np.ndarray, "N D C"],
    likelihood: Likelihood,
    groups: Int[np.ndarray, " N"] | None = None,
) -> KindLink | MixedLink:
    """Learn from rows that were forgotten, as `KindLink.fit` does, kind by kind."""
    if not isinstance(likelihood, Mixed):
        return KindLink.fit(inputs, Y, given, mean, variance, likelihood, groups)
    parts = [
        KindLink.fit(
            inputs, Y[:, own], given_to(part, given, own), mean[:, own, : part.n_functions],
            variance[:, own, : part.n_functions], part, groups,
        )
        for part, own in likelihood.by_group()
    ]  # fmt: skip
    return MixedLink(tuple(parts), likelihood.columns)

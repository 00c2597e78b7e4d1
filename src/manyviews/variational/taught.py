"""Rows that teach the maps something: where they are, and what the maps are then like."""

from dataclasses import dataclass, fields
from typing import Self

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from ..errors import OptionError
from ..fitted import Positions, Tables
from ..mappings import GPPosterior, Posterior, StochasticPosterior


@dataclass(frozen=True)
class Taught(Positions):
    """Positions of rows that revised the maps: what views are like there, given these rows too."""

    posteriors: tuple[Posterior, ...] = ()

    @classmethod
    def by(cls, q: Positions, posteriors: tuple[Posterior, ...]) -> Self:
        """The same positions with the maps as they revised them."""
        own = {field.name: getattr(q, field.name) for field in fields(Positions)}
        return cls(**own, posteriors=posteriors)

    def posterior(self, view: int) -> Posterior:
        """What the map to a view is like for these parts."""
        return self.posteriors[view]

    def at(self, x: Float[np.ndarray, "R Q"]) -> Positions:
        return self.by(super().at(x), self.posteriors)

    def _parts(self, chosen: Int[np.ndarray, " n"]) -> Positions:
        return self.by(super()._parts(chosen), self.posteriors)


@dataclass(frozen=True)
class Linked(Taught):
    """Positions of rows whose functions are corrected, each row by what is known of it."""

    row: Int[np.ndarray, " R"] | None = None
    """The row of the corrections that a part belongs to."""

    @classmethod
    def by(
        cls,
        q: Positions,
        posteriors: tuple[Posterior, ...],
        row: Int[np.ndarray, " R"] | None = None,
    ) -> Self:
        own = {field.name: getattr(q, field.name) for field in fields(Positions)}
        if row is None:  # the parts of a row, one after the other
            row = np.repeat(np.arange(len(q)), len(q.mean) // len(q))
        return cls(**own, posteriors=posteriors, row=row)

    def posterior(self, view: int) -> Posterior:
        found = self.posteriors[view]
        assert self.row is not None
        return (
            found.rows(jnp.asarray(self.row)) if isinstance(found, StochasticPosterior) else found
        )

    def at(self, x: Float[np.ndarray, "R Q"]) -> Positions:
        assert self.row is not None
        rows = self.row[:: len(self.mean) // len(self)]
        return self.by(Positions.known(x), self.posteriors, np.resize(rows, len(x)))

    def _parts(self, chosen: Int[np.ndarray, " n"]) -> Positions:
        assert self.row is not None
        return self.by(Positions._parts(self, chosen), self.posteriors, self.row[chosen])


def check_augmented(
    posteriors: tuple[Posterior, ...], rows: Tables, n_modes: int, coupled: bool
) -> None:
    """Refuse what a joint bound of training and new rows cannot do."""
    if n_modes > 1:
        raise OptionError(
            "augmented=True finds one optimum for all rows together: n_modes must be 1, "
            f"got {n_modes}"
        )
    if not coupled:
        raise OptionError(
            "augmented=True infers all rows jointly, and coupled=False one by one: leave one out"
        )
    for k, (posterior, table) in enumerate(zip(posteriors, rows, strict=True)):
        if not isinstance(posterior, GPPosterior) and not np.isnan(table).all():
            raise OptionError(
                "augmented=True needs the inducing variables of every known view integrated out, "
                f"which those of view {k + 1} are not: it is not Gaussian, or it has local "
                "processes (n_local). Leave augmented out"
            )

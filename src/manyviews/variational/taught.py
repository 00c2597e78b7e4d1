"""Rows that teach the maps something: where they are, and what the maps are then like."""

from dataclasses import dataclass, fields
from typing import Self

import numpy as np
from jaxtyping import Float, Int

from ..errors import OptionError
from ..fitted import Positions, Tables
from ..mappings import GPPosterior, Posterior


@dataclass(frozen=True)
class Taught(Positions):
    """Positions of rows that revised the maps: what views are like there, given these rows too."""

    posteriors: tuple[Posterior, ...] = ()

    @classmethod
    def by(cls, q: Positions, posteriors: tuple[Posterior, ...]) -> Self:
        """The same positions with the maps as they revised them."""
        own = {field.name: getattr(q, field.name) for field in fields(Positions)}
        return cls(**own, posteriors=posteriors)

    def at(self, x: Float[np.ndarray, "R Q"]) -> Positions:
        return self.by(super().at(x), self.posteriors)

    def _parts(self, chosen: Int[np.ndarray, " n"]) -> Positions:
        return self.by(super()._parts(chosen), self.posteriors)


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

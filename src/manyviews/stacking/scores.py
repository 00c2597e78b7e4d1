"""How good predictions of held-out values are: error, density, coverage."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from .mixture import Mixture

LEVEL = 0.9  # of the intervals whose coverage is counted


@dataclass(frozen=True)
class Scores:
    """Sums over the observed values of one view in one fold.

    Errors and densities are in standard deviations of the training columns, so that those of
    different columns and views may be compared.

    Attributes
    ----------
    values : int
    squares : float
        Of the errors.
    log_density : float
    inside : int
        Values inside the central 90 % interval.
    """

    values: int
    squares: float
    log_density: float
    inside: int

    @classmethod
    def of(
        cls, said: Mixture, truth: Float[np.ndarray, "n D"], scale: Float[np.ndarray, " D"]
    ) -> "Scores":
        """Count what was said of values against what they are."""
        known = ~np.isnan(truth)
        low, high = said.quantile([0.5 - LEVEL / 2, 0.5 + LEVEL / 2])
        inside = (truth >= low) & (truth <= high)
        return cls(
            int(known.sum()),
            float(np.nansum(((truth - said.mean) / scale) ** 2)),
            float(np.nansum(said.log_density(truth) + np.log(scale) * known)),
            int(inside[known].sum()),
        )

    def __add__(self, other: "Scores") -> "Scores":
        pairs = zip(asdict(self).values(), asdict(other).values(), strict=True)
        return Scores(*[a + b for a, b in pairs])

    @property
    def error(self) -> float:
        """Root mean square error."""
        return float(np.sqrt(self.squares / self.values)) if self.values else float("nan")

    @property
    def density(self) -> float:
        """Mean log density per value."""
        return self.log_density / self.values if self.values else float("nan")

    @property
    def coverage(self) -> float:
        """Share of values inside the 90 % intervals."""
        return self.inside / self.values if self.values else float("nan")

    def as_dict(self) -> dict[str, Any]:
        """The sums by name."""
        return asdict(self)


def training_scale(Y: Float[np.ndarray, "N D"]) -> Float[np.ndarray, " D"]:
    """Standard deviations of training columns; one where there is none."""
    known = ~np.isnan(Y)
    counts = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, Y, 0.0).sum(axis=0) / counts
    spread = np.sqrt(np.where(known, (Y - mean) ** 2, 0.0).sum(axis=0) / counts)
    return np.where(spread > 1e-12 * np.maximum(np.abs(mean), 1e-300), spread, 1.0)

"""The engine of the linear models: exact inference and prediction, given the parameters.

There is nothing to compile or to optimise for new rows: NumPy answers at once where a compiled
program would start late.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from ..data import When
from ..errors import OptionError
from ..fitted import Engine, Positions, Tables
from ..fitted.engine import Spread, normalised
from ..inference.independence import independent_share
from ..io import register_record
from .linear_gaussian import LinearGaussian


@register_record
@dataclass(frozen=True)
class LinearEngine(Engine):
    """A fitted linear-Gaussian model and the training data (scaled, NaN missing)."""

    model: LinearGaussian
    data: tuple[np.ndarray, ...]

    @cached_property
    def positions(self) -> Positions:
        return self.model.infer(self.data)[0]

    @cached_property
    def relevance(self) -> Float[np.ndarray, "K Q"]:
        """Mean square of a view's loadings on a dimension, the largest being one."""
        return normalised(np.stack([np.mean(v.loadings**2, axis=0) for v in self.model.views]))

    def infer(
        self,
        rows: Tables,
        when: When | None = None,
        wanted: Sequence[int] = (),
        *,
        evidence_power: Sequence[float | str] = (),
    ) -> Positions:
        """The exact posterior, or with each view's density raised to a power."""
        powers = self._powers(evidence_power)
        if rows is self.data and powers is None:
            return self.positions
        return self.model.infer(rows, powers=powers)[0]

    def _powers(self, asked: Sequence[float | str]) -> list[float] | None:
        if all(power == 1.0 for power in asked):
            return None
        powers = []
        for view, Y, power in zip(self.model.views, self.data, asked, strict=True):
            if power == "auto":
                power = independent_share(Y - view.expected(self.positions))
            elif isinstance(power, str) or not 0.0 < power <= 1.0:
                raise OptionError(f"evidence_power must be 'auto' or lie in (0, 1], got {power!r}")
            powers.append(float(power))
        return powers

    def log_density(self, rows: Tables, when: When | None = None) -> Float[np.ndarray, " N"]:
        return self.model.infer(rows)[1]

    def moments(
        self, view: int, q: Positions, spread: Spread = None
    ) -> tuple[Float[np.ndarray, "R D"], np.ndarray | None]:
        emission = self.model.views[view]
        mean = emission.expected(q)
        if spread is None:
            return mean, None
        return mean, emission.variances(q) if spread == "variance" else emission.covariances(q)

    def fill(
        self, view: int, rows: Tables, q: Positions
    ) -> tuple[Float[np.ndarray, "N D"], Float[np.ndarray, "N D"]]:
        """Given x and the row's other values, whose noise may be correlated with the missing."""
        return self.model.views[view].fill(rows[view], q)

    def draw_at(
        self, view: int, at: Positions, rng: np.random.RandomState
    ) -> Float[np.ndarray, "R D"]:
        emission = self.model.views[view]
        return emission.expected(at) + emission.noise_at(at.mean, rng)

    def slopes(self, view: int) -> Float[np.ndarray, "D Q"]:
        return np.abs(self.model.views[view].loadings) * self.positions.mean.std(axis=0)

    def prior(self, n_rows: int) -> Positions:
        return self.model.prior(n_rows)

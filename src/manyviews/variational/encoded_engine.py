"""The engine of models whose rows passed by: an encoder says where a row is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..data import When
from ..errors import OptionError
from ..expectations import Gaussian
from ..fitted import Positions, Tables
from ..inference.encoder import Encoder
from ..inference.new_points import infer_new_points
from ..inference.streaming import encoded
from ..io import register_record
from .engine import VariationalEngine


@register_record
@dataclass(frozen=True)
class EncodedEngine(VariationalEngine):
    """A fitted model with an encoder; ``data`` and positions are those of a sample of the rows."""

    encoder: Encoder

    def infer(
        self,
        rows: Tables,
        when: When | None = None,
        wanted: Sequence[int] = (),
        *,
        private: str = "posterior",
        n_modes: int = 1,
        coupled: bool = True,
        evidence_power: Sequence[float | str] = (),
        n_starts: int = 10,
        flow_weight: float = 0.0,
        augmented: bool = False,
        refine: int | None = 0,
    ) -> Positions:
        """q(x*) of rows in one pass of the encoder, moved on by ``refine`` steps.

        With ``refine=None``, several modes, or private dimensions from elsewhere, by the search of
        other models.
        """
        if rows is self.data:
            return self.positions
        searched = refine is None or n_modes > 1 or private != "posterior"
        if searched or when is not None or augmented:
            return super().infer(
                rows, when, wanted, private=private, n_modes=n_modes, coupled=coupled,
                evidence_power=evidence_power, n_starts=n_starts, flow_weight=flow_weight,
                augmented=augmented,
            )  # fmt: skip
        assert refine is not None
        if refine < 0:
            raise OptionError(f"refine must be at least 0, got {refine}")
        q = encoded(self.encoder, self.encoder.look(rows))
        if refine:
            q = self.refined(tuple(rows), q, refine, self.powers(evidence_power, False))
        return Positions.independent(np.asarray(q.mean), np.asarray(q.variance))

    def refined(
        self, rows: tuple[np.ndarray, ...], q: Gaussian, steps: int, powers: Sequence[float] | None
    ) -> Gaussian:
        """The bound of every row climbed for a few steps from where the encoder puts it."""
        n = len(rows[0])
        prior = Gaussian(jnp.zeros_like(q.mean), jnp.ones_like(q.mean))
        starts = np.arange(n)[:, None]
        return infer_new_points(
            prior, q, self.posteriors, rows, starts, powers=powers, n_optimised=1, iterations=steps
        ).q

    def widened(
        self, view: int, variance: Float[np.ndarray, "N D"], how: Mapping[str, Any]
    ) -> Float[np.ndarray, "N D"]:
        return variance  # most of what taught the maps is not here to be forgotten

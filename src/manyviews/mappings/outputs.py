"""One view's data as the mappings want it: zero-filled, masked, and compressed when wide.

NaN is missing. Columns that share a missing pattern share their statistics, so few
patterns are treated exactly (`PatternedOutputs`); many patterns share one
posterior covariance (`ScatteredOutputs`), which is still a bound.
"""

from dataclasses import replace
from typing import Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Float32, Int

from ..data.patterns import distinct_patterns
from .observations import Observations

MAX_EXACT_PATTERNS = 16

MissingTreatment = Literal["auto", "exact", "shared"]


class PatternedOutputs(eqx.Module):
    """Outputs in G groups of columns, each group with its own set of observed rows."""

    filled: Float[Array, "N D"]
    """The data with zeros for missing entries; used once, for the posterior."""
    factors: tuple[Float[Array, "N _"], ...]
    """Per group R_g with R_gR_gᵀ = Y_gY_gᵀ; Y_g itself unless it is wider than tall."""
    weights: Float[Array, "G N"]
    """One where the group's row is observed, zero elsewhere."""
    n_columns: Float[Array, " G"]
    sum_squares: Float[Array, " G"]
    group_of_column: Int[Array, " D"]

    def n_observed(self) -> float:
        """How many values are not missing."""
        return float(self.weights.sum(axis=1) @ self.n_columns)

    def variance(self) -> float:
        """Mean square of the (centred) observed values."""
        return float(self.sum_squares.sum()) / self.n_observed()

    def with_empty_rows(self, n: int) -> "PatternedOutputs":
        """With so many more rows at the end, of which nothing has been observed.

        Factors are as wide then as those of so many rows.
        """
        n_rows = len(self.filled) + n
        wide = [min(int(columns), n_rows) for columns in self.n_columns]
        return replace(
            self,
            filled=_below(self.filled, n),
            factors=tuple(
                jnp.pad(factor, ((0, n), (0, max(width - factor.shape[1], 0))))
                for factor, width in zip(self.factors, wide, strict=True)
            ),
            weights=_below(self.weights.T, n).T,
        )


class ScatteredOutputs(eqx.Module):
    """Outputs whose missing entries follow no few patterns."""

    filled: Float[Array, "N D"]
    rough: Float32[Array, "N D"]
    """The same in single precision, for an iterative solver."""
    mask: Float32[Array, "N D"]
    weights: Float[Array, "2 N"]
    """Share of columns observed in each row; and one where any is."""
    sum_squares: Float[Array, ""]

    def n_observed(self) -> float:
        """How many values are not missing."""
        return float(self.mask.sum(dtype=jnp.float64))

    def variance(self) -> float:
        """Mean square of the (centred) observed values."""
        return float(self.sum_squares) / self.n_observed()

    def with_empty_rows(self, n: int) -> "ScatteredOutputs":
        """With so many more rows at the end, of which nothing has been observed."""
        return replace(
            self,
            filled=_below(self.filled, n),
            rough=_below(self.rough, n),
            mask=_below(self.mask, n),
            weights=_below(self.weights.T, n).T,
        )


GaussianOutputs = PatternedOutputs | ScatteredOutputs
Outputs = GaussianOutputs | Observations
"""What mappings are trained on; `Observations` are of any kind of data."""


def make_outputs(
    Y: Float[np.ndarray, "N D"], missing: MissingTreatment = "auto"
) -> GaussianOutputs:
    """Arrange a data matrix (NaN = missing) for training."""
    observed = ~np.isnan(Y)
    filled = np.where(observed, Y, 0.0)
    patterns, group = distinct_patterns(observed.T)
    if missing == "shared" or (missing == "auto" and len(patterns) > MAX_EXACT_PATTERNS):
        return _scattered(filled, observed)
    blocks = [filled[:, group == g] for g in range(len(patterns))]
    return PatternedOutputs(
        filled=jnp.asarray(filled),
        factors=tuple(jnp.asarray(gram_factor(block)) for block in blocks),
        weights=jnp.asarray(patterns, jnp.float64),
        n_columns=jnp.asarray([block.shape[1] for block in blocks], jnp.float64),
        sum_squares=jnp.asarray([np.sum(block**2) for block in blocks]),
        group_of_column=jnp.asarray(group, jnp.int32),
    )


def gram_factor(Y: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N C"]:
    """Return R with RRᵀ = YYᵀ and at most N columns [BGPLVM16, §3.4; MRD21, §4.3]."""
    n_rows, n_columns = Y.shape
    if n_columns <= n_rows:
        return Y
    values, vectors = np.linalg.eigh(Y @ Y.T)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def _below(rows: Float[Array, "N D"], n: int) -> Float[Array, "L D"]:
    return jnp.pad(rows, ((0, n), (0, 0)))


def _scattered(
    filled: Float[np.ndarray, "N D"], observed: Bool[np.ndarray, "N D"]
) -> ScatteredOutputs:
    share = observed.mean(axis=1)
    return ScatteredOutputs(
        filled=jnp.asarray(filled),
        rough=jnp.asarray(filled, jnp.float32),
        mask=jnp.asarray(observed, jnp.float32),
        weights=jnp.asarray(np.stack([share, (share > 0).astype(float)])),
        sum_squares=jnp.asarray(np.sum(filled**2)),
    )

"""The linear-Gaussian model that the whole family shares [Leen08, §2.2.1]."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from ..data.patterns import Patterns, find_patterns
from ..fitted import Positions, Tables
from ..io import register_record
from .emission import Emission, IndependentNoise


@register_record
@dataclass(frozen=True)
class LinearGaussian:
    """x ~ N(0, I); given x, views are independent: y_k = W_k x + μ_k + e_k.

    Every value y_k of a row adds to log p(y | x) a quadratic of x, whose sum over the
    observed ones is J, h and c. So q(x) = N(V h, V) with V = (I + J)⁻¹, and
    log p(y) = c + ½ hᵀVh + ½ log|V|. Missing values and views drop out of the sums; where
    loadings are uncertain the sums are expectations, and log p(y) is a lower bound.
    """

    views: tuple[Emission, ...]

    @property
    def n_components(self) -> int:
        """Dimensions of x."""
        return self.views[0].loadings.shape[1]

    def infer(
        self,
        rows: Tables,
        patterns: Patterns | None = None,
        powers: Sequence[float] | None = None,
    ) -> tuple[Positions, Float[np.ndarray, " N"]]:
        """The posterior of x and the log density of every row (NaN is missing).

        A power raises a view's density to it: less than one, if its noise is not independent.
        """
        masks, index = find_patterns(rows) if patterns is None else patterns
        parts = [v.evidence(Y, m, index) for v, Y, m in zip(self.views, rows, masks, strict=True)]
        if powers is not None:
            parts = [part.raised(power) for part, power in zip(parts, powers, strict=True)]
        precision = np.eye(self.n_components) + sum(part.precision for part in parts)
        h = sum(part.linear for part in parts)
        covariance = np.linalg.inv(precision)
        covariance = 0.5 * (covariance + covariance.transpose(0, 2, 1))
        mean = np.einsum("nqr,nr->nq", covariance[index], h) if len(covariance) > 1 else (
            h @ covariance[0]
        )  # fmt: skip
        density = 0.5 * np.sum(h * mean, axis=1) - 0.5 * np.linalg.slogdet(precision)[1][index]
        density = density + sum(part.constant for part in parts)
        return Positions(mean, covariance, index), density

    def prior(self, n_rows: int) -> Positions:
        """Where a row without values is."""
        Q = self.n_components
        return Positions(np.zeros((n_rows, Q)), np.eye(Q)[None], np.zeros(n_rows, int))

    def rotated(self, R: Float[np.ndarray, "Q Q2"]) -> "LinearGaussian":
        """The same model with x = R x', R orthogonal (loadings must be points)."""
        assert all(getattr(view, "spread", None) is None for view in self.views)
        return LinearGaussian(tuple(replace(v, loadings=v.loadings @ R) for v in self.views))

    def canonical(self) -> "LinearGaussian":
        """Rotated so that Σ_k WᵀΨ⁻¹W is diagonal and falls; the largest loading is positive.

        For PPCA these are the principal axes, for PCCA the canonical directions.
        """
        information = sum(v.loadings.T @ v.precision_form() for v in self.views)
        R = np.linalg.eigh(0.5 * (information + information.T))[1][:, ::-1]
        stacked = np.vstack([v.loadings for v in self.views]) @ R
        return self.rotated(R * column_signs(stacked))


def column_signs(A: Float[np.ndarray, "D Q"]) -> Float[np.ndarray, " Q"]:
    """Signs that make the largest entry of every column positive."""
    largest = np.take_along_axis(A, np.abs(A).argmax(axis=0)[None], axis=0)[0]
    return np.where(largest < 0, -1.0, 1.0)


def independent(
    loadings: Float[np.ndarray, "D Q"],
    mean: Float[np.ndarray, " D"],
    variance: Float[np.ndarray, " D"],
) -> IndependentNoise:
    """A view with independent noise and parameters that are points."""
    return IndependentNoise(loadings, mean, variance, np.log(variance))

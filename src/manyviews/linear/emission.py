"""One view of a linear-Gaussian model, y = W x + μ + e, and what its values say of x."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.linalg import solve_triangular

from ..data.patterns import distinct_patterns, members
from ..fitted import Positions
from ..inference.conditional_gaussian import LOG_2PI, Given, given_observed
from ..io import register_record


class Evidence(NamedTuple):
    """log p(y_n | x) = constant_n + linear_n·x - ½ xᵀ precision_p x, p the row's pattern."""

    precision: Float[np.ndarray, "P Q Q"]
    linear: Float[np.ndarray, "N Q"]
    constant: Float[np.ndarray, " N"]

    def raised(self, power: float) -> "Evidence":
        """The evidence of p(y | x) to a power."""
        return Evidence(power * self.precision, power * self.linear, power * self.constant)


@dataclass(frozen=True)
class LinearView:
    """y = W x + μ + e, whatever the noise e."""

    loadings: Float[np.ndarray, "D Q"]
    mean: Float[np.ndarray, " D"]

    def expected(self, q: Positions) -> Float[np.ndarray, "N D"]:
        """⟨y⟩ at Gaussian positions."""
        return q.mean @ self.loadings.T + self.mean

    def signal_variances(self, q: Positions) -> Float[np.ndarray, "N D"]:
        """Variances of W x at Gaussian positions."""
        W = self.loadings
        return np.einsum("pqr,dr,dq->pd", q.covariance, W, W, optimize=True)[q.kind]


@register_record
@dataclass(frozen=True)
class IndependentNoise(LinearView):
    """A view whose columns have independent noise, with loadings known or uncertain.

    Attributes
    ----------
    loadings : ndarray of shape (D, Q)
    mean, variance, log_variance : ndarray of shape (D,)
        Of the noise 1 / ⟨1/ψ⟩ and ⟨log ψ⟩, the same number and its log where ψ is a point.
    spread : ndarray of shape (D, Q+1, Q+1), optional
        Posterior covariance of a column's loadings and mean.
    """

    variance: Float[np.ndarray, " D"]
    log_variance: Float[np.ndarray, " D"]
    spread: Float[np.ndarray, "D Q1 Q1"] | None = None

    def evidence(
        self,
        Y: Float[np.ndarray, "N D"],
        masks: Bool[np.ndarray, "P D"],
        pattern: Int[np.ndarray, " N"],
    ) -> Evidence:
        """⟨log p(y | x)⟩ over the loadings, as a quadratic of x."""
        D, Q = self.loadings.shape
        weights = 1.0 / self.variance
        residual = np.nan_to_num(Y - self.mean)  # zero where missing
        linear = residual @ (self.loadings * weights[:, None])
        misfit = residual**2 @ weights
        seen = masks.astype(float)
        squares = self.loadings[:, :, None] * self.loadings[:, None, :]
        constant = LOG_2PI + self.log_variance
        if self.spread is not None:
            squares = squares + self.spread[:, :Q, :Q]
            constant = constant + self.spread[:, Q, Q] * weights
            linear = linear - (seen @ (self.spread[:, :Q, Q] * weights[:, None]))[pattern]
        precision = (seen @ (squares * weights[:, None, None]).reshape(D, -1)).reshape(-1, Q, Q)
        return Evidence(precision, linear, -0.5 * (misfit + (seen @ constant)[pattern]))

    def variances(self, q: Positions) -> Float[np.ndarray, "N D"]:
        """Variances of y at Gaussian positions, noise included."""
        return self.signal_variances(q) + self.variance + self._uncertain_loadings(q)

    def covariances(self, q: Positions) -> Float[np.ndarray, "N D D"]:
        """Covariances of y across the columns at Gaussian positions, noise included."""
        signal = self.loadings @ q.covariance @ self.loadings.T
        own = self.variance + self._uncertain_loadings(q)
        return signal[q.kind] + own[:, :, None] * np.eye(len(self.mean))

    def noise_at(
        self, x: Float[np.ndarray, "S Q"], rng: np.random.RandomState
    ) -> Float[np.ndarray, "S D"]:
        """Draws of y - ⟨y⟩ at known positions."""
        spread = np.sqrt(self.variances(Positions.known(x)))
        return rng.standard_normal((len(x), len(self.mean))) * spread

    def fill(
        self, Y: Float[np.ndarray, "N D"], q: Positions
    ) -> tuple[Float[np.ndarray, "N D"], Float[np.ndarray, "N D"]]:
        """Mean and variance of the missing values; columns are independent given x."""
        return self.expected(q), self.variances(q)

    def precision_form(self) -> Float[np.ndarray, "D Q"]:
        """Ψ⁻¹W."""
        return self.loadings / self.variance[:, None]

    def _uncertain_loadings(self, q: Positions) -> Float[np.ndarray, "N D"]:
        """Tr Σ_d ⟨x̃x̃ᵀ⟩ with x̃ = (x, 1)."""
        if self.spread is None:
            return np.zeros((len(q.mean), len(self.mean)))
        return second_moments(q) @ self.spread.reshape(len(self.mean), -1).T


@register_record
@dataclass(frozen=True)
class CorrelatedNoise(LinearView):
    """A view whose noise has a full covariance across its columns."""

    covariance: Float[np.ndarray, "D D"]

    @property
    def variance(self) -> Float[np.ndarray, " D"]:
        """The noise variance of every column."""
        return np.diagonal(self.covariance)

    def evidence(
        self,
        Y: Float[np.ndarray, "N D"],
        masks: Bool[np.ndarray, "P D"],
        pattern: Int[np.ndarray, " N"],
    ) -> Evidence:
        """Log p(y | x) of the observed values, as a quadratic of x."""
        Q = self.loadings.shape[1]
        precision = np.zeros((len(masks), Q, Q))
        linear, constant = np.zeros((len(Y), Q)), np.zeros(len(Y))
        kinds, kind = distinct_patterns(masks)
        rows_of = members(kind[pattern], len(kinds))
        for mask, here, rows in zip(kinds, members(kind, len(kinds)), rows_of, strict=True):
            if not mask.any():
                continue
            L = np.linalg.cholesky(self.covariance[np.ix_(mask, mask)])
            A = solve_triangular(L, self.loadings[mask], lower=True)
            white = solve_triangular(L, (Y[rows][:, mask] - self.mean[mask]).T, lower=True)
            precision[here] = A.T @ A
            linear[rows] = white.T @ A
            volume = mask.sum() * LOG_2PI + 2.0 * np.log(np.diagonal(L)).sum()
            constant[rows] = -0.5 * (volume + np.sum(white**2, axis=0))
        return Evidence(precision, linear, constant)

    def variances(self, q: Positions) -> Float[np.ndarray, "N D"]:
        """Variances of y at Gaussian positions, noise included."""
        return self.signal_variances(q) + self.variance

    def covariances(self, q: Positions) -> Float[np.ndarray, "N D D"]:
        """Covariances of y across the columns at Gaussian positions, noise included."""
        signal = self.loadings @ q.covariance @ self.loadings.T
        return (signal + self.covariance)[q.kind]

    def noise_at(
        self, x: Float[np.ndarray, "S Q"], rng: np.random.RandomState
    ) -> Float[np.ndarray, "S D"]:
        """Draws of y - ⟨y⟩ at known positions."""
        return rng.standard_normal((len(x), len(self.mean))) @ np.linalg.cholesky(self.covariance).T

    def fill(
        self, Y: Float[np.ndarray, "N D"], q: Positions
    ) -> tuple[Float[np.ndarray, "N D"], Float[np.ndarray, "N D"]]:
        """Mean and variance of the missing values, given x *and* the row's observed noise."""
        mean, variance = self.expected(q), self.variances(q)
        for part, G in self.conditionals(Y):
            mean[part.gone] += (Y[part.there] - mean[part.there]) @ part.gain.T
            V = q.covariance[q.kind[part.rows]]
            moved = np.einsum("dq,nqr,dr->nd", G, V, G, optimize=True)
            variance[part.gone] = np.diagonal(part.covariance) + moved
        return mean, variance

    def conditionals(
        self, Y: Float[np.ndarray, "N D"]
    ) -> Iterator[tuple[Given, Float[np.ndarray, "M Q"]]]:
        """Missing values by their pattern: y_m = μ_m + B (y_o - μ_o) + G x + e, and G with it."""
        for part in given_observed(self.covariance, ~np.isnan(Y)):
            yield part, self.loadings[part.lost] - part.gain @ self.loadings[part.seen]

    def precision_form(self) -> Float[np.ndarray, "D Q"]:
        """Ψ⁻¹W."""
        return np.linalg.solve(self.covariance, self.loadings)


Emission = IndependentNoise | CorrelatedNoise


def second_moments(q: Positions) -> Float[np.ndarray, "N _"]:
    """⟨x̃x̃ᵀ⟩ of x̃ = (x, 1), flattened, row by row."""
    n_rows, Q = q.mean.shape
    extended = np.hstack([q.mean, np.ones((n_rows, 1))])
    moments = extended[:, :, None] * extended[:, None, :]
    moments[:, :Q, :Q] += q.covariance[q.kind]
    return moments.reshape(n_rows, -1)

"""A mixture of PCCA as one Gaussian mixture over all columns: densities and conditionals.

Everything the fitted models answer comes from here: missing values are marginalised, wanted
ones are conditioned on those that are there, component by component [Leen08, §5.2].
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import logsumexp

from ..data.patterns import by_pattern
from ..errors import FactorisationError
from ..inference.conditional_gaussian import LOG_2PI, regression
from ..io import register_record
from ..linear.closed_form import spans

LARGEST_BLOCK = 4_000_000  # numbers in one temporary array


@register_record
@dataclass(frozen=True)
class JointMixture:
    """p(y) = Σ_k π_k N(y | μ_k, W_k W_kᵀ + Ψ_k), over the columns of all views side by side.

    Attributes
    ----------
    log_weights : ndarray of shape (n_clusters,)
        log π_k.
    means : ndarray of shape (n_clusters, n_columns)
        μ_k, the columns of all views side by side.
    loadings : ndarray of shape (n_clusters, n_columns, n_components)
        W_k.
    noise : ndarray of shape (n_clusters, n_columns, n_columns)
        Ψ_k, one block per view.
    """

    log_weights: Float[np.ndarray, " K"]
    means: Float[np.ndarray, "K D"]
    loadings: Float[np.ndarray, "K D Q"]
    noise: Float[np.ndarray, "K D D"]

    @cached_property
    def covariances(self) -> Float[np.ndarray, "K D D"]:
        """W_k W_kᵀ + Ψ_k."""
        return self.loadings @ self.loadings.transpose(0, 2, 1) + self.noise

    def oriented(self) -> "JointMixture":
        """The same density with the largest loading of every dimension positive: signs are free."""
        largest = np.abs(self.loadings).argmax(axis=1, keepdims=True)
        signs = np.where(np.take_along_axis(self.loadings, largest, axis=1) < 0.0, -1.0, 1.0)
        return replace(self, loadings=self.loadings * signs)

    def log_densities(self, Y: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N K"]:
        """Log N(y_o | μ_k, C_k) of the observed values of every row, under every component."""
        answer = np.zeros((len(Y), len(self.log_weights)))
        for seen, rows in by_pattern(~np.isnan(Y)):
            factor = cholesky(self.covariances[:, seen][:, :, seen])
            inverse = np.linalg.solve(factor, np.broadcast_to(np.eye(seen.sum()), factor.shape))
            volume = np.sum(np.log(np.diagonal(factor, axis1=1, axis2=2)), axis=1)
            for block in _blocks(rows, self.means.size):
                white = self._apart(Y[block], seen) @ inverse.transpose(0, 2, 1)
                quadratic = np.sum(white**2, axis=-1).T
                answer[block] = -0.5 * (seen.sum() * LOG_2PI + quadratic) - volume
        return answer

    def log_density(self, Y: Float[np.ndarray, "N D"]) -> Float[np.ndarray, " N"]:
        """Log p(y_o) of the observed values of every row."""
        return logsumexp(self.log_weights + self.log_densities(Y), axis=1)

    def responsibilities(self, Y: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N K"]:
        """p(k | y_o) of every row."""
        log_weights = self.log_weights + self.log_densities(Y)
        return np.exp(log_weights - logsumexp(log_weights, axis=1, keepdims=True))

    def condition(
        self, Y: Float[np.ndarray, "N D"], wanted: Int[np.ndarray, " E"]
    ) -> Iterator["Conditional"]:
        """p(y_wanted | y_o) in blocks of rows that miss the same columns."""
        C = self.covariances
        for seen, rows in by_pattern(~np.isnan(Y)):
            known, own = C[:, seen], C[:, wanted][:, :, wanted]
            gain, covariances = regression(known[:, :, seen], known[:, :, wanted], own)
            for block in _blocks(rows, self.means.size):
                moved = self._apart(Y[block], seen) @ gain.transpose(0, 2, 1)
                means = (self.means[:, None, wanted] + moved).transpose(1, 0, 2)
                yield Conditional(block, self.responsibilities(Y[block]), means, covariances)

    def conditional_moments(
        self, Y: Float[np.ndarray, "N D"], wanted: Int[np.ndarray, " E"]
    ) -> tuple[Float[np.ndarray, "N E"], Float[np.ndarray, "N E E"]]:
        """Mean and covariance of p(y_wanted | y_o): E[V] + V[E] over components."""
        mean = np.zeros((len(Y), len(wanted)))
        covariance = np.zeros((len(Y), len(wanted), len(wanted)))
        for part in self.condition(Y, wanted):
            centre = np.einsum("nk,nke->ne", part.weights, part.means)
            apart = part.means - centre[:, None]
            weighted = (apart * part.weights[..., None]).transpose(0, 2, 1)
            mean[part.rows] = centre
            within = np.tensordot(part.weights, part.covariances, axes=1)
            covariance[part.rows] = within + weighted @ apart
        return mean, covariance

    def posterior(
        self, Y: Float[np.ndarray, "N D"]
    ) -> tuple[Float[np.ndarray, "N K Q"], Float[np.ndarray, "P K Q Q"], Int[np.ndarray, " N"]]:
        """Mean of x given y_o under every component, and its covariance [Leen08, §2.2.1].

        Rows that miss the same columns share covariances: the last answer says which row has which.
        """
        n_clusters, _, Q = self.loadings.shape
        mean, which = np.zeros((len(Y), n_clusters, Q)), np.zeros(len(Y), int)
        covariances = []
        for place, (seen, rows) in enumerate(by_pattern(~np.isnan(Y))):
            known = self.covariances[:, seen][:, :, seen]
            gain, left = regression(known, self.loadings[:, seen], np.eye(Q)[None])
            moved = self._apart(Y[rows], seen) @ gain.transpose(0, 2, 1)
            mean[rows], which[rows] = moved.transpose(1, 0, 2), place
            covariances.append(left)
        return mean, np.stack(covariances), which

    def latent(
        self, Y: Float[np.ndarray, "N D"]
    ) -> tuple[Float[np.ndarray, "N K Q"], Float[np.ndarray, "N K Q"]]:
        """Mean and standard deviation of x given y_o, under every component."""
        mean, covariance, which = self.posterior(Y)
        variance = np.diagonal(covariance, axis1=2, axis2=3)
        return mean, np.sqrt(np.maximum(variance, 0.0))[which]

    def _apart(
        self, Y: Float[np.ndarray, "n D"], seen: Bool[np.ndarray, " D"]
    ) -> Float[np.ndarray, "K n O"]:
        """y_o - μ_k of every component."""
        return Y[:, seen] - self.means[:, None, seen]


def from_views(
    weights: Float[np.ndarray, " K"],
    views: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]],
) -> JointMixture:
    """A mixture from the means, loadings and noise of every view's components."""
    means, loadings, blocks = zip(*views, strict=True)
    width = sum(block.shape[1] for block in blocks)
    noise = np.zeros((len(weights), width, width))
    for part, block in zip(spans([block.shape[1] for block in blocks]), blocks, strict=True):
        noise[:, part, part] = block
    return JointMixture(
        np.log(weights), np.concatenate(means, axis=1), np.concatenate(loadings, axis=1), noise
    )


def average(mixtures: Sequence[JointMixture]) -> JointMixture:
    """The mean of several densities: all of their components, in one mixture."""
    return JointMixture(
        np.concatenate([m.log_weights - np.log(len(mixtures)) for m in mixtures]),
        np.concatenate([m.means for m in mixtures]),
        np.concatenate([m.loadings for m in mixtures]),
        np.concatenate([m.noise for m in mixtures]),
    )


@dataclass(frozen=True)
class Conditional:
    """A Gaussian mixture per row: rows, weights, means, and the covariances they share."""

    rows: Int[np.ndarray, " n"]
    weights: Float[np.ndarray, "n K"]
    means: Float[np.ndarray, "n K E"]
    covariances: Float[np.ndarray, "K E E"]


def cholesky(matrices: Float[np.ndarray, "K d d"]) -> Float[np.ndarray, "K d d"]:
    """Factors of all covariances, or an error that says which one is singular."""
    try:
        return np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        for place, matrix in enumerate(matrices):
            if np.linalg.eigvalsh(matrix)[0] <= 0:
                raise FactorisationError(
                    f"the covariance of mixture component {place} is singular: raise "
                    "regularisation, or use fewer components"
                ) from None
        raise


def _blocks(rows: Int[np.ndarray, " n"], per_row: int) -> Iterator[Int[np.ndarray, " b"]]:
    size = max(1, LARGEST_BLOCK // max(per_row, 1))
    for start in range(0, len(rows), size):
        yield rows[start : start + size]

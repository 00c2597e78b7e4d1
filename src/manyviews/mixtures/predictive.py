"""Moments, draws and modes of the conditional mixture of every row."""

import numpy as np
from jaxtyping import Float, Int

from .joint import JointMixture, cholesky

CLOSE = 4.0  # squared distance in standard deviations below which two components share a mode
NEGLIGIBLE = 1e-6  # share of the heaviest component


def mixture_moments(
    mixture: JointMixture, known: Float[np.ndarray, "N D"], wanted: Int[np.ndarray, " E"]
) -> tuple[Float[np.ndarray, "N E"], Float[np.ndarray, "N E E"]]:
    """Mean and covariance of p(y_wanted | known): E[V] + V[E] over components."""
    mean = np.zeros((len(known), len(wanted)))
    covariance = np.zeros((len(known), len(wanted), len(wanted)))
    for part in mixture.condition(known, wanted):
        centre = np.einsum("nk,nke->ne", part.weights, part.means)
        apart = part.means - centre[:, None]
        weighted = (apart * part.weights[..., None]).transpose(0, 2, 1)
        mean[part.rows] = centre
        within = np.tensordot(part.weights, part.covariances, axes=1)
        covariance[part.rows] = within + weighted @ apart
    return mean, covariance


def draw_conditional(
    mixture: JointMixture,
    known: Float[np.ndarray, "N D"],
    wanted: Int[np.ndarray, " E"],
    n_samples: int,
    rng: np.random.RandomState,
) -> Float[np.ndarray, "S N E"]:
    """Draws of y_wanted given what is known of every row."""
    drawn = np.zeros((n_samples, len(known), len(wanted)))
    for part in mixture.condition(known, wanted):
        factors = cholesky(part.covariances)
        levels = np.cumsum(part.weights, axis=1)
        levels /= levels[:, -1:]
        for row, level, means in zip(part.rows, levels, part.means, strict=True):
            chosen = np.searchsorted(level, rng.random_sample(n_samples))
            normal = rng.standard_normal((n_samples, len(wanted)))
            drawn[:, row] = means[chosen] + np.einsum("sde,se->sd", factors[chosen], normal)
    return drawn


def find_modes(
    mixture: JointMixture,
    known: Float[np.ndarray, "N D"],
    wanted: Int[np.ndarray, " E"],
    n_modes: int,
) -> tuple[Float[np.ndarray, "N S"], Float[np.ndarray, "N S E"], Float[np.ndarray, "N S E"]]:
    """Group the components of every row around the heaviest; two normals make one mode below 2σ.

    Returns weights, means and standard deviations, the heaviest mode first; rows with fewer
    modes have weight zero in the rest.
    """
    weights = np.zeros((len(known), n_modes))
    means = np.zeros((len(known), n_modes, len(wanted)))
    stds = np.zeros_like(means)
    for part in mixture.condition(known, wanted):
        variances = np.diagonal(part.covariances, axis1=1, axis2=2)
        for row, share, centres in zip(part.rows, part.weights, part.means, strict=True):
            groups = []
            left = share > NEGLIGIBLE * share.max()
            while left.any():
                top = np.argmax(np.where(left, share, -1.0))
                apart = np.mean((centres - centres[top]) ** 2 / variances[top], axis=1)
                near = left & (apart < CLOSE)
                groups.append(_pooled(share[near], centres[near], variances[near]))
                left &= ~near
            groups.sort(key=lambda group: -group[0])
            for place, (weight, centre, variance) in enumerate(groups[:n_modes]):
                weights[row, place], means[row, place] = weight, centre
                stds[row, place] = np.sqrt(variance)
    used = max(1, int((weights > 0).any(axis=0).sum()))
    return weights[:, :used], means[:, :used], stds[:, :used]


def _pooled(
    share: Float[np.ndarray, " k"],
    centres: Float[np.ndarray, "k E"],
    variances: Float[np.ndarray, "k E"],
) -> tuple[float, Float[np.ndarray, " E"], Float[np.ndarray, " E"]]:
    total = float(share.sum())
    inner = share / total
    centre = inner @ centres
    return total, centre, inner @ (variances + (centres - centre) ** 2)

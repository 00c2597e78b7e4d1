"""Moments and modes of the conditional mixture of every row."""

import numpy as np
from jaxtyping import Float, Int

from .joint import JointMixture

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


def group_modes(
    shares: Float[np.ndarray, "N K"],
    centres: Float[np.ndarray, "N K E"],
    variances: Float[np.ndarray, "N K E"],
    n_modes: int,
) -> tuple[Float[np.ndarray, "N S"], Float[np.ndarray, "N S E"], Float[np.ndarray, "N S E"]]:
    """Group the components of every row around the heaviest; two normals make one mode below 2σ.

    Returns weights, means and variances, the heaviest mode first; rows with fewer modes have
    weight zero in the rest.
    """
    n_rows, _, E = centres.shape
    weights = np.zeros((n_rows, n_modes))
    means, spreads = np.zeros((n_rows, n_modes, E)), np.zeros((n_rows, n_modes, E))
    for row, (share, centre, variance) in enumerate(zip(shares, centres, variances, strict=True)):
        groups = []
        left = share > NEGLIGIBLE * share.max()
        while left.any():
            top = np.argmax(np.where(left, share, -1.0))
            apart = np.mean((centre - centre[top]) ** 2 / variance[top], axis=1)
            near = left & (apart < CLOSE)
            groups.append(_pooled(share[near], centre[near], variance[near]))
            left &= ~near
        groups.sort(key=lambda group: -group[0])
        for place, group in enumerate(groups[:n_modes]):
            weights[row, place], means[row, place], spreads[row, place] = group
    used = max(1, int((weights > 0).any(axis=0).sum()))
    return weights[:, :used], means[:, :used], spreads[:, :used]


def _pooled(
    share: Float[np.ndarray, " k"],
    centres: Float[np.ndarray, "k E"],
    variances: Float[np.ndarray, "k E"],
) -> tuple[float, Float[np.ndarray, " E"], Float[np.ndarray, " E"]]:
    total = float(share.sum())
    inner = share / total
    centre = inner @ centres
    return total, centre, inner @ (variances + (centres - centre) ** 2)

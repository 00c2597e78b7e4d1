"""Where EM and the samplers start: k-means, then PCCA in every cluster."""

import numpy as np
from jaxtyping import Float, Int
from sklearn.cluster import KMeans

from ..data.patterns import mean_filled
from ..linear.closed_form import canonical_pcca
from .joint import JointMixture

OWN_WEIGHT = 0.9  # of a cluster's covariance beside that of all samples, which keeps it regular


def kmeans_labels(
    Y: Float[np.ndarray, "N D"], n_clusters: int, rng: np.random.RandomState
) -> Int[np.ndarray, " N"]:
    """One run of k-means on all columns, missing values at their column's mean."""
    if n_clusters == 1:
        return np.zeros(len(Y), dtype=int)
    return KMeans(n_clusters, n_init=1, random_state=rng).fit_predict(mean_filled(Y))


def local_pcca(
    Y: Float[np.ndarray, "N D"],
    labels: Int[np.ndarray, " N"],
    sizes: tuple[int, ...],
    n_components: int,
    ridge: float,
) -> JointMixture:
    """One PCCA per cluster of the labels."""
    filled = mean_filled(Y)
    overall = np.cov(filled.T, bias=True)
    overall = np.atleast_2d(overall) + ridge * np.eye(Y.shape[1])
    n_clusters = int(labels.max()) + 1
    means, loadings, noise = [], [], []
    for k in range(n_clusters):
        own = filled[labels == k]
        mean = own.mean(axis=0)
        spread = (own - mean).T @ (own - mean) / len(own)
        S = overall if n_clusters == 1 else OWN_WEIGHT * spread + (1 - OWN_WEIGHT) * overall
        W, psi = canonical_pcca(S, sizes, n_components)
        means.append(mean)
        loadings.append(W)
        noise.append(psi)
    counts = np.bincount(labels, minlength=n_clusters)
    return JointMixture(
        np.log(counts / counts.sum()), np.stack(means), np.stack(loadings), np.stack(noise)
    )

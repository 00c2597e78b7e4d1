"""A mixture of probabilistic PCA by expectation-maximisation."""

from functools import partial
from typing import Any, Self

from ..io import register_record
from ..linear.closed_form import principal_ppca
from ..options import count, number
from .em_fit import fit_mixture, information_criterion
from .table import TABLE_OPTIONS, MixtureTable


@register_record
class MixturePPCA(MixtureTable):
    """Mixture of probabilistic PCA (Tipping & Bishop 1999b), by EM [Leen08, §5.2].

    In cluster k a row is y = W_k x + μ_k + e, with x ~ N(0, I) and e ~ N(0, σ_k² I). One cluster is
    `PPCA`, and no component a mixture of round Gaussians. `MixturePCCA` is the relative for several
    tables.

    Parameters
    ----------
    n_clusters : int, default=3
        Number of clusters; see `manyviews.mixtures.choose_n_clusters`.
    n_components : int, default=1
        Latent dimensions of each cluster.
    regularisation : float, default=0.01
        A cluster of n rows has regularisation / n added to its variances, in units of the scaling.
        Without it the likelihood is unbounded, as clusters may shrink onto a few rows.
    scaling : {"view", "column", "none"}, default="view"
        Divide the centred table by one number, by one per column, or not at all.
    n_restarts : int, default=5
        Runs from different k-means clusterings; the best objective wins.
    max_iter : int, default=500
        Most iterations of a run.
    tol : float, default=1e-7
        Gain of the objective per row and iteration at which a run has converged.
    random_state : int, RandomState or None, default=None
        Seed of the k-means clusterings and of draws.

    Attributes
    ----------
    labels_ : ndarray of int
        The most probable cluster of every training row.
    mixture_ : JointMixture
        Weights, means, loadings and noise of the scaled columns.
    objective_ : float
        Penalised log likelihood of the scaled data.
    lower_bound_ : float
        The same in the units of the data.
    fit_info_ : FitInfo
        What happened during the fit: bounds, iterations, convergence, seconds.

    Examples
    --------
    >>> import numpy as np
    >>> from manyviews import MixturePPCA
    >>> t = np.linspace(0, 3, 90)
    >>> noise = 0.05 * np.random.default_rng(0).normal(size=(90, 2))
    >>> arc = np.stack([np.cos(t), np.sin(t)], axis=1) + noise
    >>> model = MixturePPCA(n_clusters=4, random_state=0).fit(arc)
    >>> model.impute([[0.0, np.nan]]).round(1)
    array([[0., 1.]])
    """

    _options = {**TABLE_OPTIONS, "n_clusters": (count(),), "regularisation": (number(0),)}

    def __init__(
        self,
        n_clusters: int = 3,
        n_components: int = 1,
        *,
        regularisation: float = 1e-2,
        scaling: str = "view",
        n_restarts: int = 5,
        max_iter: int = 500,
        tol: float = 1e-7,
        random_state: Any = None,
    ):
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.regularisation = regularisation
        self.scaling = scaling
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model; NaN in ``X`` is missing."""
        Y = self._read(X)
        solve = partial(principal_ppca, n_components=self.n_components)
        return fit_mixture(self, [Y], solve, lambda S, W, noise: solve(S))

    def n_parameters(self) -> int:
        """Number of free parameters, without rotations of W that leave WWᵀ unchanged."""
        D = len(self.scaling_.scale)
        q = min(self.n_components, D - 1)
        each = D + D * q - q * (q - 1) // 2 + 1
        return self.n_clusters * each + self.n_clusters - 1

    def bic(self, X: Any) -> float:
        """Bayesian information criterion of some rows: lower is better."""
        return information_criterion(self, X)

"""Probabilistic PCA: one noise variance for all columns [Leen08, §2.4.2]."""

import time
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from ..data.patterns import mean_filled
from ..inference.diagnostics import FitInfo
from ..io import register_record
from .closed_form import ppca
from .estimators import NOISE_FLOOR, TABLE, LinearTable, adopt
from .linear_em import expectation_maximisation


@register_record
class PPCA(LinearTable):
    """Probabilistic PCA: y = W x + μ + e, x ~ N(0, I), e ~ N(0, σ²I) (Tipping & Bishop 1999).

    Complete data are solved in closed form (scikit-learn's PCA gives the components), data with
    missing values by EM on the exact likelihood.

    Parameters
    ----------
    n_components : int, optional
        Number of components. Default: 10, or what the data allow.
    scaling : {"view", "column", "none"}, default="view"
        Divide the centred table by one number, by one per column, or not at all.
    max_iter, tol
        Of EM: most iterations, and the gain per observed value at which it has converged.
    random_state : int, RandomState or None, default=None
        Seed of draws.

    Attributes
    ----------
    latent_mean_, latent_std_ : ndarray of shape (n_samples, n_components)
        Posterior of the training rows' latent positions.
    relevance_ : ndarray of shape (n_components,)
        Mean square of the loadings, the largest being one.
    loadings_ : ndarray of shape (n_features, n_components)
        W, in the units of the data.
    noise_variance_ : ndarray of shape (n_features,)
        Noise variance of every column, in the units of the data.
    lower_bound_ : float
        Log likelihood of the training data.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from manyviews.linear import PPCA
    >>> PPCA(2).fit(load_iris().data).transform(load_iris().data[:3]).shape
    (3, 2)
    """

    _options = TABLE

    def __init__(
        self,
        n_components: int | None = None,
        *,
        scaling: str = "view",
        max_iter: int = 2000,
        tol: float = 1e-8,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.scaling = scaling
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model; NaN in ``X`` is missing."""
        Y = self._prepare(X)
        began = time.perf_counter()
        n_components = self._components(Y)
        floor = NOISE_FLOOR * float(np.nanvar(Y))
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        start = ppca(mean_filled(Y), n_components, NOISE_FLOOR, seed)
        if np.isnan(Y).any():
            found = expectation_maximisation(
                [Y], start, shared_variance=True, floor=floor,
                max_iter=self.max_iter, tol=self.tol,
            )  # fmt: skip
            model = found.model
            info = FitInfo.of_trace(found.trace, found.seconds, found.converged)
        else:
            model = start
            likelihood = float(model.infer([Y])[1].sum())
            info = FitInfo.of_trace([likelihood], time.perf_counter() - began, True)
        return adopt(self, model.canonical(), [Y], info)

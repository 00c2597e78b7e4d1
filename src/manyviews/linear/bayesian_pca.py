"""Bayesian PCA: principal components whose number is inferred (Bishop 1999)."""

from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from ..inference.diagnostics import FitInfo
from ..io import register_record
from ..options import one_of
from .estimators import TABLE, LinearTable, adopt, refuse_thin_columns
from .variational_factors import starting_positions, variational_factors


@register_record
class BayesianPCA(LinearTable):
    """Variational Bayesian PCA: components that are not needed vanish (Bishop 1999).

        y_nd = w_d·x_n + μ_d + e,   w_dq ~ N(0, 1/α_q),   e ~ N(0, 1/τ).

    It is group factor analysis of one view. Missing values do not enter the bound. Loadings are
    integrated out, and predictions include their uncertainty.

    Parameters
    ----------
    n_components : int, optional
        Upper limit for the number of components. Default: 10, or what the data allow.
    noise : {"shared", "column"}, default="shared"
        One noise variance, or one per column (Bayesian factor analysis).
    scaling : {"view", "column", "none"}, default="view"
        Divide the centred table by one number, by one per column, or not at all.
    max_iter, tol
        Most iterations, and the gain of the bound per observed value at which the fit has
        converged.
    random_state : int, RandomState or None, default=None
        Seed of the start and of draws.

    Attributes
    ----------
    latent_mean_, latent_std_ : ndarray of shape (n_samples, kept components)
        Posterior of the training rows' latent positions.
    relevance_, loadings_, noise_variance_
        As in `PPCA`, for the components kept.
    lower_bound_ : float
        Lower bound on the log evidence.

    Examples
    --------
    >>> import numpy as np
    >>> from manyviews.linear import BayesianPCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 2)) @ rng.normal(size=(2, 8)) + 0.1 * rng.normal(size=(100, 8))
    >>> BayesianPCA(6, random_state=0).fit(X).n_active_
    2
    """

    _options = {**TABLE, "noise": (one_of("shared", "column"),)}

    def __init__(
        self,
        n_components: int | None = None,
        *,
        noise: str = "shared",
        scaling: str = "view",
        max_iter: int = 2000,
        tol: float = 1e-5,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.noise = noise
        self.scaling = scaling
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model; NaN in ``X`` is missing."""
        Y = self._prepare(X)
        if self.noise == "column":
            names = getattr(self, "feature_names_in_", range(Y.shape[1]))
            refuse_thin_columns(Y, self._components(Y), "X", list(names), "shared")
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        found = variational_factors(
            [Y], starting_positions([Y], self._components(Y), 0, rng),
            shared_noise=self.noise == "shared", max_iter=self.max_iter, tol=self.tol,
        )  # fmt: skip
        info = FitInfo.of_trace(found.bounds, found.seconds, found.converged)
        return adopt(self, found.model, [Y], info)

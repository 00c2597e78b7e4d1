"""Factor analysis: a noise variance for every column [Leen08, §2.2.1]."""

import time
import warnings
from typing import Any, Self

import numpy as np
from sklearn import decomposition
from sklearn.exceptions import ConvergenceWarning as FactorAnalysisWarning

from ..data.patterns import mean_filled
from ..inference.diagnostics import FitInfo
from ..io import register_record
from .closed_form import ppca
from .estimators import NOISE_FLOOR, TABLE, LinearTable, adopt
from .linear_em import expectation_maximisation
from .linear_gaussian import LinearGaussian, independent


@register_record
class FactorAnalysis(LinearTable):
    """Factor analysis: y = W x + μ + e, x ~ N(0, I), e ~ N(0, diag ψ).

    Complete data are fitted by scikit-learn's ``FactorAnalysis``, data with missing values by EM on
    the exact likelihood of the observed values.

    Parameters
    ----------
    n_components, scaling, max_iter, random_state
        As in `PPCA`.
    tol : float, default=1e-6
        Gain of log likelihood per observed value at which the fit has converged.

    Attributes
    ----------
    latent_mean_, latent_std_, relevance_, loadings_, noise_variance_, lower_bound_
        As in `PPCA`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from manyviews.linear import FactorAnalysis
    >>> FactorAnalysis(1).fit(load_iris().data).noise_variance_.shape
    (4,)
    """

    _options = TABLE

    def __init__(
        self,
        n_components: int | None = None,
        *,
        scaling: str = "view",
        max_iter: int = 5000,
        tol: float = 1e-6,
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
        n_components = self._components(Y)
        floor = NOISE_FLOOR * float(np.nanvar(Y))
        if np.isnan(Y).any():
            start = ppca(mean_filled(Y), n_components, NOISE_FLOOR)
            model, info = self._climb(Y, start, floor)
        else:
            model, info = self._complete(Y, n_components, floor)
        return adopt(self, model.canonical(), [Y], info)

    def _climb(self, Y: np.ndarray, start: LinearGaussian, floor: float) -> tuple[Any, FitInfo]:
        found = expectation_maximisation(
            [Y], start, floor=floor, max_iter=self.max_iter, tol=self.tol
        )
        return found.model, FitInfo.of_trace(found.trace, found.seconds, found.converged)

    def _complete(self, Y: np.ndarray, n_components: int, floor: float) -> tuple[Any, FitInfo]:
        began = time.perf_counter()
        solver = decomposition.FactorAnalysis(
            n_components, tol=self.tol * Y.size, max_iter=self.max_iter, svd_method="lapack"
        )
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            solver.fit(Y)
        converged = not any(issubclass(w.category, FactorAnalysisWarning) for w in said)
        variance = np.maximum(solver.noise_variance_, floor)
        model = LinearGaussian((independent(solver.components_.T, solver.mean_, variance),))
        if (solver.noise_variance_ < floor).any():  # its maximum is not that with a floor
            return self._climb(Y, model, floor)
        trace = [float(value) for value in solver.loglike_]
        reached = float(model.infer([Y])[1].sum())
        trace = [*trace[:-1], reached] if converged else [*trace, reached]
        return model, FitInfo.of_trace(trace, time.perf_counter() - began, converged)

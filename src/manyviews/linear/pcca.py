"""Probabilistic canonical correlation analysis (Bach & Jordan 2005; [Leen08, §2.5.4])."""

import time
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from ..data.patterns import mean_filled
from ..errors import DataError, OptionError
from ..inference.diagnostics import FitInfo
from ..io import register_record
from ..options import one_of
from ..shells import ViewsModel
from .closed_form import balanced, model_correlations, pcca, ridge_of
from .estimators import ITERATIONS, NOISE_FLOOR, REGULARISATION, VIEWS, adopt
from .linear_em import expectation_maximisation
from .linear_engine import LinearEngine


@register_record
class ProbabilisticCCA(ViewsModel):
    """Probabilistic CCA: shared latent variables, and full noise covariances of the views.

        y_k = W_k x + μ_k + e_k,   x ~ N(0, I),   e_k ~ N(0, Ψ_k),   Ψ_k full.

    Ψ_k takes up whatever a view has for itself, so that x keeps what is shared; the maximum of the
    likelihood has the directions of CCA (Bach & Jordan 2005). Two complete views are solved in
    closed form, more views, missing values and missing views by EM.

    Parameters
    ----------
    n_components : int, optional
        Shared dimensions. Default: the columns of the narrowest view, at most ten.
    method : {"auto", "closed", "em"}, default="auto"
        Algorithm; ``"auto"`` uses the closed form where there is one.
    regularisation : float, "auto" or dict by view, default=0.0
        Added to the diagonal of every covariance, as a share of the view's mean variance;
        ``"auto"`` is Ledoit and Wolf's amount. Required if a view has about as many columns as
        there are samples.
    scaling : {"view", "column", "none"} or dict by view, default="view"
        Affects the regularisation only.
    align : {"union", "intersection"}, default="union"
        Whether to keep all samples of DataFrames, or those that all views have.
    max_iter, tol
        Of EM: most iterations, and the gain per observed value at which it has converged.
    random_state : int, RandomState or None, default=None
        Seed of draws.

    Attributes
    ----------
    canonical_correlations_ : ndarray of shape (n_components,)
        Between two views, under the model.
    relevance_, latent_mean_, latent_std_, n_active_, lower_bound_, fit_info_
        As in `MRD`; ``lower_bound_`` is the log likelihood.

    Examples
    --------
    >>> import numpy as np
    >>> from manyviews.linear import ProbabilisticCCA
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(200, 1))
    >>> views = {"a": x + rng.normal(size=(200, 3)), "b": x + rng.normal(size=(200, 2))}
    >>> model = ProbabilisticCCA(1).fit(views)
    >>> mean, std = model.predict({"a": views["a"][:5]}, "b", return_std=True)
    >>> mean.shape
    (5, 2)
    """

    _options = {
        **VIEWS,
        **ITERATIONS,
        "method": (one_of("auto", "closed", "em"),),
        "regularisation": REGULARISATION,
    }
    engine_: LinearEngine

    def __init__(
        self,
        n_components: int | None = None,
        *,
        method: str = "auto",
        regularisation: float | str | dict[str, float | str] = 0.0,
        scaling: str | dict[str, str] = "view",
        align: str = "union",
        max_iter: int = 2000,
        tol: float = 1e-8,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.method = method
        self.regularisation = regularisation
        self.scaling = scaling
        self.align = align
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, views: Any, y: Any = None) -> Self:
        """Fit to a dict or list of tables or a MuData object; NaN is missing."""
        tables = self._prepare(views, y=y)
        began = time.perf_counter()
        if len(tables) < 2:
            raise DataError("CCA needs two views or more; for one there is PPCA")
        n_components = shared_components(self.n_components, tables, self.view_names_)
        choices = self._by_view(self.regularisation, "regularisation", 0.0)
        ridges = [ridge_of(Y, choice) for Y, choice in zip(tables, choices, strict=True)]
        complete = not any(np.isnan(Y).any() for Y in tables)
        if self.method == "closed" and not (complete and len(tables) == 2):
            raise OptionError(
                "the closed form is for two complete views; use method='em' for these data"
            )
        model = pcca([mean_filled(Y) for Y in tables], n_components, ridges, self.view_names_)
        if complete and len(tables) == 2 and self.method != "em":
            likelihood = float(model.infer(tables)[1].sum())
            info = FitInfo.of_trace([likelihood], time.perf_counter() - began, True)
        else:
            floor = NOISE_FLOOR * min(float(np.nanvar(Y)) for Y in tables)
            found = expectation_maximisation(
                tables, model, ridges=ridges, floor=floor, max_iter=self.max_iter, tol=self.tol
            )
            model = balanced(found.model) if len(tables) == 2 else found.model
            info = FitInfo.of_trace(found.trace, time.perf_counter() - began, found.converged)
        return adopt(self, model.canonical(), tables, info)

    @property
    def canonical_correlations_(self) -> Float[np.ndarray, " Q"]:
        """Canonical correlations of the two views, under the fitted model."""
        check_is_fitted(self)
        if len(self.view_names_) != 2:
            raise OptionError("canonical correlations are between two views; see CCA for more")
        return model_correlations(self.engine_.model)


def shared_components(asked: int | None, tables: Sequence[np.ndarray], names: Sequence[str]) -> int:
    """The number asked for, checked, or what the narrowest view allows, ten at most."""
    widths = [Y.shape[1] for Y in tables]
    narrow = int(np.argmin(widths))
    if asked is None:
        return min(10, widths[narrow])
    if asked > widths[narrow]:
        raise OptionError(
            f"n_components={asked} is more than the {widths[narrow]} columns of view "
            f"{names[narrow]!r}"
        )
    return int(asked)

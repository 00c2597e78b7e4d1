"""Group (inter-battery) factor analysis: shared and private factors, linear [MRD21, §2]."""

from typing import Any, Self

import numpy as np
from jaxtyping import Bool
from sklearn.utils import check_random_state

from ..errors import OptionError
from ..fitted import Tables
from ..inference.diagnostics import FitInfo
from ..io import register_record
from ..options import BY_VIEW, count, number, one_of
from ..shells import ViewsModel
from .estimators import ITERATIONS, VIEWS, adopt, refuse_thin_columns
from .variational_factors import starting_positions, variational_factors

LEAST_PER_FACTOR = 3  # complete samples


@register_record
class GroupFactorAnalysis(ViewsModel):
    """Group factor analysis: shared and private factors of several tables.

        y_k = W_k x + μ_k + e_k,   x ~ N(0, I),   w_kdq ~ N(0, 1/α_kq),   e_k ~ N(0, I/τ_k).

    The relevance 1/α_kq of factor q for view k is learnt: a factor that several views keep is
    shared, one that a single view keeps is private, and one that no view keeps is dropped. It is
    the linear relative of `MRD`, with loadings integrated out, for any number of
    views; values and whole views may be missing. With two views it is Bayesian inter-battery
    factor analysis (Klami et al. 2013; Klami et al. 2015).

    Parameters
    ----------
    n_components : int, optional
        Upper limit for the number of factors. Default: 10, or what the data allow.
    noise : {"view", "column"}, default="view"
        One noise variance per view, or one per column, with a prior that the columns of a view
        share. Noise per column suits columns of different quality; every column then needs more
        values than there are factors.
    scaling : {"view", "column", "none"} or dict by view, default="view"
        Divide each centred view by one number, by one per column, or not at all.
    align : {"union", "intersection"}, default="union"
        DataFrames are aligned on their index. With ``"union"`` a sample that a view lacks is
        missing there; ``"intersection"`` keeps the samples that all views have.
    learn_from : {"auto", "complete", "all"}, default="auto"
        Whether samples that lack whole views contribute to the loadings, or only receive latent
        positions. In such samples the factors of the missing view are free to follow what the
        other views leave, and predictions of the missing view can become noise. ``"auto"`` learns
        from samples with all views if these are at least half of all samples and three for every
        factor, else from all.
    evidence_power : float, "auto" or dict by view, default=1.0
        Exponent, at most one, of the likelihood of a sample given its latent position, after the
        fit; as in `MRD`. With correlated residuals, positions look too certain
        at one; ``"auto"`` reads the power off the training residuals.
    n_restarts : int, default=1
        Number of starts. The first is PCA of all views side by side, others are random; the one
        with the highest bound is kept.
    max_iter, tol
        Most iterations, and the gain of the bound per observed value at which the fit has
        converged.
    random_state : int, RandomState or None, default=None
        Seed of random starts and draws.

    Attributes
    ----------
    relevance_ : DataFrame of shape (n_views, kept factors)
        Mean square of the loadings, the largest of a view being one.
    latent_mean_, latent_std_, n_active_, fit_info_, view_names_
        As in `MRD`, for the factors kept.
    learnt_from_ : ndarray of bool
        The samples that the loadings were learnt from.
    lower_bound_ : float
        Lower bound on the log evidence of these samples.

    Examples
    --------
    >>> import numpy as np
    >>> from manyviews.linear import GroupFactorAnalysis
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(80, 3))
    >>> views = {
    ...     "a": x[:, :2] @ rng.normal(size=(2, 8)) + 0.3 * rng.normal(size=(80, 8)),
    ...     "b": x[:, 1:] @ rng.normal(size=(2, 6)) + 0.3 * rng.normal(size=(80, 6)),
    ... }
    >>> model = GroupFactorAnalysis(6, random_state=0).fit(views)
    >>> len(model.shared()), len(model.private("a")), len(model.private("b"))
    (1, 1, 1)
    """

    _options = {
        **VIEWS,
        **ITERATIONS,
        "noise": (one_of("column", "view"),),
        "learn_from": (one_of("auto", "complete", "all"),),
        "evidence_power": (number(0, 1, "right"), one_of("auto"), BY_VIEW),
        "n_restarts": (count(),),
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        noise: str = "view",
        scaling: str | dict[str, str] = "view",
        align: str = "union",
        learn_from: str = "auto",
        evidence_power: float | str | dict[str, float | str] = 1.0,
        n_restarts: int = 1,
        max_iter: int = 2000,
        tol: float = 1e-5,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.noise = noise
        self.scaling = scaling
        self.align = align
        self.learn_from = learn_from
        self.evidence_power = evidence_power
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, views: Any, y: Any = None) -> Self:
        """Fit to a dict or list of tables, a MuData object, or a single table; NaN is missing."""
        tables = self._prepare(views, y=y)
        n_samples = len(tables[0])
        most = min(sum(min(Y.shape) for Y in tables), n_samples - 1)
        n_components = min(10, most) if self.n_components is None else int(self.n_components)
        self.learnt_from_ = self._learning_rows(tables, n_components)
        learnt = [Y[self.learnt_from_] for Y in tables]
        if self.noise == "column":
            for Y, name, columns in zip(learnt, self.view_names_, self.columns_, strict=True):
                refuse_thin_columns(Y, n_components, name, columns, "view")
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        results = [
            variational_factors(
                learnt, starting_positions(learnt, n_components, restart, rng),
                shared_noise=self.noise == "view", max_iter=self.max_iter, tol=self.tol,
            )
            for restart in range(self.n_restarts)
        ]  # fmt: skip
        best = max(results, key=lambda result: result.bounds[-1])
        seconds = sum(result.seconds for result in results)
        info = FitInfo.of_trace(
            best.bounds, seconds, best.converged, [result.bounds[-1] for result in results]
        )
        return adopt(self, best.model, tables, info, rows=self.learnt_from_)

    def _learning_rows(self, tables: Tables, n_components: int) -> Bool[np.ndarray, " N"]:
        """The samples that the loadings are learnt from."""
        present = np.all([~np.isnan(Y).all(axis=1) for Y in tables], axis=0)
        n_complete, n_samples = int(present.sum()), len(present)
        if self.learn_from == "complete" and n_complete < 2:
            raise OptionError(
                f"learn_from='complete' needs samples with all views, of which there are "
                f"{n_complete}: use learn_from='all'"
            )
        enough = 2 * n_complete >= n_samples and n_complete >= LEAST_PER_FACTOR * n_components
        if self.learn_from == "complete" or (self.learn_from == "auto" and enough):
            return present
        return np.ones(n_samples, dtype=bool)

    def _inference(self) -> dict[str, Any]:
        return {"evidence_power": self._by_view(self.evidence_power, "evidence_power", 1.0)}


InterBatteryFactorAnalysis = GroupFactorAnalysis
"""The name for two views."""

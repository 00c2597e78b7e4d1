"""A mixture of probabilistic CCA by expectation-maximisation, and how many clusters it needs."""

import time
import warnings
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_score
from sklearn.utils import check_random_state

from ..data import Views
from ..errors import ConvergenceWarning, DataError, OptionError
from ..inference.diagnostics import FitInfo
from ..io import register_record
from ..options import count, number, one_of
from .mixture_em import fit_em, kmeans_labels, local_pcca
from .mixture_engine import MixtureEngine
from .model import OPTIONS, MixtureModel

SMALLEST_RIDGE = 1e-9


@register_record
class MixturePCCA(MixtureModel):
    """Mixture of probabilistic CCA by expectation-maximisation [Leen08, §5.2].

    In cluster k every view i is y_i = W_ik x + μ_ik + n_i, with x ~ N(0, I) shared by the views and
    n_i ~ N(0, Ψ_ik) private to each, where Ψ_ik is a full matrix. One cluster is probabilistic CCA.

    Parameters
    ----------
    n_clusters : int, default=3
        Number of clusters; see `manyviews.mixtures.choose_n_clusters`.
    n_components : int, default=1
        Latent dimensions that the views share in each cluster.
    m_step : {"auto", "em", "closed-form"}, default="auto"
        Update of W and Ψ: with x as missing data, or by PCCA's closed form, which exists for two
        views, needs far fewer iterations and is the default there.
    regularisation : float, default=0.01
        A cluster of n samples has regularisation / n added to its variances, in units of the
        scaling. Without it the likelihood is unbounded, as clusters may shrink onto a few samples.
    scaling : {"column", "view", "none"}, default="column"
        Divide each centred view by one number per column, by one number, or not at all.
    align : {"union", "intersection"}, default="union"
        DataFrames are aligned on their index; a sample that a view lacks is missing there.
    n_restarts : int, default=5
        Runs from different k-means clusterings; the best objective wins.
    max_iter : int, default=500
        Most iterations of a run.
    tol : float, default=1e-7
        Gain of the objective per sample and iteration at which a run has converged.
    random_state : int, RandomState or None, default=None
        Seed of the k-means clusterings and of draws.

    Attributes
    ----------
    labels_ : ndarray of int
        The most probable cluster of every training sample.
    mixture_ : JointMixture
        Weights, means, loadings and noise of the scaled columns, all views side by side.
    objective_ : float
        Penalised log likelihood of the scaled data.
    lower_bound_ : float
        The same in the units of the data.
    fit_info_ : FitInfo
        What happened during the fit: bounds, iterations, convergence, seconds.

    Examples
    --------
    >>> import numpy as np
    >>> from manyviews import MixturePCCA
    >>> t = np.linspace(0, 3, 90)[:, None]
    >>> noise = 0.05 * np.random.default_rng(0).normal(size=(90, 4))
    >>> views = {"arc": np.hstack([np.cos(t), np.sin(t)]) + noise[:, :2],
    ...          "wave": np.hstack([t, np.sin(2 * t)]) + noise[:, 2:]}
    >>> model = MixturePCCA(n_clusters=4, random_state=0).fit(views)
    >>> model.predict({"arc": views["arc"][:3]}, "wave").shape
    (3, 2)
    """

    _options = {
        **OPTIONS,
        "n_clusters": (count(),),
        "m_step": (one_of("auto", "em", "closed-form"),),
        "regularisation": (number(0),),
    }

    def __init__(
        self,
        n_clusters: int = 3,
        n_components: int = 1,
        *,
        m_step: str = "auto",
        regularisation: float = 1e-2,
        scaling: str = "column",
        align: str = "union",
        n_restarts: int = 5,
        max_iter: int = 500,
        tol: float = 1e-7,
        random_state: Any = None,
    ):
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.m_step = m_step
        self.regularisation = regularisation
        self.scaling = scaling
        self.align = align
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, views: Any, y: Any = None) -> Self:
        """Fit to a dict or list of tables, or a MuData object; NaN is missing."""
        tables = self._read(views, y)
        Y = np.concatenate(tables, axis=1)
        if self.n_clusters > len(Y):
            raise DataError(f"n_clusters={self.n_clusters}, but there are {len(Y)} samples")
        sizes, began = self._sizes(), time.perf_counter()
        if self.m_step == "closed-form" and len(sizes) > 2:
            raise OptionError(
                "m_step='closed-form' is there for two views; use 'em' (or 'auto') for more"
            )
        closed_form = self.m_step != "em" and len(sizes) == 2
        rng = check_random_state(self.random_state)
        results = []
        for _ in range(self.n_restarts if self.n_clusters > 1 else 1):
            labels = kmeans_labels(Y, self.n_clusters, rng)
            ridge = max(self.regularisation / len(Y), SMALLEST_RIDGE)
            start = local_pcca(Y, labels, sizes, self.n_components, ridge)
            results.append(
                fit_em(
                    Y, sizes, start, closed_form=closed_form, max_iter=self.max_iter,
                    regularisation=float(self.regularisation), tol=float(self.tol),
                )
            )  # fmt: skip
        objectives = [trace[-1] for _, trace, _ in results]
        mixture, trace, converged = results[int(np.argmax(objectives))]
        info = FitInfo.of_trace(trace, time.perf_counter() - began, converged, objectives)
        self._adopt(MixtureEngine(tuple(tables), mixture), info, trace[-1], len(trace) - 1)
        self.objective_ = trace[-1]
        self.labels_ = mixture.responsibilities(Y).argmax(axis=1)
        if not converged:
            warnings.warn(
                f"EM had not converged after {self.max_iter} iterations (last gain "
                f"{trace[-1] - trace[-2]:.2g}): raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def n_parameters(self) -> int:
        """Number of free parameters, without rotations of W that leave WWᵀ + Ψ unchanged."""
        sizes, q = self._sizes(), self.n_components
        width = sum(sizes)
        gauge = q * q if len(sizes) == 2 else q * (q - 1) // 2
        each = width + sum(m * (m + 1) // 2 for m in sizes) + width * q - gauge
        return self.n_clusters * each + self.n_clusters - 1

    def bic(self, views: Any) -> float:
        """Bayesian information criterion of some samples: lower is better."""
        scores = self.score_samples(views)
        return float(-2.0 * scores.sum() + self.n_parameters() * np.log(len(scores)))


def choose_n_clusters(
    model: MixturePCCA,
    views: Any,
    candidates: Iterable[int],
    *,
    criterion: str = "held-out",
    n_folds: int = 5,
    random_state: int | None = 0,
) -> tuple[MixturePCCA, pd.DataFrame]:
    """Fit the model with each number of clusters, and keep the best.

    Parameters
    ----------
    model : MixturePCCA
        The options; not changed.
    candidates : iterable of int
        Numbers of clusters to try.
    criterion : {"held-out", "bic"}, default="held-out"
        Mean log density of samples left out in turn (higher is better), or the Bayesian
        information criterion of all samples (lower is better).

    Returns
    -------
    model, table
        The best, fitted to all samples, and a row per candidate: training score, parameters,
        BIC, and (for ``"held-out"``) the held-out score with its standard error over folds.
    """
    if criterion not in {"held-out", "bic"}:
        raise OptionError(f"criterion must be 'held-out' or 'bic', got {criterion!r}")
    views = Views(views, align=model.align)
    folds = KFold(n_folds, shuffle=True, random_state=random_state)
    rows: dict[int, dict[str, float]] = {}
    fitted: dict[Any, MixturePCCA] = {}
    for n_clusters in candidates:
        one = clone(model).set_params(n_clusters=n_clusters)
        fitted[n_clusters] = clone(one).fit(views)
        rows[n_clusters] = {
            "score": fitted[n_clusters].score(views),
            "n_parameters": fitted[n_clusters].n_parameters(),
            "bic": fitted[n_clusters].bic(views),
        }
        if criterion == "held-out":
            scores = cross_val_score(one, views, cv=folds, error_score="raise")
            rows[n_clusters]["held_out"] = np.mean(scores)
            rows[n_clusters]["held_out_error"] = np.std(scores, ddof=1) / np.sqrt(n_folds)
    if not rows:
        raise OptionError("there is no candidate to choose from")
    table = pd.DataFrame(rows).T.rename_axis("n_clusters")
    best = table["held_out"].idxmax() if criterion == "held-out" else table["bic"].idxmin()
    return fitted[best], table

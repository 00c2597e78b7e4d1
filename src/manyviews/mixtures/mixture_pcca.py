"""A mixture of probabilistic CCA by expectation-maximisation."""

from functools import partial
from typing import Any, Self

from ..errors import OptionError
from ..io import register_record
from ..linear.closed_form import canonical_pcca, same_view
from ..options import count, number, one_of
from .em_fit import fit_mixture, information_criterion
from .mixture_em import em_step
from .model import OPTIONS, MixtureModel


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
        tables, sizes = self._read(views, y), self._sizes()
        if self.m_step == "closed-form" and len(sizes) > 2:
            raise OptionError(
                "m_step='closed-form' is there for two views; use 'em' (or 'auto') for more"
            )
        solve = partial(canonical_pcca, sizes=sizes, n_components=self.n_components)
        if self.m_step != "em" and len(sizes) == 2:
            return fit_mixture(self, tables, solve, lambda S, W, noise: solve(S))
        return fit_mixture(self, tables, solve, partial(em_step, blocks=same_view(sizes)))

    def n_parameters(self) -> int:
        """Number of free parameters, without rotations of W that leave WWᵀ + Ψ unchanged."""
        sizes, q = self._sizes(), self.n_components
        width = sum(sizes)
        gauge = q * q if len(sizes) == 2 else q * (q - 1) // 2
        each = width + sum(m * (m + 1) // 2 for m in sizes) + width * q - gauge
        return self.n_clusters * each + self.n_clusters - 1

    def bic(self, views: Any) -> float:
        """Bayesian information criterion of some samples: lower is better."""
        return information_criterion(self, views)

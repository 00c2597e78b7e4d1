"""A Dirichlet process mixture of probabilistic CCA, by Gibbs sampling or variationally."""

from functools import partial
from typing import Any, Self

import pandas as pd
from sklearn.utils.validation import check_is_fitted

from ..io import register_record
from ..linear.closed_form import canonical_pcca
from .chain_summaries import as_inference_data, posterior_sizes, similarity, summary
from .dirichlet_fit import HIERARCHY, fit_dirichlet, kept_trace
from .joint import JointMixture
from .model import OPTIONS, MixtureModel


@register_record
class DirichletPCCA(MixtureModel):
    """Dirichlet process mixture of probabilistic CCA [Leen08, §5.3-5.5].

    The clusters are those of `MixturePCCA`, with a Dirichlet process prior over
    the clustering, so that their number is inferred, and hierarchical priors over all parameters
    (`manyviews.mixtures.hierarchy`). The posterior is sampled by Gibbs sweeps. Predictions
    average over the kept states, and may have several modes.

    Parameters
    ----------
    n_components : int, default=1
        Latent dimensions that the views share in each cluster.
    inference : {"gibbs", "variational"}, default="gibbs"
        Sampling, or a factorised approximation that is optimised, for data where chains mix too
        slowly (many columns or samples). The approximation tends to be overconfident.
    n_chains : int, default=4
        Number of independent chains.
    n_sweeps : int, default=2000
        Sweeps of every chain, burn-in included.
    burn_in : int, optional
        Sweeps to discard. Default: half of them.
    thin : int, default=10
        Interval between the states that are kept.
    n_auxiliary : int, default=3
        New components from the prior that a sweep offers to the samples (algorithm 8 of Neal
        2000).
    move_rate : float, default=0.5
        Probability, per sweep of the burn-in, of proposing to split a cluster or merge two.
    start : {"spread", "one"}, default="spread"
        Start chains from k-means clusterings of 4, 6, 8, 12, 4, … clusters, so that they disagree
        at first, or all from one cluster, where they can stay for thousands of sweeps.
    loading_mean_precision : float, default=1.0
        Prior precision τ of the mean of loadings, in units of the scaling.
    max_clusters : int, default=20
        Variational inference only: most clusters.
    max_iter, tol, n_restarts
        Variational inference only: most iterations, gain of the bound per sample at which a run has
        converged, and number of runs from different k-means clusterings.
    scaling : {"column", "view", "none"}, default="column"
        Divide each centred view by one number per column, by one number, or not at all.
    align : {"union", "intersection"}, default="union"
        Whether to keep all samples of DataFrames, or those that all views have.
    random_state : int, RandomState or None, default=None
        Seed of chains, starts and draws.
    verbose : int, default=0
        1 reports the progress of every chain.

    Attributes
    ----------
    mixture_ : JointMixture
        The posterior predictive density of the scaled columns: components of all kept states.
    labels_ : ndarray of int
        A clustering of the training samples that represents all kept ones (Dahl 2006).
    clusters_ : JointMixture
        The components of that clustering; `transform()` and `responsibilities()` use it.
    n_clusters_ : int
        The most frequent number of clusters (variational: clusters that any sample prefers).
    trace_ : dict of ndarray of shape (n_chains, n_sweeps)
        Number of clusters, concentration α₀, log likelihood, … of every sweep.
    assignments_ : ndarray of shape (n_kept, n_samples)
        Clusters of the training samples in the kept states.
    lower_bound_, bound_trace_
        Variational inference only: the bound at the end and by iteration.
    """

    _options = {**OPTIONS, **HIERARCHY}

    def __init__(
        self,
        n_components: int = 1,
        *,
        inference: str = "gibbs",
        n_chains: int = 4,
        n_sweeps: int = 2000,
        burn_in: int | None = None,
        thin: int = 10,
        n_auxiliary: int = 3,
        move_rate: float = 0.5,
        start: str = "spread",
        loading_mean_precision: float = 1.0,
        max_clusters: int = 20,
        max_iter: int = 500,
        tol: float = 1e-6,
        n_restarts: int = 3,
        scaling: str = "column",
        align: str = "union",
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.inference = inference
        self.n_chains = n_chains
        self.n_sweeps = n_sweeps
        self.burn_in = burn_in
        self.thin = thin
        self.n_auxiliary = n_auxiliary
        self.move_rate = move_rate
        self.start = start
        self.loading_mean_precision = loading_mean_precision
        self.max_clusters = max_clusters
        self.max_iter = max_iter
        self.tol = tol
        self.n_restarts = n_restarts
        self.scaling = scaling
        self.align = align
        self.random_state = random_state
        self.verbose = verbose

    @property
    def clusters_(self) -> JointMixture:
        """The components of the clustering that stands for all kept ones."""
        check_is_fitted(self)
        return self.engine_.told

    def fit(self, views: Any, y: Any = None) -> Self:
        """Fit to a dict or list of tables, or a MuData object.

        NaN is missing. Gibbs sampling imputes missing values; variational inference requires
        complete data.
        """
        tables = self._read(views, y)
        solve = partial(canonical_pcca, sizes=self._sizes(), n_components=self.n_components)
        return fit_dirichlet(self, tables, solve)

    # ------------------------------------------------------------------ what was sampled

    def n_clusters_posterior(self) -> pd.Series:
        """Posterior probability of every number of clusters seen after the burn-in."""
        return posterior_sizes(kept_trace(self))

    def similarity(self) -> pd.DataFrame:
        """Share of the kept states in which two training samples have the same cluster."""
        kept_trace(self)
        return pd.DataFrame(similarity(self.assignments_), self.samples_, self.samples_)

    def diagnostics(self) -> pd.DataFrame:
        """Mean, spread, effective sample size and R-hat of every trace, after the burn-in.

        Needs ArviZ: ``pip install "manyviews[mixtures]"``.
        """
        return summary(kept_trace(self))

    def to_arviz(self) -> Any:
        """Traces after the burn-in as ArviZ ``InferenceData``, for its plots and diagnostics."""
        return as_inference_data(kept_trace(self))

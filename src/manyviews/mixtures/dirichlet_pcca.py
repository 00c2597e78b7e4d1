"""A Dirichlet process mixture of probabilistic CCA, by Gibbs sampling or variationally."""

import sys
import time
import warnings
from typing import Any, Self

import numpy as np
import pandas as pd
from jaxtyping import Float
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..data.patterns import mean_filled
from ..errors import ConvergenceWarning, OptionError
from ..inference.diagnostics import FitInfo
from ..io import register_record
from ..options import NONE, VERBOSE, count, number, one_of
from .chain_summaries import (
    as_inference_data,
    representative,
    similarity,
    split_r_hat,
    summary,
)
from .chains import ChainOptions, first_state, run_chain
from .gibbs import SweepOptions
from .hierarchy import make_prior
from .joint import JointMixture, average
from .mean_field import fit_variational
from .mixture_em import kmeans_labels, local_pcca
from .mixture_engine import MixtureEngine
from .model import OPTIONS, MixtureModel

RIDGE = 1e-6  # of the unit variance of scaled columns
START_SIZES = (4, 6, 8, 12)  # sweeps merge clusters more easily than they split them
LARGEST_R_HAT = 1.1


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

    _options = {
        **OPTIONS,
        "inference": (one_of("gibbs", "variational"),),
        "n_chains": (count(),),
        "n_sweeps": (count(2),),
        "burn_in": (count(0), NONE),
        "thin": (count(),),
        "n_auxiliary": (count(),),
        "move_rate": (number(0, 1),),
        "start": (one_of("spread", "one"),),
        "loading_mean_precision": (number(0, closed="neither"),),
        "max_clusters": (count(),),
        "verbose": (VERBOSE,),
    }

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
        tables, began = self._read(views, y), time.perf_counter()
        Y, rng = np.concatenate(tables, axis=1), check_random_state(self.random_state)
        if self.inference == "variational":
            self._fit_variational(Y, tables, rng)
        else:
            self._fit_gibbs(Y, tables, rng)
        self.fit_info_.seconds = time.perf_counter() - began
        return self

    def _fit_gibbs(
        self, Y: Float[np.ndarray, "N D"], tables: list[Float[np.ndarray, "N _"]], rng: Any
    ) -> None:
        burn_in = self.n_sweeps // 2 if self.burn_in is None else self.burn_in
        if burn_in >= self.n_sweeps:
            raise OptionError(f"burn_in={burn_in} leaves nothing of n_sweeps={self.n_sweeps}")
        sweep = SweepOptions(int(self.n_auxiliary), float(self.move_rate))
        options = ChainOptions(self.n_sweeps, burn_in, self.thin, sweep)
        prior = make_prior(tables, self.loading_mean_precision, RIDGE)
        holes = [np.isnan(table) for table in tables]
        missing = holes if any(hole.any() for hole in holes) else None
        filled = [mean_filled(table) for table in tables]
        chains = []
        for chain in range(self.n_chains):
            size = 1 if self.start == "one" else START_SIZES[chain % len(START_SIZES)]
            labels = kmeans_labels(Y, min(size, len(Y)), rng)
            local = local_pcca(Y, labels, self._sizes(), self.n_components, RIDGE)
            state = first_state(filled, labels, local, prior, rng)
            seed = int(rng.randint(2**31 - 1))
            chains.append(
                run_chain(seed, state, filled, missing, prior, options, self._report(chain))
            )
        self.trace_ = {
            name: np.stack([chain.trace[name] for chain in chains]) for name in chains[0].trace
        }
        mixtures = [mixture for chain in chains for mixture in chain.mixtures]
        self.assignments_ = np.concatenate([chain.assignments for chain in chains])
        chosen = representative(self.assignments_)
        self.labels_ = self.assignments_[chosen]
        told = _without_last(mixtures[chosen])
        engine = MixtureEngine(tuple(tables), average(mixtures), told)
        self._adopt(engine, FitInfo(converged=True), n_iter=self.n_sweeps)
        self.burn_in_ = burn_in
        sizes = self.n_clusters_posterior()
        self.n_clusters_ = int(sizes.index[int(sizes.argmax())])
        if self.n_chains > 1:
            r_hat = split_r_hat(self.trace_["log_likelihood"][:, burn_in:])
            self.fit_info_.converged = bool(r_hat <= LARGEST_R_HAT)
            if r_hat > LARGEST_R_HAT:
                warnings.warn(
                    f"the chains do not agree (R-hat of the log likelihood {r_hat:.2f}, of which "
                    f"1 is best and {LARGEST_R_HAT} too much): run more sweeps, look at "
                    "diagnostics(), or try inference='variational'",
                    ConvergenceWarning,
                    stacklevel=3,
                )

    def _fit_variational(
        self, Y: Float[np.ndarray, "N D"], tables: list[Float[np.ndarray, "N _"]], rng: Any
    ) -> None:
        if np.isnan(Y).any():
            raise OptionError(
                "inference='variational' takes complete training views only: use "
                "inference='gibbs' for data with missing values, or fill them first"
            )
        prior = make_prior(tables, self.loading_mean_precision, RIDGE)
        found = fit_variational(
            tables, prior, self.n_components, min(self.max_clusters, len(Y)),
            n_restarts=self.n_restarts, max_iter=self.max_iter, tol=float(self.tol), rng=rng,
        )  # fmt: skip
        info = FitInfo.of_trace(found.bounds, 0.0, found.converged)
        engine = MixtureEngine(tuple(tables), found.predictive, found.clusters)
        self._adopt(engine, info, float(found.bounds[-1]), len(found.bounds))
        self.labels_, self.bound_trace_ = found.labels, found.bounds
        self.n_clusters_ = len(np.unique(found.labels))
        if not found.converged:
            warnings.warn(
                f"the bound had not converged after {self.max_iter} iterations: raise max_iter "
                "or tol",
                ConvergenceWarning,
                stacklevel=3,
            )

    # ------------------------------------------------------------------ what was sampled

    def n_clusters_posterior(self) -> pd.Series:
        """Posterior probability of every number of clusters seen after the burn-in."""
        self._sampled()
        kept = self.trace_["n_clusters"][:, self.burn_in_ :].ravel()
        sizes, counts = np.unique(kept, return_counts=True)
        return pd.Series(counts / counts.sum(), index=sizes, name="probability")

    def similarity(self) -> pd.DataFrame:
        """Share of the kept states in which two training samples have the same cluster."""
        self._sampled()
        return pd.DataFrame(similarity(self.assignments_), self.samples_, self.samples_)

    def diagnostics(self) -> pd.DataFrame:
        """Mean, spread, effective sample size and R-hat of every trace, after the burn-in.

        Needs ArviZ: ``pip install "manyviews[mixtures]"``.
        """
        self._sampled()
        return summary(self.trace_, self.burn_in_)

    def to_arviz(self) -> Any:
        """Traces after the burn-in as ArviZ ``InferenceData``, for its plots and diagnostics."""
        self._sampled()
        return as_inference_data(self.trace_, self.burn_in_)

    def _sampled(self) -> None:
        check_is_fitted(self)
        if not hasattr(self, "trace_"):
            raise OptionError("there are no chains: the model was fitted variationally")

    def _report(self, chain: int) -> Any:
        if not self.verbose:
            return None
        step = max(1, self.n_sweeps // 10)

        def report(done: int, n_clusters: int) -> None:
            if done % step < self.thin:
                said = f"chain {chain}: sweep {done} of {self.n_sweeps}, {n_clusters} clusters"
                print(said, file=sys.stderr)  # as other progress; results go to stdout

        return report


def _without_last(mixture: JointMixture) -> JointMixture:
    """Without the draw from the base measure."""
    log_weights = mixture.log_weights[:-1]
    log_weights = log_weights - np.logaddexp.reduce(log_weights)
    return JointMixture(log_weights, mixture.means[:-1], mixture.loadings[:-1], mixture.noise[:-1])

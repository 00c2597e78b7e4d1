"""Manifold relevance determination: any number of views, shared and private dimensions."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from scipy.stats import norm
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..data import Aligned, StoredViews, Views, as_groups
from ..errors import DataError, OptionError
from ..fitted import Positions
from ..fitted.adjustment import Adjustment
from ..fitted.view_clusters import cluster_rows
from ..inference.diagnostics import check_signal
from ..inference.initial_dynamics import TimeKernel
from ..inference.search import Search
from ..io import register_record
from ..kernels import Kernel
from ..likelihoods import Likelihood, Mixed
from ..options import ARRAY, BOOLEAN, BY_VIEW, NONE, instance_of, one_of
from ..shells import ViewsModel
from ..shells.naming import Names, by_view
from ..shells.views import NewSamples
from .encoded_engine import EncodedEngine
from .engine import VariationalEngine
from .fit import FitOptions, fit_engine
from .kinds import beside_names, choose_kinds, paired, picked, relative
from .options import DEFAULT_NOISE_FLOOR, MISSING, VIEWS, fit_options
from .path_widths import widened
from .power_comparison import POWERS, compare_powers
from .residual_link import adjusted, linked
from .streamed import all_stochastic, fit_streamed, refuse_what_needs_all_rows, sample_frames

ROUGHLY = 1e-4  # nats per observed value; ten times stricter takes longer and predicts no better


@register_record
class MRD(ViewsModel):
    """Manifold relevance determination: shared and private dimensions of several tables.

    Every view k is a set of Gaussian processes of one common latent space,

        Y⁽ᵏ⁾_nd = f⁽ᵏ⁾_d(x_n) + noise_k,   f⁽ᵏ⁾_d ~ GP(0, k_k),   x_n ~ N(0, I),

    with relevance weights of its own for the latent dimensions [MRD21; MRD12]. A dimension that
    two views use is shared, one that a single view uses is private to it, and one that no view
    uses is switched off. Latent positions are integrated out variationally.

    Parameters
    ----------
    n_components : int, optional
        Latent dimensions to start with (an upper limit). Default: 10, or what the data allow.
    n_inducing : int or dict by view, optional
        Inducing inputs of each view. Default: 50, or the number of samples.
    shared_inducing : bool, default=False
        Whether all views have the same inducing inputs [MRD21, §4.2]: fewer parameters, and a bound
        that is no higher at its optimum. Local processes have inducing inputs of their own.
    kernel : str, Kernel or dict by view, default="rbf + linear"
        Covariance of the maps from the latent space to a view, by name or as an object. The
        linear part makes straight relations easy to fit.
    n_local : int or dict by view, default=0
        Local processes of each view. With one or more, its columns mix several kernels by weights
        of their own [McGPDS23]; see `McGPDS`.
    init : {"concatenated", "separate", "canonical", "factors", "random"} or array, optional
        Starting latent means: PPCA of all views side by side, PPCA of each view, generalised
        canonical correlations (shared directions first), group factor analysis (which starts the
        relevances, too), random, or given as an array (samples x components).
        Default: ``"concatenated"``, or ``"factors"`` where a view is not Gaussian.
    scaling : {"column", "view", "none"} or dict by view, default="column"
        Divide each centred view by one number per column, by one number, or not at all.
    noise_floor : float or dict by view, default=1e-6
        Smallest noise variance, as a share of the view's variance. Without it, exact data
        (labels, counts of a few values) would have an unbounded density.
    align : {"union", "intersection"}, default="union"
        DataFrames are aligned on their index. With ``"union"`` a sample that a view lacks is
        missing there; ``"intersection"`` keeps the samples that all views have.
    split_columns : bool, default=False
        Make every column a view of its own [MRD21, §5.6]; see `per_column()`.
    likelihood : str, Likelihood or dict by view, optional
        Kind of data: ``"gaussian"`` (the default), ``"gaussian_per_column"`` (one noise per
        column), ``"student_t"`` (outliers), ``"bernoulli"`` (0 and 1), ``"ordinal"``,
        ``"categorical"``, ``"poisson"`` and ``"negative_binomial"`` (counts), ``"hurdle"`` (zero or
        positive), ``"censored"``, ``"censored_lognormal"``, or an object of
        `manyviews.likelihoods` such as ``Binomial(trials="coverage")``, whose table of trials
        comes among the views. A view whose columns are of several kinds takes a dict of its own,
        by column or of lists: ``{"sex": "bernoulli", "ordinal": ["grade", "stage"]}``.
        ``"auto"`` decides by the data, and ``fit_info_.kinds`` says what it chose and why. Views
        that are not Gaussian are not scaled; their predictions are rates, probabilities or
        expected levels.
    evidence_power : float, "auto" or dict by view, default=1.0
        Exponent, at most one, of the likelihood of new samples given their latent position. The
        model assumes independent noise in the columns of a view. Where noise is correlated
        (image features, spectra), positions look too certain, and a smaller power widens them.
        ``"auto"`` reads it off the correlations of the training residuals. It may be changed
        after the fit.
    residual_link : bool, default=True
        Whether predictions of a view add a regression, on the known views, of what the latent
        space leaves unexplained, and have their intervals calibrated. Both are learnt from
        training samples that the model is made to forget, when a question is first asked; see
        `manyviews.variational.residual_link.ResidualLink` and, for views that are not Gaussian,
        `manyviews.variational.kind_link.KindLink`. Where values of the wanted view are given,
        predictions come from the latent space alone. With time stamps means do, and intervals are
        calibrated by left-out sequences; see `manyviews.variational.path_widths.path_widths`. It
        may be changed after the fit.
    missing, signal_check, time_kernel, search, random_state, verbose
        As in `BayesianGPLVM`.

    Notes
    -----
    `predict()` takes, in addition to the options of all models:

    - ``private="posterior"``: source of the dimensions that the known views do not determine.
      ``"posterior"`` is their posterior, which is close to their prior; ``"nearest"`` the training
      sample nearest in the shared dimensions (sharper, [MRD21, Algorithm 1]); ``"blend"`` a blend
      of the two by relevance; ``"conditional"`` all training samples near in the shared
      dimensions, as a mixture.
    - ``n_modes=1``: with more than one, q(x*) is a mixture of up to that many optima, so that
      ambiguity shows in standard deviations and draws. See `predict_modes()`. With time stamps,
      modes are whole paths.
    - ``coupled=True``: with time stamps, whether samples of a sequence are inferred jointly.
    - ``flow_weight=0.0``: with time stamps, see `BayesianGPLVM.transform`.
    - ``augmented=False``: whether new samples teach the maps of the views that are known of them;
      see `BayesianGPLVM.transform`. For Gaussian views without local processes.

    Attributes
    ----------
    view_names_ : tuple of str
        Names of the views, in their order.
    relevance_ : DataFrame of shape (n_views, n_components)
        Relevance of each dimension for each view, the largest of a view being one.
    latent_mean_, latent_std_ : ndarray of shape (n_samples, n_components)
        Posterior means and standard deviations of the training samples' latent positions.
    n_active_ : int
        Dimensions that any view uses (relevance above 0.005).
    lower_bound_ : float
        Lower bound on log p(Y), in the units of the data.
    fit_info_ : FitInfo
        Record of the fit: bound trace, gradient, jitter, signal-to-noise ratio, seconds, ….

    Examples
    --------
    >>> import numpy as np
    >>> from manyviews import MRD
    >>> x = np.random.default_rng(0).normal(size=(60, 3))
    >>> views = {"left": x[:, :2] @ np.ones((2, 6)), "right": np.sin(x[:, 1:]) @ np.ones((2, 4))}
    >>> model = MRD(n_components=4, n_inducing=20, random_state=0).fit(views)
    >>> model.predict({"left": views["left"][:2]}, "right").shape
    (2, 4)
    """

    _options = {
        **VIEWS,
        "missing": (MISSING,),
        "init": (one_of("concatenated", "separate", "canonical", "factors", "random"), ARRAY, NONE),
        "split_columns": (BOOLEAN,),
        "shared_inducing": (BOOLEAN,),
        "likelihood": (instance_of(str, Likelihood), BY_VIEW, NONE),
        "residual_link": (BOOLEAN,),
    }
    engine_: VariationalEngine
    likelihoods_: dict[str, Likelihood | None]
    kinds_: dict[str, str]
    groups_: Int[np.ndarray, " N"] | None = None

    def __init__(
        self,
        n_components: int | None = None,
        n_inducing: int | dict[str, int] | None = None,
        *,
        shared_inducing: bool = False,
        kernel: str | Kernel | dict[str, str | Kernel] = "rbf + linear",
        n_local: int | dict[str, int] = 0,
        init: Any = None,
        scaling: str | dict[str, str] = "column",
        noise_floor: float | dict[str, float] = DEFAULT_NOISE_FLOOR,
        align: str = "union",
        split_columns: bool = False,
        likelihood: str | Likelihood | dict[str, Any] | None = None,
        evidence_power: float | str | dict[str, float | str] = 1.0,
        residual_link: bool = True,
        missing: str = "auto",
        signal_check: str = "warn",
        time_kernel: TimeKernel = "auto",
        search: Search | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.n_inducing = n_inducing
        self.shared_inducing = shared_inducing
        self.kernel = kernel
        self.n_local = n_local
        self.init = init
        self.scaling = scaling
        self.noise_floor = noise_floor
        self.align = align
        self.split_columns = split_columns
        self.likelihood = likelihood
        self.evidence_power = evidence_power
        self.residual_link = residual_link
        self.missing = missing
        self.signal_check = signal_check
        self.time_kernel = time_kernel
        self.search = search
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def per_column(cls, n_components: int | None = None, **options: Any) -> Self:
        """Return a model in which every column is a view with relevance weights of its own.

        `cluster_views()` then says which columns the same latent dimensions move.
        """
        return cls(n_components, split_columns=True, **options)

    # ------------------------------------------------------------------ fitting

    def fit(
        self, views: Any, y: Any = None, *, times: Any = None, sequences: Any = None,
        groups: Any = None,
    ) -> Self:  # fmt: skip
        """Fit to a dict or list of tables, a MuData object, or a single table.

        NaN is missing; a view may be missing for whole samples. Of
        `StoredViews`, left on disk, rows are read in blocks: an encoder learns
        where every row is, and the model keeps a sample of them.

        Parameters
        ----------
        times, sequences : array-like or Series, optional
            A time stamp (or several observed inputs) and a sequence for each sample. The latent
            points then follow a Gaussian process over time [MRD21, §4.3]; see
            `BayesianGPLVM.fit`.
        groups : array-like or Series, optional
            Samples that belong together, such as those of one patient. The residual link is learnt
            from whole groups left out, so that intervals hold for samples of other groups. A
            `Views` may carry them.
        """
        if isinstance(views, StoredViews):
            refuse_what_needs_all_rows(self, times, sequences)
            if groups is not None:
                raise OptionError("groups are for views in memory, not for StoredViews")
            return self._fit_stored(views)
        scaled = self._prepare(views, times, sequences, y)
        self.groups_ = self._groups(views, groups)
        options = self._fit_options(scaled)
        engine, info = fit_engine(scaled, self.view_names_, options)
        info.kinds = self.kinds_
        self._adopt(engine, info, max(info.restart_bounds), len(info.bound_trace))
        self._check_signal()
        return self

    def _groups(self, views: Any, groups: Any) -> Int[np.ndarray, " N"] | None:
        given = views.groups if groups is None and isinstance(views, Views) else groups
        if given is None:
            return None
        codes = as_groups(given, self.samples_)
        if codes.max() == 0 and self.when_ is None:
            raise DataError("all samples are of one group: there is no other to learn from")
        return codes

    def _fit_stored(self, stored: StoredViews) -> Self:
        """Fit to rows that pass by in blocks, from a sample of them."""
        self._check_options()
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        scaled = self._prepare(sample_frames(stored, rng))
        options = self._fit_options(scaled)
        kinds = all_stochastic(options.likelihoods)
        found = fit_streamed(stored, scaled, self, replace(options, likelihoods=kinds))
        found.info.kinds = self.kinds_
        self._adopt(found.engine, found.info, None, len(found.info.bound_trace))
        self.groups_ = None
        pairs = zip(self.scalings_, scaled, strict=True)
        jacobians = [float(s.log_jacobian(Y[:, : len(s.scale)]).mean()) for s, Y in pairs]
        self.lower_bound_ = found.bound - len(stored) * sum(jacobians)
        self._check_signal()
        return self

    def _check_signal(self) -> None:
        ratios = dict(zip(self.view_names_, self.fit_info_.signal_to_noise.tolist(), strict=True))
        check_signal(ratios, self.signal_check)

    def _fit_options(self, scaled: list[Float[np.ndarray, "N _"]]) -> FitOptions:
        """Options of the fit, for views of these kinds."""
        asked = [self.likelihoods_[name] for name in self.view_names_]
        kinds = [relative(kind, Y) for kind, Y in zip(asked, scaled, strict=True)]
        local = self._by_view(self.n_local, "n_local", 0)
        for name, kind, count in zip(self.view_names_, kinds, local, strict=True):
            if kind is not None and count:
                raise OptionError(
                    f"view {name!r} is not Gaussian, and local processes are for Gaussian views "
                    "only: set its n_local to 0"
                )
        n_inducing = self._by_view(self.n_inducing, "n_inducing", None)
        if self.shared_inducing and len(set(n_inducing)) > 1:
            counts = dict(zip(self.view_names_, n_inducing, strict=True))
            raise OptionError(
                f"shared_inducing=True needs one n_inducing for all views, got {counts}: give one "
                "number"
            )
        return fit_options(
            self,
            scaled,
            kernels=self._by_view(self.kernel, "kernel", "rbf + linear"),
            n_inducing=n_inducing,
            noise_floors=self._by_view(self.noise_floor, "noise_floor", DEFAULT_NOISE_FLOOR),
            max_components=sum(min(Y.shape) for Y in scaled),
            n_local=local,
            when=self.when_,
            missing=self.missing,
            n_restarts=3,
            tolerance=ROUGHLY,
            likelihoods=kinds,
            shared_inducing=self.shared_inducing,
        )

    # ------------------------------------------------------------------ kinds of data

    def _take_kinds(self, found: Aligned) -> Aligned:
        asked = by_view(self.likelihood, "likelihood", None, found.names)
        extra = beside_names(asked)
        names = [name for name in found.names if name not in extra]
        own = [kind for name, kind in zip(found.names, asked, strict=True) if name not in extra]
        likelihoods, self.kinds_ = choose_kinds(picked(found, names), own)
        self.likelihoods_ = dict(zip(names, likelihoods, strict=True))
        return paired(found, self.likelihoods_)

    def _of_kinds(self, found: Aligned) -> Aligned:
        for place, name in enumerate(self.view_names_):
            kind = getattr(self.engine_.posteriors[place], "likelihood", None)
            if kind is not None:
                view = found.names.index(name)
                kind.check_data(found.tables[view], name, found.columns[view], found.samples)
        return paired(found, self.likelihoods_, required=False)

    def _scaling_choices(self) -> list[Any]:
        choices = zip(self.view_names_, super()._scaling_choices(), strict=True)
        return [self._scaling_of(name, how) for name, how in choices]

    def _scaling_of(self, view: str, how: str) -> str | list[str]:
        kind = self.likelihoods_[view]
        if not isinstance(kind, Mixed):
            return how if kind is None else "as is"
        return [how if real else "as is" for real in kind.scalable(kind.n_columns)]

    def log_predictive_density(
        self, views: Any, n_samples: int = 500, *, random_state: int = 0
    ) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]:
        """Log density of each new sample by importance sampling, and its Monte Carlo error.

        In the units of the data, for samples without time stamps. `score_samples()` uses it
        for models with views that are not Gaussian.
        """
        new = self._new(views)
        density, error = self.engine_.sampled_density(
            new.scaled, n_samples=n_samples, seed=random_state
        )
        for scaling, table in zip(self.scalings_, new.scaled, strict=True):
            density = density - scaling.log_jacobian(table[:, : len(scaling.scale)])
        return density, error

    def predict_log_density(
        self, views: Any, target: str, *, times: Any = None, sequences: Any = None, **how: Any
    ) -> Any:
        """Log density of every value of a view, given the other views of its row.

        In the units of the data; log probabilities of counts and levels; NaN where a value is
        missing. What is known of the target takes no part in the prediction. The mean over values
        that were held out compares models.
        """
        new, place, q, adjust = self._blind(views, target, times, sequences, how)
        scaling, table = self.scalings_[place], new.scaled[place]
        found = self.engine_.value_densities(place, q, table)
        if found is None:
            values = scaling.undo(table[:, : len(scaling.scale)])
            mean, std = self._moments(place, q, True, False, adjust)
            found = norm.logpdf(values, mean, std)
        else:
            found = found - np.log(scaling.scale)
        return self._like(new.found, target, found)

    def deviance_explained(
        self, views: Any, target: str, *, times: Any = None, sequences: Any = None, **how: Any
    ) -> float:
        """Share of the deviance of a view of new samples that the other views explain.

        1 - Σ d(y, f) / Σ d(y, constant), f with the predicted rate, probability or mean, and the
        best constant of every column; of Gaussian views R², in the model's scale.
        """
        new, place, q, adjust = self._blind(views, target, times, sequences, how)
        found = self.engine_.deviance_explained(place, q, new.scaled[place])
        if found is not None:
            return found
        mean = self._moments(place, q, False, False, adjust)
        scaling = self.scalings_[place]
        truth, predicted = new.scaled[place][:, : len(scaling.scale)], scaling.apply(mean)
        spread = np.nansum((truth - np.nanmean(truth, axis=0)) ** 2)
        return float(1.0 - np.nansum((truth - predicted) ** 2) / spread)

    def _blind(
        self, views: Any, target: str, times: Any, sequences: Any, how: dict[str, Any]
    ) -> tuple[NewSamples, int, Positions, Adjustment | None]:
        """New samples, and where they are if one view is not known."""
        new = self._new(views, times, sequences)
        (place,) = self._places(target)
        hidden = [Y if k != place else np.full_like(Y, np.nan) for k, Y in enumerate(new.scaled)]
        q, (adjust,) = self._asked(NewSamples(new.found, hidden, new.when), [place], how)
        return new, place, q, adjust

    def _inference(self) -> dict[str, Any]:
        return {
            **super()._inference(),
            "evidence_power": self._by_view(self.evidence_power, "evidence_power", 1.0),
        }

    # ------------------------------------------------------------------ what the model has found

    def cluster_views(
        self,
        n_clusters: int,
        *,
        by: str | pd.DataFrame = "relevance",
        groups: Any = None,
        random_state: Any = None,
    ) -> pd.Series:
        """Cluster the views (of `per_column()`, the columns) by what moves them [MRD21, §5.6].

        Views of one cluster depend alike on the latent dimensions.

        Parameters
        ----------
        n_clusters : int
            Clusters to look for, by k-means.
        by : {"relevance", "variance"} or DataFrame, default="relevance"
            What is compared: the weights `relevance_`, as in the paper; the shares of
            `variance_explained()`, which mean the same in every dimension; or a table of your own
            with a row for every view.
        groups : dict, Series or sequence, optional
            The group of every view, by name or in their order: groups are clustered then, by the
            rows of their members side by side (the three coordinates of a joint, say).
        random_state : int, RandomState or None, default=None
            Seed of k-means.

        Returns
        -------
        Series
            The cluster of every view, or of every group, numbered in the order of appearance.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> from manyviews import MRD, Search
        >>> x = np.random.default_rng(0).normal(size=(60, 2))
        >>> table = pd.DataFrame(x[:, [0, 1, 0, 1, 0]], columns=list("abcde"))
        >>> model = MRD.per_column(
        ...     2, n_inducing=10, search=Search(n_restarts=1, max_iter=100), random_state=0
        ... ).fit(table)
        >>> model.cluster_views(2).to_dict()
        {'a': 0, 'b': 1, 'c': 0, 'd': 1, 'e': 0}
        """
        check_is_fitted(self, "engine_")
        if isinstance(by, pd.DataFrame):
            absent = [name for name in self.view_names_ if name not in by.index]
            if absent:
                raise OptionError(f"the table lacks the view {absent[0]!r}")
            table = by.loc[list(self.view_names_)]
        elif by == "relevance":
            table = self.relevance_
        elif by == "variance":
            table = self.variance_explained().drop(columns="total")
        else:
            raise OptionError(f"by must be 'relevance', 'variance' or a table, got {by!r}")
        return cluster_rows(table, n_clusters, groups, self._rng(random_state))

    # ------------------------------------------------------------------ calibrated intervals

    @property
    def _calibrates(self) -> bool:
        return self.residual_link

    def _asked(
        self, new: NewSamples, places: Sequence[int], how: dict[str, Any]
    ) -> tuple[Positions, list[Adjustment | None]]:
        q, adjust = super()._asked(new, places, how)
        if self._has_links():
            asked = {**self._inference(), **how}
            q = linked(self.engine_, new.scaled, q, places, asked, self.groups_)
        return q, adjust

    def _has_links(self) -> bool:
        return (
            self.residual_link
            and self.when_ is None
            and not isinstance(self.engine_, EncodedEngine)
        )

    def _adjustment(
        self, place: int, new: NewSamples, q: Positions, places: Sequence[int], how: dict[str, Any]
    ) -> Adjustment | None:
        asked = {**self._inference(), **how}
        if self._has_links():
            return adjusted(self.engine_, place, new.scaled, q, places, asked, self.groups_)
        if self.residual_link and new.when is not None:
            return widened(self.engine_, place, new.scaled, new.when, q, places, asked)
        return None

    def compare_powers(
        self,
        known: Names,
        target: Names,
        *,
        powers: Sequence[float] = POWERS,
        folds: int = 0,
        private: str = "posterior",
    ) -> pd.DataFrame:
        """Compare predictions of training samples at several values of ``evidence_power``.

        The best power is the one with the smallest negative log density.

        Parameters
        ----------
        known, target : str or list of str
            The views to predict from, and the views to predict.
        powers : sequence of float
            Values to compare.
        folds : int, default=0
            Refit without each of this many folds, and predict the samples left out. Zero asks the
            fitted model about its own training samples, which is quick but optimistic for small
            data.
        private : str
            As in `predict()`.

        Returns
        -------
        DataFrame
            One row per power: mean negative log density and root mean square error, both in
            standard deviations of the columns, and the share of values inside 90 % intervals.
        """
        return compare_powers(self, known, target, powers, folds, private=private)

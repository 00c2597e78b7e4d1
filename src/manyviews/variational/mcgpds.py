"""Multi-view collaborative Gaussian process dynamical systems [McGPDS23]."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from ..errors import OptionError
from ..fitted import Positions
from ..fitted.adjustment import Adjustment
from ..inference.diagnostics import check_signal
from ..inference.initial_collaboration import STARTS
from ..inference.initial_dynamics import TimeKernel
from ..inference.search import Search
from ..io import register_record
from ..kernels import Kernel
from ..options import ARRAY, BOOLEAN, BY_VIEW, NONE, count, instance_of, number, one_of
from ..shells import ViewsModel
from ..shells.naming import Names
from ..shells.views import NewSamples
from .collaborative_engine import CollaborativeEngine, Question, each_alone
from .collaborative_fit import Collaboration, collaborative_stages, fit_collaboration
from .options import DEFAULT_NOISE_FLOOR, VIEWS, fit_options
from .path_widths import widened


@register_record
class McGPDS(ViewsModel):
    """Collaborative dynamical system of several views: own paths around a shared path.

    A path x^s over time, with a Gaussian process prior κ_s, is common to all views. Every view k
    has a path of its own with dynamics κ_k, which follows the shared one with a weight α_k,

        x^k | x^s ~ N((1-α_k) x^s, α_k² κ_k + (1-α_k)² ε_k),
        y^k_d = h_d(x^k) + Σ_j w_dj g_jd(x^k) + noise,

    where h_d and the J local processes g_jd are Gaussian processes with kernels of their own
    [McGPDS23]. With α near zero a view is entirely shared, with α near one it is independent. The
    bound is rigorous (that of the paper is not), and the number of views is arbitrary.

    Parameters
    ----------
    n_components : int, optional
        Dimensions of each path. Default: 5, or what the data allow.
    n_inducing : int or dict by view, optional
        Inducing inputs of each process of a view. Default: 50, or the number of samples.
    n_local : int or dict by view, default=1
        Number J of local processes. Zero gives one plain Gaussian process per view.
    kernel : str, Kernel or dict by view, default="rbf"
        Kernel of the mappings; ``"linear"`` is the linear map of the ablation in [McGPDS23].
    time_kernel : str, Kernel, list of them or dict by view, default="auto"
        Kernel κ_k of the views' own dynamics: one for all dimensions of a path, or a list with one
        each. ``"white"`` makes points of different times independent (the GP-LVM prior of the
        ablation in [McGPDS23]).
    shared_kernel : str, Kernel or list of them, default="auto"
        Kernel κ_s of the shared path, or one for each of its dimensions.
    sharing : {"view", "dimension", "none"}, default="view"
        One α for each view [McGPDS23]; one for each of its dimensions, so that some may be shared
        and others private; or α = 1, independent models.
    alpha : float, optional
        Hold all weights at this value, between 0 and 1. By default they are learnt.
    fit_power : float or "auto", default="auto"
        Learn from the evidence raised to this power, Σ_k ⟨log p(Y^k | X^k)⟩ - KL / power. Columns
        with correlated noise, such as image features, count the same evidence several times; every
        view then follows its own noise, and learnt weights say that views share little. Less than
        one counts it less; ``"auto"`` takes the share of values that are independent in the view
        where they are fewest, as the residuals after the first stage of the fit have it.
    factorised : bool, default=False
        Use the posterior family of [McGPDS23], q(X^s) Π_k q(X^k), instead of the joint one.
    outputs_per_step : int, optional
        Number of columns of every view drawn for each step of the middle stage
        [McGPDS23, §4.1]. Useful for thousands of columns and two or more local processes; with
        one local process the cost hardly grows with the columns. Default: all.
    init : {"concatenated", "canonical", "separate", "random"} or array, default="concatenated"
        Starting paths: PPCA of all views side by side, the same path for all, with α at 0.1; or
        one path for each view, with α at 0.5: PPCA scores rotated towards canonical variates,
        PPCA scores, or random. An array (samples x components) is the path of all views.
    calibrated : bool, default=True
        Whether intervals of predictions along new sequences have the width that errors of
        left-out training sequences call for. Learnt when an interval is first asked for, at the
        parameters of the fit. It may be changed after the fit.
    scaling, noise_floor, align, evidence_power
        As in `MRD`.
    signal_check, search, random_state, verbose
        As in `BayesianGPLVM`.

    Notes
    -----
    `predict()` takes, in addition to the options of all models, ``n_modes`` (see
    `MRD`) and ``private``, the source of the path of a wanted view:

    - ``"conditional"``: its prior given the shared path;
    - ``"nearest"``: the training sample nearest in the shared path [McGPDS23, Algorithm 1];
    - ``"nearest-own"``: the one nearest in the known views' own paths;
    - ``"auto"``, the default: the one of these that predicts left-out training sequences best
      (`compare_private()`), determined when a question is first asked.

    Attributes
    ----------
    view_names_ : tuple of str
        Names of the views, in their order.
    alpha_ : DataFrame of shape (n_views, n_components)
        The weights α: 0 is shared, 1 is private.
    latent_mean_, latent_std_ : ndarray of shape (n_samples, (n_views + 1) * n_components)
        The views' paths side by side, and the shared one last; see `path()`.
    private_losses_ : dict
        Cross-validated losses of the treatments of the private path, by question asked so far.
    relevance_, fit_info_
        As in `MRD`.
    lower_bound_ : float
        The bound at the end of the fit; with ``fit_power`` below one the KL in it counts more,
        which makes it a looser bound.
    fit_power_ : float
        The power of the evidence in the fit.
    """

    _options = {
        **VIEWS,
        "time_kernel": (instance_of(str, Kernel, list, tuple), BY_VIEW),
        "shared_kernel": (instance_of(str, Kernel, list, tuple),),
        "sharing": (one_of("view", "dimension", "none"),),
        "alpha": (number(0, 1, "neither"), NONE),
        "fit_power": (number(0, 1, "right"), one_of("auto")),
        "factorised": (BOOLEAN,),
        "calibrated": (BOOLEAN,),
        "outputs_per_step": (count(), NONE),
        "init": (one_of(*STARTS), ARRAY),
    }
    engine_: CollaborativeEngine

    def __init__(
        self,
        n_components: int | None = None,
        n_inducing: int | dict[str, int] | None = None,
        *,
        n_local: int | dict[str, int] = 1,
        kernel: str | Kernel | dict[str, str | Kernel] = "rbf",
        time_kernel: TimeKernel | dict[str, TimeKernel] = "auto",
        shared_kernel: TimeKernel = "auto",
        sharing: str = "view",
        alpha: float | None = None,
        fit_power: float | str = "auto",
        factorised: bool = False,
        outputs_per_step: int | None = None,
        init: Any = "concatenated",
        scaling: str | dict[str, str] = "view",
        noise_floor: float | dict[str, float] = DEFAULT_NOISE_FLOOR,
        align: str = "union",
        evidence_power: float | str | dict[str, float | str] = 1.0,
        calibrated: bool = True,
        signal_check: str = "warn",
        search: Search | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.n_inducing = n_inducing
        self.n_local = n_local
        self.kernel = kernel
        self.time_kernel = time_kernel
        self.shared_kernel = shared_kernel
        self.sharing = sharing
        self.alpha = alpha
        self.fit_power = fit_power
        self.factorised = factorised
        self.outputs_per_step = outputs_per_step
        self.init = init
        self.scaling = scaling
        self.noise_floor = noise_floor
        self.align = align
        self.evidence_power = evidence_power
        self.calibrated = calibrated
        self.signal_check = signal_check
        self.search = search
        self.random_state = random_state
        self.verbose = verbose

    # ------------------------------------------------------------------ fitting

    def fit(self, views: Any, y: Any = None, *, times: Any = None, sequences: Any = None) -> Self:
        """Fit to a dict or list of tables, a MuData object, or a single table.

        NaN is missing; a view may be missing for whole samples. Without ``times`` and
        ``sequences`` the samples are independent, and their paths are points.
        """
        scaled = self._prepare(views, times, sequences, y)
        search = self.search or Search()
        options = fit_options(
            self,
            scaled,
            kernels=self._by_view(self.kernel, "kernel", "rbf"),
            n_inducing=self._by_view(self.n_inducing, "n_inducing", None),
            noise_floors=self._by_view(self.noise_floor, "noise_floor", DEFAULT_NOISE_FLOOR),
            max_components=min(5, *(min(Y.shape) for Y in scaled)),
            n_local=self._by_view(self.n_local, "n_local", 1),
            when=self.when_ or each_alone(len(self.samples_), 1),
            stages=collaborative_stages(search.max_iter, self.outputs_per_step),
        )
        private = tuple(self._by_view(self.time_kernel, "time_kernel", "auto"))
        check_kernels(self.shared_kernel, "shared_kernel", options.n_components)
        for name, kernel in zip(self.view_names_, private, strict=True):
            check_kernels(kernel, f"time_kernel of view {name!r}", options.n_components)
        if self.sharing == "none" and self.alpha is not None:
            raise OptionError("with sharing='none' the weights are one: leave alpha out")
        collaboration = Collaboration(
            self.shared_kernel, private, self.sharing, self.alpha, self.factorised, self.fit_power
        )
        engine, info = fit_collaboration(scaled, self.view_names_, options, collaboration)
        self.private_losses_: dict[str, dict[str, float]] = {}
        self._adopt(engine, info, max(info.restart_bounds), len(info.bound_trace))
        ratios = dict(zip(self.view_names_, info.signal_to_noise.tolist(), strict=True))
        check_signal(ratios, self.signal_check)
        return self

    def _inference(self) -> dict[str, Any]:
        return {
            **super()._inference(),
            "evidence_power": self._by_view(self.evidence_power, "evidence_power", 1.0),
            "losses": self.private_losses_,
        }

    def _adjustment(
        self, place: int, new: NewSamples, q: Positions, places: Sequence[int], how: dict[str, Any]
    ) -> Adjustment | None:
        if not self.calibrated:
            return None
        when = self.engine_.timed(new.scaled, new.when)
        asked = {**self._inference(), **how}
        return widened(self.engine_, place, new.scaled, when, q, places, asked)

    # ------------------------------------------------------- what the model has found

    @property
    def alpha_(self) -> pd.DataFrame:
        """Weights α, views x dimensions: 0 is shared, 1 is private."""
        check_is_fitted(self)
        latent = self.engine_.latent
        weights = np.asarray(latent.alpha.value)
        shape = (latent.n_views, latent.n_dimensions)
        return pd.DataFrame(np.broadcast_to(weights, shape).copy(), index=list(self.view_names_))

    @property
    def fit_power_(self) -> float:
        """The power of the evidence in the fit."""
        check_is_fitted(self)
        return 1.0 / float(self.engine_.latent.kl_weight)

    def following(self) -> pd.DataFrame:
        """Share of each path's prior variance that comes from the shared path, views x dimensions.

        (1-α)² κ_s / ((1-α)² (κ_s + ε) + α² κ_k), with the kernels at a lag of zero.
        """
        check_is_fitted(self)
        shared, own, spread = self.engine_.prior_variances()
        alpha = self.alpha_
        followed = (1.0 - alpha) ** 2 * shared
        return followed / (followed + ((1.0 - alpha) ** 2).mul(spread, axis=0)
                           + (alpha**2).mul(own, axis=0))  # fmt: skip

    def path(self, view: str | None = None) -> tuple[Float[np.ndarray, "N Q"], ...]:
        """Mean and std of a view's path at the training samples; of the shared one by default."""
        check_is_fitted(self)
        part = self.engine_.latent.shared_dimensions()
        if view is not None:
            part = self.engine_.latent.dimensions(self._places(view)[0])
        return self.latent_mean_[:, part], self.latent_std_[:, part]

    def compare_private(self, known: Names, target: Names, flow_weight: float = 0.0) -> pd.Series:
        """Cross-validated mean negative log density of the treatments of the private path.

        On scaled data. Training sequences are left out in turn, at the parameters of the fit.
        For ``flow_weight`` see `BayesianGPLVM.transform`.
        """
        check_is_fitted(self)
        question = Question(tuple(self._places(known)), tuple(self._places(target)))
        asked = self._by_view(self.evidence_power, "evidence_power", 1.0)
        powers = self.engine_.powers(asked, timed=True)
        n_starts = (self.search or Search()).n_starts
        return pd.Series(
            self.engine_.compare(question, powers, n_starts, flow_weight, self.private_losses_)
        )


def check_kernels(kernel: Any, option: str, n_dimensions: int) -> None:
    """Refuse lists of kernels that have not one for every dimension of a path."""
    if isinstance(kernel, str | Kernel):
        return
    if not all(isinstance(one, str | Kernel) for one in kernel):
        raise OptionError(f"{option} must list names of kernels, or kernels: got {kernel!r}")
    if len(kernel) != n_dimensions:
        raise OptionError(
            f"{option} lists {len(kernel)} kernels, and a path has {n_dimensions} dimensions: give "
            "one for all, or one for each"
        )

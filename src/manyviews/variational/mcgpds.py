"""Multi-view collaborative Gaussian process dynamical systems [McGPDS23],
for any number of views.
"""

from typing import Any, Self

import numpy as np
import pandas as pd
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from ..errors import OptionError
from ..inference.diagnostics import check_signal
from ..inference.initial_collaboration import STARTS
from ..inference.initial_dynamics import TimeKernel
from ..inference.search import Search
from ..io import register_record
from ..kernels import Kernel
from ..options import ARRAY, BOOLEAN, BY_VIEW, NONE, count, instance_of, number, one_of
from ..shells import ViewsModel
from ..shells.naming import Names
from .collaborative_engine import CollaborativeEngine, Question, each_alone
from .collaborative_fit import Collaboration, collaborative_stages, fit_collaboration
from .options import DEFAULT_NOISE_FLOOR, VIEWS, fit_options


@register_record
class McGPDS(ViewsModel):
    """Views with paths of their own around a path that they share.

    A path x^s over time, with a Gaussian process prior κ_s, is common to all views; every view k
    follows it as far as its weight α_k lets it, and has dynamics κ_k of its own besides,

        x^k | x^s ~ N((1-α_k) x^s, α_k² κ_k + (1-α_k)² ε_k),
        y^k_d = h_d(x^k) + Σ_j w_dj g_jd(x^k) + noise,

    where h_d and the J local processes g_jd are Gaussian processes with kernels of their own
    [McGPDS23]. α near zero: the view is all shared; near one: it stands alone. The bound is a
    rigorous one, which that of the paper is not, and any number of views will do.

    Parameters
    ----------
    n_components : int, optional
        Dimensions of each path. Default: 5, or what the data allow.
    n_inducing : int or dict by view, optional
        Inducing inputs of each process of a view. Default: 50, or the number of samples.
    n_local : int or dict by view, default=1
        Local processes J. Zero maps with one plain GP.
    kernel : str, Kernel or dict by view, default="rbf"
        Of the mappings; ``"linear"`` is the linear map of the ablation in [McGPDS23].
    time_kernel : str, Kernel or dict by view, default="auto"
        The views' own dynamics κ_k. ``"white"`` gives each time a point of its own: the prior
        of a GP-LVM (the other ablation in [McGPDS23]).
    shared_kernel : str or Kernel, default="auto"
        κ_s.
    sharing : {"view", "dimension", "none"}, default="view"
        One α for a view [McGPDS23]; one for each of its dimensions, so that some may be shared and
        others private; or none: α = 1, independent models.
    alpha : float, optional
        Hold all weights at this value, between 0 and 1, in the place of learning them. Learnt ones
        can drift to where the views share little and the bound is higher, but one view says less of
        another; choose between 0.1, say, and learning by predictions of held-out sequences.
    factorised : bool, default=False
        Take the posterior family of [McGPDS23], q(X^s) Π_k q(X^k), in the place of the joint one.
    outputs_per_step : int, optional
        In the middle stage of the fit, draw so many outputs of every collaborative view for each
        step [McGPDS23, §4.1]. Worth it for thousands of columns and two local processes or more;
        with one local process the cost hardly grows with the columns. Default: all.
    init : {"concatenated", "canonical", "separate", "random"} or array, default="concatenated"
        Starting paths. PPCA of all views side by side, the same path for all, with α at 0.1; or
        one for each with α at 0.5: the PPCA scores of the views, rotated towards their canonical
        variates or as they are, or random. An array (samples x components) is everybody's path.
    scaling, noise_floor, align, evidence_power
        As in `MRD`.
    signal_check, search, random_state, verbose
        As in `BayesianGPLVM`.

    Notes
    -----
    `predict()` takes, besides what all models take, ``n_modes`` (see `MRD`)
    and

    private : {"auto", "conditional", "nearest", "nearest-own"}, default="auto"
        Where the path of a wanted view comes from: its prior given the shared path; the
        training sample nearest in the shared path [McGPDS23, Algorithm 1]; the one nearest in the
        known views' own paths. ``"auto"`` takes what predicts left-out training sequences
        best (`compare_private()`), which is found out at the first such question.

    Attributes
    ----------
    view_names_ : tuple of str
        Names of the views, in the order in which they were given.
    alpha_ : DataFrame of shape (n_views, n_components)
        The weights: how far a view's path goes its own way.
    latent_mean_, latent_std_ : ndarray of shape (n_samples, (n_views + 1) * n_components)
        The views' paths side by side, and the shared one last; see `path()`.
    private_losses_ : dict
        Cross-validated losses of the treatments of the private path, by question asked so far.
    relevance_, lower_bound_, fit_info_
        As in `MRD`.
    """

    _options = {
        **VIEWS,
        "time_kernel": (instance_of(str, Kernel), BY_VIEW),
        "shared_kernel": (instance_of(str, Kernel),),
        "sharing": (one_of("view", "dimension", "none"),),
        "alpha": (number(0, 1, "neither"), NONE),
        "factorised": (BOOLEAN,),
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
        factorised: bool = False,
        outputs_per_step: int | None = None,
        init: Any = "concatenated",
        scaling: str | dict[str, str] = "view",
        noise_floor: float | dict[str, float] = DEFAULT_NOISE_FLOOR,
        align: str = "union",
        evidence_power: float | str | dict[str, float | str] = 1.0,
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
        self.factorised = factorised
        self.outputs_per_step = outputs_per_step
        self.init = init
        self.scaling = scaling
        self.noise_floor = noise_floor
        self.align = align
        self.evidence_power = evidence_power
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
        scaled = self._prepare(views, times, sequences)
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
        if self.sharing == "none" and self.alpha is not None:
            raise OptionError("with sharing='none' the weights are one: leave alpha out")
        collaboration = Collaboration(
            self.shared_kernel, private, self.sharing, self.alpha, self.factorised
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

    # ------------------------------------------------------- what the model has found

    @property
    def alpha_(self) -> pd.DataFrame:
        """Views x dimensions: how far each path goes its own way."""
        check_is_fitted(self)
        latent = self.engine_.latent
        weights = np.asarray(latent.alpha.value)
        shape = (latent.n_views, latent.n_dimensions)
        return pd.DataFrame(np.broadcast_to(weights, shape).copy(), index=list(self.view_names_))

    def following(self) -> pd.DataFrame:
        """Views x dimensions: the share of a path's prior variance that the shared path gives it,

        (1-α)² κ_s / ((1-α)² (κ_s + ε) + α² κ_k), the kernels at a lag of zero.
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

        On scaled data; the training sequences are left out in turn, at the parameters of the fit.
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

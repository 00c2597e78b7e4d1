"""Collaborative Gaussian process dynamical systems of one table [McGPDS23, §2.2]."""

from typing import Any, Self

from ..inference.initial_dynamics import TimeKernel
from ..inference.search import Search
from ..io import register_record
from ..kernels import Kernel
from ..options import count
from ..shells import TableModel
from .bayesian_gplvm import fit_table
from .options import DEFAULT_NOISE_FLOOR, TABLE


@register_record
class CGPDS(TableModel):
    """Collaborative Gaussian process dynamical system of one table (Zhao et al. 2018).

    The columns mix a process with a common kernel and J local processes by weights of their own,

        y_nd = h_d(x_n) + Σ_j w_dj g_jd(x_n) + noise,

    over a latent path with a Gaussian process prior over time, or over independent latent points
    without time stamps [McGPDS23, §2.2]. It is `BayesianGPLVM` with a
    collaborative mapping.

    Parameters
    ----------
    n_local : int, default=1
        Number J of local processes; zero gives a plain Gaussian process.
    n_components, n_inducing, kernel, init, scaling, noise_floor, evidence_power, signal_check, \
time_kernel, search, random_state, verbose
        As in `BayesianGPLVM`; missing values are treated exactly.

    Examples
    --------
    >>> import numpy as np
    >>> from manyviews import CGPDS, Search
    >>> t = np.linspace(0, 6, 40)
    >>> Y = np.stack([np.sin(t), np.cos(t), np.sin(2 * t)], axis=1)
    >>> model = CGPDS(2, n_inducing=10, search=Search(max_iter=30), signal_check="off")
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")  # of an early end
    ...     model = model.fit(Y, times=t)
    >>> model.forecast([6.1]).shape
    (1, 3)
    """

    _options = {**TABLE, "n_local": (count(0),)}

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_inducing: int | None = None,
        n_local: int = 1,
        kernel: str | Kernel = "rbf",
        init: Any = "ppca",
        scaling: str = "view",
        noise_floor: float = DEFAULT_NOISE_FLOOR,
        evidence_power: float | str = 1.0,
        signal_check: str = "warn",
        time_kernel: TimeKernel = "auto",
        search: Search | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.n_inducing = n_inducing
        self.n_local = n_local
        self.kernel = kernel
        self.init = init
        self.scaling = scaling
        self.noise_floor = noise_floor
        self.evidence_power = evidence_power
        self.signal_check = signal_check
        self.time_kernel = time_kernel
        self.search = search
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, *, times: Any = None, sequences: Any = None) -> Self:
        """Fit the model; see `BayesianGPLVM.fit`."""
        return fit_table(self, self._prepare(X, times, sequences), n_local=int(self.n_local))

    def _inference(self) -> dict[str, Any]:
        return {**super()._inference(), "evidence_power": [self.evidence_power]}

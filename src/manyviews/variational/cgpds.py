"""Collaborative Gaussian process dynamical systems: one view (003 §2.2; Zhao et al. 2018)."""

import os
from typing import Any, Self

from ..inference.initial_dynamics import TimeKernel
from ..io import register_record
from ..kernels import Kernel
from ..linalg import DEFAULT_JITTER
from ..shells import TableModel
from ..shells.options import count
from .bayesian_gplvm import fit_table, table_inference
from .options import DEFAULT_NOISE_FLOOR, TABLE


@register_record
class CGPDS(TableModel):
    """One table whose columns mix several processes of a latent path by weights of their own.

    Every column has a process h_d with a kernel that all share, and as much of J local ones as
    its weights say,

        y_nd = h_d(x_n) + Σ_j w_dj g_jd(x_n) + noise,

    over a latent path with a Gaussian process prior over time (or points, without time stamps):
    :class:`~manyviews.BayesianGPLVM` with a collaborative mapping.

    Parameters
    ----------
    n_local : int, default=1
        Local processes J.
    n_components, n_inducing, kernel, init, inducing, scaling, noise_floor, evidence_power, \
n_restarts, max_iter, tol, stages, positive, signal_check, jitter, n_starts, time_kernel, \
flow_weight, checkpoint, random_state, verbose
        As in :class:`~manyviews.BayesianGPLVM`; missing values are treated exactly.

    Examples
    --------
    >>> import numpy as np
    >>> from manyviews import CGPDS
    >>> t = np.linspace(0, 6, 40)
    >>> Y = np.stack([np.sin(t), np.cos(t), np.sin(2 * t)], axis=1)
    >>> model = CGPDS(2, n_inducing=10, max_iter=30, signal_check="off", random_state=0)
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
        inducing: str = "kmeans",
        scaling: str = "view",
        noise_floor: float = DEFAULT_NOISE_FLOOR,
        evidence_power: float | str = 1.0,
        n_restarts: int = 1,
        max_iter: int = 1000,
        tol: float = 1e-5,
        stages: Any = None,
        positive: str = "log",
        signal_check: str = "auto",
        jitter: float = DEFAULT_JITTER,
        n_starts: int = 10,
        time_kernel: TimeKernel = "auto",
        flow_weight: float = 0.0,
        checkpoint: str | os.PathLike[str] | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.n_inducing = n_inducing
        self.n_local = n_local
        self.kernel = kernel
        self.init = init
        self.inducing = inducing
        self.scaling = scaling
        self.noise_floor = noise_floor
        self.evidence_power = evidence_power
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.tol = tol
        self.stages = stages
        self.positive = positive
        self.signal_check = signal_check
        self.jitter = jitter
        self.n_starts = n_starts
        self.time_kernel = time_kernel
        self.flow_weight = flow_weight
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, *, times: Any = None, sequences: Any = None) -> Self:
        """Fit the model; see :meth:`BayesianGPLVM.fit`."""
        return fit_table(self, self._prepare(X, times, sequences), n_local=int(self.n_local))

    def _inference(self) -> dict[str, Any]:
        return table_inference(self)

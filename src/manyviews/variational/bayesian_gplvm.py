"""The Bayesian GP-LVM: one view, latent points independent or moving over time [BGPLVM16]."""

from typing import Any, Self

import numpy as np
from jaxtyping import Float

from ..inference.bound import noise_variances
from ..inference.diagnostics import check_signal
from ..inference.initial_dynamics import TimeKernel
from ..inference.search import Search
from ..io import register_record
from ..kernels import Kernel
from ..shells import TableModel
from .fit import fit_engine
from .options import DEFAULT_NOISE_FLOOR, MISSING, TABLE, fit_options


@register_record
class BayesianGPLVM(TableModel):
    """The Bayesian GP-LVM: nonlinear dimensionality reduction with automatic relevance.

    Every column d of the data is a Gaussian process of a few latent variables,

        y_nd = f_d(x_n) + noise,   f_d ~ GP(0, k),   x_n ~ N(0, I),

    and the latent variables are integrated out variationally: the fit maximises a lower
    bound on log p(Y) over q(X) = Π N(μ_n, diag S_n), the kernel, the noise and the inducing
    inputs [BGPLVM16]. Dimensions that the data do not need are switched off.

    Parameters
    ----------
    n_components : int, optional
        Latent dimensions to start with (an upper limit). Default: 10, or what the data allow.
    n_inducing : int, optional
        Number of inducing inputs: more are slower and more exact. Default: 50, or the number of
        samples.
    kernel : str or Kernel, default="rbf"
        ``"rbf"``, ``"linear"``, ``"rbf + linear + bias"``, … start at values read off the data;
        a `Kernel` starts at its own values.
    init : {"pca", "ppca", "random"} or array, default="ppca"
        Starting latent means; an array has one row per sample.
    scaling : {"view", "column", "none"}, default="view"
        Divide the centred data by one number, by one per column, or not at all.
    noise_floor : float, default=1e-6
        Smallest noise variance, as a share of the data's variance. Without it, exact data
        (labels, counts of a few values) would have an unbounded density.
    evidence_power : float or "auto", default=1.0
        Exponent, at most one, of the likelihood of new rows given their latent position. The
        model assumes independent noise in columns and successive rows. Where noise is correlated,
        positions look too certain, and a smaller power widens them. ``"auto"`` reads it off the
        correlations of the training residuals. It may be changed after the fit, and does not
        enter `score_samples()`.
    missing : {"auto", "exact", "shared"}, default="auto"
        Treatment of NaN: exact for each pattern of missing rows, or with one posterior covariance
        for all columns. ``"auto"`` is exact up to 16 patterns.
    signal_check : {"warn", "error", "off"}, default="warn"
        What to do when the model takes more than half of a view's variance for noise.
    time_kernel : str, Kernel or list of them, default="auto"
        Prior over time, for fits with ``times``: one kernel for all latent dimensions, or a list
        with one each. ``"auto"`` is RBF, or Matérn-5/2 (of linear cost) where sequences are long.
    search : Search, optional
        Restarts, iterations, tolerance, checkpoint and other options of the optimisation; see
        `Search`.
    random_state : int, RandomState or None, default=None
        Seed of random starts and draws.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    latent_mean_, latent_std_ : ndarray of shape (n_samples, n_components)
        The posterior of the training points.
    relevance_ : ndarray of shape (n_components,)
        Normalised relevance of each dimension (the ARD weights of RBF and linear kernels).
    n_active_ : int
        Dimensions with a relevance above 0.005.
    lower_bound_ : float
        Lower bound on log p(Y), in the units of the data.
    noise_variance_ : ndarray of shape (n_features,)
        Noise variance of every column, in the units of the data.
    kernel_ : Kernel
        The fitted kernel, for scaled data.
    fit_info_ : FitInfo
        Record of the fit: bound trace, gradient, jitter, signal-to-noise ratio, seconds, ….

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from manyviews import BayesianGPLVM
    >>> model = BayesianGPLVM(n_components=3, random_state=0).fit(load_iris().data)
    >>> model.transform(load_iris().data[:2]).shape
    (2, 3)
    """

    _options = {**TABLE, "missing": (MISSING,)}

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_inducing: int | None = None,
        kernel: str | Kernel = "rbf",
        init: Any = "ppca",
        scaling: str = "view",
        noise_floor: float = DEFAULT_NOISE_FLOOR,
        evidence_power: float | str = 1.0,
        missing: str = "auto",
        signal_check: str = "warn",
        time_kernel: TimeKernel = "auto",
        search: Search | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.n_inducing = n_inducing
        self.kernel = kernel
        self.init = init
        self.scaling = scaling
        self.noise_floor = noise_floor
        self.evidence_power = evidence_power
        self.missing = missing
        self.signal_check = signal_check
        self.time_kernel = time_kernel
        self.search = search
        self.random_state = random_state
        self.verbose = verbose

    # ------------------------------------------------------------------ fitting

    def fit(self, X: Any, y: Any = None, *, times: Any = None, sequences: Any = None) -> Self:
        """Fit the model; NaN in ``X`` is missing.

        Parameters
        ----------
        times : array-like, optional
            A time stamp (number or date) per row, in any order, or several observed inputs per
            row. The latent points then follow a Gaussian process over them [BGPLVM16, §3.3.2].
        sequences : array-like, optional
            The independent sequence that each row belongs to.
        """
        return fit_table(self, self._prepare(X, times, sequences), missing=self.missing)

    def _inference(self) -> dict[str, Any]:
        return {**super()._inference(), "evidence_power": [self.evidence_power]}


def fit_table(
    model: Any, scaled: Float[np.ndarray, "N D"], *, n_local: int = 0, missing: str = "exact"
) -> Any:
    """Fit one table by a plain GP or, with local processes, by a collaborative one."""
    options = fit_options(
        model, [scaled], kernels=[model.kernel], n_inducing=[model.n_inducing],
        noise_floors=[model.noise_floor], max_components=scaled.shape[1], n_local=[n_local],
        when=model.when_, missing=missing,
    )  # fmt: skip
    engine, info = fit_engine([scaled], ["X"], options)
    model._adopt(engine, info, max(info.restart_bounds), len(info.bound_trace))
    view = engine.model.views[0]
    model.noise_variance_ = float(noise_variances((view,))[0]) * model.scaling_.scale**2
    model.kernel_ = view.kernel  # type: ignore[attr-defined]
    check_signal({"X": float(info.signal_to_noise[0])}, model.signal_check)
    return model

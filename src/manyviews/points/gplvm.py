"""Lawrence's GP-LVM: one table, latent points, exact or sparse."""

from typing import Any, Self

import numpy as np
from jaxtyping import Float

from ..errors import OptionError
from ..inference.initial_dynamics import TimeKernel
from ..inference.search import Search
from ..io import register_record
from ..kernels import Kernel
from ..mappings import Mapping
from ..options import ARRAY, NONE, one_of
from ..shells import TableModel
from .back import back_map
from .engine import PointEngine
from .fit import fit_points, point_kernel, point_mapping
from .options import NOISE_FLOOR, TABLE, TIME_KERNEL, inducing_counts
from .spaces import latent_space, refuse_path_and_map
from .starts import starting_points


@register_record
class GPLVM(TableModel):
    """GP-LVM with latent points by maximum a posteriori (Lawrence 2005).

    The model is y_nd = f_d(x_n) + noise with f_d ~ GP(0, k) and one point x_n ~ N(0, I) per row.
    The functions are integrated out, and

        log p(Y, X) = -(D/2) log|K| - ½ tr(K⁻¹YYᵀ) - ½ ‖X‖² + const,  K = k(X, X) + noise I,

    is maximised over X and the kernel. Points have no uncertainty, so ARD weights overfit instead
    of switching dimensions off [BGPLVM16, figure 5]: give the right number of dimensions, or use
    `BayesianGPLVM`.

    Parameters
    ----------
    n_components : int, default=2
        Latent dimensions.
    n_inducing : int, optional
        Inducing inputs of a sparse mapping (Titsias 2009). Default: none, the exact GP.
    kernel : str or Kernel, default="rbf"
        Covariance of the map, by name or as an object.
    ard : bool, default=True
        Whether kernels given by name have one lengthscale (or weight) per dimension, or one for
        all.
    init : {"pca", "isomap", "random"} or array, default="pca"
        Starting points.
    back_constraint : {"gp", "kernel"}, optional
        Make the points a smooth function of the data (Lawrence & Quiñonero-Candela 2006): rows
        that are near in the data stay near in the latent space, and new rows need no search.
    time_kernel : str, Kernel or list of them, default="auto"
        Prior over time, for fits with ``times``: one kernel for all dimensions, or a list with one
        each. Its values are read off the start, or given, and stay fixed. ``"auto"`` is RBF, or
        Matérn-5/2 where sequences are long.
    scaling : {"view", "column", "none"}, default="view"
        Divide the centred data by one number, by one per column, or not at all.
    noise_floor : float, default=1e-6
        Smallest noise variance, as a share of the table's variance.
    search : Search, optional
        Options of the optimisation; see `Search`.
    random_state : int, RandomState or None, default=None
        Seed of random starts and draws.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    latent_mean_ : ndarray of shape (n_samples, n_components)
        Latent points of the training rows.
    latent_std_ : ndarray of zeros
        Points have no uncertainty.
    relevance_ : ndarray of shape (n_components,)
        Relevance of each dimension, the largest being one.
    lower_bound_ : float
        log p(Y, X), in the units of the data. It is not a bound on log p(Y).
    noise_variance_ : ndarray of shape (n_features,)
        Noise variance of every column, in the units of the data.
    kernel_ : Kernel
        The fitted kernel, for scaled data.
    fit_info_ : FitInfo
        Record of the fit.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from manyviews.points import GPLVM
    >>> model = GPLVM(2, random_state=0).fit(load_iris().data)
    >>> model.transform(load_iris().data[:2]).shape
    (2, 2)
    """

    _options = {
        **TABLE,
        "init": (one_of("pca", "isomap", "random"), ARRAY),
        "back_constraint": (one_of("gp", "kernel"), NONE),
        "time_kernel": TIME_KERNEL,
    }
    engine_: PointEngine

    def __init__(
        self,
        n_components: int | None = 2,
        *,
        n_inducing: int | None = None,
        kernel: str | Kernel = "rbf",
        ard: bool = True,
        init: Any = "pca",
        back_constraint: str | None = None,
        time_kernel: TimeKernel = "auto",
        scaling: str = "view",
        noise_floor: float = NOISE_FLOOR,
        search: Search | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.n_inducing = n_inducing
        self.kernel = kernel
        self.ard = ard
        self.init = init
        self.back_constraint = back_constraint
        self.time_kernel = time_kernel
        self.scaling = scaling
        self.noise_floor = noise_floor
        self.search = search
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, *, times: Any = None, sequences: Any = None) -> Self:
        """Fit the model; NaN in ``X`` is missing.

        Parameters
        ----------
        times : array-like, optional
            A time stamp (number or date) per row, in any order, or several observed inputs per
            row. The points then follow a Gaussian process over them (Lawrence & Moore 2007).
        sequences : array-like, optional
            The independent sequence that each row belongs to.
        """
        timed = times is not None or sequences is not None
        Y = self._prepare(X, times, sequences)
        refuse_path_and_map(timed, self.back_constraint)
        n_components = min(2, *Y.shape) if self.n_components is None else int(self.n_components)
        if n_components > min(Y.shape) and isinstance(self.init, str) and self.init == "pca":
            raise OptionError(
                f"n_components={n_components} is more than the start by principal components can "
                f"give for data of {Y.shape[0]} samples and {Y.shape[1]} features"
            )
        (n_inducing,) = inducing_counts([self.n_inducing], len(Y))
        variance = float(np.nanvar(Y))
        back = back_map([self.back_constraint], [Y], ["X"], n_components)

        def view(_: int, means: Float[np.ndarray, "N Q"], rng: np.random.Generator) -> Mapping:
            kernel = point_kernel(self.kernel, means, variance, self.ard)
            return point_mapping(Y, kernel, means, n_inducing, self.noise_floor, rng, self.search)

        fit_points(
            self,
            [Y],
            lambda rng: starting_points([Y], n_components, self.init, rng),
            view,
            exact=[n_inducing is None],
            names=["X"],
            make_latent=lambda means: latent_space(means, self.when_, self.time_kernel, back),
            back=back,
        )
        self.kernel_ = self.engine_.model.views[0].kernel  # type: ignore[attr-defined]
        return self

    @property
    def noise_variance_(self) -> Float[np.ndarray, " D"]:
        """Noise variance of every column, in the units of the data."""
        return float(self.engine_.posteriors[0].noise) * self.scaling_.scale**2

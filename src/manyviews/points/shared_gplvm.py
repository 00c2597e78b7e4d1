"""Shon's shared GP-LVM: one latent space, any number of views."""

from typing import Any, Self

import numpy as np
from jaxtyping import Float

from ..inference.initial_dynamics import TimeKernel
from ..inference.search import Search
from ..io import register_record
from ..kernels import Kernel
from ..mappings import Mapping
from ..options import ARRAY, BY_VIEW, NONE, one_of
from ..shells import ViewsModel
from .back import back_map
from .fit import fit_points, point_kernel, point_mapping
from .options import (
    INDUCING,
    NOISE_FLOOR,
    SHARED,
    TIME_KERNEL,
    check_components,
    inducing_counts,
)
from .spaces import latent_space, refuse_path_and_map
from .starts import starting_points


@register_record
class SharedGPLVM(ViewsModel):
    """Shared GP-LVM: one latent point per sample for all views (Shon et al. 2006).

    Y⁽ᵏ⁾_nd = f⁽ᵏ⁾_d(x_n) + noise_k, f⁽ᵏ⁾_d ~ GP(0, k_k), x_n ~ N(0, I), by maximum a posteriori;
    the "GPLVM-PCA" of [Leen08]. All views use all dimensions, so that private variation competes
    with shared variation. `MRD` separates the two.

    Parameters
    ----------
    n_components : int, default=2
        Latent dimensions.
    n_inducing : int or dict by view, optional
        Inducing inputs of sparse mappings. Default: none, exact GPs.
    kernel : str, Kernel or dict by view, default="rbf"
        Covariance of the maps, by name or as an object.
    ard : bool, default=True
        Whether kernels given by name have one lengthscale per dimension, or one for all.
    init : {"pca", "isomap", "canonical", "random"} or array, default="pca"
        Starting points: principal components of all views side by side, Isomap of the same,
        generalised canonical correlations, random, or given.
    back_constraint : {"gp", "kernel"} or dict by view, optional
        Make the points a smooth function of the views named, as ``{"pose": "gp"}``, or of all
        views. With one view named, points tell apart only what this view tells apart: the others
        are explained as far as it allows, without what is private to them (Ek et al. 2007; [MRD21,
        figure 3c]). New samples that have all columns of these views need no search.
    time_kernel : str, Kernel or list of them, default="auto"
        Prior over time, for fits with ``times``, as in `GPLVM`.
    scaling : {"view", "column", "none"} or dict by view, default="view"
        Divide each centred view by one number, by one per column, or not at all.
    noise_floor : float or dict by view, default=1e-6
        Smallest noise variance, as a share of the view's variance.
    align : {"union", "intersection"}, default="union"
        Whether to keep all samples of DataFrames, or those that all views have.
    search, random_state, verbose
        As in `GPLVM`.

    Attributes
    ----------
    latent_mean_ : ndarray of shape (n_samples, n_components)
        Latent points of the training samples.
    latent_std_ : ndarray of zeros
        Points have no uncertainty.
    relevance_ : DataFrame of shape (n_views, n_components)
        Relevance of each dimension for each view, the largest of a view being one.
    lower_bound_ : float
        log p(Y, X), in the units of the data. It is not a bound on log p(Y).
    fit_info_ : FitInfo
        Record of the fit.

    Notes
    -----
    `predict()` takes ``private`` as that of `MRD`, and ``coupled`` with time stamps.

    Examples
    --------
    >>> import numpy as np
    >>> from manyviews import Search
    >>> from manyviews.points import SharedGPLVM
    >>> x = np.random.default_rng(0).normal(size=(40, 1))
    >>> views = {"left": x @ np.ones((1, 3)), "right": np.sin(x) @ np.ones((1, 2))}
    >>> model = SharedGPLVM(1, search=Search(max_iter=50), random_state=0).fit(views)
    >>> model.predict({"left": views["left"][:2]}, "right").shape
    (2, 2)
    """

    _options = {
        **SHARED,
        "n_inducing": INDUCING,
        "init": (one_of("pca", "isomap", "canonical", "random"), ARRAY),
        "back_constraint": (one_of("gp", "kernel"), BY_VIEW, NONE),
        "time_kernel": TIME_KERNEL,
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_inducing: int | dict[str, int] | None = None,
        kernel: str | Kernel | dict[str, str | Kernel] = "rbf",
        ard: bool = True,
        init: Any = "pca",
        back_constraint: str | dict[str, str] | None = None,
        time_kernel: TimeKernel = "auto",
        scaling: str | dict[str, str] = "view",
        noise_floor: float | dict[str, float] = NOISE_FLOOR,
        align: str = "union",
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
        self.align = align
        self.search = search
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, views: Any, y: Any = None, *, times: Any = None, sequences: Any = None) -> Self:
        """Fit to a dict or list of tables, or a MuData object; NaN is missing.

        Parameters
        ----------
        times, sequences : array-like or Series, optional
            A time stamp (or several observed inputs) and a sequence for each sample. The points
            then follow a Gaussian process over time; see `GPLVM.fit`.
        """
        tables = self._prepare(views, times, sequences, y)
        refuse_path_and_map(self.when_ is not None, self.back_constraint)
        check_components(self.n_components, tables, self.init)
        inducing = inducing_counts(
            self._by_view(self.n_inducing, "n_inducing", None), len(tables[0])
        )
        kernels = self._by_view(self.kernel, "kernel", "rbf")
        floors = self._by_view(self.noise_floor, "noise_floor", NOISE_FLOOR)
        constraints = self._by_view(self.back_constraint, "back_constraint", None)
        back = back_map(constraints, tables, self.view_names_, self.n_components)

        def view(place: int, means: Float[np.ndarray, "N Q"], rng: np.random.Generator) -> Mapping:
            Y = tables[place]
            kernel = point_kernel(kernels[place], means, float(np.nanvar(Y)), self.ard)
            return point_mapping(Y, kernel, means, inducing[place], floors[place], rng, self.search)

        return fit_points(
            self,
            tables,
            lambda rng: starting_points(tables, self.n_components, self.init, rng),
            view,
            exact=[m is None for m in inducing],
            names=self.view_names_,
            make_latent=lambda means: latent_space(means, self.when_, self.time_kernel, back),
            back=back,
        )

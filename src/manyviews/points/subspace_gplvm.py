"""Ek's subspace GP-LVM: a shared latent space and a private one for every view."""

from typing import Any, Self

import numpy as np
from jaxtyping import Float

from ..inference.initial_dynamics import TimeKernel
from ..inference.initialise import initial_means
from ..inference.search import Search
from ..io import register_record
from ..kernels import Kernel, Restricted
from ..latent import LatentSpace
from ..mappings import Mapping
from ..options import ARRAY, BOOLEAN, BY_VIEW, count, instance_of, one_of
from ..shells import ViewsModel
from .divided import Division, divided_start
from .fit import fit_points, point_kernel, point_mapping
from .options import COUNTS, INDUCING, NOISE_FLOOR, TIME_KERNEL, VIEWS, inducing_counts
from .spaces import timed_points


@register_record
class SubspaceGPLVM(ViewsModel):
    """Subspace GP-LVM: shared points, and private points of every view (Ek et al. 2008).

    Y⁽ᵏ⁾_nd = f⁽ᵏ⁾_d([x_n, x⁽ᵏ⁾_n]) + noise_k, by maximum a posteriori. The sizes of the spaces must
    be given, and results depend on the start; `MRD` infers the sizes.

    Parameters
    ----------
    n_shared : int, default=1
        Dimensions that all views share.
    n_private : int or dict by view, default=1
        Dimensions that belong to one view.
    n_inducing : int or dict by view, optional
        Inducing inputs of sparse mappings. Default: none, exact GPs.
    kernel : str, Kernel or dict by view, default="rbf"
        Covariance over the dimensions that a view has.
    ard : bool, default=True
        Whether kernels given by name have one lengthscale per dimension, or one for all.
    init : {"ncca", "pcca"} or array, default="ncca"
        Start shared dimensions from canonical correlations and private ones from what these leave
        of a view, or from an array (samples x all dimensions, the shared ones first, then view by
        view).
    time_kernel : str, Kernel or list of them, default="auto"
        Prior over time, for fits with ``times``, as in `GPLVM`; a list has one kernel per
        dimension, shared ones first.
    scaling, noise_floor, align, search, random_state, verbose
        As in `SharedGPLVM`.

    Attributes
    ----------
    latent_mean_ : ndarray of shape (n_samples, n_shared + all private)
        Latent points of the training samples.
    relevance_ : DataFrame of shape (n_views, n_dimensions)
        Zero where a dimension is private to another view.
    lower_bound_, fit_info_
        As in `SharedGPLVM`.

    Notes
    -----
    `predict()` takes ``private`` as that of `MRD`. A view that is not given has private dimensions
    that nothing is known of: ``"posterior"``, the default, leaves them at their prior N(0, I),
    which need not be where the training points are; ``"nearest"`` takes them from the training
    sample nearest in the shared dimensions, ``"conditional"`` from all that are near. With time
    stamps there is ``coupled``, too.

    Examples
    --------
    >>> import numpy as np
    >>> from manyviews import Search
    >>> from manyviews.points import SubspaceGPLVM
    >>> x = np.random.default_rng(0).normal(size=(40, 3))
    >>> views = {"left": x[:, :2] @ np.ones((2, 3)), "right": np.sin(x[:, 1:]) @ np.ones((2, 3))}
    >>> quick = Search(max_iter=20, tol=1e-2)
    >>> model = SubspaceGPLVM(1, 1, search=quick, random_state=0).fit(views)
    >>> model.private("right")
    [2]
    """

    _options = {
        **VIEWS,
        "n_shared": (count(),),
        "n_private": COUNTS,
        "n_inducing": INDUCING,
        "kernel": (instance_of(str, Kernel), BY_VIEW),
        "ard": (BOOLEAN,),
        "init": (one_of("ncca", "pcca"), ARRAY),
        "time_kernel": TIME_KERNEL,
    }

    def __init__(
        self,
        n_shared: int = 1,
        n_private: int | dict[str, int] = 1,
        *,
        n_inducing: int | dict[str, int] | None = None,
        kernel: str | Kernel | dict[str, str | Kernel] = "rbf",
        ard: bool = True,
        init: Any = "ncca",
        time_kernel: TimeKernel = "auto",
        scaling: str | dict[str, str] = "view",
        noise_floor: float | dict[str, float] = NOISE_FLOOR,
        align: str = "union",
        search: Search | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_shared = n_shared
        self.n_private = n_private
        self.n_inducing = n_inducing
        self.kernel = kernel
        self.ard = ard
        self.init = init
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
        division = Division(
            int(self.n_shared), tuple(int(n) for n in self._by_view(self.n_private, "n_private", 1))
        )
        inducing = inducing_counts(
            self._by_view(self.n_inducing, "n_inducing", None), len(tables[0])
        )
        kernels = self._by_view(self.kernel, "kernel", "rbf")
        floors = self._by_view(self.noise_floor, "noise_floor", NOISE_FLOOR)

        def view(place: int, means: Float[np.ndarray, "N Q"], rng: np.random.Generator) -> Mapping:
            Y = tables[place]
            own = (*division.shared, *division.private(place))
            inner = point_kernel(kernels[place], means[:, list(own)], float(np.nanvar(Y)), self.ard)
            kernel = Restricted(inner, own)
            return point_mapping(Y, kernel, means, inducing[place], floors[place], rng, self.search)

        def space(means: Float[np.ndarray, "N Q"]) -> LatentSpace:
            if self.when_ is None:
                return division.points(means)
            return timed_points(means, self.when_, self.time_kernel)

        return fit_points(
            self,
            tables,
            lambda rng: self._start(tables, division),
            view,
            exact=[m is None for m in inducing],
            names=self.view_names_,
            make_latent=space,
        )

    def _start(self, tables: Any, division: Division) -> Float[np.ndarray, "N Q"]:
        if not isinstance(self.init, str):
            return given_points(self.init, len(tables[0]), division)
        return divided_start(tables, division, self.view_names_, self.init)


def given_points(init: Any, n_samples: int, division: Division) -> Float[np.ndarray, "N Q"]:
    """A start given by the user, checked."""
    empty, rng = np.empty((n_samples, 0)), np.random.default_rng(0)
    return initial_means(empty, division.total, init, rng)

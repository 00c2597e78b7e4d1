"""GPLVM-CCA: shared variation by latent points, variation within views by full covariances."""

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from jaxtyping import Float
from scipy.linalg import eigh

from ..data.patterns import mean_filled
from ..errors import DegenerateCovarianceWarning, OptionError
from ..inference.search import Search
from ..io import register_record
from ..kernels import Kernel
from ..linear.closed_form import ridge_of
from ..mappings import CorrelatedGP, Mapping, NoisePrior
from ..options import ARRAY, number, one_of
from ..parameters import Parameter, map_parameters
from ..shells import ViewsModel
from .engine import PointEngine
from .fit import INITIAL_NOISE, fit_points, point_kernel, point_mapping, point_process
from .options import INDUCING, SHARED, check_components, inducing_counts
from .starts import LEAST_RIDGE, sparing_ridge, starting_points

PSI_PRIOR = 0.1
CORRELATED_FLOOR = 1e-3
DEGENERATE = 1.1  # times what the prior alone leaves


@register_record
class GPLVMCCA(ViewsModel):
    """Nonlinear probabilistic CCA with latent points [Leen08, chapter 3].

        vec Y⁽ᵏ⁾ ~ N(0, Ψ_k ⊗ K_k),   K_k = k_k(X, X) + I/β_k,   x_n ~ N(0, I).

    Variation within a view goes into its full covariance Ψ_k, so that the points keep what the
    views share. Latent points are found by maximum a posteriori; given K the best Ψ has a closed
    form, which is used at every step.

    The likelihood by itself has no maximum, because points that are a linear combination of one
    view's columns make Ψ singular. An inverse Wishart prior on the noise covariance Ψ/β
    (``psi_prior``) and a cap on β (``noise_floor``) prevent this, and a warning says when a
    direction of a view has no noise but its prior's.

    Parameters
    ----------
    n_components : int, default=1
        Shared dimensions.
    n_inducing : int or dict by view, optional
        Inducing inputs of sparse mappings, whose cost grows linearly with the samples. Default:
        none, exact GPs. (The thesis takes an active set in their place, the informative vector
        machine [Leen08, §3.6.4].)
    kernel : str, Kernel or dict by view, default="rbf"
        Covariance of the maps. Kernels given by name have a variance of one, as Ψ has the scale.
    ard : bool, default=True
        Whether kernels given by name have one lengthscale per dimension, or one for all.
    psi : {"full", "diagonal", "identity"}, default="full"
        ``"identity"`` is `SharedGPLVM` (the thesis's GPLVM-PCA, kernel variances free),
        ``"diagonal"`` scales columns (Grochow's SGPLVM).
    psi_prior : float, default=0.1
        Weight of the prior on Ψ/β, in samples per sample. Its covariance is that of the view's
        columns, so it does not depend on their units. No direction of a view has less noise than
        ``psi_prior / (1 + psi_prior)`` of its variance. Use a smaller value only where views are
        nearly functions of each other.
    psi_ridge : float or "auto", default="auto"
        Additional noise of every direction of a view, as a share of the mean variance of its
        columns. With few samples per column the smallest eigenvalues of Ψ are far too small, and
        new samples are then placed by noise. ``"auto"`` is Ledoit and Wolf's amount with fewer
        than three samples per column, and close to zero otherwise. Wide views may need more;
        choose it on held-out samples.
    init : {"canonical", "pca", "isomap", "random"} or array, default="canonical"
        Starting points: canonical variates, principal components or Isomap of all views side by
        side, random, or given.
    scaling : {"view", "column", "none"} or dict by view, default="view"
        Divide each centred view by one number, by one per column, or not at all.
    noise_floor : float or dict by view, default=0.001
        Smallest 1/β.
    align : {"union", "intersection"}, default="union"
        Whether to keep all samples of DataFrames, or those that all views have.
    search, random_state, verbose
        As in `GPLVM`.

    Attributes
    ----------
    psi_ : dict of ndarray by view
        Ψ, in the units of the data.
    beta_ : dict of float by view
        The noise covariance of a view, in the units of the data, is Ψ/β.
    psi_condition_ : dict of float by view
        Smallest share of a view's variance, over all directions, that is noise Ψ/β.
    latent_mean_, relevance_, lower_bound_, fit_info_
        As in `SharedGPLVM`.

    Notes
    -----
    A view may be missing for whole samples. New samples may have scattered missing values;
    training samples may not.

    Examples
    --------
    >>> import numpy as np
    >>> from manyviews import Search
    >>> from manyviews.points import GPLVMCCA
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2, 2, size=(60, 1))
    >>> a = np.hstack([np.sin(x), x]) + 0.1 * rng.normal(size=(60, 2))
    >>> b = np.hstack([np.cos(x), x]) + 0.1 * rng.normal(size=(60, 2))
    >>> model = GPLVMCCA(1, search=Search(max_iter=50), random_state=0).fit({"a": a, "b": b})
    >>> model.predict({"a": a[:2]}, "b").shape
    (2, 2)
    """

    _options = {
        **SHARED,
        "n_inducing": INDUCING,
        "psi": (one_of("full", "diagonal", "identity"),),
        "psi_prior": (number(0, closed="neither"),),
        "psi_ridge": (number(0), one_of("auto")),
        "init": (one_of("pca", "isomap", "canonical", "random"), ARRAY),
    }

    engine_: PointEngine

    def __init__(
        self,
        n_components: int = 1,
        *,
        n_inducing: int | dict[str, int] | None = None,
        kernel: str | Kernel | dict[str, str | Kernel] = "rbf",
        ard: bool = True,
        psi: str = "full",
        psi_prior: float = PSI_PRIOR,
        psi_ridge: float | str = "auto",
        init: Any = "canonical",
        scaling: str | dict[str, str] = "view",
        noise_floor: float | dict[str, float] = CORRELATED_FLOOR,
        align: str = "union",
        search: Search | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.n_inducing = n_inducing
        self.kernel = kernel
        self.ard = ard
        self.psi = psi
        self.psi_prior = psi_prior
        self.psi_ridge = psi_ridge
        self.init = init
        self.scaling = scaling
        self.noise_floor = noise_floor
        self.align = align
        self.search = search
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, views: Any, y: Any = None) -> Self:
        """Fit to a dict or list of tables, or a MuData object."""
        tables = self._prepare(views, y=y)
        check_components(self.n_components, tables, self.init)
        inducing = inducing_counts(
            self._by_view(self.n_inducing, "n_inducing", None), len(tables[0])
        )
        kernels = self._by_view(self.kernel, "kernel", "rbf")
        floors = self._by_view(self.noise_floor, "noise_floor", CORRELATED_FLOOR)
        if self.psi != "identity":
            for name, Y in zip(self.view_names_, tables, strict=True):
                refuse_scattered(Y, name)
        scales = [prior_covariance(Y, self.psi_ridge, self.psi_prior) for Y in tables]

        def view(place: int, means: Float[np.ndarray, "N Q"], rng: np.random.Generator) -> Mapping:
            Y = tables[place]
            if self.psi == "identity":
                kernel = point_kernel(kernels[place], means, float(np.nanvar(Y)), self.ard)
                return point_mapping(
                    Y, kernel, means, inducing[place], floors[place], rng, self.search
                )
            kernel = unit_kernel(kernels[place], means, self.ard)
            process = point_process(
                kernel, means, inducing[place], INITIAL_NOISE, floors[place], rng, self.search
            )
            n_rows = int((~np.isnan(Y).all(axis=1)).sum())
            prior = NoisePrior(scales[place], self.psi_prior * n_rows)
            return CorrelatedGP(process, prior, diagonal=self.psi == "diagonal")

        fit_points(
            self,
            tables,
            lambda rng: starting_points(tables, self.n_components, self.init, rng),
            view,
            exact=[m is None for m in inducing],
            names=self.view_names_,
        )
        self._publish_psi(scales)
        return self

    def _publish_psi(self, scales: list[Float[np.ndarray, "_ _"]]) -> None:
        self.psi_, self.beta_, self.psi_condition_ = {}, {}, {}
        for place, name in enumerate(self.view_names_):
            psi = self.engine_.columns(place)
            scale = self.scalings_[place].scale
            self.psi_[name] = psi * np.outer(scale, scale)
            self.beta_[name] = 1.0 / float(self.engine_.posteriors[place].noise)
            noise = psi / self.beta_[name]
            share = float(eigh(noise, scales[place], eigvals_only=True)[0])
            self.psi_condition_[name] = share
            least = self.psi_prior / (1.0 + self.psi_prior)
            if self.psi == "full" and share < DEGENERATE * least:
                warnings.warn(
                    f"only its prior keeps the noise covariance of view {name!r} from becoming "
                    "singular: a latent dimension may have become a combination of that view's "
                    "columns instead of what the views share. Use a larger psi_prior, fewer "
                    "components, or MRD",
                    DegenerateCovarianceWarning,
                    stacklevel=3,
                )


def unit_kernel(kernel: str | Kernel, means: Float[np.ndarray, "N Q"], ard: bool) -> Kernel:
    """A kernel whose overall variance is one and stays so, unless the user made it."""
    made = point_kernel(kernel, means, 1.0, ard)
    if isinstance(kernel, Kernel):
        return made

    def held(name: str, p: Parameter) -> Parameter:
        if name.split(".")[-1] != "variance":
            return p
        return replace(p, free=False)

    return map_parameters(held, made)


def prior_covariance(
    Y: Float[np.ndarray, "N D"], ridge: float | str, weight: float
) -> Float[np.ndarray, "D D"]:
    """S₀ = S + r (1 + 1/w) I of the samples that have the view, S their covariance.

    A prior of weight w per sample leaves at least w S₀ / (1 + w) of noise, so at least r.
    """
    there = Y[~np.isnan(Y).all(axis=1)]
    filled = mean_filled(there)
    D = Y.shape[1]
    least = ridge_of(filled, LEAST_RIDGE)
    r = sparing_ridge(filled) if isinstance(ridge, str) else max(ridge_of(filled, ridge), least)
    return np.cov(filled.T, bias=True).reshape(D, D) + r * (1.0 + 1.0 / weight) * np.eye(D)


def refuse_scattered(Y: Float[np.ndarray, "N D"], name: str) -> None:
    """Ψ has its closed form only for samples that have all columns of a view."""
    gone = np.isnan(Y)
    partly = gone.any(axis=1) & ~gone.all(axis=1)
    if partly.any():
        raise OptionError(
            f"view {name!r} lacks single values in {int(partly.sum())} samples; with correlated "
            "columns a training sample must have all of a view or nothing. Use psi='identity', "
            "MRD, or fill the values first"
        )

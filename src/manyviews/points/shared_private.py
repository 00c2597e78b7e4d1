"""A sum of a shared and a private Gaussian process per view [Leen08, chapter 4]."""

import warnings
from typing import Any, Self

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from ..errors import NothingSharedWarning, OptionError
from ..inference.search import Search, Stage
from ..io import register_record
from ..kernels import Kernel, Polynomial, Restricted, Sum
from ..mappings import Mapping, PrunedGP
from ..options import ARRAY, BOOLEAN, NONE, count, instance_of, number, one_of
from ..shells import ViewsModel
from .divided import Division, divided_start
from .engine import PointEngine
from .fit import fit_points, point_mapping
from .options import COUNTS, INDUCING, NOISE_FLOOR, VIEWS, inducing_counts
from .parts import MARGIN, parts_start
from .subspace_gplvm import given_points

SHARED_BLOCK = ("latent.private*", "*.parts.1.*")  # what is held while shared parts are trained
PRIVATE_BLOCK = ("latent.shared", "*.parts.0.*")
PARTS = ("shared", "private")
UNUSED = 1e-3  # of the largest shared weight of any view


@register_record
class SharedPrivateGPLVM(ViewsModel):
    """Sum of a shared and a private Gaussian process per view [Leen08, chapter 4].

        Y⁽ᵏ⁾ = F⁽ᵏ⁾(X) + N⁽ᵏ⁾(X⁽ᵏ⁾) + noise,

    by maximum a posteriori; the covariance of a view is K_f(X) + K_n(X⁽ᵏ⁾) + noise. Unlike in
    `SubspaceGPLVM`, shared and private parts do not interact, and can be separated
    (`component()`). Kernels are polynomial with relevance weights that a Gaussian prior
    shrinks. Results depend strongly on the start.

    Parameters
    ----------
    n_shared : int, default=1
        Dimensions that all views share.
    n_private : int or dict by view, default=1
        Dimensions that belong to one view.
    n_inducing : int or dict by view, optional
        Inducing inputs of sparse mappings, each in the shared and the private dimensions at once.
        Default: none, exact GPs.
    kernel : Kernel, optional
        Kernel of both parts of every view. Default: a
        `manyviews.kernels.Polynomial` of degree 2.
    ard_prior : float, default=10.0
        Standard deviation of the prior on the square roots of the relevance weights.
    bounded : bool, default=False
        Keep the points between zero and one, with a flat prior, as pixels of latent images.
    init : {"pcca", "ncca", "parts", "random"} or array, default="pcca"
        As in `SubspaceGPLVM`; random; or ``"parts"``, for bounded points: canonical variates
        of data that are not centred, rotated by varimax.
    n_rounds : int, default=5
        Rounds of training shared and private parts in turn, before all are trained together.
    scaling, noise_floor, align, search, random_state, verbose
        As in `SharedGPLVM`.

    Attributes
    ----------
    latent_mean_ : ndarray of shape (n_samples, n_shared + all private)
        Latent points of the training samples.
    relevance_ : DataFrame of shape (n_views, n_dimensions)
        Relevance of each dimension for each view, the largest of a view being one.
    weights_ : dict by view of (shared, private) ndarrays
        Relevance weights of the polynomial kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from manyviews import Search
    >>> from manyviews.points import SharedPrivateGPLVM
    >>> x = np.random.default_rng(0).normal(size=(40, 3))
    >>> views = {"left": x[:, :2] @ np.ones((2, 3)), "right": x[:, 1:] @ np.ones((2, 3))}
    >>> quick = Search(max_iter=20, tol=1e-2)
    >>> model = SharedPrivateGPLVM(1, 1, n_rounds=1, search=quick, random_state=0)
    >>> model.fit(views).component("left", "shared").shape
    (40, 3)
    """

    _options = {
        **VIEWS,
        "kernel": (instance_of(Kernel), NONE),
        "n_shared": (count(),),
        "n_private": COUNTS,
        "n_inducing": INDUCING,
        "ard_prior": (number(0, closed="neither"),),
        "bounded": (BOOLEAN,),
        "n_rounds": (count(0),),
        "init": (one_of("ncca", "pcca", "parts", "random"), ARRAY),
    }

    engine_: PointEngine

    def __init__(
        self,
        n_shared: int = 1,
        n_private: int | dict[str, int] = 1,
        *,
        n_inducing: int | dict[str, int] | None = None,
        kernel: Kernel | None = None,
        ard_prior: float = 10.0,
        bounded: bool = False,
        init: Any = "pcca",
        n_rounds: int = 5,
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
        self.ard_prior = ard_prior
        self.bounded = bounded
        self.init = init
        self.n_rounds = n_rounds
        self.scaling = scaling
        self.noise_floor = noise_floor
        self.align = align
        self.search = search
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, views: Any, y: Any = None) -> Self:
        """Fit to a dict or list of tables, or a MuData object; NaN is missing."""
        tables = self._prepare(views, y=y)
        counts = self._by_view(self.n_private, "n_private", 1)
        if min(counts) < 1:
            raise OptionError("every view needs a private dimension; use SubspaceGPLVM for none")
        division = Division(int(self.n_shared), tuple(int(n) for n in counts))
        inducing = inducing_counts(
            self._by_view(self.n_inducing, "n_inducing", None), len(tables[0])
        )
        floors = self._by_view(self.noise_floor, "noise_floor", NOISE_FLOOR)
        kernel = Polynomial(2, 1.0, 0.1) if self.kernel is None else self.kernel

        def view(place: int, means: Float[np.ndarray, "N Q"], rng: np.random.Generator) -> Mapping:
            parts = (division.shared, division.private(place))
            both = Sum(tuple(Restricted(kernel, own) for own in parts))
            process = point_mapping(
                tables[place], both, means, inducing[place], floors[place], rng, self.search
            )
            return PrunedGP(process, self.ard_prior)

        fit_points(
            self,
            tables,
            lambda rng: self._start(tables, division, rng),
            view,
            exact=[m is None for m in inducing],
            names=self.view_names_,
            make_latent=lambda X: division.points(self._within(X), self.bounded),
            stages=self._stages,
        )
        self._warn_of_views_apart()
        return self

    def _stages(self, search: Search) -> tuple[Stage, ...]:
        """Shared and private parts in turn, then all together."""
        block = max(1, int(search.max_iter) // 20)
        turns = [Stage("lbfgs", block, hold=held) for held in (SHARED_BLOCK, PRIVATE_BLOCK)]
        return (*turns * int(self.n_rounds), Stage("lbfgs", int(search.max_iter)))

    def _warn_of_views_apart(self) -> None:
        largest = {name: float(shared.max()) for name, (shared, _) in self.weights_.items()}
        for name, weight in largest.items():
            if weight < UNUSED * max(largest.values()):
                warnings.warn(
                    f"view {name!r} does not use the shared dimensions: its private ones explain "
                    "it, as they can where it has little noise. Use a smaller ard_prior, fewer "
                    "private dimensions, or MRD",
                    NothingSharedWarning,
                    stacklevel=3,
                )

    @property
    def weights_(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Relevance weights by view: of the shared dimensions, and of its private ones."""
        check_is_fitted(self)
        found = {}
        for name, view in zip(self.view_names_, self.engine_.model.views, strict=True):
            parts = view.kernel.parts  # type: ignore[attr-defined]
            own = [np.array(p.kernel.relevance(len(p.dimensions))) for p in parts]
            found[name] = (own[0], own[1])
        return found

    def component(self, view: str, part: str, X: Any = None, *, return_std: bool = False) -> Any:
        """The shared or the private part of a view, as a deviation from its mean [Leen08, §4.3].

        ``C_f(X*, X) K⁻¹ Y`` with variance ``C_f(X*, X*) - C_f(X*, X) K⁻¹ C_f(X, X*)``, and likewise
        for the private part. The mean of the view and both parts add up to the prediction.

        Parameters
        ----------
        part : {"shared", "private"}
            Which of the two.
        X : latent positions, optional
            Default: those of the training samples.
        """
        check_is_fitted(self)
        if part not in PARTS:
            raise OptionError(f"part must be one of {PARTS}, got {part!r}")
        (place,) = self._places(view)
        x = self.latent_mean_ if X is None else self._at(X).mean
        posterior, scale = self.engine_.posteriors[place], self.scalings_[place].scale
        kernel = posterior.kernel.parts[PARTS.index(part)]  # type: ignore[attr-defined]
        points = jnp.asarray(x)
        k = np.asarray(kernel.cross(points, posterior.Z))
        mean = k @ np.asarray(posterior.weights) * scale
        if not return_std:
            return mean
        removed = np.einsum("nm,gml,nl->ng", k, np.asarray(posterior.reduction), k)
        variance = np.asarray(kernel.diagonal(points))[:, None] - removed
        std = np.sqrt(np.maximum(variance, 0.0))[:, np.asarray(posterior.group_of_column)]
        return mean, std * scale

    def _start(
        self, tables: Any, division: Division, rng: np.random.Generator
    ) -> Float[np.ndarray, "N Q"]:
        if not isinstance(self.init, str):
            return given_points(self.init, len(tables[0]), division)
        if self.init == "random":
            return rng.standard_normal((len(tables[0]), division.total))
        if self.init == "parts":
            whole = [Y + s.centre / s.scale for Y, s in zip(tables, self.scalings_, strict=True)]
            return parts_start(whole, division, self.view_names_)
        return divided_start(tables, division, self.view_names_, self.init)

    def _within(self, X: Float[np.ndarray, "N Q"]) -> Float[np.ndarray, "N Q"]:
        """A start inside the bounds: parts are, others are squashed."""
        if not self.bounded:
            return X
        if isinstance(self.init, str) and self.init == "parts":
            return np.clip(X, MARGIN, 1.0 - MARGIN)
        return 1.0 / (1.0 + np.exp(-np.clip(X, -10.0, 10.0)))

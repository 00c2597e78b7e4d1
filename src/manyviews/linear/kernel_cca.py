"""Kernel CCA: centred, regularised, with variates of new samples [Leen08, §2.5.5]."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from jaxtyping import Float
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels
from sklearn.preprocessing import KernelCenterer
from sklearn.utils.validation import check_is_fitted

from ..errors import OptionError
from ..io import register_record
from ..options import BY_VIEW, number, one_of
from .canonical_engine import Projection
from .cca import CanonicalModel
from .closed_form import canonical_directions
from .estimators import VIEWS

NULL_SPACE = 1e-10  # of a kernel's largest eigenvalue; below, a direction is rounding error


@register_record
@dataclass(frozen=True)
class KernelProjection(Projection):
    """z = k̃_* α with k̃ centred by the training samples."""

    rows: tuple[np.ndarray, ...]
    kernels: tuple[str, ...]
    gammas: tuple[float, ...]
    kernel_means: tuple[np.ndarray, ...]
    dual: tuple[np.ndarray, ...]

    def variates(self, view: int, rows: Float[np.ndarray, "M D"]) -> Float[np.ndarray, "M Q"]:
        K = kernel_matrix(rows, self.rows[view], self.kernels[view], self.gammas[view])
        means = self.kernel_means[view]
        centred = K - K.mean(axis=1, keepdims=True) - means + means.mean()
        return centred @ self.dual[view]


@register_record
class KernelCCA(CanonicalModel):
    """Regularised canonical correlation analysis between features of kernels.

    z_i = K_i α_i with centred kernels, and ρ the largest correlation under

        α_iᵀ (K_i² / N + κ_i K_i) α_i = 1,

    solved in the kernels' principal components: each component of K_i = U S Uᵀ is a column U √S of
    an ordinary regularised CCA. With a linear kernel it equals `CCA`. Regularisation is
    required, since any two views of N different samples correlate perfectly without it. Predictions
    regress the wanted view on the variates; their standard deviation is that of training residuals,
    which is too small for flexible kernels.

    Parameters
    ----------
    n_components : int, default=2
        Number of pairs of variates.
    kernel : str or dict by view, default="rbf"
        Any kernel of scikit-learn's ``pairwise_kernels``.
    gamma : float, "median" or dict by view, default="median"
        Parameter of kernels that have it; the median rule is 1 / (2 × median squared distance).
    regularisation : float or dict by view, default=0.02
        κ as a share of the variance of all features together, trace(K)/N. With a linear kernel
        of D columns, κ is a regularisation of D κ in `CCA`.
    scaling : {"view", "column", "none"} or dict by view, default="view"
        Divide each centred view by one number, by one per column, or not at all.
    align : {"union", "intersection"}, default="union"
        Whether to keep all samples of DataFrames, or those that all views have.
    random_state : int, RandomState or None, default=None
        Seed of draws.

    Attributes
    ----------
    canonical_correlations_ : ndarray of shape (n_components,)
        Correlations of the regularised problem; for more than two views the mean over pairs.
    dual_ : tuple of ndarray
        α of every view, samples x components.
    latent_mean_, relevance_, n_active_
        As in `CCA`.

    Examples
    --------
    >>> import numpy as np
    >>> from manyviews.linear import KernelCCA
    >>> rng = np.random.default_rng(0)
    >>> t = rng.uniform(-3, 3, size=(200, 1))
    >>> views = {"a": np.hstack([np.cos(t), np.sin(t)]), "b": t + 0.1 * rng.normal(size=(200, 1))}
    >>> KernelCCA(1).fit(views).score(views) > 0.9
    True
    """

    _options = {
        **VIEWS,
        "kernel": (one_of(*PAIRWISE_KERNEL_FUNCTIONS), BY_VIEW),
        "gamma": (number(0, closed="neither"), one_of("median"), BY_VIEW),
        "regularisation": (number(0, closed="neither"), BY_VIEW),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: str | dict[str, str] = "rbf",
        gamma: float | str | dict[str, float | str] = "median",
        regularisation: float | dict[str, float] = 0.02,
        scaling: str | dict[str, str] = "view",
        align: str = "union",
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.regularisation = regularisation
        self.scaling = scaling
        self.align = align
        self.random_state = random_state

    def fit(self, views: Any, y: Any = None) -> Self:
        """Fit to a dict or list of complete tables, or a MuData object."""
        tables = self._prepare(views, y=y)
        kernels = self._by_view(self.kernel, "kernel", "rbf")
        choices = self._by_view(self.gamma, "gamma", "median")
        gammas = [
            median_gamma(Y) if choice == "median" else float(choice)
            for Y, choice in zip(tables, choices, strict=True)
        ]
        shares = self._by_view(self.regularisation, "regularisation", 0.02)
        features, maps, ridges, means = [], [], [], []
        for Y, kind, gamma, share in zip(tables, kernels, gammas, shares, strict=True):
            K = kernel_matrix(Y, Y, kind, gamma)
            means.append(K.mean(axis=0))
            K = KernelCenterer().fit_transform(K)
            values, vectors = np.linalg.eigh(K)
            kept = values > NULL_SPACE * values[-1]
            features.append(vectors[:, kept] * np.sqrt(values[kept]))
            maps.append(vectors[:, kept] / np.sqrt(values[kept]))
            ridges.append(share * float(values[kept].sum()) / len(Y))
        narrow = min(part.shape[1] for part in features)
        if self.n_components is not None and self.n_components > narrow:
            raise OptionError(
                f"n_components={self.n_components} is more than the {narrow} dimensions of the "
                "smallest feature space"
            )
        n_components = min(2, narrow) if self.n_components is None else int(self.n_components)
        found = canonical_directions(features, n_components, ridges, self.view_names_)
        self.canonical_correlations_ = found.correlations
        dual = tuple(M @ U for M, U in zip(maps, found.directions, strict=True))
        projection = KernelProjection(
            tuple(tables), tuple(kernels), tuple(gammas), tuple(means), dual
        )
        return self._take(tables, projection)

    @property
    def dual_(self) -> tuple[Float[np.ndarray, "N Q"], ...]:
        """α of every view, samples x components."""
        check_is_fitted(self)
        projection = self.engine_.projection
        assert isinstance(projection, KernelProjection)
        return projection.dual


def kernel_matrix(
    rows: Float[np.ndarray, "M D"], others: Float[np.ndarray, "N D"], kind: str, gamma: float
) -> Float[np.ndarray, "M N"]:
    """One of scikit-learn's kernels between rows."""
    return pairwise_kernels(rows, others, metric=kind, filter_params=True, gamma=gamma)


def median_gamma(Y: Float[np.ndarray, "N D"]) -> float:
    """1 / (2 × median squared distance between samples)."""
    rows = Y[:: max(1, len(Y) // 1000)]
    squares = np.sum((rows[:, None] - rows[None]) ** 2, axis=2)[np.triu_indices(len(rows), 1)]
    median = float(np.median(squares))
    return 0.5 / median if median > 0 else 1.0

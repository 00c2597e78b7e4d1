"""Where a fit starts: latent means, inducing inputs, kernel and noise."""

import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from ..data.patterns import mean_filled
from ..errors import DataError, OptionError
from ..kernels import Kernel, kernel_from_name
from ..mappings.outputs import gram_factor
from ..parameters import Parameter, map_parameters
from .tall_tables import MANY_ROWS, is_tall, tall_fill, tall_scores, tall_spectrum

LatentInit = Literal["pca", "ppca", "random"]
InducingInit = Literal["kmeans", "subset"]

FILL_ROUNDS = 100
POINTS_PER_CENTRE = 300  # that k-means sees at most
CANONICAL_SHARE = 0.9  # of a view's variance that may take part in the correlations


def joint_means(
    data: Sequence[Float[np.ndarray, "N _"]],
    n_components: int,
    init: Any,
    rng: np.random.Generator,
) -> Float[np.ndarray, "N Q"]:
    """Starting means of q(X) for several views [MRD21, §4.4].

    ``"concatenated"`` takes the PPCA scores of all views side by side, each scaled to the same
    total variance; ``"separate"`` those of each view on its own, side by side, the
    dimensions shared out evenly; ``"canonical"`` what the views have most in common
    (`canonical_scores()`). Other choices are those of `initial_means()`.
    """
    if not isinstance(init, str) or init == "random":
        return initial_means(data[0], n_components, init, rng)
    compact = [compact_view(Y) for Y in data]
    if init == "canonical" and len(data) > 1:
        return _filled_up(canonical_scores(compact, n_components), n_components, rng)
    if init == "separate":
        parts = [
            initial_means(Y, q, "ppca", rng)
            for Y, q in zip(compact, share_out(n_components, compact), strict=True)
            if q
        ]
        return _filled_up(np.concatenate(parts, axis=1), n_components, rng)
    balanced = [Y / np.sqrt(np.nansum(Y**2)) for Y in compact] if len(compact) > 1 else compact
    joint = np.concatenate(balanced, axis=1)
    start = "ppca" if init in {"concatenated", "canonical"} else init
    return initial_means(joint, n_components, start, rng)


def _filled_up(
    means: Float[np.ndarray, "N C"], n_components: int, rng: np.random.Generator
) -> Float[np.ndarray, "N Q"]:
    """The means, with random dimensions after them where there are too few."""
    extra = rng.standard_normal((means.shape[0], n_components - means.shape[1]))
    return np.concatenate([means, extra], axis=1)


def canonical_scores(
    data: Sequence[Float[np.ndarray, "N _"]], n_components: int
) -> Float[np.ndarray, "N C"]:
    """Generalised canonical correlation: variates that correlate most with all views at once.

    Each view is replaced by its leading principal components (90 % of its variance), all of
    unit variance, and the principal components of these side by side are taken (the MAXVAR
    criterion of Kettenring 1971). The first are shared by most views, the last are private.
    """
    whitened = []
    for Y in data:
        filled = ppca_fill(Y, min(n_components, *Y.shape))
        U, s, _ = np.linalg.svd(filled - filled.mean(axis=0), full_matrices=False)
        share = np.cumsum(s**2) / np.sum(s**2)
        whitened.append(U[:, : int(np.searchsorted(share, CANONICAL_SHARE)) + 1])
    U, s, _ = np.linalg.svd(np.concatenate(whitened, axis=1), full_matrices=False)
    U = U[:, : min(n_components, int(np.sum(s > 1e-6 * s[0])))]
    return U / U.std(axis=0)


def compact_view(Y: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N C"]:
    """The same view in at most N columns, with equal scores; as it is if values are scattered."""
    missing = np.isnan(Y)
    absent = missing.all(axis=1)
    if Y.shape[1] <= Y.shape[0] or missing[~absent].any():
        return Y
    present = gram_factor(Y[~absent])
    compact = np.full((Y.shape[0], present.shape[1]), np.nan)
    compact[~absent] = present
    return compact


def share_out(n_components: int, data: Sequence[Float[np.ndarray, "N _"]]) -> list[int]:
    """Dimensions per view, in turn, as many as each can give."""
    limits = [min(Y.shape) for Y in data]
    shares = [0] * len(data)
    while sum(shares) < min(n_components, sum(limits)):
        for view, limit in enumerate(limits):
            if shares[view] < limit and sum(shares) < n_components:
                shares[view] += 1
    return shares


def initial_means(
    Y: Float[np.ndarray, "N D"],
    n_components: int,
    init: LatentInit | Any,
    rng: np.random.Generator,
) -> Float[np.ndarray, "N Q"]:
    """Starting means of q(X), scaled to unit variance unless given by the user."""
    if not isinstance(init, str):
        given = np.asarray(init, dtype=np.float64)
        if given.shape != (Y.shape[0], n_components):
            raise OptionError(
                f"init must have shape {(Y.shape[0], n_components)} (samples x components), "
                f"got {given.shape}"
            )
        if not np.isfinite(given).all():
            raise DataError("init holds NaN or infinite values")
        return given
    if init == "random":
        return rng.standard_normal((Y.shape[0], n_components))
    if n_components > min(Y.shape):
        raise OptionError(
            f"n_components={n_components} is more than init={init!r} can give for data of "
            f"{Y.shape[0]} samples and {Y.shape[1]} features; use init='random' or fewer components"
        )
    scores = principal_scores(Y, n_components, probabilistic=init == "ppca")
    spread = scores.std(axis=0)
    degenerate = spread < 1e-8 * max(float(spread.max()), 1e-300)
    scores[:, degenerate] = rng.standard_normal((Y.shape[0], int(degenerate.sum())))
    spread[degenerate] = 1.0
    return scores / spread


def principal_scores(
    Y: Float[np.ndarray, "N D"], n_components: int, probabilistic: bool
) -> Float[np.ndarray, "N Q"]:
    """Scores of PCA, missing entries at their column's mean or at their PPCA expectation."""
    filled = ppca_fill(Y, n_components) if probabilistic else mean_filled(Y)
    if is_tall(filled):
        return tall_scores(filled, n_components)
    U, s, _ = np.linalg.svd(filled - filled.mean(axis=0), full_matrices=False)
    return U[:, :n_components] * s[:n_components]


def ppca_fill(Y: Float[np.ndarray, "N D"], n_components: int) -> Float[np.ndarray, "N D"]:
    """Replace missing entries by their expectation under PPCA (Tipping & Bishop 1999), for a start.

    Each round projects the completed data on the leading directions, shrunk by the noise, and
    takes the missing entries from there. It is EM but for the missing entries' variances, which
    are left out: the maximum of the likelihood is what `PPCA` finds.
    """
    missing = np.isnan(Y)
    filled = mean_filled(Y)
    if is_tall(Y) and missing.any():
        return tall_fill(Y, filled, n_components, FILL_ROUNDS)
    for _ in range(FILL_ROUNDS if missing.any() else 0):
        mean = filled.mean(axis=0)
        U, s, Vt = np.linalg.svd(filled - mean, full_matrices=False)
        kept, rest = s[:n_components], s[n_components:]
        noise = np.mean(rest**2) if rest.size else 0.0
        shrunk = np.maximum(kept**2 - noise, 0.0) / np.maximum(kept, 1e-300)
        expected = mean + (U[:, :n_components] * shrunk) @ Vt[:n_components]
        change = np.max(np.abs((filled - expected)[missing]))
        filled = np.where(missing, expected, Y)
        if change < 1e-5 * float(np.std(filled)):
            break
    return filled


def residual_share(Y: Float[np.ndarray, "N D"], n_components: int) -> float:
    """Share of the variance that the leading principal components leave unexplained."""
    Y = compact_view(Y)
    filled = ppca_fill(Y[~np.isnan(Y).all(axis=1)], n_components)
    if is_tall(filled):
        squares = tall_spectrum(filled)
    else:
        squares = np.linalg.svd(filled - filled.mean(axis=0), compute_uv=False) ** 2
    return float(squares[n_components:].sum() / squares.sum())


def inducing_inputs(
    X: Float[np.ndarray, "N Q"],
    n_inducing: int,
    init: InducingInit,
    rng: np.random.Generator,
) -> Float[np.ndarray, "M Q"]:
    """Starting inducing inputs: centres of k-means, or a random subset, of the latent means.

    Where there are more than 300 points for each centre, and more than 20,000, k-means sees a
    random part of them, which moves the centres less than another seed would.
    """
    if init == "subset" or n_inducing >= X.shape[0]:
        return X[rng.choice(X.shape[0], n_inducing, replace=False)]
    from sklearn.cluster import KMeans  # slow to import

    n_seen = max(MANY_ROWS, POINTS_PER_CENTRE * n_inducing)
    if n_seen < X.shape[0]:
        X = X[rng.choice(X.shape[0], n_seen, replace=False)]
    seed = int(rng.integers(2**31))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # duplicate points give fewer clusters: harmless here
        centres = (
            KMeans(n_inducing, n_init=1, max_iter=30, random_state=seed).fit(X).cluster_centers_
        )
    return centres + 1e-3 * rng.standard_normal(centres.shape)


def initial_kernel(kernel: str | Kernel, X: Float[np.ndarray, "N Q"], variance: float) -> Kernel:
    """A kernel named by a string starts at values read off the data; an object as it is.

    Lengthscales follow w_q = 5/(max - min)², the total variance is shared by the parts.
    """
    n_components = X.shape[1]
    if isinstance(kernel, Kernel):
        return kernel.with_dimensions(n_components)
    template = kernel_from_name(kernel).with_dimensions(n_components)
    span = np.maximum(X.max(axis=0) - X.min(axis=0), 1e-3)
    starts = {
        "variance": variance,
        "lengthscale": span / np.sqrt(5.0),
        "variances": np.full(n_components, variance / n_components),
    }

    def start(name: str, p: Parameter) -> Parameter:
        value = starts.get(name.split(".")[-1])
        return p if value is None else p.with_value(value)

    return map_parameters(start, template)


def starting_kernel(
    kernel: str | Kernel,
    X: Float[np.ndarray, "N Q"],
    variance: float,
    shares: Float[np.ndarray, " Q"] | None = None,
) -> Kernel:
    """A kernel named by a string with weights by shares, if there are any, read off the data."""
    if shares is None or isinstance(kernel, Kernel):
        return initial_kernel(kernel, X, variance)
    return weighed(initial_kernel(kernel, X / np.maximum(X.std(axis=0), 1e-12), variance), shares)


def weighed(kernel: Kernel, shares: Float[np.ndarray, " Q"]) -> Kernel:
    """A kernel that weighs the dimensions by these shares of its largest weight.

    Lengthscales grow by 1/√share, variances of slopes shrink with the share, their sum kept.
    """
    changes = {
        "lengthscale": 1.0 / np.sqrt(shares),
        "variances": shares * len(shares) / shares.sum(),
    }

    def change(name: str, p: Parameter) -> Parameter:
        factor = changes.get(name.split(".")[-1])
        if factor is None or p.raw.shape != factor.shape:
            return p
        return p.with_value(p.value * factor)

    return map_parameters(change, kernel)

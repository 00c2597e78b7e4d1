"""Maximum likelihood in closed form: PPCA, PCCA, and canonical directions of many views."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy.linalg import cho_solve, eigh, solve_triangular
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.decomposition import PCA

from ..data.patterns import mean_filled
from ..errors import OptionError
from ..fitted import Tables
from .emission import CorrelatedNoise
from .linear_gaussian import LinearGaussian, column_signs, independent

LEAST_NOISE = 1e-9  # one minus the largest squared canonical correlation a PCCA may have
LARGEST_SHARE = 0.95  # of a whitened view's variance that a start may give to the latent space


def ppca(
    Y: Float[np.ndarray, "N D"], n_components: int, floor: float, seed: int | None = None
) -> LinearGaussian:
    """W = U (Λ - σ²I)^½, σ² = mean of the D - q discarded eigenvalues [Leen08, §2.4.2]."""
    n_samples, D = Y.shape
    kept = min(n_components, *Y.shape)
    pca = PCA(kept, random_state=seed).fit(Y)
    roots = pca.explained_variance_ * (n_samples - 1) / n_samples
    total = float(Y.var(axis=0).sum())
    noise = (total - roots.sum()) / (D - kept) if kept < D else 0.0
    noise = max(noise, floor * total / D)
    W = np.zeros((D, n_components))
    W[:, :kept] = pca.components_.T * np.sqrt(np.maximum(roots - noise, 0.0))
    return LinearGaussian((independent(W, pca.mean_, np.full(D, noise)),))


def principal_ppca(
    S: Float[np.ndarray, "D D"], n_components: int
) -> tuple[Float[np.ndarray, "D Q"], Float[np.ndarray, "D D"]]:
    """`ppca()` of a covariance: W and Ψ = σ²I of the largest likelihood.

    Of D columns, D - 1 components leave σ² to be estimated; more of them are zero.
    """
    D = len(S)
    kept = min(n_components, D - 1)
    values, vectors = np.linalg.eigh(S)
    noise = float(values[: D - kept].mean())
    W = np.zeros((D, n_components))
    W[:, :kept] = vectors[:, ::-1][:, :kept] * np.sqrt(values[::-1][:kept] - noise)
    return W, noise * np.eye(D)


def ridge_of(Y: Float[np.ndarray, "N D"], regularisation: float | str) -> float:
    """The variance to add to a view's covariance: a share of its mean variance.

    ``"auto"`` is Ledoit and Wolf's: shrinkage c towards the identity is a ridge of c / (1-c).
    """
    variance = float(np.nanvar(Y, axis=0).mean())
    if regularisation != "auto":
        return float(regularisation) * variance
    complete = Y[~np.isnan(Y).any(axis=1)]
    if len(complete) < 2:
        complete = mean_filled(Y)
    shrinkage = min(float(ledoit_wolf_shrinkage(complete)), 0.999)
    return shrinkage / (1.0 - shrinkage) * variance


class Canonical(NamedTuple):
    """Directions U_k with U_kᵀΣ_kk U_k = I by column, factors of Σ_kk, and correlations."""

    directions: list[Float[np.ndarray, "_ Q"]]
    factors: list[Float[np.ndarray, "_ _"]]
    correlations: Float[np.ndarray, " Q"]


def canonical_directions(
    tables: Tables, n_components: int, ridges: Sequence[float], names: Sequence[str]
) -> Canonical:
    """Directions of the largest correlation over all pairs of complete views.

    C u = λ blkdiag(Σ_kk) u with C the covariance of all views, Σ_kk with a ridge added
    ([Leen08, §2.5.3]; Kettenring's maximum variance for more than two views). For two views
    λ - 1 is the canonical correlation; in general (λ - 1) / (K - 1) is the mean over pairs.
    Every view's directions are scaled to U_kᵀΣ_kk U_k = I by column.
    """
    n_samples = len(tables[0])
    centred = [Y - Y.mean(axis=0) for Y in tables]
    factors = [
        _factor(Y.T @ Y / n_samples + ridge * np.eye(Y.shape[1]), name, n_samples)
        for Y, ridge, name in zip(centred, ridges, names, strict=True)
    ]
    white = [solve_triangular(L, Y.T, lower=True).T for L, Y in zip(factors, centred, strict=True)]
    if len(tables) == 2:
        left, rho, right = np.linalg.svd(white[0].T @ white[1] / n_samples, full_matrices=False)
        parts, rho = [left[:, :n_components], right[:n_components].T], rho[:n_components]
    else:
        Z, sizes = np.hstack(white), [len(L) for L in factors]
        between = np.where(same_view(sizes), 0.0, Z.T @ Z / n_samples)
        D = len(between)
        values, vectors = eigh(between, subset_by_index=[max(D - n_components, 0), D - 1])
        parts, rho = [vectors[p, ::-1] for p in spans(sizes)], values[::-1] / (len(tables) - 1)
        parts = [part / np.maximum(np.linalg.norm(part, axis=0), 1e-12) for part in parts]
    sign = column_signs(parts[0])
    directions = [
        solve_triangular(L.T, part * sign, lower=False)
        for L, part in zip(factors, parts, strict=True)
    ]
    return Canonical(directions, factors, np.clip(rho, 0.0, None))


def pcca(
    tables: Tables, n_components: int, ridges: Sequence[float], names: Sequence[str]
) -> LinearGaussian:
    """W_i = Σ_ii U_i P^½ and Ψ_i = Σ_ii - W_iW_iᵀ (Bach & Jordan 2005; [Leen08, §2.5.4, E5]).

    The thesis prints P for P^½, which is not the maximum. For more than two views the same
    construction is not the maximum, but a good start for EM.
    """
    found = canonical_directions(tables, n_components, ridges, names)
    rho = found.correlations
    if len(tables) > 2:
        rho = np.minimum(rho, 0.9)
    if rho.size and rho[0] ** 2 > 1.0 - LEAST_NOISE:
        raise OptionError(
            f"views {list(names)} have a canonical correlation of one, which leaves no noise: "
            "too few samples for so many columns, or a column in both; set regularisation"
        )
    views = []
    for Y, U, L in zip(tables, found.directions, found.factors, strict=True):
        W = L @ (L.T @ U) * np.sqrt(rho)
        if len(tables) > 2:
            W = W * room_for_noise(L.T @ U * np.sqrt(rho))
        views.append(CorrelatedNoise(W, Y.mean(axis=0), L @ L.T - W @ W.T))
    return LinearGaussian(tuple(views))


def canonical_pcca(
    S: Float[np.ndarray, "D D"], sizes: Sequence[int], n_components: int
) -> tuple[Float[np.ndarray, "D Q"], Float[np.ndarray, "D D"]]:
    """`pcca()` of a covariance: W and block-diagonal Ψ with WWᵀ + Ψ close to S.

    With each view whitened, the leading eigenvectors v and eigenvalues λ of S give
    W = v (K (λ - 1) / (K - 1))^½, and Ψ_i = S_ii - W_iW_iᵀ. For two views λ = 1 + ρ, and it is the
    maximum of the likelihood; for more it is a start.
    """
    within, n_views = same_view(sizes), len(sizes)
    L = np.linalg.cholesky(np.where(within, S, 0.0))
    half = solve_triangular(L, S, lower=True)
    white = solve_triangular(L, half.T, lower=True)
    values, vectors = np.linalg.eigh(0.5 * (white + white.T))
    excess = np.maximum(values[::-1][:n_components] - 1.0, 0.0)
    loadings = vectors[:, ::-1][:, :n_components] * np.sqrt(excess * n_views / (n_views - 1))
    if n_views > 2:
        for part in spans(sizes):
            loadings[part] *= room_for_noise(loadings[part])
    W = L @ loadings
    return W, np.where(within, S - W @ W.T, 0.0)


def room_for_noise(loadings: Float[np.ndarray, "D Q"]) -> float:
    """The factor, at most one, by which loadings of a whitened view leave noise everywhere."""
    share = float(np.linalg.norm(loadings, ord=2)) ** 2
    return float(np.sqrt(min(1.0, LARGEST_SHARE / max(share, 1e-300))))


def balanced(model: LinearGaussian) -> LinearGaussian:
    """The same density of two views with W_i = Σ_ii U_i P^½.

    The likelihood fixes W₁W₂ᵀ = Σ₁₂ and Σ_ii, but not how the correlation is divided between
    W₁ and W₂ (Bach & Jordan 2005, theorem 2): EM stops anywhere in between.
    """
    parts, rho = _whitened_loadings(model)
    left, _, right = np.linalg.svd(parts[0][1] @ parts[1][1].T, full_matrices=False)
    Q = model.n_components
    views = []
    for view, (L, _), V in zip(model.views, parts, (left[:, :Q], right[:Q].T), strict=True):
        W = L @ V * np.sqrt(rho)
        views.append(CorrelatedNoise(W, view.mean, L @ L.T - W @ W.T))
    return LinearGaussian(tuple(views))


def model_correlations(model: LinearGaussian) -> Float[np.ndarray, " Q"]:
    """Canonical correlations between the two views of a model, from its covariances."""
    return _whitened_loadings(model)[1]


def _whitened_loadings(
    model: LinearGaussian,
) -> tuple[list[tuple[np.ndarray, np.ndarray]], Float[np.ndarray, " Q"]]:
    """L and L⁻¹W of both views, LLᵀ = WWᵀ + Ψ, and the canonical correlations."""
    parts = []
    for view in model.views:
        assert isinstance(view, CorrelatedNoise)
        W = view.loadings
        L = np.linalg.cholesky(W @ W.T + view.covariance)
        parts.append((L, solve_triangular(L, W, lower=True)))
    rho = np.linalg.svd(parts[0][1] @ parts[1][1].T, compute_uv=False)
    return parts, rho[: model.n_components]


def whitened(view: CorrelatedNoise) -> tuple[Float[np.ndarray, "D Q"], Float[np.ndarray, "D D"]]:
    """V = Ψ^-½ W and Ψ^½: the view as PPCA of unit noise, z = Ψ^-½ (y - μ) [Leen08, §3.3]."""
    values, vectors = np.linalg.eigh(view.covariance)
    root = vectors * np.sqrt(values) @ vectors.T
    return cho_solve((np.linalg.cholesky(root), True), view.loadings), root


def spans(sizes: Sequence[int]) -> list[slice]:
    """Where the columns of every view are among those of all, side by side."""
    return [slice(a, b) for a, b in pairwise(np.cumsum((0, *sizes)).tolist())]


def same_view(sizes: Sequence[int]) -> Bool[np.ndarray, "D D"]:
    """Which pairs of columns belong to one view: the blocks of Ψ."""
    view = np.repeat(np.arange(len(sizes)), sizes)
    return view[:, None] == view[None, :]


def _factor(S: Float[np.ndarray, "D D"], name: str, n_samples: int) -> Float[np.ndarray, "D D"]:
    try:
        L = np.linalg.cholesky(S)
    except np.linalg.LinAlgError:
        L = np.zeros_like(S)
    if np.diagonal(L).min() ** 2 <= 1e-12 * np.diagonal(S).max():
        raise OptionError(
            f"the covariance of view {name!r} is singular ({len(S)} columns, {n_samples} samples): "
            "set regularisation, for example to 'auto'"
        )
    return L

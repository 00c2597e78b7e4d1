"""PCCA of a covariance matrix: closed form for two views, a start for more (001 §2.5.4)."""

from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Float
from scipy.linalg import block_diag, solve_triangular

LARGEST_SHARE = 0.95  # of a whitened view's variance that a start may give to the latent space


def canonical_pcca(
    S: Float[np.ndarray, "D D"], sizes: tuple[int, ...], n_components: int
) -> tuple[Float[np.ndarray, "D Q"], Float[np.ndarray, "D D"]]:
    """W and block-diagonal Ψ with WWᵀ + Ψ close to S.

    With each view whitened, the leading eigenvectors v and eigenvalues λ of S give
    W = v (K (λ - 1) / (K - 1))^{1/2}, and Ψ_i = S_ii - W_i W_iᵀ. For two views λ = 1 + ρ and
    W_i = S_ii U_i P^{1/2}: the maximum of the likelihood (Bach and Jordan 2005; 001 §2.5.4 with
    P^{1/2} where the text has P). For more views there is no closed form.
    """
    edges = np.cumsum((0, *sizes))
    parts = [slice(a, b) for a, b in pairwise(edges)]
    factor = block_diag(*(np.linalg.cholesky(S[p, p]) for p in parts))
    half = solve_triangular(factor, S, lower=True)
    white = solve_triangular(factor, half.T, lower=True)
    values, vectors = np.linalg.eigh(0.5 * (white + white.T))
    excess = np.maximum(values[::-1][:n_components] - 1.0, 0.0)
    n_views = len(sizes)
    loadings = vectors[:, ::-1][:, :n_components] * np.sqrt(excess * n_views / (n_views - 1))
    if n_views > 2:
        for p in parts:
            share = float(np.linalg.norm(loadings[p], ord=2)) ** 2
            loadings[p] *= np.sqrt(min(1.0, LARGEST_SHARE / max(share, 1e-300)))
    W = factor @ loadings
    return W, np.where(same_view(sizes), S - W @ W.T, 0.0)


def same_view(sizes: tuple[int, ...]) -> Bool[np.ndarray, "D D"]:
    """Which pairs of columns belong to one view: the blocks of Ψ."""
    view = np.repeat(np.arange(len(sizes)), sizes)
    return view[:, None] == view[None, :]

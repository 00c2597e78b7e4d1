"""Where a model of several kinds of data starts: from the factors of a linear one.

Principal components of views side by side mix what is shared with what is private, and a model of
counts or levels takes long to part them again. Group factor analysis parts them at once, on the
scales of the functions where linear methods make sense; its relevances start the kernels. A factor
that is a curve of others (a signal bends, and its square seems to be one more) is left to the maps.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from ..inference.initialise import compact_view
from ..linear.variational_factors import starting_positions, variational_factors

LEAST = 1e-3  # relevance that a dimension starts with, so that it can be found useful
UNUSED = 0.1  # standard deviation of the latent means of a dimension that no factor takes
ITERATIONS = 500
PAIRS = 10  # products of the most important factors
DEGREE, BENT = 3, 0.25  # of polynomials; share of a factor that these explain if it is a curve


def factor_start(
    tables: Sequence[Float[np.ndarray, "N _"]], n_components: int, rng: np.random.Generator
) -> tuple[Float[np.ndarray, "N Q"], Float[np.ndarray, "K Q"]]:
    """Latent means of unit variance, and how relevant every dimension is for every view.

    ``tables`` are on the scales of the functions. Dimensions that no factor takes start small.
    """
    wide = any(Y.shape[1] > Y.shape[0] for Y in tables)
    compact = [compact_view(Y) for Y in tables] if wide else list(tables)
    start = starting_positions(compact, n_components, 0, rng)
    result = variational_factors(compact, start, shared_noise=wide, max_iter=ITERATIONS)
    found = result.model.infer(compact)[0].mean
    relevance = np.array([np.mean(view.loadings**2, axis=0) for view in result.model.views])
    order = np.argsort(-relevance.sum(axis=0), kind="stable")
    found, relevance = found[:, order], relevance[:, order]
    kept = not_curves(found)
    found, relevance = found[:, kept], relevance[:, kept]
    means = UNUSED * rng.standard_normal((len(found), n_components))
    means[:, : found.shape[1]] = found / np.maximum(found.std(axis=0), 1e-12)
    shares = np.full((len(tables), n_components), LEAST)
    largest = np.maximum(relevance.max(axis=1, keepdims=True), 1e-300)
    shares[:, : found.shape[1]] = np.maximum(relevance / largest, LEAST)
    return means, shares


def not_curves(factors: Float[np.ndarray, "N Q"]) -> list[int]:
    """The factors that are no curve of the more important ones before them.

    A factor is one if polynomials and products predict more than a quarter of its variance when
    each sample is left out in turn.
    """
    kept: list[int] = []
    for place, y in enumerate(factors.T):
        if not kept or predicted_share(factors[:, kept], y) < BENT:
            kept.append(place)
    return kept


def predicted_share(X: Float[np.ndarray, "N P"], y: Float[np.ndarray, " N"]) -> float:
    """Share of variance that polynomials of columns and their products predict, leaving one out."""
    Z = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    first, second = np.triu_indices(Z.shape[1], 1)
    pairs = (Z[:, first] * Z[:, second])[:, :PAIRS]
    basis = np.hstack([np.ones((len(Z), 1)), *[Z**k for k in range(1, DEGREE + 1)], pairs])
    Q, _ = np.linalg.qr(basis)
    left = (y - Q @ (Q.T @ y)) / np.maximum(1.0 - np.sum(Q**2, axis=1), 1e-6)
    return 1.0 - float(np.sum(left**2) / max(np.sum((y - y.mean()) ** 2), 1e-300))

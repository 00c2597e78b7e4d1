"""Shares of the members in the mean: least squares on errors of held-out values."""

import numpy as np
from jaxtyping import Bool, Float
from scipy.optimize import nnls

from .scores import training_scale

LEAN = 10.0  # rows, by which shares lean on what the members are worth one by one
LEAN_OF_COLUMNS = 30.0  # rows, by which those of a column lean on those of the view
REACH = 5.0  # root mean squares of the best member: values that all miss by more do not count


def mean_shares(
    means: Float[np.ndarray, "M N D"], truth: Float[np.ndarray, "N D"], by_column: bool = False
) -> Float[np.ndarray, "M _"]:
    """Shares v ≥ 0, Σ v = 1, of the members in the mean Σ_m v_m μ_m of smallest squared errors,

        min_v  vᵀ G v + (10 / N) g |v - u|²,   u_m ∝ (G_mm / g)^(-N/4),   g = min_m G_mm,

    with G the mean products of the members' held-out errors (Breiman 1996). The shares lean by ten
    rows on u: how likely each member is alone, two rows counting as one value, since the columns
    of a row err together. By column, G is that of the column, leaning by thirty rows on that
    of all columns.

    Parameters
    ----------
    means : ndarray of shape (n_members, n_rows, n_columns)
        Of rows that the members were not fitted to.
    truth : ndarray of shape (n_rows, n_columns)
        NaN where there is no value.

    Returns
    -------
    ndarray of shape (n_members, 1) or (n_members, n_columns)

    Examples
    --------
    >>> import numpy as np
    >>> from manyviews.stacking.shares import mean_shares
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=(200, 3))
    >>> means = np.stack([truth + rng.normal(size=truth.shape) for _ in range(2)])
    >>> mean_shares(means, truth).round(1).T
    array([[0.5, 0.5]])
    """
    counted = ~np.isnan(truth) & _within_reach((means - truth) / training_scale(truth))
    scale = training_scale(np.where(counted, truth, np.nan))
    errors = np.where(counted, (means - truth) / scale, 0.0)
    counts = counted.sum(axis=0)
    of_view = np.einsum("mnd,knd->mk", errors, errors) / max(int(counts.sum()), 1)
    alone = _alone(np.diag(of_view), len(truth))
    penalty = LEAN * float(np.min(np.diag(of_view)))
    if not by_column:
        return _on_simplex(of_view, penalty / len(truth), alone)[:, None]
    found = []
    for column, count in zip(np.moveaxis(errors, 2, 0), counts, strict=True):
        products = column @ column.T + LEAN_OF_COLUMNS * of_view
        weight = float(count) + LEAN_OF_COLUMNS
        found.append(_on_simplex(products / weight, penalty / weight, alone))
    return np.stack(found, axis=1)


def _alone(squares: Float[np.ndarray, " M"], n_rows: int) -> Float[np.ndarray, " M"]:
    """What each member is worth by its own errors."""
    logs = np.log(np.maximum(squares, np.finfo(float).tiny))
    found = np.exp(-n_rows / 4.0 * (logs - logs.min()))
    return found / found.sum()


def _within_reach(errors: Float[np.ndarray, "M N D"]) -> Bool[np.ndarray, "N D"]:
    size = np.sqrt(np.nanmean(errors**2, axis=(1, 2))).min()
    return np.abs(errors).min(axis=0) <= REACH * size


def _on_simplex(
    products: Float[np.ndarray, "M M"], penalty: float, towards: Float[np.ndarray, " M"]
) -> Float[np.ndarray, " M"]:
    """Minimise vᵀGv + penalty |v - u|² over v ≥ 0, Σ v = 1.

    That is min |Lᵀv - g|² with LLᵀ = G + penalty I and L g = penalty u, non-negative least squares;
    a heavy row holds the sum.
    """
    n = len(products)
    size = float(np.trace(products)) / n
    if size == 0.0:
        return towards
    root = np.linalg.cholesky(products / size + (penalty / size + 1e-10) * np.eye(n))
    wanted = np.linalg.solve(root, penalty / size * towards)
    found, _ = nnls(np.vstack([root.T, np.full((1, n), 1e4)]), np.append(wanted, 1e4))
    return found / found.sum()

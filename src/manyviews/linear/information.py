"""Mutual information of two sets of variables [Leen08, §2.5]."""

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.stats import rankdata

from ..errors import DataError, OptionError
from .cca import CCA


def gaussian_mutual_information(
    a: Any, b: Any = None, *, regularisation: float | str = 0.0
) -> float:
    """Mutual information of two jointly Gaussian tables: -½ Σ_i log(1 - ρ_i²) nats.

    ρ are canonical correlations. For tables that are not Gaussian it is the mutual information of
    Gaussians with their covariances. With N samples it is too large by about D_a D_b / 2N nats.

    Parameters
    ----------
    a, b : tables with equally many rows
        Or ``a`` alone, holding canonical correlations: ``model.canonical_correlations_``.
    regularisation : float or "auto", default=0.0
        As in `CCA`.

    Examples
    --------
    >>> from manyviews.linear import gaussian_mutual_information
    >>> round(gaussian_mutual_information([0.8]), 3)
    0.511
    """
    if b is None:
        rho = np.asarray(a, dtype=np.float64).ravel()
        if not ((rho >= 0) & (rho <= 1)).all():
            raise DataError("canonical correlations lie between 0 and 1")
    else:
        tables = {"a": _table(a), "b": _table(b)}
        narrow = min(table.shape[1] for table in tables.values())
        model = CCA(narrow, regularisation=regularisation).fit(tables)
        rho = model.canonical_correlations_
    with np.errstate(divide="ignore"):
        return float(-0.5 * np.sum(np.log1p(-(np.minimum(rho, 1.0) ** 2))))


def feature_efficiency(a: Any, b: Any, *, n_bins: int | None = None) -> Float[np.ndarray, " Q"]:
    """Efficiency I(x₁; x₂) / H(x₁, x₂) of pairs of features, from 0 to 1 [Leen08, eq. 2.71].

    Near one, two features carry what they have in common and little else (Butz & Thiran 2005). The
    bounds hold for discrete entropies, so each feature is cut into equally filled bins. The value
    depends on their number; compare it for features of equal length only.

    Parameters
    ----------
    a, b : tables with equally many rows and columns
        Column q of ``a`` is paired with column q of ``b``: for example canonical variates.
    n_bins : int, optional
        Default: the cube root of the number of rows, at least 2.

    Examples
    --------
    >>> import numpy as np
    >>> from manyviews.linear import feature_efficiency
    >>> x = np.arange(100.0)[:, None]
    >>> feature_efficiency(x, x**3).round(3)
    array([1.])
    """
    first, second = _table(a), _table(b)
    if first.shape != second.shape:
        raise DataError(f"features come in pairs, got tables of {first.shape} and {second.shape}")
    n_rows = len(first)
    bins = max(2, round(n_rows ** (1 / 3))) if n_bins is None else int(n_bins)
    if bins < 2:
        raise OptionError(f"n_bins must be at least 2, got {bins}")
    efficiencies = []
    for x, y in zip(first.T, second.T, strict=True):
        cells = [np.minimum((rankdata(v) - 0.5) * bins // n_rows, bins - 1) for v in (x, y)]
        joint = np.zeros((bins, bins))
        np.add.at(joint, (cells[0].astype(int), cells[1].astype(int)), 1.0 / n_rows)
        whole = _entropy(joint.ravel())
        shared = _entropy(joint.sum(axis=0)) + _entropy(joint.sum(axis=1)) - whole
        efficiencies.append(max(shared, 0.0) / whole if whole > 0 else 0.0)
    return np.array(efficiencies)


def _entropy(shares: np.ndarray) -> float:
    shares = shares[shares > 0]
    return float(-np.sum(shares * np.log(shares)))


def _table(given: Any) -> Float[np.ndarray, "N D"]:
    table = np.asarray(given, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or not np.isfinite(table).all():
        raise DataError("give complete tables (rows x columns)")
    return table

"""Views that the same latent dimensions move: k-means of their weights [MRD21, §5.6]."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..errors import OptionError

STARTS = 20


def cluster_rows(
    table: pd.DataFrame, n_clusters: Any, groups: Any = None, random_state: Any = None
) -> pd.Series:
    """The cluster of every row of a table, or of every group of rows, by k-means.

    The rows of a group are laid side by side, w_j = [w_x w_y w_z], in the order of the table.
    Clusters are numbered in the order in which they appear.

    Parameters
    ----------
    groups : Mapping, Series or sequence, optional
        The group of every row, by its name or in the order of the rows.
    """
    features = table if groups is None else side_by_side(table, groups)
    n = len(features)
    if isinstance(n_clusters, bool) or not isinstance(n_clusters, int | np.integer):
        raise OptionError(f"n_clusters must be a whole number, got {n_clusters!r}")
    if not 1 <= n_clusters <= n:
        raise OptionError(f"n_clusters must lie between 1 and the {n} rows, got {n_clusters}")
    from sklearn.cluster import KMeans  # slow to import

    means = KMeans(int(n_clusters), n_init=STARTS, random_state=random_state)
    found, _ = pd.factorize(means.fit_predict(features.to_numpy(float)))
    return pd.Series(found, features.index, name="cluster")


def side_by_side(table: pd.DataFrame, groups: Any) -> pd.DataFrame:
    """A row for every group: the rows of its members, one after the other."""
    of_row = _of_row(table, groups)
    sizes = of_row.value_counts(sort=False)
    if sizes.nunique() > 1:
        least, most = sizes.idxmin(), sizes.idxmax()
        raise OptionError(
            f"groups must be equally large: {least!r} has {sizes.min()}, {most!r} has {sizes.max()}"
        )
    names = list(dict.fromkeys(of_row))
    rows = [table.to_numpy()[(of_row == name).to_numpy()].ravel() for name in names]
    return pd.DataFrame(np.stack(rows), index=names)


def _of_row(
    table: pd.DataFrame, groups: Mapping[Any, Any] | pd.Series | Sequence[Any] | np.ndarray
) -> pd.Series:
    if isinstance(groups, Mapping | pd.Series):
        absent = [name for name in table.index if name not in groups]
        if absent:
            raise OptionError(f"groups lack {absent[0]!r}")
        return pd.Series([groups[name] for name in table.index], dtype=object)
    if len(groups) != len(table):
        raise OptionError(f"there are {len(table)} rows, and groups for {len(groups)}")
    return pd.Series(list(groups), dtype=object)

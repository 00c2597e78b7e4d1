"""What a classifier reads: one table through scikit-learn's checks, or several views by name."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from ..data import Views, is_mudata, numbers_only
from ..data.times import aligned_to


def several_views(X: Any) -> bool:
    """Whether features are views by name (or a list of tables), and not one table."""
    if isinstance(X, list | tuple):
        tables = [part for part in X if part is not None]
        return bool(tables) and np.ndim(tables[0]) == 2
    return is_mudata(X) or (isinstance(X, Mapping) and not issparse(X))


def one_table(model: Any, X: Any, reset: bool) -> Float[np.ndarray, "N D"]:
    """A table of numbers, checked against the one that the model was fitted to unless ``reset``."""
    with numbers_only(X, "X"):
        return validate_data(model, X, reset=reset, dtype=np.float64, ensure_all_finite=False)


def labels_of(y: Any, views: Views) -> Any:
    """Labels in the order of the samples: by their index, where the views have row names, too."""
    if not views.labelled or not isinstance(y, pd.Series | pd.DataFrame):
        return y
    aligned_to(views.samples, y, "y")  # refuses labels of other samples
    return y.loc[views.samples]

"""Tables of other libraries, as pandas DataFrames."""

from typing import Any

import numpy as np
import pandas as pd

from .identifiers import is_identifier


def is_foreign(table: Any) -> bool:
    """Whether something is a table of another library: Polars, PyArrow, Modin, cuDF."""
    return hasattr(table, "__dataframe__") and not isinstance(table, pd.DataFrame)


def from_foreign(table: Any) -> pd.DataFrame:
    """A pandas DataFrame of a table by its ``to_pandas``, or by the interchange protocol.

    Such tables have no row names. The first column that is called like an identifier and holds a
    different value in each row (``"sample"``, ``"patient_id"``) becomes the index.
    """
    if callable(getattr(table, "to_pandas", None)):
        frame = table.to_pandas()
    else:
        frame = pd.api.interchange.from_dataframe(table)
    if not isinstance(frame.index, pd.RangeIndex):
        return frame
    for column in frame.columns:
        if is_identifier(column, frame[column]):
            frame = frame.set_index(column)
            frame.index.name = None
            break
    return frame


def plain_number(value: Any) -> bool:
    """Whether an object is a number (of any library) or missing."""
    if isinstance(value, str | bytes | complex):
        return False
    if value is None or value is pd.NA or isinstance(value, int | float | np.number):
        return True
    return hasattr(value, "__float__") and not hasattr(value, "__len__")

"""Columns that name samples rather than measure them."""

import re

import numpy as np
import pandas as pd

NAMES = re.compile(
    r"^(row|sample|specimen|patient|subject|participant|person|individual|donor|case|animal|mouse|"
    r"cell|barcode|respondent|user|customer|observation|obs|record|unit|frame|image)?[ _.\-]*"
    r"(id|ids|identifier|key|name|names|no|nr|number|index|code|barcode)$|"
    r"^(sample|samples|specimen|patient|subject|participant|donor|individual|animal|mouse|barcode|"
    r"respondent|case|rownames?|index)$|^.+[ _.\-]id$",
    re.IGNORECASE,
)
FEW = 10  # rows below which numbers in a row say nothing


def named_like_identifier(column: object) -> bool:
    """Whether a column's header is what people call the names of samples."""
    return isinstance(column, str) and NAMES.match(column.strip()) is not None


def is_identifier(column: object, values: pd.Series) -> bool:
    """Whether a column names samples by its header and holds a different whole number or text each.

    Numbers are taken for names only if their column is called like one.
    """
    if not named_like_identifier(column) or values.isna().any() or not values.is_unique:
        return False
    return not pd.api.types.is_numeric_dtype(values.dtype) or _whole(values)


def is_counter(values: pd.Series) -> bool:
    """Whether a column only numbers its rows: whole numbers one by one, up or down."""
    if len(values) < FEW or not pd.api.types.is_numeric_dtype(values.dtype):
        return False
    if pd.api.types.is_bool_dtype(values.dtype) or values.isna().any():
        return False
    steps = np.diff(values.to_numpy(dtype=np.float64))
    return bool(_whole(values) and (np.all(steps == 1.0) or np.all(steps == -1.0)))


def _whole(values: pd.Series) -> bool:
    if pd.api.types.is_complex_dtype(values.dtype):
        return False
    numbers = values.to_numpy(dtype=np.float64)
    return bool(np.isfinite(numbers).all() and (numbers == np.round(numbers)).all())

"""Results as CSV files."""

import os

import pandas as pd

from ..escaping import no_formula
from ..storage import replacing


def write_csv(frame: pd.DataFrame, path: str | os.PathLike[str], index: bool = True) -> None:
    """A table as a CSV file in which no name or word is a formula to a spreadsheet."""
    safe = frame.rename(index=no_formula, columns=no_formula)
    for place, kind in enumerate(safe.dtypes):
        if not pd.api.types.is_numeric_dtype(kind):
            safe.isetitem(place, [no_formula(value) for value in safe.iloc[:, place]])
    with replacing(path) as part:
        safe.to_csv(part, index=index, errors="replace")

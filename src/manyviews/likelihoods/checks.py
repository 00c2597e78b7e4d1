"""Checks of values by kind, with errors that name view, row, column and remedy."""

import numpy as np
from jaxtyping import Bool, Float

from ..errors import DataError
from .base import Names


def refuse(
    wrong: Bool[np.ndarray, "N D"],
    Y: Float[np.ndarray, "N D"],
    view: str,
    columns: Names,
    rows: Names,
    what: str,
    remedy: str,
) -> None:
    """Raise an error that names the first wrong value, if there is any."""
    places = np.argwhere(wrong)
    if not len(places):
        return
    row, column = places[0].tolist()
    raise DataError(
        f"view {view!r} {what}, but row {_name(rows, row)}, column {_name(columns, column)} holds "
        f"{Y[row, column]:g} ({len(places)} such values in all): {remedy}"
    )


def refuse_all_but_counts(
    Y: Float[np.ndarray, "N D"], view: str, columns: Names, rows: Names, kind: str
) -> None:
    """Refuse negative and fractional numbers."""
    what = f"is to hold counts ({kind})"
    seen = ~np.isnan(Y)
    filled = np.where(seen, Y, 0.0)
    refuse(filled < 0, Y, view, columns, rows, what, "a count is not negative; correct the value")
    refuse(
        filled != np.round(filled), Y, view, columns, rows, what,
        "give raw counts, not normalised or log-transformed ones, or use likelihood='gaussian'",
    )  # fmt: skip


def seen_values(Y: Float[np.ndarray, "N D"], column: int) -> Float[np.ndarray, " n"]:
    """The values of a column that are not missing."""
    return Y[~np.isnan(Y[:, column]), column]


def _name(names: Names, index: int) -> str:
    return repr(names[int(index)]) if names is not None else str(int(index))

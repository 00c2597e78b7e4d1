"""The few values that columns of levels can take."""

import numpy as np
from jaxtyping import Array, Bool, Float

from ..errors import DataError
from .base import Names
from .checks import refuse, seen_values

MOST = 50


def levels_of(Y: Float[np.ndarray, "N D"], view: str = "", columns: Names = None) -> np.ndarray:
    """Distinct values of every column in order, D x L, with NaN where a column has fewer."""
    found = [np.unique(seen_values(Y, d)) for d in range(Y.shape[1])]
    most = max(len(values) for values in found)
    if most > MOST:
        column = int(np.argmax([len(values) for values in found]))
        name = repr(columns[column]) if columns is not None else str(column)
        raise DataError(
            f"column {name} of view {view!r} has {most} different values, more than {MOST} levels: "
            "use likelihood='gaussian', or 'negative_binomial' for counts"
        )
    table = np.full((len(found), max(most, 2)), np.nan)
    for row, values in zip(table, found, strict=True):
        row[: len(values)] = values
    return table


def stated(levels: Float[Array, "_ _"], Y: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "D L"]:
    """The levels that are stated, for one column or for all alike; else those that are there."""
    if not levels.shape[0]:
        return levels_of(Y)
    return np.array(np.broadcast_to(np.asarray(levels), (Y.shape[1], levels.shape[1])))


def known(Y: Float[np.ndarray, "N D"], levels: Float[np.ndarray, "D L"]) -> Bool[np.ndarray, "N D"]:
    """Which values are levels of their columns; missing ones are."""
    return np.isnan(Y) | (Y[:, :, None] == levels).any(axis=2)


def refuse_unknown(
    Y: Float[np.ndarray, "N D"], levels: Float[np.ndarray, "D L"], view: str, columns: Names,
    rows: Names,
) -> None:  # fmt: skip
    """Refuse levels that were not there when the model was fitted."""
    refuse(
        ~known(Y, levels), Y, view, columns, rows, "has the levels that it was fitted with",
        "it was never seen in training; set it to NaN, or fit with a sample that has it",
    )  # fmt: skip


def frequencies(
    Y: Float[np.ndarray, "N D"], levels: Float[np.ndarray, "D L"]
) -> Float[np.ndarray, "D L"]:
    """Share of each level, half an observation of each added; zero where there is no level."""
    exists = ~np.isnan(levels)
    counts = (Y[:, :, None] == levels).sum(axis=0) + 0.5 * exists
    return counts / counts.sum(axis=1, keepdims=True)

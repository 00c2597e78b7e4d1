"""What counts are relative to: nothing, the total of a row, or exposures that came with them.

Rates are per typical exposure. For totals that is the typical count of every column, so that the
exposure of a row is judged by the columns that it has.
"""

import numpy as np
from jaxtyping import Float

from ..errors import DataError, OptionError
from .base import Names

TOTAL = "total"


def log_exposure(
    Y: Float[np.ndarray, "N D"],
    exposure: str | None,
    typical: Float[np.ndarray, "..."],
    beside: Float[np.ndarray, "N _"] | None,
) -> Float[np.ndarray, "N D"] | None:
    """Logarithm of every value's exposure over the typical one; zero where it is not known."""
    if exposure is None:
        return None
    ratio = _ratio(Y, exposure, typical, beside)
    known = np.nan_to_num(ratio) > 0
    return np.broadcast_to(np.log(np.where(known, ratio, 1.0)), Y.shape)


def typical_exposure(
    Y: Float[np.ndarray, "N D"],
    exposure: str | None,
    beside: Float[np.ndarray, "N _"] | None = None,
) -> Float[np.ndarray, " D"]:
    """Exposures relative to which the geometric mean of those of the data is one."""
    one = np.ones(Y.shape[1])
    if exposure is None:
        return one
    typical = np.maximum(np.nanmean(Y, axis=0), 1e-12) if exposure == TOTAL else one
    ratio = _ratio(Y, exposure, typical, beside)
    return typical * np.exp(np.mean(np.log(ratio[np.nan_to_num(ratio) > 0])))


def _ratio(
    Y: Float[np.ndarray, "N D"],
    exposure: str,
    typical: Float[np.ndarray, "..."],
    beside: Float[np.ndarray, "N _"] | None,
) -> Float[np.ndarray, "N _"]:
    if exposure == TOTAL:
        expected = (~np.isnan(Y)) @ np.broadcast_to(typical, Y.shape[1])
        return (np.nansum(Y, axis=1) / np.where(expected > 0, expected, np.inf))[:, None]
    if beside is None:
        raise OptionError(f"a view of counts needs its table of exposures {exposure!r}")
    return beside / np.broadcast_to(typical, Y.shape[1])


def check_totals(Y: Float[np.ndarray, "N D"], view: str, rows: Names) -> None:
    """Refuse rows whose counts are all zero, where totals are exposures."""
    empty = np.flatnonzero((np.nansum(Y, axis=1) == 0) & ~np.isnan(Y).all(axis=1))
    if empty.size:
        name = repr(rows[int(empty[0])]) if rows is not None else str(int(empty[0]))
        raise DataError(
            f"row {name} of view {view!r} has a total of zero ({empty.size} such rows), and totals "
            "are its exposures: leave it out, or set exposure=None"
        )

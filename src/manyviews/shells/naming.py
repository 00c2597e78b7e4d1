"""Names of views at the edge: one or several of them, options by view, checks of tables."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..data import Aligned, check_values
from ..errors import DataError, OptionError

Names = str | Sequence[str]


def listed(names: Any) -> list[str]:
    """One name or several, as a list."""
    if names is None:
        return []
    if not isinstance(names, str | Iterable):
        raise OptionError(f"views are named by a str or a list of them, got {names!r}")
    return [names] if isinstance(names, str) else list(names)


def places_of(names: Names, views: Sequence[str]) -> list[int]:
    """Where the views of these names stand."""
    for name in listed(names):
        if name not in views:
            raise OptionError(f"there is no view {name!r}: there are {list(views)}")
    return [views.index(name) for name in listed(names)]


def by_view(option: Any, name: str, default: Any, views: Sequence[str]) -> list[Any]:
    """An option for every view: one for all, or a dict by name with a default."""
    if not isinstance(option, dict):
        return [option] * len(views)
    unknown = [view for view in option if view not in views]
    if unknown:
        raise OptionError(f"{name} names the view {unknown[0]!r}; the views are {list(views)}")
    return [option.get(view, default) for view in views]


def known_views(found: Aligned) -> list[str]:
    """The views that have any value."""
    pairs = zip(found.names, found.tables, strict=True)
    return [name for name, table in pairs if not np.isnan(table).all()]


def refuse_second_view(y: Any) -> None:
    """Refuse a table in the place of targets, which a model of views has no use for.

    One label per sample is let pass, as scikit-learn hands it to whatever it fits.
    """
    if y is None or isinstance(y, str) or not (is_table(y) or isinstance(y, dict | list | tuple)):
        return
    if isinstance(y, list | tuple) and not any(np.ndim(part) for part in y):
        return
    raise DataError(
        "the second argument of fit is no view: give all views together, as in "
        "fit({'first': A, 'second': B}) or fit([A, B])"
    )


def is_table(given: Any) -> bool:
    """Whether something has rows and columns."""
    return len(getattr(given, "shape", ())) > 1


def check_views(found: Aligned, empty_rows: bool = False) -> None:
    """Refuse infinities, and samples of which no view knows anything (unless allowed)."""
    for name, table, columns in zip(found.names, found.tables, found.columns, strict=True):
        check_values(table, name, columns, found.samples, empty_rows=True)
    observed = np.stack([~np.isnan(table).all(axis=1) for table in found.tables]).any(axis=0)
    if not observed.any() or not (observed.all() or empty_rows):
        empty = found.samples[int(np.flatnonzero(~observed)[0])]
        raise DataError(
            f"sample {empty!r} has no value in any view ({int((~observed).sum())} such samples): "
            "leave it out"
        )

"""Names at the edge of every model of several views: reading and scaling tables."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from ..data import (
    Scaling,
    Views,
    as_views,
    check_training_columns,
    check_values,
    match_views,
)
from ..errors import DataError, OptionError
from .fitted import MIN_SAMPLES, FittedModel

Names = str | Sequence[str]


class NamedTables(FittedModel):
    """A model with a name, columns and a scaling for every view."""

    view_names_: tuple[str, ...]
    columns_: tuple[list[Any], ...]
    samples_: list[Any]
    labelled_: bool
    scalings_: tuple[Scaling, ...]
    align: str
    split_columns: bool = False

    def _read_training(self, views: Any) -> Views:
        found = as_views(views, self.align)
        self.given_names_, self.given_columns_ = found.names, found.columns
        found = found.one_per_column() if self.split_columns else found
        if len(found.samples) < MIN_SAMPLES:
            raise DataError(f"at least {MIN_SAMPLES} samples are needed, got {len(found.samples)}")
        return found

    def _take(self, found: Views, empty_rows: bool = False) -> list[Float[np.ndarray, "N _"]]:
        """Check the training views, keep their names and scales, return them scaled."""
        check_views(found, empty_rows)
        for name, table, columns in zip(found.names, found.tables, found.columns, strict=True):
            check_training_columns(table, name, columns)
        self.view_names_, self.columns_ = found.names, found.columns
        self.samples_, self.labelled_ = found.samples, found.labelled
        choices = self._by_view(self.scaling, "scaling", "view")
        self.scalings_ = tuple(
            Scaling.fit(table, choice) for table, choice in zip(found.tables, choices, strict=True)
        )
        return self._scaled(found)

    def _read_new(self, views: Any) -> Views:
        check_is_fitted(self)
        found = match_views(views, self.given_names_, self.given_columns_, self.align)
        return found.one_per_column() if self.split_columns else found

    @property
    def _scalings(self) -> tuple[Scaling, ...]:
        return self.scalings_

    def _scaled(self, found: Views) -> list[Float[np.ndarray, "N _"]]:
        pairs = zip(self.scalings_, found.tables, strict=True)
        return [scaling.apply(table) for scaling, table in pairs]

    def _by_view(self, option: Any, name: str, default: Any) -> list[Any]:
        """An option for every view: one for all, or a dict by name with a default."""
        if not isinstance(option, dict):
            return [option] * len(self.view_names_)
        unknown = [view for view in option if view not in self.view_names_]
        if unknown:
            raise OptionError(
                f"{name} names the view {unknown[0]!r}; the views are {list(self.view_names_)}"
            )
        return [option.get(view, default) for view in self.view_names_]

    def _places(self, names: Names) -> list[int]:
        for name in listed(names):
            if name not in self.view_names_:
                raise OptionError(f"there is no view {name!r}: there are {list(self.view_names_)}")
        return [self.view_names_.index(name) for name in listed(names)]

    def _known(self, found: Views) -> list[str]:
        pairs = zip(found.names, found.tables, strict=True)
        return [name for name, table in pairs if not np.isnan(table).all()]

    def _like(self, found: Views, name: str, answer: Any) -> Any:
        """Tables come back as DataFrames where rows came with names."""
        if isinstance(answer, tuple):
            return tuple(self._like(found, name, part) for part in answer)
        if found.labelled and answer.ndim == 2:
            columns = self.columns_[self.view_names_.index(name)]
            return pd.DataFrame(answer, index=found.samples, columns=columns)
        return answer

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def check_views(found: Views, empty_rows: bool = False) -> None:
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


def listed(names: Names | None) -> list[str]:
    """One name or several, as a list."""
    if names is None:
        return []
    return [names] if isinstance(names, str) else list(names)

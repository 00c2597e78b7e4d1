"""Views that can be sliced by rows, as cross-validation needs them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from jaxtyping import Float

from ..errors import DataError
from .alignment import Aligned, as_views
from .times import aligned_to


class Views(Mapping[str, Any]):
    """Several tables about the same samples that scikit-learn can slice.

    A dict of tables has no rows, so ``GridSearchCV`` and ``cross_val_score`` cannot divide it. This
    container is accepted wherever views are, and ``views[rows]`` is the same for some samples.

    Parameters
    ----------
    tables : dict, list, MuData
        As for ``fit`` of any model: arrays of equal length, or DataFrames, which are aligned on
        their index; NaN where a sample lacks a view.
    times, sequences : array-like or Series, optional
        A time stamp and a sequence per sample; models that take them find them here.
    groups : array-like or Series, optional
        A group per sample: samples that belong together, as those of one patient do, and that no
        division into folds of this library separates.
    align : {"union", "intersection"}, default="union"
        Keep every sample, missing where a view lacks it, or only those of all views.

    Examples
    --------
    >>> import numpy as np
    >>> from manyviews import Views
    >>> views = Views({"left": np.ones((10, 3)), "right": np.zeros((10, 2))})
    >>> views
    Views of 10 samples: left (3 columns), right (2 columns)
    >>> len(views[[0, 2, 5]]), views[2:4]["left"].shape
    (3, (2, 3))

    Cross-validated log density of the samples, and a search over the options of a model:

    >>> from sklearn.model_selection import GridSearchCV, cross_val_score
    >>> from manyviews.linear import GroupFactorAnalysis
    >>> x = np.random.default_rng(0).normal(size=(60, 2))
    >>> views = Views({"left": x @ np.ones((2, 4)) + 0.1, "right": x[:, :1] @ np.ones((1, 3))})
    >>> cross_val_score(GroupFactorAnalysis(2, random_state=0), views, cv=3).shape
    (3,)
    >>> grid = {"n_components": [1, 2]}
    >>> search = GridSearchCV(GroupFactorAnalysis(random_state=0), grid, cv=3).fit(views)
    >>> search.best_params_
    {'n_components': 2}
    """

    def __init__(
        self,
        tables: Any,
        *,
        times: Any = None,
        sequences: Any = None,
        groups: Any = None,
        align: str = "union",
    ):
        aligned = tables if isinstance(tables, Aligned) else as_views(tables, align)
        self._aligned = aligned
        self.times = _column(times, aligned, "times")
        self.sequences = _column(sequences, aligned, "sequences")
        own = tables.groups if groups is None and isinstance(tables, Views) else groups
        self.groups: np.ndarray | None = _column(own, aligned, "groups")

    @property
    def samples(self) -> list[Any]:
        """The names of the rows, or their numbers."""
        return self._aligned.samples

    @property
    def labelled(self) -> bool:
        """Whether rows came with names."""
        return self._aligned.labelled

    @property
    def shape(self) -> tuple[int, int]:
        """Samples, and columns of all views together."""
        return len(self), sum(table.shape[1] for table in self._aligned.tables)

    def __len__(self) -> int:
        """The number of samples (not of views)."""
        return len(self._aligned.samples)

    def __iter__(self) -> Iterator[str]:
        return iter(self._aligned.names)

    def __contains__(self, name: object) -> bool:
        return name in self._aligned.names

    def __getitem__(self, key: Any) -> Any:
        """A view by its name, or some rows of all views: a slice, a mask or their numbers."""
        if isinstance(key, str):
            return self._table(key)
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
            key = key[0]  # as scikit-learn asks for rows
        rows = np.atleast_1d(np.arange(len(self))[key])
        return self._rows(rows)

    def only(self, names: Sequence[str]) -> Self:
        """Some of the views, of the same samples."""
        for name in names:
            self._check(name)
        return type(self)(
            self._aligned.select(names), times=self.times, sequences=self.sequences,
            groups=self.groups,
        )  # fmt: skip

    @property
    def columns(self) -> tuple[list[Any], ...]:
        """The names of the columns (or their numbers), view by view."""
        return self._aligned.columns

    def array(self, name: str) -> Float[np.ndarray, "N D"]:
        """A view as an array, NaN where a value is missing."""
        self._check(name)
        return self._aligned.tables[self._aligned.names.index(name)]

    def _check(self, name: str) -> None:
        if name not in self._aligned.names:
            raise KeyError(f"there is no view {name!r}: there are {list(self._aligned.names)}")

    def _table(self, name: str) -> Any:
        self._check(name)
        place = self._aligned.names.index(name)
        table = self._aligned.tables[place]
        if not self._aligned.labelled:
            return table
        return pd.DataFrame(table, self._aligned.samples, self._aligned.columns[place])

    def _rows(self, rows: np.ndarray) -> Self:
        whole = self._aligned
        part = Aligned(
            whole.names,
            tuple(table[rows] for table in whole.tables),
            whole.columns,
            [whole.samples[row] for row in rows] if whole.labelled else list(range(len(rows))),
            whole.labelled,
        )
        times, sequences, groups = (
            None if given is None else given[rows]
            for given in (self.times, self.sequences, self.groups)
        )
        return type(self)(part, times=times, sequences=sequences, groups=groups)

    def __repr__(self) -> str:
        parts = zip(self._aligned.names, self._aligned.tables, strict=True)
        sizes = ", ".join(f"{name} ({table.shape[1]} columns)" for name, table in parts)
        return f"Views of {len(self)} samples: {sizes}"


def _column(given: Any, aligned: Aligned, name: str) -> np.ndarray | None:
    """Times or sequences in the order of the samples."""
    if given is None:
        return None
    values = np.asarray(aligned_to(aligned.samples, given, name))
    values = np.full(len(aligned.samples), values) if values.ndim == 0 else values
    if len(values) != len(aligned.samples):
        raise DataError(f"there are {len(aligned.samples)} samples but {len(values)} {name}")
    return values

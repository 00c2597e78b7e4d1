"""From files to aligned views with their times, sequences and labels; and holding some out."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd

from ..data import as_views
from ..data.files import read_column, read_views
from ..errors import DataError, OptionError
from .settings import RunOptions

ENOUGH_TO_HOLD_OUT = 50
USUAL_SHARE = 0.1


@dataclass(frozen=True)
class Samples:
    """Aligned views of samples and what else is known of each."""

    views: dict[str, pd.DataFrame]
    times: pd.DataFrame | pd.Series | None = None
    sequences: pd.Series | None = None
    labels: pd.DataFrame | None = None

    @property
    def names(self) -> pd.Index:
        """The names of the samples."""
        return next(iter(self.views.values())).index

    def take(self, chosen: np.ndarray) -> Self:
        """Some of the samples, by a mask."""
        parts = {
            name: None if part is None else part[chosen]
            for name, part in vars(self).items()
            if name != "views"
        }
        return replace(self, views={k: v[chosen] for k, v in self.views.items()}, **parts)

    def when(self) -> dict[str, Any]:
        """The arguments ``times`` and ``sequences`` of a model's methods."""
        if self.times is None and self.sequences is None:
            return {}
        return {"times": self.times, "sequences": self.sequences}


def load_samples(run: RunOptions, align: str = "union") -> Samples:
    """Read and align everything a run names."""
    if not run.views:
        raise OptionError("name at least one file with data, or --options FILE")
    found = as_views(read_views(run.views, run.index), align)
    index = pd.Index(found.samples)
    views = {
        name: pd.DataFrame(table, index=index, columns=pd.Index(columns))
        for name, table, columns in zip(found.names, found.tables, found.columns, strict=True)
    }
    extras = {
        name: _for_samples(getattr(run, name), run.index, index, name)
        for name in ("times", "sequences", "labels")
    }
    sequences, labels = extras["sequences"], extras["labels"]
    if isinstance(sequences, pd.DataFrame):
        raise OptionError(
            f"--sequences needs one column: name it, as in {run.sequences}:{sequences.columns[0]}"
        )
    if isinstance(labels, pd.Series):
        labels = labels.to_frame(labels.name if labels.name is not None else "label")
    return Samples(views, extras["times"], sequences, labels)


def hold_out(samples: Samples, share: float | None, seed: int) -> tuple[Samples, Samples | None]:
    """Set some samples aside: by default a tenth, where there are fifty or more.

    Those are taken that have values in two views or more (in one, if there is but one).
    """
    n = len(samples.names)
    if share is None:
        share = USUAL_SHARE if n >= ENOUGH_TO_HOLD_OUT else 0.0
    if not 0.0 <= share < 1.0:
        raise OptionError(f"--hold-out must be at least 0 and below 1, got {share}")
    known = np.sum([v.notna().any(axis=1) for v in samples.views.values()], axis=0)
    able = np.flatnonzero(known >= min(2, len(samples.views)))
    count = min(round(share * n), len(able))
    if count == 0:
        return samples, None
    chosen = np.zeros(n, bool)
    chosen[np.random.default_rng(seed).permutation(able)[:count]] = True
    return samples.take(~chosen), samples.take(chosen)


def _for_samples(source: str | None, index: str | None, samples: pd.Index, what: str) -> Any:
    """A column aligned with the samples: by name where it has names, else by order."""
    if source is None:
        return None
    column = read_column(source, index)
    if not isinstance(column.index, pd.RangeIndex) or isinstance(samples, pd.RangeIndex):
        absent = samples[~samples.isin(column.index)]
        if not len(absent):
            return column.loc[samples]
        if not isinstance(column.index, pd.RangeIndex):
            raise DataError(f"{source} says nothing of sample {absent[0]!r} (--{what})")
    if len(column) != len(samples):
        raise DataError(
            f"{source} has {len(column)} rows, there are {len(samples)} samples (--{what})"
        )
    return column.set_axis(samples, axis=0)

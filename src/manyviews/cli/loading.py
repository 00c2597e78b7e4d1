"""From files to aligned views with their times, sequences and labels; and holding some out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import pandas as pd

from ..data import as_views
from ..data.files import Sources, read_column, read_views, split_column, view_name
from ..data.reading import Reading
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
    sources: Sources = field(default_factory=Sources)

    @property
    def names(self) -> pd.Index:
        """The names of the samples."""
        return next(iter(self.views.values())).index

    def take(self, chosen: np.ndarray) -> Self:
        """Some of the samples, by a mask."""
        parts: dict[str, Any] = {
            name: None if part is None else part[chosen]
            for name, part in vars(self).items()
            if name not in {"views", "sources"}
        }
        return replace(self, views={k: v[chosen] for k, v in self.views.items()}, **parts)

    def when(self) -> dict[str, Any]:
        """The arguments ``times`` and ``sequences`` of a model's methods."""
        if self.times is None and self.sequences is None:
            return {}
        return {"times": self.times, "sequences": self.sequences}


def load_samples(
    run: RunOptions,
    align: str = "union",
    columns: Mapping[str, Sequence[Any]] | None = None,
    beside: Sequence[str] = (),
) -> Samples:
    """Read and align everything a run names; for a fitted model, by the ``columns`` of its views.

    Times, sequences and labels that stand in the file of a view are no part of the view, nor are
    columns called as in ``beside`` which the model does not know.
    """
    sources = read_sources(run, columns, beside)
    found = as_views(sources.views, align, columns=columns)
    index = pd.Index(found.samples)
    views = {
        name: pd.DataFrame(table, index=index, columns=pd.Index(columns))
        for name, table, columns in zip(found.names, found.tables, found.columns, strict=True)
    }
    extras = {
        name: _for_samples(getattr(run, name), run, sources, index, name)
        for name in ("times", "sequences", "labels")
    }
    sequences, labels = extras["sequences"], extras["labels"]
    if isinstance(sequences, pd.DataFrame):
        raise OptionError(
            f"--sequences needs one column: name it, as in {run.sequences}:{sequences.columns[0]}"
        )
    if isinstance(labels, pd.Series):
        labels = labels.to_frame(labels.name if labels.name is not None else "label")
    return Samples(views, extras["times"], sequences, labels, sources)


def read_sources(
    run: RunOptions,
    columns: Mapping[str, Sequence[Any]] | None = None,
    beside: Sequence[str] = (),
) -> Sources:
    """The files of a run's views as they are, before they are aligned."""
    if not run.views:
        raise OptionError("name at least one file with data, or --options FILE")
    named = [split_column(s) for s in (run.times, run.sequences, run.labels) if s is not None]
    used = [(path.resolve(), column) for path, column in named if column]
    for view, known in (columns or {}).items():
        used += [(view, column) for column in beside if column not in known]
    found = read_views(
        run.views,
        reading_of(run),
        leave_out=used,
        columns=columns,
        categorical=categorical_of(run),
    )
    for view, levels in found.levels.items():
        run.levels |= {f"{view}:{column}": words for column, words in levels.items()}
    return found


def usual_share(n_samples: int) -> float:
    """A tenth, where there are fifty samples or more; else none."""
    return USUAL_SHARE if n_samples >= ENOUGH_TO_HOLD_OUT else 0.0


def hold_out(samples: Samples, share: float, seed: int) -> tuple[Samples, Samples | None]:
    """Set a share of the samples aside.

    Those are taken that have values in two views or more (in one, if there is but one), and of no
    view more than this share of its samples: a view that few samples have stays for the fit.
    """
    n = len(samples.names)
    if not 0.0 <= share < 1.0:
        raise OptionError(f"--hold-out must be at least 0 and below 1, got {share}")
    known = np.stack([v.notna().any(axis=1) for v in samples.views.values()])
    able = np.flatnonzero(known.sum(axis=0) >= min(2, len(samples.views)))
    left = np.floor(share * known.sum(axis=1) + 0.5)  # what may be taken of each view
    chosen = np.zeros(n, bool)
    for row in np.random.default_rng(seed).permutation(able):
        if chosen.sum() >= round(share * n):
            break
        if (left[known[:, row]] > 0).all():
            chosen[row] = True
            left[known[:, row]] -= 1
    if not chosen.any():
        return samples, None
    return samples.take(~chosen), samples.take(chosen)


def _for_samples(
    source: str | None, run: RunOptions, sources: Sources, samples: pd.Index, what: str
) -> Any:
    """A column aligned with the samples: by name where it has names, else by order."""
    if source is None:
        return None
    path = split_column(source)[0].resolve()
    owners = [view for view, place in sources.places.items() if place.resolve() == path]
    column = read_column(source, reading_of(run), owners[0] if owners else what)
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


def reading_of(run: RunOptions) -> Reading:
    """How files are to be read."""
    if run.decimal not in {None, ".", ","}:
        raise OptionError(f"--decimal must be . or , but is {run.decimal!r}")
    return Reading(run.index, run.indexes, run.sep, run.decimal, run.encoding, tuple(run.na_values))


def _has_categories(kind: Any) -> bool:
    """Whether a view is categorical, or columns of it are."""
    if not isinstance(kind, dict):
        return bool(kind == "categorical")
    return "categorical" in kind.values() or isinstance(kind.get("categorical"), list)


def categorical_of(run: RunOptions) -> dict[str, dict[str, list[str]]]:
    """Views whose words become numbers of levels, with the levels that are known."""
    asked = run.options.get("likelihood")
    views = [view_name(source) for source in run.views] if asked == "categorical" else []
    if isinstance(asked, dict):
        views = [view for view, kind in asked.items() if _has_categories(kind)]
    found: dict[str, dict[str, list[str]]] = {view: {} for view in views}
    for place, levels in run.levels.items():
        view, _, column = place.partition(":")
        found.setdefault(view, {})[column] = levels
    return found

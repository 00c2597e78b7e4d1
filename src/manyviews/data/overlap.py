"""Which samples the views have in common, and why it may be fewer than their owner thinks."""

import numbers
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse.csgraph import connected_components

from ..errors import DataError, OverlapWarning
from .alignment import Aligned

LITTLE = 0.5  # share of the smaller view's samples below which the views may be misaligned
SHOWN = 3  # names of samples in a message


@dataclass(frozen=True)
class Overlap:
    """Common samples of views.

    Attributes
    ----------
    counts : DataFrame
        Views x views: samples that have a value in both; on the diagonal those of a view.
    groups : list of list of str
        Views that are tied together by common samples, directly or through others.
    """

    counts: pd.DataFrame
    groups: list[list[str]]

    @classmethod
    def of(cls, samples: Mapping[str, pd.Index]) -> "Overlap":
        """Count the names that views have in common."""
        names = list(samples)
        sets = {name: {_plain(sample) for sample in index} for name, index in samples.items()}
        everybody = {sample: p for p, sample in enumerate(set().union(*sets.values()))}
        present = np.zeros((len(names), len(everybody)))
        for row, name in enumerate(names):
            present[row, [everybody[sample] for sample in sets[name]]] = 1.0
        counts = (present @ present.T).astype(np.int64)
        _, group = connected_components(counts > 0, directed=False)
        groups = [[names[p] for p in np.flatnonzero(group == g)] for g in np.unique(group)]
        return cls(pd.DataFrame(counts, index=names, columns=names), groups)

    def shared(self, view: str) -> float:
        """The largest part of a view's samples (or of the other view's, if it is smaller)
        that another view has, too.
        """
        names, counts = list(self.counts), self.counts.to_numpy()
        place = names.index(view)
        sizes = np.maximum(np.minimum(counts[place, place], np.diag(counts)), 1)
        shares = np.delete(counts[place] / sizes, place).tolist()
        return max(shares, default=1.0)


def check_overlap(found: Aligned, timed: bool = False) -> None:
    """Refuse views that no sample ties together; warn where few samples do.

    Samples with time stamps are tied together by time, too: then there is a warning at most.
    """
    if len(found.names) < 2:
        return
    names = pd.Index(found.samples)
    samples = {
        name: names[~np.isnan(table).all(axis=1)]
        for name, table in zip(found.names, found.tables, strict=True)
    }
    if any(not len(index) for index in samples.values()):
        return  # other checks name the view without values
    columns = dict(zip(found.names, found.columns, strict=True))
    overlap = Overlap.of(samples)
    if len(overlap.groups) > 1:
        message = nothing_in_common(overlap, samples, columns)
        if not timed:
            raise DataError(message)
        warnings.warn(message, OverlapWarning, stacklevel=4)
        return
    for name in found.names:
        if overlap.shared(name) < LITTLE:
            warnings.warn(
                little_in_common(name, overlap, samples, columns), OverlapWarning, stacklevel=4
            )
            return


def nothing_in_common(
    overlap: Overlap, samples: Mapping[str, pd.Index], columns: Mapping[str, Sequence[Any]]
) -> str:
    """Which views have no common sample, what their samples are called, and a guess why."""
    first, second = (group[0] for group in overlap.groups[:2])
    message = (
        f"views {first!r} and {second!r} have no sample in common: {first!r} has "
        f"{some(samples[first])}, {second!r} has {some(samples[second])}"
    )
    reason = why(first, second, samples, columns)
    return f"{message}. {reason}" if reason else f"{message}. Samples are matched by name"


def little_in_common(
    view: str,
    overlap: Overlap,
    samples: Mapping[str, pd.Index],
    columns: Mapping[str, Sequence[Any]],
) -> str:
    """How few samples a view has in common with the one nearest to it, and a guess why."""
    names = [name for name in samples if name != view]
    counts = {name: _common(list(samples[view]), list(samples[name]), _plain) for name in names}
    other = max(names, key=lambda name: counts[name])
    common = counts[other]
    alone = [name for name in samples[view] if name not in samples[other]]
    message = (
        f"view {view!r} has {common} of its {len(samples[view])} samples in common with {other!r} "
        f"({len(samples[other])} samples), the most with any view"
    )
    if alone:
        message += f"; {some(alone)} are in {view!r} only"
    reason = why(view, other, samples, columns)
    return f"{message}. {reason}" if reason else message


def why(
    a: str, b: str, samples: Mapping[str, pd.Index], columns: Mapping[str, Sequence[Any]]
) -> str:
    """What may keep the names of two views apart; empty if nothing is known of it."""
    here, there = list(samples[a]), list(samples[b])
    hits = {  # numbers say nothing: they are what rows and columns without names are called
        view: len(_names(columns[view]) & _names(samples[other]))
        for view, other in ((a, b), (b, a))
    }
    turned, straight = sorted((a, b), key=lambda view: -hits[view])
    if hits[turned] > LITTLE * len(samples[straight]):
        return (
            f"The columns of {turned!r} are called like the samples of {straight!r}: transpose "
            f"{turned!r}, rows are samples"
        )
    numbered = [name for name in (a, b) if _is_numbered(samples[name])]
    if len(numbered) == 1:
        return (
            f"The rows of {numbered[0]!r} are numbered, not named: say which column names its "
            "samples"
        )
    alike = _common(here, there, _alike)
    if alike <= _common(here, there, lambda name: name) or alike <= 0.1 * min(
        len(here), len(there)
    ):
        return ""
    differences = [what for what in CHANGES if _common(here, there, _without(what)) < alike]
    if _common(here, there, str) > _common(here, there, lambda name: name):
        differences.insert(0, "their type (numbers in one, texts in the other)")
    how = " and ".join(differences) or "their spelling"
    return f"{alike} names are the same but for {how}: make them alike"


def some(names: Sequence[Any] | pd.Index) -> str:
    """The first of many names."""
    shown = ", ".join(repr(_plain(name)) for name in list(names)[:SHOWN])
    return f"{shown}, …" if len(names) > SHOWN else shown


def _unpadded(name: str) -> str:
    head = name.rstrip("0123456789")
    digits = name[len(head) :]
    return head + (digits.lstrip("0") or digits[:1])


CHANGES: dict[str, Callable[[str], str]] = {
    "spaces": lambda name: "".join(name.split()),
    "upper and lower case": str.casefold,
    "hyphens, dots and underscores": lambda name: name.translate(str.maketrans("", "", "-._")),
    "leading zeros": _unpadded,
}


def _names(labels: Iterable[Any]) -> set[Any]:
    """Labels that are no numbers, as they compare."""
    return {_alike(label) for label in labels if not isinstance(label, numbers.Number)}


def _alike(name: Any) -> str:
    """A name as it is when nothing but its spelling counts."""
    return _without("")(name)


def _without(left_out: str) -> Callable[[Any], str]:
    """All changes of spelling but one."""

    def read(name: Any) -> str:
        text = str(name)
        for what, change in CHANGES.items():
            text = text if what == left_out else change(text)
        return text

    return read


def _common(here: list[Any], there: list[Any], read: Callable[[Any], Any]) -> int:
    return len({read(name) for name in here} & {read(name) for name in there})


def _is_numbered(index: pd.Index) -> bool:
    first = [_plain(name) for name in index[:2]]
    return first == [0, 1] and all(isinstance(name, int) for name in first)


def _plain(name: Any) -> Any:
    return name.item() if isinstance(name, np.generic) else name

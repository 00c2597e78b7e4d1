"""``manyviews.check``: a look at views before a model is fitted to them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..data import as_views
from ..data.alignment import named_tables
from ..data.concern import Concern, Severity
from ..data.encoding import indicator
from ..data.overlap import LITTLE, Overlap, little_in_common, nothing_in_common
from ..errors import DataError
from ..likelihoods.guess import guess_kind
from .columns import column_figures, repeated_rows
from .record import Check, ordered
from .single import concerns_of


def check(views: Any, *, timed: bool = False) -> Check:
    """Look at tables before a fit: what there is, what is odd, what will be done about it.

    Reads what ``fit`` of any model reads, changes nothing, and does not stop at what a fit would
    refuse: that is among the concerns, with the severity ``"error"``.

    Parameters
    ----------
    views : dict, list, MuData, AnnData, DataFrame or array
        As for ``fit``.
    timed : bool, default=False
        Whether samples will have time stamps: these tie views together that have no sample in
        common.

    Returns
    -------
    Check
        With ``table`` (a row per view), ``columns`` (a row per column), ``overlap`` (samples in
        common) and ``concerns``. It prints as text, and as a table in a notebook.

    Examples
    --------
    >>> import numpy as np, pandas as pd, manyviews
    >>> rng = np.random.default_rng(0)
    >>> names = [f"s{i}" for i in range(40)]
    >>> genes = pd.DataFrame(rng.standard_normal((40, 3)), names, ["a", "b", "c"])
    >>> proteins = pd.DataFrame(rng.standard_normal((40, 2)), names, ["p", "q"])
    >>> proteins.loc["s3", "q"] = -999
    >>> found = manyviews.check({"genes": genes, "proteins": proteins})
    >>> found.table["columns"].to_dict()
    {'genes': 3, 'proteins': 2}
    >>> print(found.concerns[0].what)
    -999 in column 'q' looks like a mark for missing values.
    """
    named = {n: t for n, t in named_tables(views).items() if t is not None}
    if not named:
        raise DataError("there is no view in the data")
    rows, details, concerns = {}, {}, []
    samples: dict[str, pd.Index] = {}
    columns: dict[str, list[Any]] = {}
    numbered = {name: not isinstance(table, pd.DataFrame) for name, table in named.items()}
    labelled = next((t.index for n, t in named.items() if not numbered[n]), None)
    for name, given in named.items():
        try:
            frame, found = _readable(name, given)
        except DataError as refused:
            concerns.append(Concern("error", name, f"{refused}.", None, "A fit refuses it."))
            continue
        Y = frame.to_numpy()
        details[name] = column_figures(Y, frame.columns.tolist())
        details[name]["indicator"] = [_came_new(given, column) for column in frame.columns]
        rows[name] = _row(given, Y, details[name])
        index = frame.index if labelled is None or not numbered[name] else labelled
        if len(index) != len(frame):
            what = f"It has {len(frame)} rows without names, other views have {len(index)} names."
            concerns.append(Concern("error", name, what, None, "A fit refuses it."))
            continue
        samples[name] = index[~np.isnan(Y).all(axis=1)]
        columns[name] = frame.columns.tolist()
        concerns += [*found, *concerns_of(name, frame, Y, details[name])]
    overlap = pd.DataFrame()
    if samples:
        whole = Overlap.of(samples)
        overlap = whole.counts
        if len(samples) > 1:
            concerns += _between(whole, samples, columns, numbered, timed)
    everybody = {sample for index in samples.values() for sample in index}
    empty = pd.DataFrame()
    detail = pd.concat(details, names=["view", "column"]) if details else empty
    table = pd.DataFrame.from_dict(rows, orient="index") if rows else empty
    return Check(table, detail, overlap, len(everybody), ordered(concerns))


def _readable(name: str, given: Any) -> tuple[pd.DataFrame, list[Concern]]:
    """One table as a fit would read it, and what was done to columns of categories."""
    found = as_views({name: given})
    frame = pd.DataFrame(found.tables[0], pd.Index(found.samples), pd.Index(found.columns[0]))
    if not isinstance(given, pd.DataFrame):
        return frame, []
    kinds = [
        column for column, kind in given.dtypes.items() if isinstance(kind, pd.CategoricalDtype)
    ]
    if not kinds:
        return frame, []
    first = kinds[0]
    example = indicator(first, given[first].cat.categories[0])
    some = (
        f"{len(kinds)} columns (e.g. {first!r}) hold"
        if len(kinds) > 1
        else f"Column {first!r} holds"
    )
    return frame, [
        Concern(
            "note", name, f"{some} categories.", len(kinds),
            f"Each level becomes a column of zeros and ones, such as {example!r}.",
            "A categorical likelihood takes numbers of levels instead.",
        )
    ]  # fmt: skip


def _came_new(given: Any, column: Any) -> bool:
    """Whether a column stands for a level of one that was given."""
    return isinstance(given, pd.DataFrame) and column not in given


def _row(given: Any, Y: np.ndarray, figures: pd.DataFrame) -> dict[str, Any]:
    kinds = getattr(given, "dtypes", ())
    some = isinstance(given, pd.DataFrame)
    return {
        "samples": len(Y),
        "columns": Y.shape[1] if not some else given.shape[1],
        "categories": sum(isinstance(kind, pd.CategoricalDtype) for kind in kinds) if some else 0,
        "missing": float(np.isnan(Y).mean()),
        "empty rows": int(np.isnan(Y).all(axis=1).sum()),
        "repeated rows": len(repeated_rows(Y)) if Y.shape[1] > 1 else 0,
        "kind": guess_kind(np.where(np.isinf(Y), np.nan, Y)).kind,
        "lowest": float(figures["lowest"].min()),
        "highest": float(figures["highest"].max()),
        "median std": float(figures["std"].median()),
        "constant columns": int((figures["distinct"] == 1).sum()),
        "binary columns": int((figures["distinct"] == 2).sum()),
        "whole-number columns": int((figures["whole numbers"] & (figures["distinct"] > 2)).sum()),
        "values far out": int(figures["far out"].sum()),
    }


def _between(
    overlap: Overlap,
    samples: Mapping[str, pd.Index],
    columns: Mapping[str, list[Any]],
    unnamed: Mapping[str, bool],
    timed: bool,
) -> list[Concern]:
    """What views have to do with each other."""
    sizes = {name: len(index) for name, index in samples.items()}
    if all(unnamed.values()):
        if len(set(sizes.values())) > 1:
            what = f"Tables without row names have different numbers of rows: {sizes}."
            return [Concern("error", None, what, None, "A fit refuses them.", "Name the rows.")]
        return []
    if len(overlap.groups) > 1:
        what = nothing_in_common(overlap, samples, columns)
        done = "Time stamps alone tie them together." if timed else "A fit refuses them."
        severity: Severity = "warning" if timed else "error"
        return [Concern(severity, None, f"{_capital(what)}.", len(overlap.groups), done)]
    found = []
    for name in samples:
        if overlap.shared(name) < LITTLE:
            what = little_in_common(name, overlap, samples, columns)
            found.append(
                Concern(
                    "warning", name, f"{_capital(what)}.", overlap.shared(name),
                    "Samples that one view alone has say nothing of what is shared.",
                )
            )  # fmt: skip
    ranges = all(isinstance(i, pd.RangeIndex) or i.equals(pd.RangeIndex(len(i)))
                 for i in samples.values())  # fmt: skip
    if ranges and len(set(sizes.values())) > 1:
        found.append(
            Concern(
                "warning", None,
                f"The rows of the views are numbered, not named, and not equally many: {sizes}.",
                None, "Rows of the same number are taken for one sample.",
                "Give every view an index that names its samples.",
            )
        )  # fmt: skip
    everybody = len({sample for index in samples.values() for sample in index})
    for name, size in sizes.items():
        if size < everybody and overlap.shared(name) >= LITTLE:
            found.append(
                Concern(
                    "note", name,
                    f"It is missing for {everybody - size} of {everybody} samples.",
                    everybody - size, "They are fitted by their other views.",
                )
            )  # fmt: skip
    return found


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]

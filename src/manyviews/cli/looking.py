"""``manyviews check``: what is in the files, what is odd, and what will be done about it."""

from typing import Any

import pandas as pd
from rich.table import Table

from ..checking import Check, check
from ..errors import DataError
from ..escaping import in_markup, visible
from .console import CODES, give, notes, results
from .loading import Samples, read_sources
from .settings import RunOptions

SHOWN = {
    "samples": "samples",
    "columns": "columns",
    "missing": "missing",
    "kind": "kind",
    "lowest": "lowest",
    "highest": "highest",
    "median std": "std (median)",
}
COLOURS = {"error": "bold red", "warning": "yellow", "note": "dim"}


def check_files(run: RunOptions, quiet: bool, as_json: bool) -> int:
    """Look at files and say what was seen; the exit code of bad data if a fit would refuse them."""
    sources = read_sources(run)
    timed = run.times is not None or run.sequences is not None
    look = check(sources.views, timed=timed).with_concerns(sources.concerns)
    give(look.to_dict(), as_json)
    if not (quiet or as_json):
        show(look, results)
    return CODES[DataError] if look.errors else 0


def look_at(samples: Samples, quiet: bool) -> Check:
    """The look at the top of a fit: figures and what may spoil it; notes are counted only."""
    timed = samples.times is not None or samples.sequences is not None
    look = check(samples.sources.views, timed=timed).with_concerns(samples.sources.concerns)
    if look.errors:
        first = look.errors[0]
        raise DataError(" ".join(part for part in (first.what, first.advice) if part))
    if not quiet:
        show(look, notes, with_notes=False)
    return look


def show(look: Check, console: Any, with_notes: bool = True) -> None:
    """Figures by view, samples in common, concerns."""
    if len(look.table):
        table = Table(box=None)
        table.add_column("view")
        for heading in SHOWN.values():
            table.add_column(heading, justify="right")
        for name, row in look.table.iterrows():
            table.add_row(in_markup(name), *(_cell(key, row[key]) for key in SHOWN))
        console.print(table)
    views, counts = list(look.overlap), look.overlap.to_numpy()
    if 1 < len(views) <= 6:
        pairs = [
            f"{views[a]} and {views[b]} {int(counts[a, b])}"
            for a in range(len(views))
            for b in range(a + 1, len(views))
        ]
        text = f"{look.samples} samples in all; in common: {', '.join(pairs)}"
        console.print(visible(text), markup=False)
    for concern in look.concerns:
        if concern.severity == "note" and not with_notes:
            continue
        head = f"{concern.severity}: " + (f"{concern.view}: " if concern.view else "")
        text = " ".join(part for part in (concern.what, concern.done, concern.advice) if part)
        console.print(visible(head), end="", style=COLOURS[concern.severity], markup=False)
        console.print(visible(text), markup=False)
    left = 0 if with_notes else len(look.of("note"))
    if left:
        console.print(f"{left} note{'s' * (left > 1)} besides: manyviews check shows them")
    elif not look.concerns:
        console.print("nothing to warn of")


def _cell(key: str, value: Any) -> str:
    if key == "missing":
        return f"{value:.1%}"
    if isinstance(value, str):
        return value.replace("_", " ")
    return "" if pd.isna(value) else f"{value:.4g}"

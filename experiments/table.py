"""The table an experiment ends in: ours, the baselines and the printed numbers, side by side."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from rich.console import Console
from rich.table import Table


@dataclass
class Row:
    """One method and one measure, as mean and standard deviation over seeds."""

    method: str
    measure: str
    value: float
    spread: float | None = 0.0
    seeds: int = 1
    seconds: float = 0.0
    ours: bool = False
    published: float | None = None
    note: str = ""
    values: Sequence[float] = ()
    """One for each seed."""
    quoted: bool = False
    """Printed in a paper, not computed here."""

    @property
    def role(self) -> str:
        """Whose number it is."""
        return "published" if self.quoted else "ours" if self.ours else "baseline"


def summarise(
    method: str,
    measure: str,
    values: Sequence[float],
    *,
    seconds: float = 0.0,
    ours: bool = False,
    published: float | None = None,
    note: str = "",
) -> Row:
    """Make a row from the values of several seeds; ``seconds`` is per seed."""
    return Row(
        method=method,
        measure=measure,
        value=float(np.mean(values)),
        spread=float(np.std(values)),
        seeds=len(values),
        seconds=round(seconds, 2),
        ours=ours,
        published=published,
        note=note,
        values=[float(value) for value in values],
    )


def printed(method: str, measure: str, value: float) -> Row:
    """A number quoted from the paper, not recomputed here."""
    return Row(method, measure, value, published=value, note="quoted from the paper", quoted=True)


def standardised(rows: list[Row]) -> list[Row]:
    """Densities less that of the training mean and variance (MSLL): negative is better than it."""
    trivial = next(
        row.value for row in rows if (row.method, row.measure) == ("training mean", "NLPD")
    )
    return [
        replace(
            row, measure="NLPD-standardised", value=row.value - trivial, published=None,
            values=[value - trivial for value in row.values],
        )
        for row in rows
        if row.measure == "NLPD"
    ]  # fmt: skip


def show(name: str, rows: list[Row]) -> None:
    """Print the rows, grouped by measure, ours in bold."""
    table = Table(title=f"experiment {name}")
    for heading in ("measure", "method", "value", "± sd", "seeds", "s / seed", "published", "note"):
        right = heading not in {"measure", "method", "note"}
        table.add_column(heading, justify="right" if right else "left")
    for measure in dict.fromkeys(row.measure for row in rows):
        for row in (r for r in rows if r.measure == measure):
            table.add_row(
                measure,
                row.method,
                "–" if math.isnan(row.value) else f"{row.value:.4g}",
                f"{row.spread:.2g}" if row.seeds > 1 and row.spread is not None else "",
                str(row.seeds),
                f"{row.seconds:.1f}" if row.seconds else "",
                "" if row.published is None else f"{row.published:.4g}",
                row.note,
                style="bold" if row.ours else None,
            )
        table.add_section()
    console = Console()
    if not console.is_terminal:
        console = Console(width=130)
    console.print(table)


def duration(seconds: float) -> str:
    """In the unit that fits."""
    for size, unit in ((3600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return f"{seconds / size:.{0 if seconds >= 10 * size else 1}f} {unit}"
    return f"{seconds:.0f} s"

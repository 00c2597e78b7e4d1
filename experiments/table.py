"""The table an experiment ends in: ours, the baselines and the printed numbers, side by side."""

import json
import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table


@dataclass
class Row:
    """One method and one measure, as mean and standard deviation over seeds."""

    method: str
    measure: str
    value: float
    spread: float = 0.0
    seeds: int = 1
    seconds: float = 0.0
    ours: bool = False
    published: float | None = None
    note: str = ""


def summarise(
    method: str,
    measure: str,
    values: list[float],
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
    )


def printed(method: str, measure: str, value: float) -> Row:
    """A number quoted from the paper, not recomputed here."""
    return Row(method, measure, value, published=value, note="quoted from the paper")


def standardised(rows: list[Row]) -> list[Row]:
    """Densities less that of the training mean and variance (MSLL): negative is better than it."""
    trivial = next(
        row.value for row in rows if (row.method, row.measure) == ("training mean", "NLPD")
    )
    return [
        replace(row, measure="NLPD-standardised", value=row.value - trivial, published=None)
        for row in rows
        if row.measure == "NLPD"
    ]


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
                f"{row.spread:.2g}" if row.seeds > 1 else "",
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


def write_json(path: Path, name: str, rows: list[Row]) -> None:
    """Write the rows for other programs to read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    listed = [asdict(row) for row in rows]
    for row in listed:
        if math.isnan(row["value"]):  # JSON has no NaN
            row["value"] = None
    content = {"experiment": name, "rows": listed}
    path.write_text(json.dumps(content, indent=1) + "\n")

"""A table in Markdown, made of the rows of a result file (:mod:`.pages` says how it is named)."""

import math
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from .code import ROOT
from .record import Record, path_of
from .table import Row


class TableError(ValueError):
    """A page asks for what its result file does not have."""


@dataclass(frozen=True)
class Column:
    """A column of a table.

    ``measure`` may be several, shown side by side; ``method`` is that of the row if there is none.
    ``show``: "value" (with its spread), "plain" (without), "seeds" (the values of all seeds too),
    "published", "count" (of seeds), "seconds" or "note". ``best``: "low" or "high" is made bold.
    Numbers are shown ``scale`` times as large, with three significant digits or so many decimals.
    """

    heading: str
    measure: str | list[str]
    method: str | None = None
    show: str = "value"
    best: str | None = None
    decimals: int | None = None
    scale: float = 1.0

    def said(self, value: float) -> str:
        """A number: three significant digits, or so many behind the point."""
        value = value * self.scale
        if self.decimals is not None:
            return f"{value:.{self.decimals}f}"
        return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"

    def rows(self, record: Record, wanted: str) -> list[Row]:
        """What the record has for a row of the table."""
        method = wanted if self.method is None else self.method.replace("{}", wanted)
        measures = [self.measure] if isinstance(self.measure, str) else self.measure
        found = [record.row(method, measure.replace("{}", wanted)) for measure in measures]
        return [row for row in found if row is not None]


def value_of(row: Row, column: Column) -> str:
    """Mean and spread, or the reason why there is none."""
    if math.isnan(row.value):
        return row.note or "–"
    text = column.said(row.value)
    if column.show == "plain" or row.seeds == 1 or row.spread is None:
        return text
    spread = column.said(row.spread)
    if row.spread and not float(spread):
        spread = f"{row.spread * column.scale:.1g}"
    listed = ", ".join(map(column.said, row.values)) if column.show == "seeds" else ""
    return f"{text} ({spread})" + (f": {listed}" if listed else "")


SHOWN: dict[str, Callable[[Row, Column], str]] = {
    "value": value_of,
    "plain": value_of,
    "seeds": value_of,
    "published": lambda row, column: "" if row.published is None else column.said(row.published),
    "count": lambda row, column: str(row.seeds),
    "seconds": lambda row, column: f"{row.seconds:.3g}" if row.seconds else "",
    "note": lambda row, column: row.note,
}


def cell(rows: list[Row], column: Column) -> str:
    """One cell; several measures are parted by strokes."""
    return " / ".join(filter(None, (SHOWN[column.show](row, column) for row in rows)))


def table(name: str, spec: str) -> str:
    """The table in Markdown."""
    record, columns, labels = parsed(name, spec)
    quoting = {str(column.measure) for column in columns if column.show == "published"}
    cells = {
        label: [
            [row for row in column.rows(record, wanted) if stands(row, column, quoting)]
            for column in columns
        ]
        for label, wanted in labels.items()
    }
    for label, wanted in labels.items():
        if not any(cells[label]):
            raise TableError(f"{name}.json has no row {wanted!r} ({label!r}) for this table")
    for place, column in enumerate(columns):
        if not any(found[place] for found in cells.values()):
            raise TableError(f"{name}.json has nothing for the column {column.heading!r}")
    headings = [column.heading.strip() for column in columns]  # spaces tell equal ones apart
    lines = [["", *headings], ["---"] * (1 + len(columns))]
    best = [best_of([found[i] for found in cells.values()], c) for i, c in enumerate(columns)]
    for label, found in cells.items():
        texts = [cell(rows, column) for rows, column in zip(found, columns, strict=True)]
        bold = [rows and rows[0].value in top for rows, top in zip(found, best, strict=True)]
        marked = [emphasised(t) if b else t for t, b in zip(texts, bold, strict=True)]
        lines.append([label.strip(), *marked])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def stands(row: Row, column: Column, quoting: set[str]) -> bool:
    """Whether a number stands in a column: one of a paper in that of published ones, if any."""
    return not row.quoted or column.show == "published" or str(column.measure) not in quoting


def emphasised(text: str) -> str:
    """The first number of a cell in bold."""
    first, space, rest = text.partition(" ")
    return f"**{first}**{space}{rest}"


def parsed(name: str, spec: str) -> tuple[Record, list[Column], dict[str, str]]:
    """The record, the columns, and the methods by label."""
    try:
        said: dict[str, Any] = tomllib.loads(spec)
        columns = [
            Column(heading, **(given if isinstance(given, dict) else {"measure": given}))
            for heading, given in said.pop("columns").items()
        ]
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise TableError(f"the table of {name}: {error}") from None
    unknown = {column.show for column in columns} - set(SHOWN)
    if unknown or set(said) - {"rows"}:
        raise TableError(f"the table of {name} knows no {unknown or set(said) - {'rows'}}")
    record = recorded(name)
    labels = said.get("rows")
    if labels is None:
        methods = dict.fromkeys(row.method for row in record.rows)
        labels = {m: m for m in methods if any(column.rows(record, m) for column in columns)}
    return record, columns, labels


def best_of(rows: list[list[Row]], column: Column) -> set[float]:
    """The best value among those that were measured here."""
    values = [found[0].value for found in rows if found and not found[0].quoted]
    values = [value for value in values if not math.isnan(value)]
    if column.best is None or not values:
        return set()
    return {min(values) if column.best == "low" else max(values)}


@cache
def recorded(name: str) -> Record:
    """The file of an experiment."""
    path = path_of(name)
    if not path.exists():
        raise TableError(f"there is no {path.relative_to(ROOT)}")
    return Record.read(path)

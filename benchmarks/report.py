"""What a benchmark hands back, as a table on the screen and as JSON."""

from dataclasses import asdict, dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table

Row = dict[str, Any]


@dataclass
class Report:
    """Rows of results under a title; ``target`` says what was hoped for."""

    title: str
    rows: list[Row] = field(default_factory=list)
    target: str = ""
    note: str = ""

    def columns(self) -> list[str]:
        """All keys, in order of appearance."""
        return list(dict.fromkeys(key for row in self.rows for key in row))

    def show(self, console: Console) -> None:
        """Print the table."""
        caption = "\n".join(line for line in (self.target, self.note) if line)
        table = Table(title=self.title, caption=caption or None, title_justify="left")
        for column in self.columns():
            table.add_column(column)
        for row in self.rows:
            table.add_row(*(text(row.get(column)) for column in self.columns()))
        console.print(table)

    def plain(self) -> dict[str, Any]:
        """The report as JSON knows it."""
        return asdict(self)


def text(value: Any) -> str:
    """A cell of the table."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1e4 else f"{value:.1f}"
    return str(value)

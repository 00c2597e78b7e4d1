"""The file that an experiment leaves: its rows, and how they came about.

Files stand in ``experiments/results``, one per experiment; the tables of the documentation are
made from them (:mod:`.pages`).
"""

import json
import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from .catalogue import EXPERIMENTS, module
from .code import fingerprint
from .table import Row

FOLDER = Path(__file__).with_name("results")
DIGITS = 6
ABSENT, TRANSCRIBED, CHANGED, CURRENT = "absent", "transcribed", "code has changed", "up to date"


@dataclass(frozen=True)
class Record:
    """All about one run of an experiment."""

    experiment: str
    header: dict[str, Any]
    rows: list[Row]

    @property
    def state(self) -> str:
        """How its code stands to the present one."""
        if "origin" in self.header:
            return TRANSCRIBED
        known = self.experiment in EXPERIMENTS
        same = known and self.header.get("code") == fingerprint(module(self.experiment))
        return CURRENT if same and not self.header.get("older_pieces") else CHANGED

    @property
    def seconds(self) -> float | None:
        """What a run takes, or at least takes if only the times of some rows are known."""
        longest: dict[str, float] = {}
        for row in self.rows:
            took = row.seconds * row.seeds
            longest[row.method] = max(took, longest.get(row.method, 0.0))
        return self.header.get("seconds") or sum(longest.values()) or None

    def row(self, method: str, measure: str) -> Row | None:
        """The row of a method and a measure."""
        return next((r for r in self.rows if (r.method, r.measure) == (method, measure)), None)

    def write(self, path: Path) -> None:
        """One line for each row, numbers to six digits."""
        path.parent.mkdir(parents=True, exist_ok=True)
        head = json.dumps({"experiment": self.experiment, **self.header}, indent=1,
                          ensure_ascii=False)  # fmt: skip
        rows = [json.dumps(as_json(row), ensure_ascii=False) for row in self.rows]
        text = head[: head.rindex("\n}")] + ',\n "rows": [\n  ' + ",\n  ".join(rows) + "\n ]\n}\n"
        path.write_text(text, encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> "Record":
        """What :meth:`write` wrote."""
        content = json.loads(path.read_text(encoding="utf-8"))
        rows = [from_json(row) for row in content.pop("rows")]
        return cls(content.pop("experiment"), content, rows)


def path_of(name: str) -> Path:
    """The file of an experiment."""
    return FOLDER / f"{name}.json"


def state_of(name: str) -> str:
    """Whether an experiment has a file, and how old that is."""
    path = path_of(name)
    return Record.read(path).state if path.exists() else ABSENT


def as_json(row: Row) -> dict[str, Any]:
    """A row without what is not known; JSON has no NaN."""
    listed = {
        "method": row.method, "measure": row.measure, "role": row.role,
        "value": shortened(row.value),
        "spread": shortened(row.spread) if row.seeds > 1 else None,
        "values": [shortened(value) for value in row.values], "seeds": row.seeds,
        "seconds": row.seconds or None, "published": row.published, "note": row.note or None,
    }  # fmt: skip
    kept = ("value",)
    return {key: value for key, value in listed.items() if key in kept or value not in (None, [])}


def from_json(listed: dict[str, Any]) -> Row:
    """The row again."""
    role = listed.pop("role", None)
    if role is not None:
        listed |= {"ours": role == "ours", "quoted": role == "published"}
    if listed.get("value") is None:
        listed["value"] = math.nan
    listed.setdefault("spread", None)
    known = {field.name for field in fields(Row)}
    return Row(**{key: value for key, value in listed.items() if key in known})


def shortened(value: float | None) -> float | None:
    """To six digits."""
    if value is None or math.isnan(value):
        return None
    return float(f"{value:.{DIGITS}g}")

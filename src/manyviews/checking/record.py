"""What a look at the data found: tables of figures, and concerns in words."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from ..data.concern import SEVERITIES, Concern, Severity


@dataclass(frozen=True)
class Check:
    """What `check` found.

    Attributes
    ----------
    table : DataFrame
        A row per view: samples, columns, share of missing values, kind of data, range, spread, and
        how many columns are constant, binary, of whole numbers, far out.
    columns : DataFrame
        A row per column of every view, the same in detail.
    overlap : DataFrame
        Views x views: how many samples have values in both.
    samples : int
        Different samples in all views together.
    concerns : list of Concern
        The gravest first.
    """

    table: pd.DataFrame
    columns: pd.DataFrame
    overlap: pd.DataFrame
    samples: int
    concerns: list[Concern] = field(default_factory=list)

    @property
    def errors(self) -> list[Concern]:
        """What stops a fit."""
        return self.of("error")

    @property
    def warnings(self) -> list[Concern]:
        """What may spoil a fit."""
        return self.of("warning")

    def of(self, severity: Severity) -> list[Concern]:
        """Concerns of one severity."""
        return [concern for concern in self.concerns if concern.severity == severity]

    def with_concerns(self, more: Sequence[Concern]) -> "Check":
        """The same with concerns of another origin, as from reading files."""
        return Check(
            self.table, self.columns, self.overlap, self.samples, ordered([*more, *self.concerns])
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, texts, lists and dicts, as for JSON (without the table of columns)."""
        return {
            "samples": self.samples,
            "views": {str(n): _plain_row(row) for n, row in self.table.iterrows()},
            "overlap": {str(n): _plain_row(row) for n, row in self.overlap.iterrows()},
            "concerns": [asdict(concern) for concern in self.concerns],
        }

    def __str__(self) -> str:
        parts = [f"{self.samples} samples", self.table.T.to_string(float_format="{:.4g}".format)]
        if len(self.overlap) > 1:
            parts.append(f"samples in common\n{self.overlap.to_string()}")
        parts += [str(concern) for concern in self.concerns] or ["nothing to warn of"]
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        parts = [_html_table(self.table.T)]
        if len(self.overlap) > 1:
            parts.append(f"<p>Samples in common</p>{_html_table(self.overlap)}")
        entries = []
        for concern in self.concerns:
            more = " ".join(part for part in (concern.done, concern.advice) if part)
            entries.append(
                f"<li class='{concern.severity}'><b>{concern.severity}</b> "
                f"{escape(concern.what)} <i>{escape(more)}</i></li>"
            )
        said = f"<ul>{''.join(entries)}</ul>" if entries else "<p>Nothing to warn of.</p>"
        head = f"<div class='manyviews-check'><p>{self.samples} samples</p>"
        return f"{head}{''.join(parts)}{said}</div>"


def ordered(concerns: Sequence[Concern]) -> list[Concern]:
    """The gravest first, otherwise as they came; each once."""
    return sorted(dict.fromkeys(concerns), key=lambda concern: SEVERITIES.index(concern.severity))


def _html_table(frame: pd.DataFrame) -> str:
    """Escaped by pandas; numbers short."""
    return frame.to_html(float_format="{:.4g}".format, border=0)


def _plain_row(row: pd.Series) -> dict[str, Any]:
    return {str(name): _plain(value) for name, value in row.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value

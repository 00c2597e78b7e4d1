"""A fitted model on half a page: for the console, and for notebooks."""

from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import pandas as pd

from ..escaping import in_html
from .explain import measure, variance_explained
from .findings import MOST_VIEWS, structure, view_names
from .segmentation import ACTIVE_THRESHOLD
from .sentences import capital, count_of
from .stability import Stability

MOST_ROWS = 30  # views in the table
MOST_COLUMNS = 20  # dimensions in the table, the most relevant
WIDTH = 88
FIRST = "text-align:left;padding-right:.6em"  # the column of names


@dataclass(frozen=True)
class Summary:
    """What a fitted model has found.

    Attributes
    ----------
    title : str
        The model, its views and the number of samples.
    sentences : list of str
        The findings, the most important first.
    table : DataFrame
        Variance explained, views x (dimensions, total): what is lost when a dimension is not
        known. Dimensions in use only, under their names.
    notes : list of str
        What stands below.
    """

    title: str
    sentences: list[str]
    table: pd.DataFrame
    notes: list[str]
    explained: str = "variance explained"

    def __str__(self) -> str:
        lines = [self.title, ""]
        for sentence in self.sentences:
            lines += wrap(sentence, WIDTH, initial_indent="- ", subsequent_indent="  ")
        shown = self.table.map(lambda x: f"{100 * x:.0f} %")
        lines += ["", f"{capital(self.explained)} (lost without the dimension)", shown.to_string()]
        for note in self.notes:
            lines += ["", *wrap(note, WIDTH)]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Findings and a heat map; all names are escaped."""
        head = "".join(f"<th>{in_html(str(c))}</th>" for c in self.table.columns)
        body = ""
        for name, row in self.table.iterrows():
            cells = "".join(_cell(float(x)) for x in row)
            body += f"<tr><th style='{FIRST}'>{in_html(str(name))}</th>{cells}</tr>"
        items = "".join(f"<li>{in_html(sentence)}</li>" for sentence in self.sentences)
        notes = "".join(f"<p style='opacity:.7'>{in_html(note)}</p>" for note in self.notes)
        return (
            "<div class='manyviews-summary' style='max-width:60rem'>"
            f"<p><b>{in_html(self.title)}</b></p><ul>{items}</ul>"
            "<div style='overflow-x:auto'><table style='border-collapse:collapse'>"
            "<caption style='caption-side:top;text-align:left;white-space:nowrap'>"
            f"{capital(self.explained)} (lost without the dimension)</caption>"
            f"<thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table></div>"
            f"{notes}</div>"
        )


def summarise(model: Any, stability: Stability | None) -> Summary:
    """The summary of a model in either shell."""
    names, n = view_names(model), len(model.engine_.positions)
    single = len(names) == 1
    what = f"{count_of(len(names), 'view')} ({', '.join(names[:MOST_VIEWS])}"
    what += ", …)" if len(names) > MOST_VIEWS else ")"
    title = f"{type(model).__name__} of {'one table' if single else what}, {n} samples"
    notes = []
    info = getattr(model, "fit_info_", None)
    if info is not None and not getattr(info, "converged", True):
        notes.append("The fit stopped before it had converged: raise max_iter and fit again.")
    if stability is None and len(names) > 1:
        notes.append("summary() of this model also says how sure the number of dimensions is.")
    explained = f"{measure(model)} explained"
    return Summary(title, structure(model, stability), _table(model, names), notes, explained)


def _table(model: Any, names: list[str]) -> pd.DataFrame:
    relevance = model.engine_.relevance
    weight = relevance.max(axis=0)
    used = [d for d in (-weight).argsort(kind="stable") if weight[d] > ACTIVE_THRESHOLD]
    kept = sorted(int(d) for d in used[:MOST_COLUMNS])
    rows = []
    for view in range(len(names[:MOST_ROWS])):
        shares, total = variance_explained(model.engine_, view, "lost")
        rows.append([*shares[kept], total])
    labels = model.dimension_labels()
    columns = [*(labels[d] for d in kept), "total"]
    return pd.DataFrame(rows, index=names[:MOST_ROWS], columns=columns)


def _cell(value: float) -> str:
    depth = min(max(value, 0.0), 1.0)
    style = f"background:rgba(0,114,178,{0.65 * depth:.2f});text-align:right;padding:.2em .6em"
    return f"<td style='{style}'>{value:.2f}</td>"

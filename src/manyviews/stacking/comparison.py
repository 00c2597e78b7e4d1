"""What a comparison has found: a table, a sentence, a picture, JSON."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from .picture import draw_comparison
from .question import Question
from .scores import Scores
from .verdict import verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Comparison:
    """Methods compared on the same folds.

    Attributes
    ----------
    table : DataFrame
        A row per view and method: ``error``, root mean square in standard deviations of the
        columns; ``log_density`` per value, of the same; ``coverage`` of 90 % intervals;
        ``seconds`` of a fit and its predictions, per fold (where one fit answers for several
        views, it counts for each); and how much error and log density differ from
        the reference's, with standard errors over the folds, in pairs.
    folds : DataFrame
        The same measures by view, method and fold.
    sentence : str
        What to use, and why.
    failures : dict
        Why a method has no result.
    notes : list of str
        Failures, and what else is to be known of the results.
    reference : str
        The method that all others are compared with.
    n_samples : int
        Samples that were compared.
    """

    table: pd.DataFrame
    folds: pd.DataFrame
    sentence: str
    failures: dict[str, str]
    notes: list[str]
    reference: str
    n_samples: int

    @classmethod
    def of(
        cls,
        cells: Sequence[dict[str, Any]],
        methods: Sequence[str],
        questions: Sequence[Question],
        reference: str,
        n_samples: int,
    ) -> "Comparison":
        """From the results of every method and fold."""
        failures = {cell["method"]: cell["failure"] for cell in cells if cell["failure"]}
        left = [name for name in methods if name not in failures]
        by_place = {(cell["method"], cell["fold"]): cell["scores"] for cell in cells}
        numbers = sorted({cell["fold"] for cell in cells})
        rows, parts = [], []
        for question in questions:
            sums: dict[str, Scores] = {}
            for name in left:
                found = [by_place[name, f].get(question.target) for f in numbers]
                total = Scores(0, 0.0, 0.0, 0)
                for number, each in zip(numbers, found, strict=True):
                    if each is None:
                        continue
                    plain = {key: each[key] for key in total.as_dict()}
                    one = Scores(**plain)
                    total = total + one
                    parts.append({
                        "view": question.target, "method": name, "fold": number,
                        "error": one.error, "log_density": one.density,
                        "coverage": one.coverage, "seconds": each["seconds"],
                    })  # fmt: skip
                sums[name] = total
            rows += [(question, name, sums[name]) for name in left]
        folds = pd.DataFrame(parts, columns=[
            "view", "method", "fold", "error", "log_density", "coverage", "seconds",
        ])  # fmt: skip
        table = pd.DataFrame([_row(q, name, s, folds, reference) for q, name, s in rows])
        notes = [f"{name} failed: {failure}" for name, failure in failures.items()]
        notes += sorted({f"{c['method']}: {n}" for c in cells for n in c["notes"]})
        sentence = verdict(folds, reference, failures)
        return cls(table, folds, sentence, failures, notes, reference, n_samples)

    def __str__(self) -> str:
        return f"{self.table.round(3).to_string(index=False)}\n{self.sentence}"

    def plot(self, ax: Any = None, measure: str = "log_density") -> "Axes":
        """Draw how much better or worse than the reference every method is, view by view.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        measure : {"log_density", "error"}, default="log_density"
            Differences of log densities (higher is better) or of errors (lower is better).
        """
        return draw_comparison(self.table, self.reference, ax, measure)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Everything as JSON text, and into a file if one is named."""
        content = {
            "sentence": self.sentence,
            "reference": self.reference,
            "samples": self.n_samples,
            "table": _plain(self.table),
            "folds": _plain(self.folds),
            "failures": self.failures,
            "notes": self.notes,
        }
        text = json.dumps(content, indent=1, allow_nan=False)
        if path is not None:
            Path(path).write_text(text + "\n", encoding="utf-8")
        return text


def _row(
    question: Question, name: str, total: Scores, folds: pd.DataFrame, reference: str
) -> dict[str, Any]:
    row = {
        "view": question.target,
        "from": " + ".join(question.known),
        "method": name,
        "error": total.error,
        "log_density": total.density,
        "coverage": total.coverage,
        "seconds": np.nan,
    }
    here = folds[folds["view"] == question.target].set_index("fold")
    own, other = here[here["method"] == name], here[here["method"] == reference]
    row["seconds"] = float(own["seconds"].mean())
    for measure in ("error", "log_density"):
        apart = (own[measure] - other[measure]).dropna()
        row[f"{measure}_difference"] = float(apart.mean())
        row[f"{measure}_difference_se"] = standard_error(apart.to_numpy())
    return row


def standard_error(apart: np.ndarray) -> float:
    """Of the mean of differences over folds."""
    return float(np.std(apart, ddof=1) / np.sqrt(len(apart))) if len(apart) > 1 else float("nan")


def _plain(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as dicts; JSON has no NaN."""
    return [
        {key: None if isinstance(v, float) and not np.isfinite(v) else v for key, v in row.items()}
        for row in table.to_dict(orient="records")
    ]

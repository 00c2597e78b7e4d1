"""What is odd about one table, and what a fit will do about it."""

from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from ..data.concern import Concern
from ..data.identifiers import is_counter, is_identifier
from ..likelihoods.guess import Guess, guess_kind
from .columns import repeated_columns, repeated_rows

WIDE = 100.0  # ratio of the largest to the median spread from which one column rules a view
HUGE = 1e6  # ratio of the largest to the smallest spread that asks for a word on units
MOSTLY = 0.5  # share of missing values from which a column says little
TAILS = "heavy tails"


def concerns_of(
    view: str, frame: pd.DataFrame, Y: Float[np.ndarray, "N D"], figures: pd.DataFrame
) -> list[Concern]:
    """Everything that one table gives reason to say, given the figures of its columns."""
    kind = guess_kind(np.where(np.isinf(Y), np.nan, Y))
    return [
        *_identifiers(view, frame),
        *_empty(view, figures),
        *_repeated(view, frame, Y),
        *_missing(view, Y, figures),
        *_extremes(view, figures, kind),
        *_scales(view, figures, kind),
        *_kind(view, figures, kind),
    ]


def _identifiers(view: str, frame: pd.DataFrame) -> list[Concern]:
    found = []
    for column in frame.columns:
        if is_identifier(column, frame[column]):
            found.append(
                Concern(
                    "warning", view,
                    f"Column {column!r} holds a different whole number in each row, like a name.",
                    1, "It is taken as data.",
                    "If it names the samples, make it the index (--index in the command).",
                )
            )  # fmt: skip
        elif isinstance(column, str) and is_counter(frame[column]):
            found.append(
                Concern(
                    "warning", view, f"Column {column!r} numbers the rows one by one.", 1,
                    "It is taken as data.",
                    "Leave it out, make it the index if it names the samples, or give it as times.",
                )
            )  # fmt: skip
    return found


def _empty(view: str, figures: pd.DataFrame) -> list[Concern]:
    found = []
    infinite = figures.index[figures["infinite"] > 0]
    if len(infinite):
        found.append(
            Concern(
                "error", view, f"{_columns(infinite)} infinite values.", len(infinite),
                "A fit refuses them.", "Replace them by numbers, or by NaN if they are unknown.",
            )
        )  # fmt: skip
    empty = figures.index[(figures["distinct"] == 0) & (figures["infinite"] == 0)]
    if len(empty):
        found.append(
            Concern(
                "error", view, f"{_columns(empty)} no value at all.", len(empty),
                "A fit refuses them.", "Leave them out.",
            )
        )  # fmt: skip
    constant = figures.index[figures["distinct"] == 1]
    if len(constant):
        every = len(constant) == len(figures)
        found.append(
            Concern(
                "error" if every else "note", view,
                f"{_columns(constant)} one and the same value in each row.", len(constant),
                "There is nothing to fit." if every else "They are kept and tell a model nothing.",
                "Leave them out.",
            )
        )  # fmt: skip
    return found


def _repeated(view: str, frame: pd.DataFrame, Y: Float[np.ndarray, "N D"]) -> list[Concern]:
    found = []
    twice = repeated_columns(Y)
    if len(twice):
        found.append(
            Concern(
                "note", view,
                f"{_columns(frame.columns[twice])} the same values as an earlier column.",
                len(twice), "They are kept, and count as often as they appear.",
                "Leave them out unless that is meant.",
            )
        )  # fmt: skip
    rows = repeated_rows(Y) if Y.shape[1] > 1 else np.array([], int)
    if len(rows):
        found.append(
            Concern(
                "note" if len(rows) < 0.05 * len(Y) else "warning", view,
                f"{len(rows)} rows repeat an earlier row in every value (e.g. "
                f"{frame.index[rows[0]]!r}).",
                len(rows), "They are kept, each as a sample.",
                "If a sample was entered twice, remove one: held-out scores would be too good.",
            )
        )  # fmt: skip
    return found


def _missing(view: str, Y: Float[np.ndarray, "N D"], figures: pd.DataFrame) -> list[Concern]:
    missing = np.isnan(Y)
    absent = missing.all(axis=1)
    rest = float(missing[~absent].mean()) if not absent.all() else 1.0
    found = []
    if rest > 0:
        found.append(
            Concern(
                "note", view, f"{_share(rest)} of the values are missing.", rest,
                "They are left out of the fit; impute fills them in.",
            )
        )  # fmt: skip
    sparse = figures.index[(figures["missing"] > max(MOSTLY, 2 * rest)) & (figures["distinct"] > 0)]
    if len(sparse):
        found.append(
            Concern(
                "note", view, f"{_columns(sparse)} a value in less than half of the rows.",
                len(sparse), "They are kept.", "Columns with few values say little.",
            )
        )  # fmt: skip
    return found


def _extremes(view: str, figures: pd.DataFrame, kind: Guess) -> list[Concern]:
    found = []
    marked = figures[figures["sentinel"].notna()]
    for value, group in marked.groupby("sentinel"):
        found.append(
            Concern(
                "warning", view,
                f"{value:g} in {_some(group.index)} looks like a mark for missing values.",
                len(group), "It is taken as a number.",
                f"Replace it by NaN (--na-values {value:g} in the command).",
            )
        )  # fmt: skip
    real = figures[figures["sentinel"].isna() & (figures["distinct"] > 10)]
    out = real.index[real["far out"] > 0]
    if len(out) and kind.kind == "gaussian":
        values = int(real["far out"].sum())
        found.append(
            Concern(
                "warning", view,
                f"{values} value{'s' * (values > 1)} in {_some(out)} lie{'s' * (values == 1)} more "
                "than ten robust standard deviations from the median of the column.",
                values, "They are fitted as they are, and may rule the model.",
                "Look whether they are errors; take logarithms, or likelihood='student_t'.",
            )
        )  # fmt: skip
    elif TAILS in kind.reason:
        found.append(
            Concern(
                "note", view, f"It holds {kind.reason}.", None,
                "Gaussian noise is assumed.", _sentence(kind.advice),
            )
        )  # fmt: skip
    return found


def _scales(view: str, figures: pd.DataFrame, kind: Guess) -> list[Concern]:
    spread = figures.loc[(figures["std"] > 0) & figures["sentinel"].isna(), "std"]
    if len(spread) < 2 or kind.kind in {"poisson", "negative_binomial"}:
        return []
    widest, ratio = spread.idxmax(), float(spread.max() / spread.median())
    extent = float(spread.max() / spread.min())
    if ratio <= WIDE and extent <= HUGE:
        return []
    what = f"Column {widest!r} varies {ratio:.0f} times as much as the median column."
    if ratio <= WIDE:
        what = f"Column {spread.idxmin()!r} varies {extent:.0e} times less than {widest!r}."
    return [
        Concern(
            "warning", view, what, ratio if ratio > WIDE else extent,
            "MRD divides each column by its own spread. Models that divide a view by one number "
            "(scaling='view') follow its widest columns.",
            "In these, give scaling='column' unless that is meant; or take logarithms.",
        )
    ]  # fmt: skip


def _kind(view: str, figures: pd.DataFrame, kind: Guess) -> list[Concern]:
    if kind.kind != "gaussian":
        return [
            Concern(
                "note", view, f"It looks like {kind.kind.replace('_', ' ')} data: {kind.reason}.",
                None, "It is fitted with Gaussian noise unless another kind is asked for.",
                f"Give likelihood={kind.kind!r} in MRD, BayesianGPLVM or McGPDS. "
                + _sentence(kind.advice),
            )
        ]  # fmt: skip
    measured = figures[~figures["indicator"]]
    two = measured.index[measured["distinct"] == 2]
    if len(two) and len(two) < len(measured):
        return [
            Concern(
                "note", view, f"{_columns(two)} two different values, others more.", len(two),
                "All are fitted with Gaussian noise.",
                "MRD gives columns likelihoods of their own, by name or with likelihood='auto'.",
            )
        ]  # fmt: skip
    return []


def _columns(names: pd.Index) -> str:
    return f"{_some(names)} hold{'s' * (len(names) == 1)}"


def _some(names: pd.Index) -> str:
    if len(names) == 1:
        return f"column {_shown(names[0])}"
    return f"{len(names)} columns (e.g. {_shown(names[0])})"


def _shown(name: Any) -> str:
    return repr(name.item() if isinstance(name, np.generic) else name)


def _share(x: float) -> str:
    return "less than 1 %" if x < 0.01 else f"{100 * x:.0f} %"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""

"""What a fitted model says, in sentences."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..fitted.findings import structure
from ..fitted.sentences import count_of, share
from ..fitted.stability import Stability
from ..plot.subject import Subject
from .assess import Assessment


def stability_of(model: Any, n_rows: int = 200) -> Stability | None:
    """How sure a model's number of shared dimensions is; None where nothing can be shared."""
    several = len(getattr(model, "view_names_", ())) > 1
    return model.stability(n_rows) if several and hasattr(model, "stability") else None


def findings(
    subject: Subject, assessments: Sequence[Assessment], stability: Stability | None = None
) -> list[str]:
    """Plain-language findings, the most important first."""
    sentences = structure(subject.model, stability)
    sentences += [_prediction(assessment) for assessment in assessments]
    sentences += _missing(subject)
    return sentences


def _prediction(a: Assessment) -> str:
    row = a.summary()
    explained, linear = row["variance explained"], row["variance explained, ridge"]
    verdict = "better than" if explained > linear + 0.005 else "worse than"
    if not abs(explained - linear) > 0.005:
        verdict = "about as well as"
    of = "its variance" if a.truth.shape[1] == 1 else "the variance of a typical column"
    told = f"{share(explained)} of {of}, {verdict} ridge regression ({share(linear)})"
    if a.deviance is not None:
        told = f"{share(max(a.deviance, 0.0))} of its deviance, and {told}"
    covered = row["coverage of 90 % intervals"]
    hold = f"; the 90 % intervals hold {share(covered)} of the true values"
    return (
        f"On {len(a.truth)} samples held out, {a.view} predicted from {a.given}: "
        f"{told}{'' if np.isnan(covered) else hold}."
    )


def _missing(subject: Subject) -> list[str]:
    sentences = []
    for name, table in subject.tables.items():
        holes = table.isna().to_numpy()
        if not holes.any():
            continue
        absent = int(holes.all(axis=1).sum())
        rest = holes[~holes.all(axis=1)].mean() if absent < len(holes) else 0.0
        parts = [f"is missing altogether for {count_of(absent, 'sample')}"] if absent else []
        if rest:
            parts.append(f"lacks {share(rest)} of its values{' elsewhere' if absent else ''}")
        sentences.append(f"{name} {' and '.join(parts)}; the model can fill them in (impute).")
    return sentences[:6]

"""What a statistician would ask before believing the findings, each with what to do about it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..checking import Check
from ..fitted.sentences import share
from ..inference.diagnostics import LOW_SIGNAL, FitInfo
from ..plot.subject import Subject
from .assess import LEVEL, Assessment

FEW_SAMPLES = 50
BOUNDS_APART = 0.01  # nats per observed value; restarts that end further apart disagree
WIDE_OF_LEVEL = 0.07  # a coverage further from its level is reported


class Concern(NamedTuple):
    """What is the matter, and what to do about it."""

    what: str
    advice: str


def concerns(
    subject: Subject,
    assessments: Sequence[Assessment],
    messages: Sequence[str] = (),
    look: Check | None = None,
) -> list[Concern]:
    """Everything that should make a reader careful.

    ``messages`` are warnings of the fit, ``look`` is that before it.
    """
    found = [
        *_of_data(subject),
        *([] if look is None else _of_look(look)),
        *_of_fit(subject),
        *_of_dimensions(subject),
    ]
    for assessment in assessments:
        found += _of_predictions(assessment)
    if not assessments:
        found.append(
            Concern(
                "No data were held out, so nothing here says how well the model predicts.",
                "Hold out some samples (--hold-out 0.1, or held_out= of write_report).",
            )
        )
    return found + [Concern(message, "") for message in messages]


def _of_data(subject: Subject) -> list[Concern]:
    found = []
    n = len(subject.latent)
    if n < FEW_SAMPLES:
        found.append(
            Concern(
                f"There are only {n} samples.",
                "Treat the number of dimensions and the division into shared and private as "
                "suggestions; fit again with other seeds and see what stays.",
            )
        )
    return found


def _of_look(look: Check) -> list[Concern]:
    """What a look at the data warns of; its notes stand elsewhere."""
    return [
        Concern(
            c.what if c.view is None else f"{c.view}: {c.what}",
            " ".join(part for part in (c.done, c.advice) if part),
        )
        for c in (*look.errors, *look.warnings)
    ]


def _of_fit(subject: Subject) -> list[Concern]:
    info = getattr(subject.model, "fit_info_", None)
    if info is None:
        return []
    found = []
    if getattr(info, "interrupted", False):
        found.append(Concern("The fit was interrupted.", "Run it to the end, or resume it."))
    elif not getattr(info, "converged", True):
        found.append(
            Concern("The fit stopped before it had converged.", "Raise max_iter and fit again.")
        )
    for name, ratio in zip(subject.names, getattr(info, "signal_to_noise", ()), strict=False):
        if ratio < LOW_SIGNAL:
            found.append(
                Concern(
                    f"{name} has a signal-to-noise ratio of {ratio:.1f}: the model takes "
                    f"{1.0 / ratio:.0%} of its variance for noise.",
                    "If there should be more in it, try more restarts, another start, or more "
                    "components (and inducing points).",
                )
            )
    bounds = info.finished_bounds() if isinstance(info, FitInfo) else np.empty(0)
    values = max(sum(int(table.notna().to_numpy().sum()) for table in subject.tables.values()), 1)
    below = (bounds.max(initial=-np.inf) - bounds) / values
    if len(bounds) > 1 and below.max() > BOUNDS_APART:
        near = int((below <= BOUNDS_APART).sum())
        found.append(
            Concern(
                f"Starts disagree: {near} of {len(bounds)} came within {BOUNDS_APART} nats per "
                f"observed value of the best bound; the worst ended {below.max():.2g} below it.",
                "There may be a still better solution: raise n_restarts.",
            )
        )
    return found


def _of_dimensions(subject: Subject) -> list[Concern]:
    n = subject.latent.shape[1]
    if n > 1 and len(subject.active()) == n:
        return [
            Concern(
                f"All {n} latent dimensions are in use, so the data may need more.",
                "Raise n_components until some are switched off.",
            )
        ]
    return []


def _of_predictions(a: Assessment) -> list[Concern]:
    row = a.summary()
    found = []
    explained, linear = row["variance explained"], row["variance explained, ridge"]
    if a.deviance is not None and a.deviance < 0:
        found.append(
            Concern(
                f"{a.view}: predictions are worse than constants (deviance explained: "
                f"{a.deviance:.2f}).",
                "Do not predict this view with this model.",
            )
        )
    elif a.deviance is None and explained < 0:
        found.append(
            Concern(
                f"{a.view}: predictions are worse than the mean of the samples held out "
                f"(R² of a typical column: {explained:.2f}).",
                "Do not predict this view with this model.",
            )
        )
    elif explained < linear - 0.02:
        found.append(
            Concern(
                f"{a.view}: ridge regression predicts it better ({share(linear)} of the variance "
                f"against {share(explained)}).",
                "For prediction alone use ridge. Otherwise try more components or, in MRD, a "
                "linear kernel, init='canonical', more inducing points, private='conditional'.",
            )
        )
    inside = row["coverage of 90 % intervals"]
    if inside < LEVEL - WIDE_OF_LEVEL:
        found.append(
            Concern(
                f"{a.view}: 90 % intervals hold only {share(inside)} of the true values; the "
                "model is too sure of itself.",
                "In MRD set evidence_power='auto' (or to a small number chosen on held-out data).",
            )
        )
    elif inside > LEVEL + WIDE_OF_LEVEL:
        found.append(
            Concern(
                f"{a.view}: 90 % intervals hold {share(inside)} of the true values; they are "
                "wider than need be.",
                "Errors far from normal (many zeros, rare outliers) have this effect.",
            )
        )
    return found

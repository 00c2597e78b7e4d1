"""What a statistician would ask before believing the findings, each with what to do about it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..inference.diagnostics import LOW_SIGNAL
from ..plot.subject import Subject
from .assess import LEVEL, Assessment
from .findings import share

FEW_SAMPLES = 50
BOUNDS_APART = 0.01  # restarts that end this far apart, relative to the bound, disagree
WIDE_OF_LEVEL = 0.07  # a coverage further from its level is reported


class Concern(NamedTuple):
    """What is the matter, and what to do about it."""

    what: str
    advice: str


def concerns(
    subject: Subject, assessments: Sequence[Assessment], messages: Sequence[str] = ()
) -> list[Concern]:
    """Everything that should make a reader careful; ``messages`` are warnings of the fit."""
    found = [*_of_data(subject), *_of_fit(subject), *_of_dimensions(subject)]
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
    for name, table in subject.tables.items():
        spread = table.std(skipna=True)
        constant = list(table.columns[(spread == 0).to_numpy()])
        if constant:
            found.append(
                Concern(
                    f"{len(constant)} columns of {name} are constant (e.g. {constant[0]}).",
                    "They tell the model nothing; leave them out.",
                )
            )
        varying = spread[spread > 0]
        if subject.gaussian(name) and len(varying) > 1 and varying.max() > 100 * varying.median():
            widest = varying.idxmax()
            found.append(
                Concern(
                    f"Column {widest} of {name} varies more than 100 times as much as the "
                    "median column and dominates it.",
                    "Use scaling='column' (or take logarithms) unless that is meant.",
                )
            )
    return found


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
    bounds = np.asarray(getattr(info, "restart_bounds", ()))
    if len(bounds) > 1 and np.ptp(bounds) > BOUNDS_APART * abs(bounds.max()):
        near = int((bounds > bounds.max() - BOUNDS_APART * abs(bounds.max())).sum())
        found.append(
            Concern(
                f"Starts disagree: {near} of {len(bounds)} came within 1 % of the best bound "
                f"({bounds.max():.0f}; the worst: {bounds.min():.0f}).",
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
    if explained < 0:
        found.append(
            Concern(
                f"{a.view}: predictions are worse than the training mean "
                f"({share(explained)} of the variance).",
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

"""A report on a fitted model: one HTML file that explains itself."""

import os
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import pandas as pd

from ..errors import DataError
from ..plot.subject import Subject
from ..storage import write_text
from . import sections as part
from .assess import Assessment, assess
from .concerns import concerns
from .findings import findings
from .page import page

__all__ = ["Assessment", "assess", "write_report"]


def write_report(
    model: Any,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    held_out: Any = None,
    times: Any = None,
    sequences: Any = None,
    metadata: Any = None,
    shapes: Mapping[str, str] | None = None,
    messages: Sequence[str] = (),
    facts: Mapping[str, str] | None = None,
) -> list[Assessment]:
    """Write what a fitted model has found to one HTML file; return the held-out assessments.

    Parameters
    ----------
    model : fitted estimator
        Of one view or of several.
    held_out : views, optional
        Samples the model has not seen, in the form ``fit`` takes; every view of them is
        predicted from the others. ``times`` and ``sequences`` are theirs.
    metadata : DataFrame, Series or dict of sequences, optional
        What is known of the training samples, to colour the latent space by: aligned on the
        index if there is one, else in the order of the samples.
    shapes : dict by view, optional
        How to draw a view: ``"192x168"``, ``"skeleton"``, ``"curve"``, ``"bars"``; guessed where
        not given.
    messages : sequence of str, optional
        Warnings of the fit, to be shown among the concerns.
    facts : dict, optional
        Lines for the section on how the report was made.
    """
    subject = Subject(model)
    shapes = dict(shapes or {})
    for name in shapes:
        subject.check_view(name)
    coloured = _metadata(metadata, model.samples_)
    assessments = [] if held_out is None else assess(model, held_out, times, sequences)
    name = type(model).__name__
    n = len(subject.names)
    what = "one table" if n == 1 else f"{n} views ({', '.join(subject.names[:8])}{', …' * (n > 8)})"
    made = {"made with": f"manyviews {version('manyviews')}, {name}", **(facts or {})}
    content = page(
        title or ("Report on one table" if n == 1 else f"What {n} views share"),
        f"{name} of {what}, {len(subject.latent)} samples",
        part.findings_section(findings(subject, assessments)),
        part.concerns_section(concerns(subject, assessments, messages)),
        part.data_section(subject),
        part.relevance_section(subject),
        part.latent_section(subject, coloured),
        part.dimensions_section(subject, shapes),
        part.time_section(subject),
        part.prediction_section(subject, assessments, shapes),
        part.fit_section(subject),
        part.options_section(model, made),
    )
    write_text(path, content)
    return assessments


def _metadata(given: Any, samples: Sequence[Any]) -> dict[str, Any]:
    """Columns of metadata, one value per training sample."""
    if given is None:
        return {}
    if isinstance(given, pd.Series):
        given = given.to_frame(given.name or "label")
    if isinstance(given, pd.DataFrame):
        if set(samples) <= set(given.index):
            given = given.loc[list(samples)]
        elif len(given) != len(samples):
            absent = next(s for s in samples if s not in set(given.index))
            raise DataError(f"the metadata lack sample {absent!r}")
    columns = {str(name): given[name] for name in given}
    for name, values in columns.items():
        if len(values) != len(samples):
            raise DataError(
                f"metadata column {name!r} has {len(values)} values for {len(samples)} samples"
            )
    return columns

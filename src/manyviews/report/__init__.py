"""A report on a fitted model: one HTML file that explains itself."""

import os
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from ..checking import check
from ..fitted.associations import aligned_metadata
from ..plot.subject import Subject
from ..storage import write_text
from . import sections as part
from .assess import Assessment, assess
from .concerns import concerns
from .findings import findings, stability_of
from .page import page
from .side_by_side import write_comparison

__all__ = ["Assessment", "assess", "write_comparison", "write_report"]


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
    stability: bool = True,
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
    stability : bool, default=True
        Whether to find out how sure the number of shared dimensions is; see
        `MRD.stability`.
    """
    subject = Subject(model)
    shapes = dict(shapes or {})
    for name in shapes:
        subject.check_view(name)
    coloured = {} if metadata is None else aligned_metadata(metadata, model.samples_)
    assessments = [] if held_out is None else assess(model, held_out, times, sequences)
    sure = stability_of(model) if stability else None
    look = check(subject.tables)
    name = type(model).__name__
    n = len(subject.names)
    what = "one table" if n == 1 else f"{n} views ({', '.join(subject.names[:8])}{', …' * (n > 8)})"
    made = {"made with": f"manyviews {version('manyviews')}, {name}", **(facts or {})}
    content = page(
        title or ("Report on one table" if n == 1 else f"What {n} views share"),
        f"{name} of {what}, {len(subject.latent)} samples",
        part.findings_section(findings(subject, assessments, sure)),
        part.concerns_section(concerns(subject, assessments, messages, look)),
        part.look_section(look),
        part.data_section(subject),
        part.relevance_section(subject),
        part.latent_section(subject, coloured),
        part.associations_section(subject, coloured),
        part.dimensions_section(subject, shapes),
        part.time_section(subject),
        part.prediction_section(subject, assessments, shapes),
        part.fit_section(subject),
        part.options_section(model, made),
    )
    write_text(path, content)
    return assessments

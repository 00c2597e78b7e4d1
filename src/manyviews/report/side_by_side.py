"""Two fitted models on one page, side by side."""

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from ..errors import OptionError
from ..escaping import in_html
from ..fitted.associations import aligned_metadata
from ..fitted.explain import measure
from ..fitted.sentences import capital, listing, share
from ..plot import latent_map, relevance_map
from ..plot.subject import Subject
from ..storage import write_text
from .findings import findings, stability_of
from .page import drawing, facts_list, items, page, section, table

MOST_VIEWS = 8  # named in one line
FEWEST = 5  # samples in common that are compared


def write_comparison(
    models: Mapping[str, Any],
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    metadata: Any = None,
) -> None:
    """Write a page with two fitted models side by side: findings, relevance, maps, options.

    Parameters
    ----------
    models : dict of two fitted estimators
        By the names that the page gives them.
    path : path
        The HTML file.
    title : str, optional
        Default: the names of the two.
    metadata : DataFrame, Series or dict of sequences, optional
        What is known of the samples of both, to colour the maps by.
    """
    if len(models) != 2:
        raise OptionError(f"two models can be put side by side, got {len(models)}")
    subjects = {name: Subject(getattr(m, "model_", m)) for name, m in models.items()}
    names = list(subjects)
    content = page(
        title or f"{names[0]} and {names[1]}",
        " beside ".join(type(s.model).__name__ for s in subjects.values()),
        section("Findings", _side(subjects, _findings)),
        section("What differs", table(_figures(subjects)), _options(subjects)),
        _same_space(subjects),
        section("Who uses what", _side(subjects, _explained)),
        section("The latent spaces", _side(subjects, lambda s: _map(s, metadata))),
    )
    write_text(path, content)


def _side(subjects: Mapping[str, Subject], part: Callable[[Subject], str]) -> str:
    columns = [f"<div><h3>{in_html(name)}</h3>{part(s)}</div>" for name, s in subjects.items()]
    return f"<div class='side'>{''.join(columns)}</div>"


def _findings(subject: Subject) -> str:
    sentences = findings(subject, [], stability_of(subject.model))
    return items([in_html(s).replace(" %", "&nbsp;%") for s in sentences])


def _figures(subjects: Mapping[str, Subject]) -> pd.DataFrame:
    """What can be said of each in a number or a word."""
    found: dict[str, dict[str, str]] = {}
    for name, subject in subjects.items():
        model, info = subject.model, getattr(subject.model, "fit_info_", None)
        totals = subject.explained()["total"]
        row = {
            "model": type(model).__name__,
            "samples": str(len(subject.latent)),
            "views": ", ".join(subject.names[:MOST_VIEWS]),
            "dimensions": str(subject.latent.shape[1]),
            "in use": str(len(subject.active())),
        }
        if len(subject.names) > 1:
            row["shared by all views"] = str(len(subject.shared()))
        for view in subject.names[:MOST_VIEWS]:
            row[f"{measure(model, view)} explained, {view}"] = f"{totals[view]:.1%}"
        if hasattr(model, "lower_bound_"):
            row["lower bound (log evidence)"] = f"{model.lower_bound_:.1f}"
        if info is not None:
            row["converged"] = "yes" if info.converged else "no"
            row["seconds"] = f"{info.seconds:.1f}"
        found[name] = row
    return pd.DataFrame(found).fillna("")


def _options(subjects: Mapping[str, Subject]) -> str:
    """The options in which the models differ."""
    (a, mine), (b, theirs) = (
        (name, {k: str(v) for k, v in s.model.get_params(deep=False).items()})
        for name, s in subjects.items()
    )
    changed = {
        key: f"{mine.get(key, 'not an option')} ({a}); {theirs.get(key, 'not an option')} ({b})"
        for key in {**mine, **theirs}
        if mine.get(key) != theirs.get(key)
    }
    if not changed:
        return "<p>Their options are the same.</p>"
    return f"<h3>Options</h3>{facts_list(changed)}"


def _same_space(subjects: Mapping[str, Subject]) -> str:
    """How well the dimensions of either can be read off the other's, on common samples."""
    (a, first), (b, second) = subjects.items()
    places = {sample: i for i, sample in enumerate(second.model.samples_)}
    common = [(i, places[s]) for i, s in enumerate(first.model.samples_) if s in places]
    used = [sorted(s.active()) or [0] for s in (first, second)]
    if len(common) < FEWEST + max(map(len, used)) or not (first.walkable and second.walkable):
        return ""
    mine, theirs = np.array(common).T
    X, Y = first.latent[mine][:, used[0]], second.latent[theirs][:, used[1]]
    parts = []
    for here, there, source, target, dimensions in (
        (a, b, Y, X, first), (b, a, X, Y, second)
    ):  # fmt: skip
        shares = linear_r2(source, target)
        labels = [dimensions.labels[d] for d in sorted(dimensions.active()) or [0]]
        told = [f"{share(r2)} of {label}" for label, r2 in zip(labels, shares, strict=True)]
        parts.append(f"Dimensions of {here} by those of {there}: {listing(told)}.")
    lead = (
        f"On {len(common)} samples in common: the share of the variance of each dimension in use "
        "that a linear map from the other model's dimensions explains. Near 100 %, it is the same "
        "up to rotation."
    )
    return section("Is it the same space?", items([in_html(p) for p in parts]), lead=lead)


def linear_r2(
    source: Float[np.ndarray, "N P"], target: Float[np.ndarray, "N Q"]
) -> Float[np.ndarray, " Q"]:
    """Share of each column's variance that least squares from other columns explains."""
    inputs = np.column_stack([np.ones(len(source)), source])
    fitted = inputs @ np.linalg.lstsq(inputs, target, rcond=None)[0]
    total = np.maximum(np.sum((target - target.mean(axis=0)) ** 2, axis=0), 1e-300)
    return 1.0 - np.sum((target - fitted) ** 2, axis=0) / total


def _explained(subject: Subject) -> str:
    explained = subject.explained().rename(columns=dict(enumerate(subject.labels)))
    what = f"{measure(subject.model)} explained"
    wide = min(max(5.2, 2.2 + 0.46 * explained.shape[1]), 11.0)
    return drawing(
        lambda figure: relevance_map(explained, figure.subplots(), what),
        f"{capital(what)}: what is lost of a view when a dimension is not known, and the total",
        (wide, 1.9 + 0.36 * len(explained)),
    )


def _map(subject: Subject, metadata: Any) -> str:
    if not subject.walkable or subject.latent.shape[1] < 2:
        return "<p>There is no map of it.</p>"
    coloured = {} if metadata is None else aligned_metadata(metadata, subject.model.samples_)
    title, values = next(iter(coloured.items()), (None, None))
    return drawing(
        lambda figure: latent_map(subject.model, values, None, figure.subplots(), title=title),
        "The two most relevant dimensions; the ground is shaded where the model is unsure",
        (5.2, 4.4),
    )

"""The sections of a report, each a function from a model to HTML."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from ..plot import (
    bound_trace,
    calibration,
    data_overview,
    latent_map,
    latent_paths,
    predicted_against_true,
    relevance_map,
    signal_trace,
    top_features,
    traversal,
)
from ..plot.drawing import draw_images, picture_of
from ..plot.style import COLOURS
from ..plot.subject import Subject
from ..plot.traversal import grey_limits
from .assess import Assessment
from .concerns import Concern
from .page import details, drawing, items, section, table

MOST_DIMENSIONS = 8  # drawn one by one
MOST_VIEWS = 6
MOST_LABELS = 6  # metadata columns drawn
STEPS = 9  # of a walk
EXAMPLES = 12  # of predicted images


def findings_section(sentences: Sequence[str]) -> str:
    """What the model says."""
    return section("Findings", items([_text(s) for s in sentences]))


def concerns_section(concerns: Sequence[Concern]) -> str:
    """What should make a reader careful."""
    if not concerns:
        return section("Concerns", lead="None: the checks made here found nothing to warn about.")
    entries = [f"{_text(c.what)} <span class='advice'>{_text(c.advice)}</span>" for c in concerns]
    lead = "What a careful statistician would raise, and what can be done about it."
    return section("Concerns", items(entries, "concerns"), lead=lead)


def data_section(subject: Subject) -> str:
    """Samples, columns and what is missing."""
    n = len(subject.names)
    picture = drawing(
        lambda figure: data_overview(subject, figure.subplots()),
        "Every stripe is a sample: coloured where the view knows it, grey where it is missing",
        (7.0, 0.9 + 0.55 * n),
    )
    return section("The data", picture)


def relevance_section(subject: Subject) -> str:
    """Which view uses which dimension, and how much of it that explains."""
    wide = max(4.5, 1.8 + 0.42 * subject.latent.shape[1])
    size = (min(wide, 11.0), 1.5 + 0.32 * len(subject.names))
    explained = subject.explained()
    maps = [
        drawing(
            lambda figure: relevance_map(subject.relevance, figure.subplots()),
            "Relevance: the weight of every dimension, the largest of a view being one",
            size,
        ),
        drawing(
            lambda figure: relevance_map(explained, figure.subplots(), "variance explained"),
            "Variance explained: what is lost of a view when a dimension is not known, and the "
            "total of all dimensions",
            size,
        ),
    ]
    alone = subject.explained("alone")
    tables = details(
        "The same in numbers",
        "<h3>Relevance</h3>",
        table(subject.relevance, dict.fromkeys(map(str, subject.relevance), ".3f")),
        "<h3>Variance explained (lost without the dimension)</h3>",
        table(explained, dict.fromkeys(map(str, explained), ".3f")),
        "<h3>Variance explained (by the dimension alone)</h3>",
        table(alone, dict.fromkeys(map(str, alone), ".3f")),
    )
    return section("Who uses what", f"<div class='row'>{''.join(maps)}</div>", tables)


def latent_section(subject: Subject, metadata: Mapping[str, Any]) -> str:
    """The samples in the main dimensions, coloured by what is known of them."""
    if not subject.walkable:
        lead = "Every cluster has a latent space of its own; positions in different ones cannot be "
        return section("The latent space", lead=lead + "compared, so there is no map of them.")
    dimensions = subject.active() or [0]
    if subject.latent.shape[1] == 1:
        return section("The latent space", lead="There is one dimension: see its walk below.")
    pairs = list(zip(dimensions[::2], dimensions[1::2], strict=False))[:2] or [
        (dimensions[0], (dimensions[0] + 1) % subject.latent.shape[1])
    ]
    colourings: list[tuple[str, Any]] = [("", None)]
    if metadata:
        colourings = [(f", coloured by {name}", values) for name, values in metadata.items()]
    pictures = [
        drawing(
            lambda figure, p=pair, v=values: latent_map(subject.model, v, p, figure.subplots()),
            f"Dimensions {pair[0]} and {pair[1]}{name}; bars are one standard deviation, "
            "darker ground is where the model knows its data well",
            (5.4, 4.6),
        )
        for name, values in colourings[:MOST_LABELS]
        for pair in pairs
    ]
    return section("The latent space", f"<div class='row'>{''.join(pictures)}</div>")


def dimensions_section(subject: Subject, shapes: Mapping[str, str]) -> str:
    """What every dimension does: the columns it moves, and a walk along it."""
    if not subject.walkable:
        return ""
    parts = []
    for dimension in subject.active()[:MOST_DIMENSIONS]:
        users = subject.users(dimension)
        who = "" if subject.single else f" — {', '.join(users)}"
        pictures = [
            picture
            for view in users[:MOST_VIEWS]
            for picture in _dimension_pictures(subject, dimension, view, shapes.get(view))
        ]
        heading = f"<h3>Dimension {dimension}{escape(who)}</h3>"
        parts.append(f"{heading}<div class='row'>{''.join(pictures)}</div>")
    more = len(subject.active()) - MOST_DIMENSIONS
    lead = f"The {MOST_DIMENSIONS} most relevant; {more} more are in use." if more > 0 else ""
    return section("What the dimensions do", *parts, lead=lead)


def _dimension_pictures(
    subject: Subject, dimension: int, view: str, shape: str | None
) -> list[str]:
    """A walk along a dimension and the columns it moves, sized by what is drawn."""
    name = "" if subject.single else f" of {view}"
    picture = picture_of(subject, view, shape)
    height = 2.6
    if picture.kind == "image":
        height = 0.45 + 6.4 / STEPS * min(picture.shape[0] / picture.shape[1], 3.0)
    return [
        drawing(
            lambda figure: traversal(
                subject, dimension, view, picture, steps=STEPS, ax=figure.subplots()
            ),
            f"A walk along dimension {dimension}{name}, the other dimensions held",
            (6.4, height),
        ),
        drawing(
            lambda figure: top_features(
                subject, dimension, view, shape=picture, ax=figure.subplots()
            ),
            f"Columns{name} that move most with dimension {dimension}",
            (4.4, min(max(height, 1.6), 2.6)),
        ),
    ]


def prediction_section(
    subject: Subject, assessments: Sequence[Assessment], shapes: Mapping[str, str]
) -> str:
    """Held-out prediction, its rivals, and whether the intervals hold."""
    if not assessments:
        return ""
    rows = pd.DataFrame([a.summary() for a in assessments]).set_index("view")
    numbers = rows.drop(columns="predicted from")
    formats = {c: _format(c) for c in map(str, numbers)}
    shown = assessments[:MOST_VIEWS]

    def scatter(figure: Any, a: Assessment, colour: str) -> None:
        truth, mean = (a.truth - a.centre) / a.scale, (a.mean - a.centre) / a.scale
        predicted_against_true(truth, mean, figure.subplots(), colour).set_title(a.view)

    def reliability(figure: Any) -> None:
        ax = figure.subplots()
        for a, colour in zip(shown, COLOURS, strict=False):
            calibration(a.truth, a.mean, a.std, ax, a.view, colour)
        ax.legend(frameon=False, fontsize="small")

    pictures = [
        drawing(
            lambda figure, a=a, c=colour: scatter(figure, a, c),
            f"{a.view} from {a.given}: observed against predicted, in standard deviations",
            (4.0, 3.6),
        )
        for a, colour in zip(shown, COLOURS, strict=False)
    ]
    pictures.append(
        drawing(
            reliability,
            "Share of the true values inside the intervals of every level: on the diagonal they "
            "are honest, below it too narrow",
            (4.0, 3.6),
        )
    )
    lead = (
        "Samples that the model has not seen, each view predicted from the others. Errors are in "
        "standard deviations (of the view, or of its columns if the model scales them); the mean "
        "of the training data and ridge regression from the same inputs are the rivals to beat."
    )
    row = f"<div class='row'>{''.join(pictures)}</div>"
    examples = "".join(_examples(subject, a, shapes) for a in shown)
    return section("Prediction of data held out", table(numbers, formats), row, examples, lead=lead)


def _format(column: str) -> str:
    return ".0%" if "explained" in column or "coverage" in column else ".3f"


def _examples(subject: Subject, a: Assessment, shapes: Mapping[str, str]) -> str:
    """A few held-out images: the truth, what was predicted, and how unsure the model is."""
    if a.view not in subject.tables:
        return ""
    picture = picture_of(subject, a.view, shapes.get(a.view))
    if picture.kind != "image":
        return ""
    whole = np.flatnonzero(~np.isnan(a.truth).any(axis=1))[:EXAMPLES]
    limits = grey_limits(subject, a.view)

    def draw(figure: Any) -> None:
        rows = [(a.truth, limits, "truth"), (a.mean, limits, "predicted")]
        rows += [(a.std, (0.0, float(a.std[whole].max())), "std")]
        for ax, (values, range_, name) in zip(figure.subplots(3, 1), rows, strict=True):
            draw_images(values[whole], picture, range_, ax)
            ax.set_ylabel(name)

    height = 3 * (0.2 + 8.0 / EXAMPLES * min(picture.shape[0] / picture.shape[1], 3.0))
    caption = f"{a.view} of samples never seen, predicted from {a.given}; brighter std: less sure"
    return drawing(draw, caption, (8.0, height))


def time_section(subject: Subject) -> str:
    """Latent paths of the first sequences, if there are time stamps."""
    when = getattr(subject.model, "when_", None)
    if when is None or when.inputs.shape[1] > 1:
        return ""
    pictures = [
        drawing(
            lambda figure, s=sequence: latent_paths(subject.model, s, ax=figure.subplots()),
            "Latent paths" + ("" if sequence is None else f" of {sequence}") + ", ± 2 standard "
            "deviations, and how they go on",
            (6.0, 3.4),
        )
        for sequence in when.labels[:4]
    ]
    return section("Over time", f"<div class='row'>{''.join(pictures)}</div>")


def fit_section(subject: Subject) -> str:
    """How the fit went, as far as there is a record of it."""
    info = getattr(subject.model, "fit_info_", None)
    if info is None:
        return ""
    pictures = []
    if len(info.bound_trace):
        pictures.append(
            drawing(
                lambda figure: bound_trace(subject, figure.subplots()),
                "How far the bound was below its best, by iteration of the best start",
                (5.0, 3.2),
            )
        )
    if len(info.signal_trace):
        pictures.append(
            drawing(
                lambda figure: signal_trace(subject, figure.subplots()),
                "Variance of the data over the noise; below 10 (dotted) is a reason to look again",
                (5.0, 3.2),
            )
        )
    pairs = zip(subject.names, info.signal_to_noise, strict=False)
    ratios = [(name, ratio) for name, ratio in pairs if np.isfinite(ratio)]
    facts = {
        "lower bound (log evidence)": f"{getattr(subject.model, 'lower_bound_', np.nan):.1f}",
        "starts": ", ".join(f"{bound:.1f}" for bound in info.restart_bounds),
        "signal-to-noise": ", ".join(f"{name} {ratio:.3g}" for name, ratio in ratios),
        "converged": "yes" if info.converged else "no",
        "time": f"{info.seconds:.1f} s, of which {info.compile_seconds:.1f} s to compile; "
        f"{info.n_evaluations} evaluations",
    }
    if not all(map(subject.gaussian, subject.names)):
        facts["kinds of data"] = "; ".join(f"{name}: {why}" for name, why in info.kinds.items())
    if np.size(info.jitter):
        facts["largest jitter"] = f"{np.max(info.jitter):.0e}"
    return section("The fit", f"<div class='row'>{''.join(pictures)}</div>", facts_list(facts))


def options_section(model: Any, facts: Mapping[str, str]) -> str:
    """Everything needed to do it again."""
    options = {name: str(value) for name, value in model.get_params(deep=False).items()}
    parts = [details(f"Options of {type(model).__name__}", facts_list(options))]
    return section("How this was made", facts_list(facts), *parts)


def _text(sentence: str) -> str:
    """Escaped, numbers not torn from their per cent."""
    return escape(sentence).replace(" %", "&nbsp;%")


def facts_list(facts: Mapping[str, str]) -> str:
    """Names and values."""
    pairs = (f"<dt>{escape(k)}</dt><dd>{escape(str(v))}</dd>" for k, v in facts.items())
    return f"<dl>{''.join(pairs)}</dl>"

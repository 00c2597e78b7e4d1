"""The sections of a report, each a function from a model to HTML."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..checking import Check
from ..escaping import in_html, in_picture
from ..fitted.explain import measure
from ..fitted.sentences import capital, count_of
from ..plot import (
    association_map,
    bound_trace,
    calibration,
    data_overview,
    latent_map,
    latent_paths,
    predicted_against_true,
    relevance_map,
    rival_errors,
    signal_trace,
    top_features,
    traversal,
)
from ..plot.drawing import draw_images, picture_of
from ..plot.latent import MANY, Group, fog_of, sample_groups
from ..plot.style import COLOURS
from ..plot.subject import Subject
from ..plot.traversal import grey_limits
from .assess import Assessment
from .concerns import Concern
from .page import details, drawing, facts_list, items, section, table

MOST_DIMENSIONS = 8  # drawn one by one
MOST_VIEWS = 6
MOST_LABELS = 6  # metadata columns drawn
MOST_ASSOCIATIONS = 40  # in numbers, the least likely by chance first
LEGEND_ROWS = 15
ROUNDING = 1e-9  # smaller figures are what scaling and its undoing left
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


def look_section(found: Check) -> str:
    """The look before the fit: what there is, and what is odd about it."""
    shown = found.table.drop(columns=[c for c in found.table if not _told(found.table[c])])
    figures = shown.T.map(_figure)
    parts = [table(figures)]
    if len(found.overlap) > 2:
        parts.append(details("Samples in common", table(found.overlap)))
    notes = []
    for concern in found.of("note"):
        where = "" if concern.view is None else f"<b>{in_html(concern.view)}</b>: "
        more = " ".join(part for part in (concern.done, concern.advice) if part)
        notes.append(f"{where}{_text(concern.what)} <span class='advice'>{_text(more)}</span>")
    parts += [details(count_of(len(notes), "note"), items(notes, "notes"))] if notes else []
    lead = (
        "The tables as the model took them, and what was done about what is odd; warnings are "
        "among the concerns."
    )
    return section("A look at the data", *parts, lead=lead)


def _figure(x: Any) -> str:
    if not isinstance(x, float):
        return str(x)
    return f"{0.0 if abs(x) < ROUNDING else x:.4g}"


def _told(column: pd.Series) -> bool:
    """Whether a figure is worth a line: counts that are zero everywhere are not."""
    return not bool((column == 0).all()) if pd.api.types.is_numeric_dtype(column) else True


def relevance_section(subject: Subject) -> str:
    """Which view uses which dimension, and how much of it that explains."""
    names = dict(enumerate(subject.labels))
    longest = max(map(len, names.values()))
    wide = max(5.2, 2.2 + 0.46 * subject.latent.shape[1])
    letters = 0.05 * longest if longest > 6 else 0.0  # of names that are turned
    size = (min(wide, 11.0), 1.9 + 0.36 * len(subject.names) + letters)
    explained, what = (
        subject.explained().rename(columns=names),
        f"{measure(subject.model)} explained",
    )
    weights = subject.relevance.rename(columns=names)
    maps = [
        drawing(
            lambda figure: relevance_map(weights, figure.subplots()),
            "Relevance: the weight of every dimension, the largest of a view being one",
            size,
        ),
        drawing(
            lambda figure: relevance_map(explained, figure.subplots(), what),
            f"{capital(what)}: what is lost of a view when a dimension is not known, and the "
            "total of all dimensions",
            size,
        ),
    ]
    alone = subject.explained("alone").rename(columns=names)
    shares = "" if subject.single or not subject.walkable else _shares(subject)
    tables = details(
        "The same in numbers",
        "<h3>Relevance</h3>",
        table(weights, dict.fromkeys(map(str, weights), ".3f")),
        f"<h3>{capital(what)} (lost without the dimension)</h3>",
        table(explained, dict.fromkeys(map(str, explained), ".3f")),
        f"<h3>{capital(what)} (by the dimension alone)</h3>",
        table(alone, dict.fromkeys(map(str, alone), ".3f")),
    )
    return section("Who uses what", f"<div class='row'>{''.join(maps)}</div>", shares, tables)


def _shares(subject: Subject) -> str:
    """How each view's variance (or deviance) divides between what is shared and its own."""
    found = subject.model.variance_divided()
    kept = found[[c for c in found if (found[c] != 0).any() or c == "total"]]
    words = (
        f"Shares of each view's {measure(subject.model)} by who uses the dimensions. They add up: "
        "what dimensions explain only together is divided equally between them."
    )
    numbers = table(kept, dict.fromkeys(map(str, kept), ".0%"))
    return f"<h3>Shared and private</h3><p class='lead'>{words}</p>{numbers}"


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
        colourings = list(metadata.items())
    samples = [str(sample) for sample in subject.model.samples_]
    names, pictures = subject.labels, []
    fogs = {pair: fog_of(subject.model, pair) for pair in pairs}
    for title, values in colourings[:MOST_LABELS]:
        groups = sample_groups(values, len(samples))
        legend = 0.9 * (1 + (len(groups) - 1) // LEGEND_ROWS) if title else 0.0
        for pair in pairs:
            pictures.append(
                drawing(
                    lambda figure, p=pair, v=values, t=title: latent_map(
                        subject.model, v, p, figure.subplots(), fogs[p], title=t or None
                    ),
                    f"Dimensions {names[pair[0]]} and {names[pair[1]]}"
                    f"{f', coloured by {title}' if title else ''}; bars are one standard "
                    "deviation, and the ground is shaded where the model is unsure of the data",
                    (5.1 + legend, 4.6),
                    hover=_named(samples, values, groups),
                )
            )
    lead = "Point at a sample to see its name." if len(samples) <= MANY else ""
    return section("The latent space", f"<div class='row'>{''.join(pictures)}</div>", lead=lead)


def _named(samples: Sequence[str], values: Any, groups: Sequence[Group]) -> dict[str, list[str]]:
    """The name of every sample, and what it is coloured by, group by group."""
    texts = list(samples)
    if values is not None:
        dated = pd.api.types.is_datetime64_any_dtype(values)
        told = pd.Series(values).astype(str) if dated else np.asarray(values)
        texts = [f"{name}: {v}" for name, v in zip(samples, told, strict=True)]
    return {f"samples-{k}": [texts[row] for row in g.rows] for k, g in enumerate(groups)}


def associations_section(subject: Subject, metadata: Mapping[str, Any]) -> str:
    """Which dimensions go with what is known of the samples."""
    if not metadata or not subject.walkable:
        return ""
    found = subject.model.associations(metadata)
    names = subject.labels
    dimensions = subject.active() or [0]
    size = (
        min(max(5.2, 2.6 + 0.55 * len(dimensions)), 11.0),
        1.7 + 0.36 * len(metadata) + 0.05 * max(len(names[d]) for d in dimensions),
    )
    picture = drawing(
        lambda figure: association_map(subject, metadata, figure.subplots()),
        "Correlation of metadata with dimensions (of several categories: the correlation ratio, "
        "without a sign); a star marks an adjusted p-value below 0.05",
        size,
    )
    found = found.assign(dimension=[names[d] for d in found["dimension"]])
    found = found.sort_values("p_value", kind="stable").head(MOST_ASSOCIATIONS)
    formats = {"association": ".2f", "p_value": ".2g", "adjusted_p_value": ".2g"}
    numbers = table(found.set_index("variable"), formats)
    lead = (
        "p-values are adjusted for the false discovery rate over all dimensions and variables "
        "(Benjamini and Hochberg). They take samples as independent."
    )
    return section("Dimensions and metadata", picture, details("In numbers", numbers), lead=lead)


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
        heading = f"<h3>Dimension {in_html(subject.labels[dimension])}{in_html(who)}</h3>"
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
    height = 2.9
    if picture.kind == "image":
        height = 0.45 + 6.4 / STEPS * min(picture.shape[0] / picture.shape[1], 3.0)
    label = subject.labels[dimension]
    moved = f"How far pixels{name} move with dimension {label}"
    if picture.kind != "image":
        moved = (
            f"Columns{name} that move most with dimension {label}; bars to the left: they fall; "
            "pale bars: they go up and down"
        )
    return [
        drawing(
            lambda figure: traversal(
                subject, dimension, view, picture, steps=STEPS, ax=figure.subplots()
            ),
            f"A walk along dimension {label}{name}, the other dimensions held",
            (8.0, height * 1.25) if picture.kind == "image" else (6.4, height * 1.1),
        ),
        drawing(
            lambda figure: top_features(
                subject, dimension, view, shape=picture, ax=figure.subplots()
            ),
            moved,
            (2.9, 1.9) if picture.kind == "image" else (4.8, min(max(height, 1.9), 2.9)),
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
        predicted_against_true(truth, mean, figure.subplots(), colour).set_title(in_picture(a.view))

    def reliability(figure: Any) -> None:
        ax = figure.subplots()
        for a, colour in zip(shown, COLOURS, strict=False):
            calibration(a.truth, a.mean, a.std, ax, a.view, colour)
        ax.legend(frameon=False, fontsize="small")

    kind = type(subject.model).__name__
    errors = {
        a.view: {
            "training mean": a.squared_errors(a.centre),
            "ridge": a.squared_errors(a.linear),
            kind: a.squared_errors(a.mean),
        }
        for a in shown
    }
    pictures = [
        drawing(
            lambda figure: rival_errors(errors, figure.subplots()),
            "Mean squared error of the model and its rivals, in squared standard deviations, "
            "± one standard error over the samples",
            (4.2 + 0.9 * len(shown), 4.2),
        )
    ]
    pictures += [
        drawing(
            lambda figure, a=a, c=colour: scatter(figure, a, c),
            f"{a.view} from {a.given}: observed against predicted, in standard deviations",
            (4.8, 4.2),
        )
        for a, colour in zip(shown, COLOURS, strict=False)
    ]
    pictures.append(
        drawing(
            reliability,
            "Share of the true values inside the intervals of every level: on the diagonal they "
            "are honest, below it too narrow",
            (4.8, 4.2),
        )
    )
    lead = (
        "Samples that the model has not seen, each view predicted from the others. Errors are in "
        "standard deviations (of the view, or of its columns if the model scales them); the mean "
        "of the training data and ridge regression from the same inputs are the rivals to beat. "
        "Variance explained is the median over columns of R², which compares with the mean of the "
        "samples held out: zero is no better than it. Deviance explained, of views that are not "
        "Gaussian, compares log densities with those of the best constants."
    )
    row = f"<div class='row'>{''.join(pictures)}</div>"
    examples = "".join(_examples(subject, a, shapes) for a in shown)
    columns = [str(c) for c in numbers]
    measures = pd.DataFrame(
        {a.view: [_told_as(a.summary().get(c), formats[c]) for c in columns] for a in assessments},
        index=columns,
    )
    shown_numbers = table(measures) if len(numbers) <= MOST_VIEWS else table(numbers, formats)
    return section("Prediction of data held out", shown_numbers, row, examples, lead=lead)


def _told_as(value: float | None, form: str) -> str:
    """A measure, or nothing where a view has none of the kind."""
    return "" if value is None or np.isnan(value) else format(value, form)


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
        "starts": starts_in_words(info),
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


def starts_in_words(info: Any) -> str:
    """How far the starts ended below the best, in nats: the same in all units of the data."""
    bounds = info.finished_bounds()
    dropped = len(info.restart_bounds) - len(bounds)
    below = [max(bounds, default=0.0) - bound for bound in bounds]
    words = ["the best" if gap == 0 else f"{gap:.1f} nats below it" for gap in sorted(below)]
    words += [f"{dropped} dropped early"] if dropped else []
    if len(info.restart_bounds) < 2:
        return "1"
    return f"{len(info.restart_bounds)}: {', '.join(words)}"


def options_section(model: Any, facts: Mapping[str, str]) -> str:
    """Everything needed to do it again."""
    options = {name: str(value) for name, value in model.get_params(deep=False).items()}
    parts = [details(f"Options of {type(model).__name__}", facts_list(options))]
    return section("How this was made", facts_list(facts), *parts)


def _text(sentence: str) -> str:
    """Escaped, numbers not torn from their per cent."""
    return in_html(sentence).replace(" %", "&nbsp;%")

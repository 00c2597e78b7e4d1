"""``manyviews info``, ``report`` and ``explore``: looking at a saved model."""

import dataclasses
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
from rich.markup import escape
from rich.table import Table

from ..catalogue import load
from ..data.files import read_column
from ..data.reading import Reading
from ..errors import OptionError
from ..escaping import in_markup
from ..io import describe
from ..plot.subject import Subject
from ..report import write_comparison, write_report
from ..stacking import Stack
from .applying import as_new_data, columns_beside, known_columns, words_of
from .console import give, results, say
from .loading import load_samples, reading_of
from .run_folder import RunFolder
from .settings import RunOptions


def show_info(file: Path, as_json: bool) -> None:
    """What is in a model file."""
    header = describe(file)
    model = load(file)
    inner = getattr(model, "model_", model)
    facts: dict[str, Any] = {
        "file": str(file),
        "bytes": file.stat().st_size,
        "written_by": f"manyviews {header['manyviews']}",
        "model": type(model).__name__,
    }
    subject = Subject(inner) if hasattr(inner, "latent_mean_") else None
    if subject is not None:
        facts["samples"] = len(subject.latent)
        facts["latent_dimensions"] = subject.latent.shape[1]
        facts["dimensions_in_use"] = len(subject.active())
        facts["time_stamps"] = getattr(inner, "when_", None) is not None
    for name, label in (("lower_bound_", "lower_bound"), ("classes_", "classes")):
        if hasattr(model, name):
            facts[label] = getattr(model, name)
    views = [] if subject is None else _views(subject)
    questions = _questions(inner) if isinstance(inner, Stack) else []
    options = model.get_params(deep=False)
    if as_json:
        plain = {name: _typed(value) for name, value in options.items()}
        asked = {"questions": questions} if questions else {}
        return give({**facts, "views": views, **asked, "options": plain}, True)
    table = Table(show_header=False, box=None)
    for name, value in facts.items():
        table.add_row(f"[bold]{name.replace('_', ' ')}", in_markup(_in_words(value)))
    results.print(table)
    if views:
        table = Table("view", "columns", "missing", "dimensions in use", "explained", box=None)
        for view in views:
            table.add_row(
                in_markup(view["name"]),
                str(view["columns"]),
                f"{view['missing']:.1%}",
                ", ".join(map(str, view["dimensions"])),
                f"{view['variance_explained']:.0%}",
            )
        results.print(table)
    for question in questions:
        results.print(f"[bold]{in_markup(question['question'])}[/]")
        table = Table("member", "weight", "log density per value", box=None)
        for name, density in question["log_densities"].items():
            weight = question["weights"].get(name)
            table.add_row(
                in_markup(name), "" if weight is None else f"{weight:.2f}", f"{density:.3f}"
            )
        results.print(table)
    defaults = type(model)().get_params(deep=False)
    changed = [f"{k}={v}" for k, v in options.items() if str(v) != str(defaults.get(k))]
    shown = in_markup(", ".join(changed) or "none")
    results.print(f"[bold]options other than the defaults[/]  {shown}")
    return None


def _questions(stack: Stack) -> list[dict[str, Any]]:
    """What a stack can be asked: weights of the members, and how well held-out values fared."""
    weights = stack.weights_.to_dict(orient="index")
    scores = stack.scores_.to_dict(orient="index")
    return [
        {"question": str(name), "weights": weights[name], "log_densities": scores[name]}
        for name in weights
    ]


def _typed(value: Any) -> Any:
    """Numbers, texts, lists and dicts as they are; anything else in words."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return {name: _typed(part) for name, part in fields.items()}
    if isinstance(value, dict):
        return {str(name): _typed(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_typed(part) for part in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _in_words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else escape(str(value))


def report_on(file: Path, run: RunOptions, out: Path, quiet: bool, as_json: bool) -> None:
    """Write a report on a saved model, with held-out data if files are given."""
    model = load(file)
    model = getattr(model, "model_", model)
    folder = RunFolder.of(file)
    held_out, when = None, {}
    if run.views:
        known = known_columns(model, run.views)
        samples = load_samples(
            replace(run, labels=None, levels=words_of(file)),
            columns=known,
            beside=columns_beside(file),
        )
        held_out, when = as_new_data(model, samples), samples.when()
    metadata = None
    if run.labels:
        metadata = read_column(run.labels, reading_of(run), "labels")
    elif folder is not None:
        metadata = folder.known_labels(model)
    shapes = {**({} if folder is None else folder.known_shapes()), **run.shapes}
    assessments = write_report(
        model, out, title=run.title, held_out=held_out, metadata=metadata, shapes=shapes,
        facts={"model file": str(file)}, **when,
    )  # fmt: skip
    say(f"report  {out}  (open it in a browser)", quiet)
    give({"report": str(out), "held_out": [a.summary() for a in assessments]}, as_json)


def compare_models(
    files: list[Path], out: Path, title: str | None, quiet: bool, as_json: bool
) -> None:
    """Write a page with two saved models side by side."""
    names = [str(f.parent if RunFolder.of(f) else f) for f in files]
    if names[0] == names[1]:
        raise OptionError(f"a model cannot be put beside itself: {names[0]} is given twice")
    short = [Path(name).name for name in names]
    if short[0] != short[1]:
        names = short
    models = dict(zip(names, map(load, files), strict=True))
    folders = [folder for folder in map(RunFolder.of, files) if folder is not None]
    inner = [getattr(model, "model_", model) for model in models.values()]
    metadata = folders[0].known_labels(inner[0]) if folders else None
    if metadata is not None and not set(getattr(inner[1], "samples_", ())) <= set(metadata.index):
        metadata = None
    write_comparison(models, out, title=title, metadata=metadata)
    say(f"report  {out}  (open it in a browser)", quiet)
    give({"report": str(out), "models": names}, as_json)


def explore_model(
    file: Path,
    labels: str | None,
    index: str | None,
    shapes: dict[str, str],
    host: str,
    port: int,
    browser: bool,
) -> None:
    """Serve the page until Ctrl-C."""
    from ..explore import serve

    model, folder = load(file), RunFolder.of(file)
    colours = None if labels is None else read_column(labels, Reading(index))
    if isinstance(colours, pd.DataFrame):
        raise OptionError(f"--labels needs one column: as in {labels}:{colours.columns[0]}")
    if folder is not None:
        shapes = {**folder.known_shapes(), **shapes}
        if labels is None:
            known = folder.known_labels(getattr(model, "model_", model))
            colours = None if known is None else known.iloc[:, 0]
    serve(model, host, port, browser, shapes or None, colours)


def _views(subject: Subject) -> list[dict[str, Any]]:
    totals = subject.explained()["total"]
    return [
        {
            "name": name,
            "columns": table.shape[1],
            "missing": float(table.isna().to_numpy().mean()),
            "dimensions": sorted(subject.active(name)),
            "variance_explained": float(totals[name]),
        }
        for name, table in subject.tables.items()
    ]

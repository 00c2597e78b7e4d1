"""``manyviews fit``: from files to a run folder."""

from pathlib import Path
from typing import Any

import pandas as pd

from ..checking import Check
from ..fitted.findings import structure
from ..inference.checkpoint import keeping_checkpoints
from ..report import write_report
from ..report.assess import Assessment, assess
from ..report.findings import stability_of
from .console import INTERRUPTED, collecting_warnings, give, say
from .csv_files import write_csv
from .giving import as_data, fit_model, scores_of
from .loading import Samples, hold_out, load_samples, usual_share
from .looking import look_at
from .models import MODELS, make_model, model_name
from .run_folder import RunFolder
from .settings import RunOptions


def fit_run(
    run: RunOptions,
    folder: RunFolder,
    *,
    quiet: bool = False,
    as_json: bool = False,
    report: bool = True,
) -> int:
    """Fit, assess, and write everything; return the exit code."""
    run.model = model_name(run.model)
    takes = MODELS[run.model].takes
    everything = load_samples(run, run.options.get("align", "union"))
    look = look_at(everything, quiet)
    if run.hold_out is None:
        judged = (report or takes == "classes") and takes != "series"
        run.hold_out = usual_share(len(everything.names)) if judged else 0.0
    kept, aside = hold_out(everything, run.hold_out, run.seed)
    settings = {"verbose": 0 if quiet else 1, "search__checkpoint": str(folder.checkpoint)}
    model = make_model(run.model, run.options, run.seed, **settings)
    run.write(folder.options)
    say(_opening(run, kept, aside), quiet)
    unseen = _never_held_out(kept, aside)
    if unseen:
        say(f"note: too few samples have {', '.join(unseen)} to hold any out", quiet)
    with keeping_checkpoints():
        return _fit_and_write(
            run, folder, (everything, kept, aside), look, model, quiet, as_json, report
        )


def _fit_and_write(
    run: RunOptions,
    folder: RunFolder,
    samples: tuple[Samples, Samples, Samples | None],
    look: Check,
    model: Any,
    quiet: bool,
    as_json: bool,
    report: bool,
) -> int:
    """All that has to be on disk before the checkpoint of the fit may go."""
    everything, kept, aside = samples
    takes = MODELS[run.model].takes
    with collecting_warnings() as messages:
        fit_model(model, run.model, kept)
    fitted = getattr(model, "model_", model)
    quietly = {"verbose": 0, "search__checkpoint": None}  # the run's, not the model's
    for owner in filter(None, (fitted, getattr(model, "estimator", None))):
        owner.set_params(**{k: v for k, v in quietly.items() if k in owner.get_params()})
    model.save(folder.model)
    for message in messages:
        say(f"note: {message}", quiet)
    more: dict[str, pd.DataFrame] = {}
    scores = {} if aside is None else scores_of(model, run.model, aside, more)
    inner = fitted if hasattr(fitted, "latent_mean_") else None
    assessments: list[Assessment] = []
    if inner is not None:
        given = aside if takes in {"views", "table"} else None
        held_out: dict[str, Any] = {}
        if given is not None:
            held_out = {"held_out": as_data(given, run.model), **given.when()}
        if report:
            say("writing the report ...", quiet)
            assessments = write_report(
                inner,
                folder.report,
                **held_out,
                title=run.title,
                metadata=kept.labels,
                shapes=run.shapes,
                messages=_worth_saying(everything, messages),
                facts=_facts(run, folder, scores),
            )
        elif given is not None:
            assessments = assess(inner, **held_out)
        if kept.labels is not None:
            more["labels"] = kept.labels
        if assessments:
            more["held_out"] = pd.DataFrame([a.summary() for a in assessments]).set_index("view")
        folder.write_tables(inner, **more)
    else:
        for name, table in more.items():
            write_csv(table, folder.tables / f"{name}.csv")
    info = getattr(fitted, "fit_info_", None)
    summary = {
        "model": type(model).__name__,
        "samples": len(kept.names),
        "held_out_samples": 0 if aside is None else len(aside.names),
        "views": list(kept.views),
        "lower_bound": getattr(fitted, "lower_bound_", None),
        "active_dimensions": getattr(fitted, "n_active_", None),
        "signal_to_noise": None if info is None else info.signal_to_noise.tolist(),
        "converged": None if info is None else info.converged,
        "interrupted": info is not None and info.interrupted,
        "seconds": None if info is None else info.seconds,
        "held_out": {**scores, "views": [a.summary() for a in assessments]},
        "warnings": messages,
        "check": look.to_dict(),
    }
    folder.write_record(run, **summary)
    give({**summary, "folder": str(folder.path)}, as_json)
    if inner is not None:
        say(structure(inner, stability_of(inner, 200 if report else 0))[0], quiet)
    for name, value in scores.items():
        say(f"held out: {name} {value:.3f}", quiet)
    say(f"model   {folder.model}", quiet)
    say(f"tables  {folder.tables}", quiet)
    if report and inner is not None:
        say(f"report  {folder.report}  (open it in a browser)", quiet)
    elif report:
        say(f"no report: a {type(model).__name__} has no latent space to report on", quiet)
    if summary["interrupted"]:
        say(f"interrupted; go on with: manyviews fit --resume {folder.path}")
        return INTERRUPTED
    return 0


def _facts(run: RunOptions, folder: RunFolder, scores: dict[str, float]) -> dict[str, str]:
    facts = {"seed": str(run.seed), "options": folder.options.name, "inputs": ", ".join(run.views)}
    return facts | {name: f"{value:.3f}" for name, value in scores.items()}


def _worth_saying(samples: Samples, messages: list[str]) -> list[str]:
    """Warnings of reading and fitting that the report does not give by itself."""
    read = [f"{c.what} {c.done}" for c in samples.sources.concerns if c.severity != "note"]
    return read + [m for m in messages if "signal-to-noise" not in m and "max_iter" not in m]


def _never_held_out(kept: Samples, aside: Samples | None) -> list[str]:
    """Views that no sample set aside has a value of."""
    if aside is None:
        return []
    return [name for name in kept.views if aside.views[name].isna().all(axis=None)]


def _opening(run: RunOptions, kept: Samples, aside: Samples | None) -> str:
    sizes = ", ".join(f"{name} ({table.shape[1]} columns)" for name, table in kept.views.items())
    held = "" if aside is None else f", {len(aside.names)} more held out"
    return f"fitting {run.model} to {len(kept.names)} samples{held}: {sizes}"


def folder_of(out: Path | None, resume: Path | None) -> RunFolder:
    """Where a run is written."""
    return RunFolder(resume or out or Path("run"))

"""``manyviews fit``: from files to a run folder."""

from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import OptionError
from ..inference.checkpoint import keeping_checkpoints
from ..report import write_report
from ..report.assess import Assessment
from .console import INTERRUPTED, collecting_warnings, give, say
from .loading import Samples, hold_out, load_samples
from .models import MODELS, make_model
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
    everything = load_samples(run, run.options.get("align", "union"))
    kept, aside = hold_out(everything, run.hold_out, run.seed)
    settings = {"verbose": 0 if quiet else 1, "search__checkpoint": str(folder.checkpoint)}
    model = make_model(run.model, run.options, run.seed, **settings)
    run.write(folder.options)
    say(_opening(run, kept, aside), quiet)
    with keeping_checkpoints():
        return _fit_and_write(run, folder, kept, aside, model, quiet, as_json, report)


def _fit_and_write(
    run: RunOptions,
    folder: RunFolder,
    kept: Samples,
    aside: Samples | None,
    model: Any,
    quiet: bool,
    as_json: bool,
    report: bool,
) -> int:
    """All that has to be on disk before the checkpoint of the fit may go."""
    with collecting_warnings() as messages:
        _fit(model, run.model, kept)
    inner = getattr(model, "model_", model)
    quietly = {"verbose": 0, "search__checkpoint": None}  # the run's, not the model's
    inner.set_params(**{k: v for k, v in quietly.items() if k in inner.get_params()})
    model.save(folder.model)
    for message in messages:
        say(f"note: {message}", quiet)
    assessments: list[Assessment] = []
    more: dict[str, pd.DataFrame] = {}
    facts = {"seed": str(run.seed), "options": folder.options.name, "inputs": ", ".join(run.views)}
    scores: dict[str, Any] = {}
    if run.model == "classifier" and aside is not None:
        scores = _classified(model, aside, more)
        facts.update({name: f"{value:.3f}" for name, value in scores.items()})
    given = aside if run.model != "classifier" else None
    if report:
        say("writing the report ...", quiet)
        assessments = write_report(
            inner,
            folder.report,
            title=run.title,
            held_out=None if given is None else as_data(given, run.model),
            **({} if given is None else given.when()),
            metadata=kept.labels,
            shapes=run.shapes,
            messages=[m for m in messages if "signal-to-noise" not in m and "max_iter" not in m],
            facts=facts,
        )
    if assessments:
        more["held_out"] = pd.DataFrame([a.summary() for a in assessments]).set_index("view")
    folder.write_tables(inner, **more)
    info = inner.fit_info_
    summary = {
        "model": type(model).__name__,
        "samples": len(kept.names),
        "held_out_samples": 0 if aside is None else len(aside.names),
        "views": list(kept.views),
        "lower_bound": getattr(inner, "lower_bound_", None),
        "active_dimensions": inner.n_active_,
        "signal_to_noise": info.signal_to_noise.tolist(),
        "converged": info.converged,
        "interrupted": info.interrupted,
        "seconds": info.seconds,
        "held_out": {**scores, "views": [a.summary() for a in assessments]},
        "warnings": messages,
    }
    folder.write_record(run, **summary)
    give({**summary, "folder": str(folder.path)}, as_json)
    say(f"model   {folder.model}", quiet)
    say(f"tables  {folder.tables}", quiet)
    if report:
        say(f"report  {folder.report}  (open it in a browser)", quiet)
    if info.interrupted:
        say(f"interrupted; go on with: manyviews fit --resume {folder.path}")
        return INTERRUPTED
    return 0


def as_data(samples: Samples, model: str) -> Any:
    """The views, or the table that a model of one table wants."""
    if MODELS[model].several_views:
        return samples.views
    if len(samples.views) > 1:
        raise OptionError(
            f"--model {model} takes one table, got {list(samples.views)}; --model mrd takes several"
        )
    return next(iter(samples.views.values()))


def _fit(model: Any, name: str, samples: Samples) -> None:
    if name != "classifier":
        model.fit(as_data(samples, name), **samples.when())
        return
    if samples.labels is None or samples.labels.shape[1] != 1:
        raise OptionError("--model classifier needs --labels FILE:COLUMN, one column of classes")
    if samples.when():
        raise OptionError("--model classifier takes no --times or --sequences")
    model.fit(samples.views, samples.labels.iloc[:, 0].to_numpy())


def _classified(model: Any, aside: Samples, more: dict[str, pd.DataFrame]) -> dict[str, float]:
    """Accuracy and log loss on what was held out; the probabilities go to a table."""
    from sklearn.metrics import accuracy_score, log_loss

    assert aside.labels is not None
    truth = aside.labels.iloc[:, 0]
    known = truth.notna().to_numpy()
    chances = model.predict_proba(aside.views)
    guess = model.classes_[chances.argmax(axis=1)]
    table = pd.DataFrame(chances, index=aside.names, columns=[str(c) for c in model.classes_])
    more["held_out"] = table.assign(predicted=guess, truth=truth.to_numpy())
    seen = truth[known].isin(model.classes_).to_numpy()
    scores = {"accuracy": float(accuracy_score(truth[known], guess[known]))}
    if seen.all() and len(model.classes_) > 1:
        scores["log loss"] = float(log_loss(truth[known], chances[known], labels=model.classes_))
    return scores


def _opening(run: RunOptions, kept: Samples, aside: Samples | None) -> str:
    sizes = ", ".join(f"{name} ({table.shape[1]} columns)" for name, table in kept.views.items())
    held = "" if aside is None else f", {len(aside.names)} more held out"
    return f"fitting {run.model} to {len(kept.names)} samples{held}: {sizes}"


def folder_of(out: Path | None, resume: Path | None) -> RunFolder:
    """Where a run is written."""
    return RunFolder(resume or out or Path("run"))

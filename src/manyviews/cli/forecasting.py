"""``manyviews forecast``: a saved model of time at times that were not seen."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..catalogue import load
from ..data.files import read_column
from ..data.reading import Reading
from ..data.times import as_inputs
from ..errors import OptionError
from .applying import refuse_to_bury, write_tables


def forecast_files(
    file: Path,
    out: Path,
    *,
    times: str | None,
    steps: int | None,
    step: float | None,
    sequence: str | None,
    targets: list[str],
    n_samples: int | None,
    reading: Reading,
    quiet: bool,
    as_json: bool,
    force: bool,
) -> None:
    """Views at other times, as NAME.csv and NAME_std.csv, or trajectories as NAME.npy."""
    model = load(file)
    several = hasattr(model, "view_names_")
    if targets and not several:
        raise OptionError("--target is for models of several views")
    names = targets or (list(model.view_names_) if several else ["X"])
    refuse_to_bury(out, names, force, n_samples is not None)
    options: dict[str, Any] = {"return_std": True}
    if n_samples is not None:
        options = {"n_samples": n_samples}
    label = _label(model, sequence)
    if hasattr(model, "window"):
        if steps is None or times is not None or step is not None:
            raise OptionError("this model goes on in equal steps: give --steps N alone")
        index: pd.Index = pd.Index(range(1, steps + 1), name="step")
        found = model.forecast(steps, sequence=label, **options)
    else:
        if getattr(model, "when_", None) is None or not hasattr(model, "forecast"):
            raise OptionError("the model was fitted without --times, so it has no forecast")
        index, at = _times(model, times, steps, step, label, reading)
        if several:
            options["view"] = names
        found = model.forecast(at, sequence=label, **options)
    tables: dict[str, Any] = {}
    for name, answer in (found if isinstance(found, dict) else {"X": found}).items():
        if n_samples is not None:
            tables[name] = answer
            continue
        for suffix, part in zip(("", "_std"), answer, strict=True):
            values = np.asarray(part).reshape(len(index), -1)
            tables[name + suffix] = pd.DataFrame(values, index, _columns(model, name))
    write_tables(tables, out, quiet, as_json)


def _times(
    model: Any, source: str | None, steps: int | None, step: float | None, label: Any,
    reading: Reading,
) -> tuple[pd.Index, Any]:  # fmt: skip
    """Time stamps from a file, or equal steps after the last one that was seen."""
    if (source is None) == (steps is None):
        raise OptionError("say when: --times FILE:COLUMN, or --steps N (and --step WIDTH)")
    if source is not None:
        given = read_column(source, reading, "times")
        if isinstance(given, pd.DataFrame):
            return pd.Index(range(len(given)), name="row"), as_inputs(given)
        return pd.Index(given.to_numpy(), name="time"), as_inputs(given.to_numpy())
    when = model.when_
    if when.inputs.shape[1] > 1:
        raise OptionError("this model has several inputs besides its data: give --times FILE")
    place = 0 if label is None else when.labels.index(label)
    seen = np.sort(when.inputs[when.code == place, 0])
    if steps is None or steps < 1 or not len(seen):
        raise OptionError(f"--steps must be positive, got {steps}")
    width = step
    if width is None:
        gaps = np.diff(seen)
        width = float(np.median(gaps[gaps > 0])) if (gaps > 0).any() else 1.0
    at = seen[-1] + width * np.arange(1, steps + 1)
    return pd.Index(at, name="time"), at


def _label(model: Any, sequence: str | None) -> Any:
    """A training sequence by its name, which may have been a number."""
    if sequence is None:
        return None
    when = getattr(model, "when_", None)
    known = (
        list(when.labels) if when is not None else list(getattr(model, "sequences_", None) or [])
    )
    match = [label for label in known if str(label) == sequence]
    if not match:
        raise OptionError(f"there is no training sequence {sequence!r}: there are {known[:5]}")
    return match[0]


def _columns(model: Any, view: str) -> Any:
    if hasattr(model, "view_names_"):
        return model.columns_[model.view_names_.index(view)]
    if hasattr(model, "window"):
        return model.columns_
    return model.training_data().columns

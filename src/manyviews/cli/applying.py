"""``manyviews predict``, ``transform`` and ``impute``: a saved model at work."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..catalogue import load
from ..data.files import holds_several, split_source, view_name
from ..errors import DataError, OptionError
from ..escaping import file_names
from ..storage import replacing, writing
from .console import give, say
from .csv_files import write_csv
from .loading import Samples, load_samples
from .settings import RunOptions


def predict_files(
    file: Path,
    run: RunOptions,
    out: Path,
    targets: list[str],
    private: str | None,
    n_modes: int,
    n_samples: int | None,
    quiet: bool,
    as_json: bool,
    force: bool = False,
) -> None:
    """Predict views from views; tables NAME.csv and NAME_std.csv, or draws NAME.npy."""
    model = load(file)
    given = {view_name(source) for source in run.views}
    wanted = targets or [v for v in _views(model) if v not in given] or _views(model)
    refuse_to_bury(out, wanted, force, n_samples is not None)
    data, samples = _data(model, run, file)
    tables: dict[str, Any] = {}
    if hasattr(model, "classes_"):
        chances = model.predict_proba(data)
        columns = [str(c) for c in model.classes_]
        table = pd.DataFrame(chances, index=samples.names, columns=columns)
        tables["classes"] = table.assign(predicted=model.predict(data).tolist())
    else:
        options: dict[str, Any] = dict(samples.when())
        if _several(model):
            options["target"] = targets or None
            options |= {"n_modes": n_modes} if n_modes > 1 else {}
            options |= {} if private is None else {"private": private}
        elif targets or private or n_modes > 1:
            raise OptionError("--target, --private and --modes are for models of several views")
        if n_samples is not None:
            options["n_samples"] = n_samples
        else:
            options["return_std"] = True
        answer = _answer(model, data, options)
        answers = answer if isinstance(answer, dict) else {"X": answer}
        drawn = n_samples is not None
        tables = answers if drawn else _with_std(model, answers, samples.names)
        for name in [] if drawn else [name for name in answers if name in _worded(file)]:
            tables |= _in_words(name, model.predict_proba(data, name), words_of(file))
            del tables[name + "_std"]
    write_tables(tables, out, quiet, as_json)


def words_of(file: Path) -> dict[str, list[str]]:
    """The words behind the numbers of categorical columns, by VIEW:COLUMN, from the run folder."""
    return _trained_with(file).levels


def columns_beside(file: Path) -> list[str]:
    """What the columns of times, sequences and labels were called when the model was fitted."""
    run = _trained_with(file)
    sources = [source for source in (run.times, run.sequences, run.labels) if source is not None]
    return [column for column in (source.rpartition(":")[2] for source in sources) if column]


def _trained_with(file: Path) -> RunOptions:
    """The options of the run whose folder a model lies in, if it is one."""
    folder = file.parent
    ours = (folder / "run.json").exists() and (folder / "options.toml").exists()
    return RunOptions.read(folder / "options.toml") if ours else RunOptions()


def _worded(file: Path) -> set[str]:
    return {place.partition(":")[0] for place in words_of(file)}


def _in_words(
    view: str, chances: dict[Any, pd.DataFrame], words: dict[str, list[str]]
) -> dict[str, pd.DataFrame]:
    """The likeliest level of every column, and tables NAME_COLUMN with the probability of each."""
    tables, likeliest = {}, {}
    for column, table in chances.items():
        names = words.get(f"{view}:{column}")
        if names is not None:
            table = table.set_axis([names[int(level)] for level in table.columns], axis=1)
        tables[f"{view}_{column}"] = table
        likeliest[column] = table.idxmax(axis=1)
    return {view: pd.DataFrame(likeliest), **tables}


def _answer(model: Any, data: Any, options: dict[str, Any]) -> Any:
    """Predictions by view; of models that predict one view at a time, of each in turn."""
    if not _several(model) or hasattr(model, "latent_mean_"):
        return model.predict(data, **options)
    wanted = options.pop("target") or [v for v in model.view_names_ if v not in data]
    return {view: model.predict(data, view, **options) for view in wanted}


def transform_files(
    file: Path, run: RunOptions, out: Path, quiet: bool, as_json: bool, force: bool = False
) -> None:
    """Latent positions of new samples with their std, in latent.csv."""
    model = load(file)
    refuse_to_bury(out, ["latent"], force)
    if not hasattr(model, "transform"):
        raise OptionError(f"a {type(model).__name__} has no transform")
    data, samples = _data(model, run, file)
    mean, std = model.transform(data, return_std=True, **samples.when())
    columns = [f"{part}_{d}" for part in ("mean", "std") for d in range(mean.shape[1])]
    latent = pd.DataFrame(np.hstack([mean, std]), index=samples.names, columns=columns)
    write_tables({"latent": latent}, out, quiet, as_json)


def impute_files(
    file: Path, run: RunOptions, out: Path, quiet: bool, as_json: bool, force: bool = False
) -> None:
    """Holes filled, of the training data or of new data: NAME.csv and NAME_std.csv."""
    model = load(file)
    refuse_to_bury(out, _views(model), force)
    if not hasattr(model, "impute"):
        raise OptionError(f"a {type(model).__name__} has no impute")
    if run.views:
        data, samples = _data(model, run, file)
        filled, std = model.impute(data, return_std=True, **samples.when())
        names = samples.names
    else:
        filled, std = model.impute(return_std=True)
        names = pd.Index(model.samples_)
        _say_who_is_left(file, quiet)
    if not isinstance(filled, dict):
        filled, std = {"X": filled}, {"X": std}
    pairs = {view: (filled[view], std[view]) for view in filled}
    write_tables(_with_std(model, pairs, names), out, quiet, as_json)


def as_new_data(model: Any, samples: Samples) -> Any:
    """Views by name, or the one table that a model of one table takes."""
    if _several(model) or (hasattr(model, "classes_") and hasattr(model, "model_")):
        return samples.views
    if len(samples.views) != 1:
        raise DataError(f"this model takes one table, got {list(samples.views)}")
    (table,) = samples.views.values()
    return table if hasattr(model, "feature_names_in_") else table.to_numpy()


def _data(model: Any, run: RunOptions, file: Path) -> tuple[Any, Samples]:
    if not run.views:
        raise OptionError("name at least one file with data")
    if hasattr(model, "window"):
        raise OptionError("this model continues a series: manyviews forecast MODEL --steps N")
    run.levels = words_of(file)
    known = known_columns(model, run.views)
    if known is not None and _several(model):
        for source in run.views:
            if not holds_several(split_source(source)[1]) and view_name(source) not in known:
                raise OptionError(
                    f"{source} is taken for a view {view_name(source)!r}, the model has "
                    f"{', '.join(known)}: say which it is, as in {next(iter(known))}={source}"
                )
    samples = load_samples(run, columns=known, beside=columns_beside(file))
    return as_new_data(model, samples), samples


def known_columns(model: Any, sources: list[str]) -> dict[str, list[Any]] | None:
    """The columns of every view as the model was given them, if it keeps their names."""
    inner = getattr(model, "model_", model)
    if hasattr(inner, "given_names_"):
        return dict(zip(inner.given_names_, inner.given_columns_, strict=True))
    if hasattr(inner, "feature_names_in_"):
        return {view_name(source): list(inner.feature_names_in_) for source in sources}
    return None


def refuse_to_bury(out: Path, names: list[str], force: bool, drawn: bool = False) -> None:
    """Refuse to replace tables (or draws) of these names in a folder, unless forced."""
    places = file_names(names)
    there = [out / f"{places[name]}{'.npy' if drawn else '.csv'}" for name in names]
    there = [path for path in there if path.exists()]
    if there and not force:
        raise OptionError(f"{there[0]} is there already: name another folder, or give --force")


def _say_who_is_left(file: Path, quiet: bool) -> None:
    """Samples that a run has set aside are not among the training data."""
    record = file.parent / "run.json"
    if not record.exists():
        return
    count = json.loads(record.read_text(encoding="utf-8")).get("held_out_samples", 0)
    if count:
        text = f"note: the {count} samples held out are not among these; give the files to fill "
        say(text + "all, or fit with --hold-out 0", quiet)


def _views(model: Any) -> list[str]:
    """What tables of a model's answers are called."""
    if hasattr(model, "classes_"):
        return ["classes"]
    return list(model.view_names_) if _several(model) else ["X"]


def _several(model: Any) -> bool:
    return hasattr(model, "view_names_")


def _columns(model: Any, view: str) -> list[Any]:
    if _several(model):
        return model.columns_[model.view_names_.index(view)]
    if hasattr(model, "target_names_"):
        return model.target_names_
    return model.training_data().columns.tolist()


def _with_std(model: Any, answers: dict[str, Any], rows: pd.Index) -> dict[str, pd.DataFrame]:
    """Means and standard deviations as tables NAME and NAME_std."""
    tables: dict[str, pd.DataFrame] = {}
    for view, parts in answers.items():
        for suffix, part in zip(("", "_std"), parts, strict=True):
            if view + suffix in tables or (suffix and view + suffix in answers):
                raise OptionError(
                    f"the std of view {view!r} and view {view + suffix!r} would be one file: ask "
                    "for them one at a time (--target), or rename a view and fit again"
                )
            values = np.asarray(part).reshape(len(rows), -1)
            tables[view + suffix] = pd.DataFrame(values, index=rows, columns=_columns(model, view))
    return tables


def write_tables(tables: dict[str, Any], out: Path, quiet: bool, as_json: bool) -> None:
    """Tables as files, CSV or NPY, and what was written where."""
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
    places = file_names(tables)
    written = {}
    for name, table in tables.items():
        if isinstance(table, pd.DataFrame):
            path = out / f"{places[name]}.csv"
            write_csv(table, path)
        else:
            path = out / f"{places[name]}.npy"
            with replacing(path) as part, open(part, "wb") as file:
                np.save(file, np.asarray(table))
        written[name] = str(path)
        say(f"{name}: {' x '.join(map(str, np.shape(table)))} in {path}", quiet)
    give({"files": written}, as_json)

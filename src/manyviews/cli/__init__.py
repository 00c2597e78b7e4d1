"""The ``manyviews`` command."""

import os
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ManyviewsError, OptionError
from .console import INTERRUPTED, fail, say
from .models import MODELS
from .settings import RunOptions, parse_assignments

app = typer.Typer(
    help="What several tables about the same samples share, and what one says about another.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    add_completion=False,
)

Files = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME=]FILE...",
        help="One file per view (CSV, TSV, Excel, Parquet, NPY, h5ad) or one with all (Excel with "
        "sheets, NPZ, h5mu).",
    ),
]
ModelFile = Annotated[Path, typer.Argument(help="A model file, or a run folder.")]
Index = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[NAME=]COLUMN",
        help="Column that names the samples, of all files or of one view; - if rows have no names.",
    ),
]
Sep = Annotated[str | None, typer.Option(help="Separator of text files: , ; | tab space.")]
Decimal = Annotated[str | None, typer.Option(help="Decimal sign of text files: . or ,")]
NaValues = Annotated[
    list[str] | None,
    typer.Option("--na-values", metavar="MARK", help="A mark of missing values, as -999; repeat."),
]
Encoding = Annotated[str | None, typer.Option(help="Encoding of text files, as cp1252.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that are there.")]
Times = Annotated[str | None, typer.Option(help="Time stamps: FILE or FILE:COLUMN.")]
Sequences = Annotated[str | None, typer.Option(help="Sequence of every sample: FILE:COLUMN.")]
Labels = Annotated[str | None, typer.Option(help="Classes, or columns to colour by: FILE:COLUMN.")]
Shapes = Annotated[
    list[str] | None,
    typer.Option("--shape", help="How to draw a view: NAME=192x168, NAME=skeleton, NAME=curve."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")]


def command(function: Callable[..., None]) -> Callable[..., None]:
    """A command whose errors are one line and an exit code, never a trace."""

    @wraps(function)
    def guarded(*args: Any, **options: Any) -> None:
        try:
            function(*args, **options)
        except KeyboardInterrupt:
            say("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except (ManyviewsError, OSError) as wrong:
            raise typer.Exit(fail(wrong, bool(options.get("json")))) from wrong

    return app.command()(guarded)


def _version(asked: bool | None) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"manyviews {version('manyviews')}")
        raise typer.Exit


@app.callback()
def manyviews(
    version: Annotated[
        bool | None,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = None,
) -> None:
    """What several tables about the same samples share, and what one says about another."""


@command
def check(
    files: Files = None,
    times: Times = None,
    sequences: Sequences = None,
    labels: Labels = None,
    index: Index = None,
    sep: Sep = None,
    decimal: Decimal = None,
    na_values: NaValues = None,
    encoding: Encoding = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Look at files before a fit: what there is, what is odd, what will be done about it."""
    from .looking import check_files

    run = RunOptions(
        views=files or [], times=times, sequences=sequences, labels=labels,
        **_reading(index, sep, decimal, na_values, encoding),
    )  # fmt: skip
    code = check_files(run, quiet, json)
    if code:
        raise typer.Exit(code)


@command
def fit(
    files: Files = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the run.")] = Path("run"),
    options: Annotated[
        Path | None, typer.Option(help="TOML file with options; flags win over it.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="; ".join(f"[bold]{n}[/]: {k.about}" for n, k in MODELS.items())
            + ". Default: mrd, or gplvm for one table."
        ),
    ] = None,
    components: Annotated[int | None, typer.Option(help="Latent dimensions to start from.")] = None,
    inducing: Annotated[int | None, typer.Option(help="Inducing points per view.")] = None,
    kernel: Annotated[str | None, typer.Option(help="rbf, linear, matern32, ...")] = None,
    scaling: Annotated[str | None, typer.Option(help="view, column or none.")] = None,
    restarts: Annotated[int | None, typer.Option(help="Starts to try.")] = None,
    max_iter: Annotated[int | None, typer.Option(help="Iterations of a start.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Any other option of the model."),
    ] = None,
    times: Times = None,
    sequences: Sequences = None,
    labels: Annotated[
        str | None,
        typer.Option(help="Classes, or columns to colour the pictures by: FILE or FILE:COLUMN."),
    ] = None,
    hold_out: Annotated[
        float | None,
        typer.Option(help="Share of samples to assess predictions on. Default 0.1 (50 or more)."),
    ] = None,
    index: Index = None,
    sep: Sep = None,
    decimal: Decimal = None,
    na_values: NaValues = None,
    encoding: Encoding = None,
    shape: Shapes = None,
    title: Annotated[str | None, typer.Option(help="Title of the report.")] = None,
    seed: Annotated[int | None, typer.Option(help="Random seed. Default 0.")] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Go on with the unfinished run in this folder.")
    ] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace a run that is there.")] = False,
    report: Annotated[bool, typer.Option(help="Write the report.")] = True,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Fit a model to files and write a run folder: model, tables, report, options."""
    from .fitting import fit_run, folder_of
    from .together import own_folder

    folder = folder_of(out, resume)
    if resume is not None and not folder.options.exists():
        raise OptionError(f"{resume} holds no run to resume: it has no options.toml")
    source = folder.options if resume is not None else options
    run = RunOptions() if source is None else RunOptions.read(source)
    if source is None and model is None and files and len(files) == 1 and _one_table(files[0]):
        model = "gplvm"
    named = {
        "n_components": components,
        "n_inducing": inducing,
        "kernel": kernel,
        "scaling": scaling,
        "n_restarts": restarts,
        "max_iter": max_iter,
    }
    chosen = {k: v for k, v in named.items() if v is not None}
    run.override(
        views=files, model=model, seed=seed, hold_out=hold_out, times=times,
        sequences=sequences, labels=labels, title=title, shapes=_shapes(shape),
        **_reading(index, sep, decimal, na_values, encoding),
        options={**chosen, **parse_assignments(set_ or [], "--set")},
    )  # fmt: skip
    with own_folder(folder, resume is not None, overwrite) as (own, place):
        code = fit_run(
            run, own, quiet=quiet or place > 0, as_json=json and not place, report=report
        )
    if code:
        raise typer.Exit(code)


@command
def predict(
    model: ModelFile,
    files: Files = None,
    target: Annotated[
        list[str] | None, typer.Option(help="View to predict. Default: those not given.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the tables.")] = Path(
        "predictions"
    ),
    private: Annotated[
        str | None, typer.Option(help="posterior, nearest, blend or conditional.")
    ] = None,
    modes: Annotated[int, typer.Option(help="Distinct answers to mix.")] = 1,
    samples: Annotated[
        int | None, typer.Option(help="Draw so many instead of mean and std (NPY).")
    ] = None,
    times: Times = None,
    sequences: Sequences = None,
    index: Index = None,
    sep: Sep = None,
    decimal: Decimal = None,
    na_values: NaValues = None,
    encoding: Encoding = None,
    quiet: Quiet = False,
    force: Force = False,
    json: Json = False,
) -> None:
    """Predict views from other views, or complete rows of one table, with std."""
    from .applying import predict_files

    reading = _reading(index, sep, decimal, na_values, encoding)
    run = RunOptions(views=files or [], times=times, sequences=sequences, **reading)
    predict_files(
        _model_file(model), run, out, target or [], private, modes, samples, quiet, json,
        force,
    )  # fmt: skip


@command
def transform(
    model: ModelFile,
    files: Files = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for latent.csv.")] = Path(
        "latent"
    ),
    times: Times = None,
    sequences: Sequences = None,
    index: Index = None,
    sep: Sep = None,
    decimal: Decimal = None,
    na_values: NaValues = None,
    encoding: Encoding = None,
    quiet: Quiet = False,
    force: Force = False,
    json: Json = False,
) -> None:
    """Latent positions of new samples, from whatever views they have."""
    from .applying import transform_files

    reading = _reading(index, sep, decimal, na_values, encoding)
    run = RunOptions(views=files or [], times=times, sequences=sequences, **reading)
    transform_files(_model_file(model), run, out, quiet, json, force)


@command
def impute(
    model: ModelFile,
    files: Files = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the tables.")] = Path(
        "imputed"
    ),
    times: Times = None,
    sequences: Sequences = None,
    index: Index = None,
    sep: Sep = None,
    decimal: Decimal = None,
    na_values: NaValues = None,
    encoding: Encoding = None,
    quiet: Quiet = False,
    force: Force = False,
    json: Json = False,
) -> None:
    """Fill the holes of the training data or, if files are given, of theirs."""
    from .applying import impute_files

    reading = _reading(index, sep, decimal, na_values, encoding)
    run = RunOptions(views=files or [], times=times, sequences=sequences, **reading)
    impute_files(_model_file(model), run, out, quiet, json, force)


@command
def forecast(
    model: ModelFile,
    times: Times = None,
    steps: Annotated[int | None, typer.Option(help="So many steps after the last time.")] = None,
    step: Annotated[float | None, typer.Option(help="Width of a step. Default: the usual.")] = None,
    sequence: Annotated[str | None, typer.Option(help="Training sequence to go on with.")] = None,
    target: Annotated[list[str] | None, typer.Option(help="View. Default: all.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the tables.")] = Path(
        "forecast"
    ),
    samples: Annotated[
        int | None, typer.Option(help="Draw so many trajectories instead of mean and std (NPY).")
    ] = None,
    sep: Sep = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    quiet: Quiet = False,
    force: Force = False,
    json: Json = False,
) -> None:
    """Views at times that were not seen, of a model that was fitted with --times."""
    from .forecasting import forecast_files
    from .loading import reading_of

    forecast_files(
        _model_file(model), out, times=times, steps=steps, step=step, sequence=sequence,
        targets=target or [], n_samples=samples, quiet=quiet, as_json=json, force=force,
        reading=reading_of(RunOptions(sep=sep, decimal=decimal, encoding=encoding)),
    )  # fmt: skip


@command
def report(
    model: ModelFile,
    held_out: Files = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML file.")] = Path("report.html"),
    labels: Annotated[
        str | None, typer.Option(help="Columns to colour the training samples by.")
    ] = None,
    times: Times = None,
    sequences: Sequences = None,
    index: Index = None,
    sep: Sep = None,
    decimal: Decimal = None,
    na_values: NaValues = None,
    encoding: Encoding = None,
    shape: Shapes = None,
    title: Annotated[str | None, typer.Option(help="Title of the report.")] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Write a report on a saved model, or on two side by side.

    Files are samples it has not seen; if the only one is a model file or a run folder, the page
    compares the two.
    """
    from .showing import compare_models, report_on

    second = _model_file(Path(held_out[0])) if held_out and len(held_out) == 1 else None
    if second is not None and second.suffix == ".safetensors":
        compare_models([_model_file(model), second], out, title, quiet, json)
        return

    run = RunOptions(
        views=held_out or [], times=times, sequences=sequences, labels=labels, title=title,
        shapes=_shapes(shape), **_reading(index, sep, decimal, na_values, encoding),
    )  # fmt: skip
    report_on(_model_file(model), run, out, quiet, json)


@command
def compare(
    files: Files = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the results.")] = Path(
        "comparison"
    ),
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="Method: mean, ridge, pls, knn, gp, forest, gfa, pcca, mrd, stack. Default: all."
        ),
    ] = None,
    target: Annotated[
        list[str] | None, typer.Option(help="View to predict from all others. Default: each.")
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(help="Method to compare the others with. Default: ridge, or the first."),
    ] = None,
    folds: Annotated[int, typer.Option(help="Folds of samples.")] = 5,
    groups: Annotated[
        str | None, typer.Option(help="Samples that stay together: FILE:COLUMN.")
    ] = None,
    times: Times = None,
    sequences: Sequences = None,
    index: Index = None,
    sep: Sep = None,
    decimal: Decimal = None,
    na_values: NaValues = None,
    encoding: Encoding = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Processes side by side.")] = 1,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Predict every view from the others by several methods, and say what to use.

    Run it again, and it goes on where it stopped.
    """
    from .comparing import compare_files

    run = RunOptions(
        views=files or [], times=times, sequences=sequences, seed=seed, labels=groups,
        **_reading(index, sep, decimal, na_values, encoding),
    )  # fmt: skip
    compare_files(
        run, out, methods=model or None, targets=target or None, reference=reference, folds=folds,
        n_jobs=jobs, quiet=quiet, as_json=json,
    )  # fmt: skip


@command
def info(model: ModelFile, json: Json = False) -> None:
    """What is in a model file."""
    from .showing import show_info

    show_info(_model_file(model), json)


@command
def explore(
    model: ModelFile,
    labels: Annotated[
        str | None, typer.Option(help="Column to colour the samples by: FILE:COLUMN.")
    ] = None,
    shape: Shapes = None,
    port: Annotated[int, typer.Option(help="Port to listen at; 0 takes a free one.")] = 0,
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    browser: Annotated[bool, typer.Option(help="Open the browser.")] = True,
    index: Index = None,
) -> None:
    """Walk in the latent space with the mouse, on a local web page.

    Of a run folder, labels and shapes are those of the run unless others are given.
    """
    from .showing import explore_model

    explore_model(
        _model_file(model), labels, _reading(index)["index"], _shapes(shape), host, port, browser,
    )  # fmt: skip


@command
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the run.")] = Path(
        "results/demo"
    ),
) -> None:
    """Fit two halves of handwritten digits and write a report: a minute or two."""
    from .demonstration import main as run_demo

    run_demo(out)


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    try:
        app(args=arguments, prog_name="manyviews")
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def run() -> None:
    """The entry point.

    What was interrupted ends at once: if JAX was stopped while it compiled, the usual end of Python
    can crash, and the exit code would be that of a crash.
    """
    code = main()
    if code == INTERRUPTED:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _reading(
    index: list[str] | None = None,
    sep: str | None = None,
    decimal: str | None = None,
    na_values: list[str] | None = None,
    encoding: str | None = None,
) -> dict[str, Any]:
    """The options of a run that say how files are read."""
    indexes, everywhere = {}, None
    for given in index or []:
        view, sign, column = given.partition("=")
        if sign:
            indexes[view] = column
        else:
            everywhere = given
    return {
        "index": everywhere, "indexes": indexes, "sep": sep, "decimal": decimal,
        "na_values": na_values or [], "encoding": encoding,
    }  # fmt: skip


def _model_file(path: Path) -> Path:
    return path / "model.safetensors" if path.is_dir() else path


def _one_table(source: str) -> bool:
    from ..data.files import holds_several, split_source

    return not holds_several(split_source(source)[1])


def _shapes(pairs: list[str] | None) -> dict[str, Any]:
    shapes = {}
    for pair in pairs or []:
        name, sign, shape = pair.partition("=")
        if not sign:
            raise OptionError(f"--shape takes NAME=SHAPE, got {pair!r}")
        shapes[name] = shape
    return shapes

"""The ``manyviews`` command."""

import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ManyviewsError, OptionError
from .console import INTERRUPTED, fail
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
        help="One file per view (CSV, TSV, Parquet, NPY, h5ad) or one with all (NPZ, h5mu).",
    ),
]
ModelFile = Annotated[Path, typer.Argument(help="A model file, or a run folder.")]
Index = Annotated[str | None, typer.Option(help="Column that names the samples.")]
Times = Annotated[str | None, typer.Option(help="Time stamps: FILE or FILE:COLUMN.")]
Sequences = Annotated[str | None, typer.Option(help="Sequence of every sample: FILE:COLUMN.")]
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
            raise typer.Exit(INTERRUPTED) from None
        except (ManyviewsError, FileNotFoundError) as wrong:
            raise typer.Exit(fail(wrong, bool(options.get("json")))) from wrong

    return app.command()(guarded)


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
        views=files, model=model, seed=seed, hold_out=hold_out, index=index, times=times,
        sequences=sequences, labels=labels, title=title,
        shapes=_shapes(shape), options={**chosen, **parse_assignments(set_ or [], "--set")},
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
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Predict views from other views, or complete rows of one table, with std."""
    from .applying import predict_files

    run = RunOptions(views=files or [], index=index, times=times, sequences=sequences)
    predict_files(_model_file(model), run, out, target or [], private, modes, samples, quiet, json)


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
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Latent positions of new samples, from whatever views they have."""
    from .applying import transform_files

    run = RunOptions(views=files or [], index=index, times=times, sequences=sequences)
    transform_files(_model_file(model), run, out, quiet, json)


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
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Fill the holes of the training data or, if files are given, of theirs."""
    from .applying import impute_files

    run = RunOptions(views=files or [], index=index, times=times, sequences=sequences)
    impute_files(_model_file(model), run, out, quiet, json)


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
    shape: Shapes = None,
    title: Annotated[str | None, typer.Option(help="Title of the report.")] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Write a report on a saved model; files are samples it has not seen."""
    from .showing import report_on

    run = RunOptions(
        views=held_out or [], index=index, times=times, sequences=sequences, labels=labels,
        title=title, shapes=_shapes(shape),
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
    reference: Annotated[str, typer.Option(help="Method to compare the others with.")] = "ridge",
    folds: Annotated[int, typer.Option(help="Folds of samples.")] = 5,
    groups: Annotated[
        str | None, typer.Option(help="Samples that stay together: FILE:COLUMN.")
    ] = None,
    times: Times = None,
    sequences: Sequences = None,
    index: Index = None,
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
        views=files or [], index=index, times=times, sequences=sequences, seed=seed, labels=groups
    )
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
    """Walk in the latent space with the mouse, on a local web page."""
    from .showing import explore_model

    explore_model(_model_file(model), labels, index, _shapes(shape), host, port, browser)


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
    """The entry point."""
    sys.exit(main())


def _model_file(path: Path) -> Path:
    return path / "model.safetensors" if path.is_dir() else path


def _one_table(source: str) -> bool:
    from ..data.files import CONTAINERS, split_source

    return split_source(source)[1].suffix not in CONTAINERS


def _shapes(pairs: list[str] | None) -> dict[str, Any]:
    shapes = {}
    for pair in pairs or []:
        name, sign, shape = pair.partition("=")
        if not sign:
            raise OptionError(f"--shape takes NAME=SHAPE, got {pair!r}")
        shapes[name] = shape
    return shapes

"""``manyviews compare``: methods side by side on the data of files."""

import json
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from rich.table import Table

from ..errors import OptionError
from ..escaping import in_markup, visible
from ..stacking import Comparison, compare
from ..storage import writing
from .console import give, results, say
from .csv_files import write_csv
from .loading import load_samples
from .settings import RunOptions

HEADINGS = ("view", "method", "error", "vs", "density", "vs", "coverage", "seconds")


def compare_files(
    run: RunOptions,
    out: Path,
    *,
    methods: list[str] | None,
    targets: list[str] | None,
    reference: str | None,
    folds: int,
    n_jobs: int,
    quiet: bool,
    as_json: bool,
) -> None:
    """Compare, show the table and the sentence, write both, and a picture.

    ``run.labels`` names the column of groups. Finished pieces stand in the folder ``cells``.
    """
    if folds < 2:
        raise OptionError(f"--folds must be at least 2, got {folds}")
    samples = load_samples(run)
    groups = None
    if samples.labels is not None:
        if samples.labels.shape[1] != 1:
            raise OptionError(f"--groups needs one column: as in {run.labels}:COLUMN")
        groups = samples.labels.iloc[:, 0]
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
    sizes = ", ".join(f"{name} ({t.shape[1]} columns)" for name, t in samples.views.items())
    say(f"comparing on {len(samples.names)} samples: {sizes}", quiet)
    found = compare(
        samples.views,
        methods,
        targets=targets,
        reference=reference,
        folds=folds,
        groups=groups,
        cache=out / "cells",
        n_jobs=n_jobs,
        random_state=run.seed,
        verbose=0 if quiet else 1,
        **samples.when(),
    )
    write_csv(found.table, out / "comparison.csv", index=False)
    text = found.to_json(out / "comparison.json")
    _draw(found, out / "comparison.png")
    if not (quiet or as_json):
        results.print(_table(found))
        results.print(visible(found.sentence), markup=False)
    for note in found.notes:
        say(f"note: {note}", quiet)
    say(f"table, JSON and picture are in {out}", quiet)
    give({**json.loads(text), "folder": str(out)}, as_json)


def _draw(found: Comparison, path: Path) -> None:
    methods = found.table["method"].nunique() if len(found.table) else 1
    figure = Figure(figsize=(12, 1.5 + 0.35 * methods), layout="constrained")
    for ax, measure in zip(figure.subplots(1, 2), ("error", "log_density"), strict=True):
        found.plot(ax, measure)
    figure.savefig(path, dpi=120)


def _table(found: Comparison) -> Table:
    """Error and log density of every view and method, and how they differ from the reference's."""
    table = Table(box=None, pad_edge=False)
    for heading in HEADINGS:
        name = f"vs {in_markup(found.reference)}" if heading == "vs" else heading
        table.add_column(name, no_wrap=heading == "vs")
    rows: list[dict[str, Any]] = found.table.to_dict(orient="records")  # type: ignore[assignment]
    for row in rows:
        table.add_row(
            in_markup(row["view"]),
            in_markup(row["method"]),
            f"{row['error']:.3f}",
            f"{row['error_difference']:+.3f} ± {row['error_difference_se']:.3f}",
            f"{row['log_density']:.3f}",
            f"{row['log_density_difference']:+.3f} ± {row['log_density_difference_se']:.3f}",
            f"{row['coverage']:.0%}",
            f"{row['seconds']:.1f}",
        )
    return table

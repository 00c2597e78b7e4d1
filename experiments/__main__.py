"""Run a published experiment: ``python -m experiments oil-map``.

Its rows go to ``experiments/results``, from where the tables of the documentation take them.
``plan`` says what is stale or absent and how long it will take, ``all`` runs that.
"""

import argparse
import importlib
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .catalogue import EXPERIMENTS, module
from .code import fingerprint
from .plan import run_all, show_plan
from .provenance import provenance
from .record import FOLDER, Record, path_of
from .setting import Setting, data_folder
from .table import Row, show

PLAN, ALL = "plan", "all"


def main(arguments: list[str] | None = None) -> None:
    """Parse the command, run the experiment, print its table and write its file."""
    parser = parsed()
    options = parser.parse_args(arguments)
    if options.seeds < 1:
        parser.error("--seeds must be at least 1")
    if options.quick and options.json and options.json.resolve().parent == FOLDER:
        parser.error(f"--quick: a smoke run is no result for {FOLDER}")
    if options.name == PLAN:
        show_plan()
    elif options.name == ALL:
        given = {name: getattr(options, name) for name in ("data", "seeds", "jobs", "results")}
        run_all(given, quick=options.quick, fresh=options.fresh)
    else:
        run(options)


def parsed() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("name", choices=(*EXPERIMENTS, PLAN, ALL))
    parser.add_argument("--data", help="folder with the data sets (or MANYVIEWS_DATA)")
    parser.add_argument("--seeds", type=int, default=5, help="random seeds (default 5)")
    parser.add_argument("--quick", action="store_true", help="a smoke run of under a minute")
    parser.add_argument("--json", type=Path, help=f"write the rows to this file, not to {FOLDER}")
    parser.add_argument("--results", type=Path, default=Path("results"),
                        help="folder for pictures and finished pieces")  # fmt: skip
    again = parser.add_mutually_exclusive_group()
    again.add_argument("--fresh", action="store_true", help="drop finished pieces")
    again.add_argument("--keep-old", action="store_true",
                       help="go on with pieces of older code; the file says so")  # fmt: skip
    many = "tables, defaults, kinds"
    parser.add_argument("--sets", nargs="+", default=[], help=f"{many}: these data sets alone")
    parser.add_argument(
        "--methods", nargs="+", default=[],
        help=f"{many}: these methods alone; pose-mc: 'learnt' for McGPDS with learnt weights; "
        "cuave: 'paper' for the paper's kind of model; pose: 'chosen' for dynamics",
    )  # fmt: skip
    parser.add_argument("--repeats", type=int, default=3, help="tables: divisions into folds")
    parser.add_argument("--jobs", type=int, default=1, help="pieces side by side")
    parser.add_argument(
        "--limit", type=float, default=float("inf"), metavar="SECONDS",
        help="begin no piece later than this; the same command again goes on from there",
    )  # fmt: skip
    return parser


def run(options: argparse.Namespace) -> None:
    """One experiment, from its data to its file."""
    name = options.name
    setting = Setting(
        data_folder(options.data), options.seeds, options.quick, options.results,
        tuple(options.sets), tuple(options.methods), options.repeats, options.jobs, options.limit,
        name, fingerprint(module(name)),
    )  # fmt: skip
    folders = (setting.kept, *map(setting.shared, EXPERIMENTS[name].folders))
    older = [prepared(folder, options.fresh, options.keep_old) for folder in folders]
    began = datetime.now(UTC)
    rows: list[Row] = importlib.import_module(f".{module(name)}", __package__).run(setting)
    show(name, rows)
    partial = bool(options.quick or options.sets or options.methods or setting.ledger.left)
    target = options.json or (None if partial else path_of(name))
    if target is None:
        print("part of the experiment: written nowhere without --json FILE")
        return
    Record(name, header(options, setting, began, any(older)), rows).write(target)
    print(f"written to {target}")


def prepared(folder: Path, fresh: bool, keep_old: bool) -> bool:
    """Drop finished pieces, or take over those of the newest older code; whether there are any."""
    mark = folder / "older"
    if fresh:
        shutil.rmtree(folder, ignore_errors=True)
    elif keep_old and not folder.exists() and folder.parent.exists():
        others = [path for path in folder.parent.iterdir() if path.is_dir()]
        if others:
            newest = max(others, key=lambda path: path.stat().st_mtime)
            shutil.copytree(newest, folder)
            mark.touch()
    return mark.exists()


def header(
    options: argparse.Namespace, setting: Setting, began: datetime, older: bool
) -> dict[str, Any]:
    """What a file says besides its rows."""
    about = EXPERIMENTS[options.name]
    used = ("seeds", "quick", "sets", "methods", "repeats", "jobs")
    ledger = setting.ledger
    seconds = time.monotonic() - setting.began - ledger.waited + ledger.worked
    return {
        "reproduces": about.reproduces, "chooses": about.chooses, "sees": about.sees,
        "settings": {name: getattr(options, name) for name in used},
        "code": setting.code, **({"older_pieces": True} if older else {}),
        "began": began.isoformat(timespec="seconds"),
        "ended": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 1),
        **({"pieces_left": ledger.left} if ledger.left else {}),
        **({"places": sorted(ledger.places)} if len(ledger.places) > 1 else {}),
        **provenance(),
    }  # fmt: skip


if __name__ == "__main__":
    main()

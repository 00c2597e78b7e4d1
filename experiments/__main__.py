"""Run a published experiment: ``python -m experiments oil-map --json oil.json``."""

import argparse
import importlib
from pathlib import Path

from .setting import Setting, data_folder
from .table import show, write_json

EXPERIMENTS = (
    "avletters",
    "cmu35",
    "cuave",
    "defaults",
    "exam",
    "fi-mrd",
    "imputation",
    "kinds",
    "kinds-findings",
    "mackey",
    "missing-inputs",
    "oil-class",
    "oil-map",
    "peers",
    "pose",
    "pose-mc",
    "robustness",
    "tables",
    "thesis-gplvm",
    "thesis-mixture",
    "toy",
    "toy-mc",
    "usps",
    "video",
    "yale",
)


def main(arguments: list[str] | None = None) -> None:
    """Parse the command, run the experiment, print its table."""
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("name", choices=EXPERIMENTS)
    parser.add_argument("--data", help="folder with the data sets (or MANYVIEWS_DATA)")
    parser.add_argument("--seeds", type=int, default=5, help="random seeds (default 5)")
    parser.add_argument("--quick", action="store_true", help="a smoke run of under a minute")
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder for pictures")
    many = "tables, defaults, kinds"
    parser.add_argument("--sets", nargs="+", default=[], help=f"{many}: these data sets alone")
    parser.add_argument(
        "--methods", nargs="+", default=[],
        help=f"{many}: these methods alone; pose-mc: 'learnt' for McGPDS with learnt weights alone",
    )  # fmt: skip
    parser.add_argument("--repeats", type=int, default=3, help="tables: divisions into folds")
    parser.add_argument("--jobs", type=int, default=1, help=f"{many}: processes side by side")
    parser.add_argument(
        "--limit", type=float, default=float("inf"), metavar="SECONDS",
        help="kinds: begin nothing later than this; the same command again goes on from there",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    if options.seeds < 1:
        parser.error("--seeds must be at least 1")
    setting = Setting(
        data_folder(options.data), options.seeds, options.quick, options.results,
        tuple(options.sets), tuple(options.methods), options.repeats, options.jobs, options.limit,
    )  # fmt: skip
    experiment = importlib.import_module(f".{options.name.replace('-', '_')}", __package__)
    rows = experiment.run(setting)
    show(options.name, rows)
    if options.json:
        write_json(options.json, options.name, rows)


if __name__ == "__main__":
    main()

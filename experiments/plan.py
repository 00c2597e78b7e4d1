"""What is to be run, how long that takes, and running it."""

import subprocess
import sys
from typing import Any

from rich.console import Console
from rich.table import Table

from .catalogue import EXPERIMENTS
from .record import ABSENT, CURRENT, Record, path_of
from .table import duration


def planned() -> dict[str, tuple[str, float | None]]:
    """State of every experiment, and the seconds that its last run took, if those are known."""
    found: dict[str, tuple[str, float | None]] = {}
    for name in EXPERIMENTS:
        path = path_of(name)
        record = Record.read(path) if path.exists() else None
        state = record.state if record else ABSENT
        found[name] = (state, record.seconds if record else None)
    return found


def show_plan(*, everything: bool = False) -> list[str]:
    """Print what is to be run and how long it will take; the names."""
    table = Table(title="experiments")
    for heading in ("experiment", "file", "time in one process"):
        table.add_column(heading)
    names, total, unknown = [], 0.0, 0
    for name, (state, seconds) in planned().items():
        wanted = everything or state != CURRENT
        table.add_row(name, state, "not recorded" if seconds is None else duration(seconds),
                      style=None if wanted else "dim")  # fmt: skip
        if wanted:
            names.append(name)
            total += seconds or 0.0
            unknown += seconds is None
    console = Console(highlight=False)
    console.print(table)
    said = f"{len(names)} to run: {duration(total)} or more for {len(names) - unknown} of them"
    console.print(f"{said} in one process, not recorded for the other {unknown}")
    return names


def run_all(given: dict[str, Any], *, quick: bool = False, fresh: bool = False) -> None:
    """Everything that is stale or absent, each in a process of its own; with ``fresh``, all."""
    options = [f"--{key}={value}" for key, value in given.items() if value is not None]
    options += ["--quick"] * quick + ["--fresh"] * fresh
    failed = []
    for name in show_plan(everything=fresh):
        command = [sys.executable, "-m", "experiments", name, *options]
        done = subprocess.run(command, check=False)
        if done.returncode:
            failed.append(name)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}; the same command again goes on from there")

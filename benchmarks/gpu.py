"""A GPU: the sum that costs, evaluations, iterations, starts, whole fits, and GPyTorch beside them.

Runs with the library's source, NumPy and JAX alone (and GPyTorch for that part)::

    PYTHONPATH=src python -m benchmarks.gpu --parts check sums evaluation --json FILE

Every part is a process of its own with a limit of time, and reports each row as soon as it is
measured: a part that fails or is too slow leaves what it has, and the others their memory.
Parts that end in ``_again`` repeat one with the compiled programs that it left behind.
``--quick`` takes small sizes that any processor manages.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

Row = dict[str, Any]
PARTS = {  # module, and seconds that it may take
    "check": ("gpu_sum", 60),
    "sums": ("gpu_sum", 150),
    "evaluation": ("gpu_evaluation", 170),
    "start": ("gpu_fit", 60),
    "fit_small": ("gpu_fit", 90),
    "fit_middle": ("gpu_fit", 120),
    "fit_large": ("gpu_fit", 200),
    "fit_small_again": ("gpu_fit", 90),
    "fit_middle_again": ("gpu_fit", 120),
    "fit_large_again": ("gpu_fit", 200),
    "gpytorch": ("gpu_gpytorch", 220),
    "gpytorch_again": ("gpu_gpytorch", 120),
}
AGAIN = "_again"
MARK = "ROW "


def measured(
    part: str, quick: bool, limit: float, programs: Path | None = None
) -> tuple[list[Row], str]:
    """The rows of one part, and what went wrong if something did.

    ``programs`` is a folder for compiled ones, in which every part that is repeated has its own.
    """
    cache = "off"
    if programs is not None and f"{part.removesuffix(AGAIN)}{AGAIN}" in PARTS:
        cache = str(programs / part.removesuffix(AGAIN))
    command = [sys.executable, "-m", "benchmarks.gpu", "--worker", part]
    process = subprocess.Popen(
        command + ["--quick"] * quick,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "MANYVIEWS_COMPILE_CACHE": cache, "PYTHONUNBUFFERED": "1"},
    )
    timer = threading.Timer(limit, process.kill)
    timer.start()
    rows, other = [], []
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(MARK):
            rows.append(json.loads(line[len(MARK) :]))
            print(f"  {part}: {shown(rows[-1])}", flush=True)
        else:
            other.append(line)
    code = process.wait()
    late = not timer.is_alive()
    timer.cancel()
    if code == 0:
        return rows, ""
    reason = f"stopped after {limit:.0f} s" if late else f"ended with code {code}"
    return rows, f"{reason}; its last lines: {''.join(other[-25:])[-3000:]}"


def shown(row: Row) -> str:
    """A row on one line."""
    return "  ".join(
        f"{key}={value:.4g}" if isinstance(value, float) else f"{key}={value}"
        for key, value in row.items()
    )


def work(part: str, quick: bool) -> None:
    """Measure one part and print its rows."""
    folder = Path(os.environ.get("MANYVIEWS_COMPILE_CACHE", "off"))
    full = folder.is_dir() and any(folder.iterdir())
    rows: Iterable[Row] = getattr(import_module(f".{PARTS[part][0]}", __package__), part)(quick)
    for row in rows:
        print(MARK + json.dumps(row | {"cache": "full" if full else "empty"}), flush=True)


def run(quick: bool) -> list[Any]:
    """All parts, for ``python -m benchmarks gpu``; small sizes where there is no NVIDIA GPU."""
    from .report import Report

    quick = quick or shutil.which("nvidia-smi") is None

    with tempfile.TemporaryDirectory() as programs:
        found = {
            part: measured(part, quick, limit, Path(programs)) for part, (_, limit) in PARTS.items()
        }
    return [Report(f"GPU: {part}", rows, note=wrong) for part, (rows, wrong) in found.items()]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--parts", nargs="*", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that all works")
    parser.add_argument("--limit", type=float, help="seconds for each part instead of its own")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results here, too")
    parser.add_argument("--worker", choices=list(PARTS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options.worker, options.quick)
        return 0
    with tempfile.TemporaryDirectory() as programs:
        measure_parts(options, Path(programs))
    return 0


def measure_parts(options: argparse.Namespace, programs: Path) -> None:
    """The parts that are asked for, in turn."""
    results: dict[str, Any] = {}
    for part in options.parts:
        began = time.perf_counter()
        rows, wrong = measured(part, options.quick, options.limit or PARTS[part][1], programs)
        seconds = time.perf_counter() - began
        results[part] = {"rows": rows, "seconds": seconds, "failure": wrong}
        print(f"{part}: {seconds:.0f} s {wrong}", flush=True)
        if options.json:
            options.json.parent.mkdir(parents=True, exist_ok=True)
            options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())

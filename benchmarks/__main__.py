"""Run benchmarks by name: ``python -m benchmarks [NAME ...] [--quick] [--json FILE]``.

``evaluation --only "N=5000"`` takes the sizes with that in their name.
"""

import argparse
import json
import os
import platform
import sys
from importlib import import_module
from pathlib import Path

from rich.console import Console

NAMES = (
    "agreement",
    "evaluation",
    "missing",
    "time_to_bound",
    "new_points",
    "dynamics",
    "collaborative",
    "explore",
    "gibbs",
    "uncertain",
    "points",
    "laptop",
    "processes",
    "gpu",
    "large",
    "scale",
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(NAMES)}")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that all works")
    parser.add_argument("--only", metavar="TEXT", help="sizes of evaluation with this in the name")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results here, too")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(NAMES))
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(NAMES)}")
    console = Console(width=None if sys.stdout.isatty() else 240)
    results = {}
    for name in options.names or NAMES:
        console.print(f"[bold]{name}[/bold] …")
        own = {"only": options.only} if options.only and name == "evaluation" else {}
        reports = import_module(f".{name}", __package__).run(options.quick, **own)
        for report in reports:
            report.show(console)
        results[name] = [report.plain() for report in reports]
        if options.json:  # after each, so that an interrupted run leaves what it has
            options.json.parent.mkdir(parents=True, exist_ok=True)
            content = {"quick": options.quick, "machine": machine(), "benchmarks": results}
            options.json.write_text(json.dumps(content, indent=2) + "\n")
    return 0


def machine() -> dict[str, object]:
    """What the numbers depend on."""
    return {
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
    }


if __name__ == "__main__":
    sys.exit(main())

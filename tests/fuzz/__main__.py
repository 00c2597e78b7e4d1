"""Try cases of all parts, say what is wrong with any, and write the counts."""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
import warnings
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .case import Part, attempt, generator
from .division import amounts, rounds
from .parts import NAMES, PARTS
from .pool import Found, Pool, environment
from .summary import text

VERSIONS = (
    "manyviews", "jax", "numpy", "scipy", "pandas", "scikit-learn", "pyarrow", "polars", "dask",
    "xarray", "mudata",
)  # fmt: skip
SHOWN = 12  # findings printed of each part


def main() -> int:
    """Return 1 if anything is wrong."""
    asked = _arguments()
    names = asked.only.split(",") if asked.only else list(asked.processes or NAMES)
    unknown = [name for name in (*names, *asked.until) if name not in NAMES]
    if unknown:
        raise SystemExit(f"there is no part {unknown[0]!r}: there are {', '.join(NAMES)}")
    if asked.case is not None:
        return _again(names[0], asked.seed, range(asked.case, asked.case + asked.cases))
    campaign = Campaign(asked, {name: PARTS[name]() for name in names})
    campaign.run()
    print("\n" + text(campaign.result()))
    return int(any(one.counts.get("wrong") for one in campaign.found.values()))


class Campaign:
    """A run of some parts, and its result so far."""

    def __init__(self, asked: argparse.Namespace, parts: dict[str, Part]):
        self.asked, self.parts = asked, parts
        self.found: dict[str, Found] = {}
        self.began, self.whole = time.monotonic(), False

    def run(self) -> None:
        """Try cases, and write the counts from time to time."""
        asked = self.asked
        print(f"seed {asked.seed}, {asked.jobs} processes, {asked.minutes:g} minutes", flush=True)
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            for group, seconds in rounds(self.parts, asked):
                print(", ".join(f"{name} x {n}" for name, n in group.items()), flush=True)
                own = Path(folder) / "-".join(group)
                parts = {name: self.parts[name] for name in group}
                goals = {name: goal for name, goal in asked.until.items() if name in group}
                self.found |= Pool(parts, group, asked.seed, own, goals, self.tell).run(seconds)
                for name in group:
                    _say(name, asked.seed, self.found[name])
        self.whole = True
        self.write()

    def tell(self, found: dict[str, Found]) -> None:
        """Write what there is, should the time run out or somebody end this."""
        self.found |= found
        self.write()
        seconds = time.monotonic() - self.began
        done = {name: one.done(self.parts[name].counted) for name, one in self.found.items()}
        print(f"{seconds:5.0f} s  {done}", flush=True)

    def write(self) -> None:
        """The counts and findings, as JSON."""
        if self.asked.json:
            self.asked.json.parent.mkdir(parents=True, exist_ok=True)
            made = json.dumps(self.result(), indent=1, default=float) + "\n"
            part = self.asked.json.with_name(self.asked.json.name + ".part")
            part.write_text(made)
            part.replace(self.asked.json)

    def result(self) -> dict[str, Any]:
        """All that is known."""
        return {
            "command": " ".join(["python -m tests.fuzz", *sys.argv[1:]]),
            "seed": self.asked.seed,
            "minutes": self.asked.minutes,
            "seconds": round(time.monotonic() - self.began),
            "ended": self.whole,
            "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
            "python": platform.python_version(),
            "versions": _versions(),
            "parts": {
                name: {"about": self.parts[name].about, "counted": self.parts[name].counted,
                       **asdict(found)} for name, found in self.found.items()
            },
        }  # fmt: skip


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="in all (default: 5)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, help="processes (default: one for each core)")
    parser.add_argument(
        "--processes", type=amounts, default={}, metavar="PART=N,…", help="how many of which part"
    )
    parser.add_argument(
        "--until",
        type=amounts,
        default={},
        metavar="PART=N,…",
        help="end a part after so many cases (kills: kills), and let its processes help others",
    )
    parser.add_argument("--only", help=f"some of {','.join(NAMES)}")
    parser.add_argument("--case", type=int, help="try one case of one part again")
    parser.add_argument("--cases", type=int, default=1, help="and those after it, so many in all")
    parser.add_argument("--json", type=Path, help="file for the counts and findings")
    asked = parser.parse_args()
    if asked.processes and asked.only:
        parser.error("--processes says which parts are tried: leave out --only")
    asked.jobs = sum(asked.processes.values()) or asked.jobs or os.cpu_count() or 1
    return asked


def _say(name: str, seed: int, found: Found) -> None:
    kinds: dict[str, dict] = {}
    for one in found.wrong:
        kinds.setdefault(one["wrong"].strip().splitlines()[-1][:80], one)
    for one in list(kinds.values())[:SHOWN]:
        again = f"--only {name} --seed {seed} --case {one['case']}"
        print(f"\n{name} {one['case']} (again: {again})\n{one['wrong']}", flush=True)


def _again(name: str, seed: int, numbers: range) -> int:
    """Try single cases in this process, at the settings of a worker."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        if os.environ.get("TESTS_FUZZ_READY") is None:
            made = environment(Path(folder)) | {"TESTS_FUZZ_READY": "1"}
            made["MANYVIEWS_COMPILE_CACHE"] = os.environ.get("MANYVIEWS_COMPILE_CACHE", "")
            os.execve(sys.executable, [sys.executable, "-m", "tests.fuzz", *sys.argv[1:]], made)
        warnings.simplefilter("ignore")
        case, wrong = PARTS[name]().start(Path(folder)), 0
        for number in numbers:
            began = time.perf_counter()
            result = attempt(case, generator(seed, name, number), number)
            print(f"{name} {number}: {result.outcome} after {time.perf_counter() - began:.1f} s")
            if result.wrong or result.numbers:
                print(result.wrong or result.numbers)
            wrong += bool(result.wrong)
    return int(wrong > 0)


def _versions() -> dict[str, str]:
    found = {}
    for name in VERSIONS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


if __name__ == "__main__":
    sys.exit(main())

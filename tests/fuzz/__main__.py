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

from .case import Part, attempt, generator
from .parts import NAMES, PARTS
from .pool import Found, environment, try_cases
from .summary import coverage_lines, text

SHOWN = 12  # findings printed of each part


def main() -> int:
    """Return 1 if anything is wrong."""
    asked = _arguments()
    names = asked.only.split(",") if asked.only else list(NAMES)
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise SystemExit(f"there is no part {unknown[0]!r}: there are {', '.join(NAMES)}")
    if asked.case is not None:
        return _again(names[0], asked.seed, range(asked.case, asked.case + asked.cases))
    parts = {name: PARTS[name]() for name in names}
    print(f"seed {asked.seed}, {asked.jobs} processes, {asked.minutes:g} minutes", flush=True)
    found: dict[str, Found] = {}
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        for group, seconds in _rounds(parts, asked.jobs, 60.0 * asked.minutes):
            print(", ".join(f"{name} x {n}" for name, n in group.items()), flush=True)
            limits = {name: parts[name].limit for name in group}
            own = Path(folder) / "-".join(group)
            found |= try_cases(group, limits, asked.seed, seconds, own)
            for name in group:
                _say(name, asked.seed, found[name])
    result = {
        "command": " ".join(["python -m tests.fuzz", *sys.argv[1:]]),
        "seed": asked.seed,
        "jobs": asked.jobs,
        "minutes": asked.minutes,
        "python": platform.python_version(),
        "versions": _versions(),
        "parts": {
            name: {"about": parts[name].about, **asdict(found[name])} for name in parts
        },
    }  # fmt: skip
    if asked.json:
        asked.json.parent.mkdir(parents=True, exist_ok=True)
        asked.json.write_text(json.dumps(result, indent=1, default=float) + "\n")
    print("\n" + text(result))
    return int(any(one.counts["wrong"] for one in found.values()))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="in all (default: 5)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--only", help=f"some of {','.join(NAMES)}")
    parser.add_argument("--case", type=int, help="try one case of one part again")
    parser.add_argument("--cases", type=int, default=1, help="and those after it, so many in all")
    parser.add_argument("--json", type=Path, help="file for the counts and findings")
    return parser.parse_args()


def _rounds(
    parts: dict[str, Part], jobs: int, seconds: float
) -> list[tuple[dict[str, int], float]]:
    """Which parts run side by side, in how many processes, and how long."""
    whole = sum(part.share for part in parts.values())
    if jobs < len(parts):  # one after another
        return [({name: jobs}, seconds * part.share / whole) for name, part in parts.items()]
    given = {name: max(1, int(jobs * part.share / whole)) for name, part in parts.items()}
    wanted = sorted(parts, key=lambda name: -(jobs * parts[name].share / whole - given[name]))
    while sum(given.values()) > jobs:
        given[max(given, key=given.get)] -= 1
    for name in wanted[: jobs - sum(given.values())]:
        given[name] += 1
    return [(given, seconds)]


def _say(name: str, seed: int, found: Found) -> None:
    kinds: dict[str, dict] = {}
    for one in found.wrong:
        kinds.setdefault(one["wrong"].strip().splitlines()[-1][:80], one)
    for one in list(kinds.values())[:SHOWN]:
        again = f"--only {name} --seed {seed} --case {one['case']}"
        print(f"\n{name} {one['case']} (again: {again})\n{one['wrong']}", flush=True)
    if name == "coverage":
        print("\n".join(coverage_lines(found.numbers)), flush=True)


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
    for name in ("manyviews", "jax", "numpy", "scipy", "pandas", "scikit-learn"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


if __name__ == "__main__":
    sys.exit(main())
